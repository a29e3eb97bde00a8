"""Data: the tiny worked example, the toy corpus, Multi30k, files of your own; words and batches."""

from seqattn.data.batches import Batch, Batches, Example, encode_pairs
from seqattn.data.book import DETOUR, FIVE, TINY, TREE, TinyExample, measured
from seqattn.data.corpora import (
    CorpusConfig,
    Reason,
    read_split,
    toy_by_length,
    toy_corpus,
    toy_reasons,
)
from seqattn.data.downloads import DownloadError
from seqattn.data.edits import EDITS
from seqattn.data.grammar import (
    CONSTRUCTIONS,
    Pair,
    Splits,
    by_length,
    cat_on_the_mat,
    generate,
    sentence_of_length,
    splits,
)
from seqattn.data.multi30k import read_multi30k
from seqattn.data.pairs import CorpusError, TextPair, hold_out, read_pairs, read_table
from seqattn.data.reviews import Review, invented_reviews, read_reviews
from seqattn.data.tasks import LETTER_TASKS, TwoClauses, letter_pairs, which_clause
from seqattn.data.tokenization import detokenize, join, tokenize
from seqattn.data.vocabulary import Subwords, Vocabularies, Vocabulary, Words

__all__ = [
    "CONSTRUCTIONS",
    "DETOUR",
    "EDITS",
    "FIVE",
    "LETTER_TASKS",
    "TINY",
    "TREE",
    "Batch",
    "Batches",
    "CorpusConfig",
    "CorpusError",
    "DownloadError",
    "Example",
    "Pair",
    "Reason",
    "Review",
    "Splits",
    "Subwords",
    "TextPair",
    "TinyExample",
    "TwoClauses",
    "Vocabularies",
    "Vocabulary",
    "Words",
    "by_length",
    "cat_on_the_mat",
    "detokenize",
    "encode_pairs",
    "generate",
    "hold_out",
    "invented_reviews",
    "join",
    "letter_pairs",
    "measured",
    "read_multi30k",
    "read_pairs",
    "read_reviews",
    "read_split",
    "read_table",
    "sentence_of_length",
    "splits",
    "tokenize",
    "toy_by_length",
    "toy_corpus",
    "toy_reasons",
    "which_clause",
]
