"""Sequence-to-sequence models: encoders, decoders around any attention, and the two together."""

from seqattn.context_managers import evaluating
from seqattn.decoding import Step
from seqattn.models.classifier import Classified, SentenceClassifier
from seqattn.models.config import ModelConfig, build_model
from seqattn.models.decoder import AttentionDecoder, State
from seqattn.models.encoder import Encoded, Encoder
from seqattn.models.heads import HeadWeights, all_heads, head_weights, masked_heads
from seqattn.models.output_layer import guess_frequencies, tie_matrices
from seqattn.models.pointer_generator import (
    CopyGate,
    PointerGenerator,
    extend_vocabulary,
    mix_copy,
)
from seqattn.models.seq2seq import Output, Seq2SeqAttention
from seqattn.models.transformer import Transformer

__all__ = [
    "AttentionDecoder",
    "Classified",
    "CopyGate",
    "Encoded",
    "Encoder",
    "HeadWeights",
    "ModelConfig",
    "Output",
    "PointerGenerator",
    "SentenceClassifier",
    "Seq2SeqAttention",
    "State",
    "Step",
    "Transformer",
    "all_heads",
    "build_model",
    "evaluating",
    "extend_vocabulary",
    "guess_frequencies",
    "head_weights",
    "masked_heads",
    "mix_copy",
    "tie_matrices",
]
