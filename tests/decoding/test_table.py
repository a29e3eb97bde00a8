"""A table as a model, and a look into a beam search."""

import pytest
import torch

from seqattn.data import TREE
from seqattn.decoding import StepModel, TableModel, beam_search


def test_a_table_is_a_model_that_every_search_takes():
    model = TableModel(TREE)
    assert isinstance(model, StepModel)
    assert model.longest == 4


def test_what_a_row_lacks_is_shared_out_to_no_word():
    model = TableModel({"": {"a": 0.3, "b": 0.2}})
    found = beam_search(model, *model.source, beam=3, n_best=2, length_penalty=0.0)
    assert model.read(found) == ["a", "b"]
    torch.testing.assert_close(found.scores.exp(), torch.tensor([0.3, 0.2]).double())


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"a": {"b": 1.0}}, 'no row for ""; expected the first words'),
        ({"": {"a": 1.5}}, "gives 'a' 1.5; expected from 0 to 1"),
        ({"": {"a": 0.7, "b": 0.6}}, "sums to 1.300; expected at most 1"),
        ({"": {"a": 1.0}, "a ": {"b": 1.0}}, "the beginning 'a ' has a space too many"),
        ({"": {"a": 1.0}, "a  b": {"c": 1.0}}, "the beginning 'a  b' has a space too many"),
        ({"": {"a b": 1.0}}, "after '' the table has 'a b'; expected one word"),
        ({"": {1: 1.0}}, "after '' the table has 1; expected one word"),
        ({"": {"": 1.0}}, "after '' the table has ''; expected one word"),
        ({"": {"<pad>": 1.0}}, "the table has '<pad>'; expected one word, which is not <pad> or"),
        ({"": {"<bos>": 1.0}}, "the table has '<bos>'"),
    ],
)
def test_a_table_that_is_none_is_refused(table, message, unchecked):
    with pytest.raises(ValueError, match=message):
        TableModel(table)


def test_an_unknown_word_has_the_id_of_unknown_words():
    model = TableModel({"": {"<unk>": 0.7, "a": 0.3}, "<unk>": {"b": 1.0}})
    assert model.words == ["<pad>", "<bos>", "<eos>", "<unk>", "a", "b"]
    assert model.read(beam_search(model, *model.source)) == ["<unk> b"]


def test_a_watcher_sees_every_beginning_that_a_search_holds():
    model, seen = TableModel(TREE), []
    beam_search(model, *model.source, beam=2, n_best=2, length_penalty=0.0, watch=seen.append)
    words = [[model.words[i] for i in look.tokens[0].tolist()] for look in seen]
    assert words[:2] == [["le", "un"], ["chat", "chat"]]
    assert seen[1].parents.tolist() == [[1, 0]]
    torch.testing.assert_close(seen[1].scores.exp(), torch.tensor([[0.36, 0.24]]).double())
    assert [look.done.tolist() for look in seen[1:]] == [
        [[False] * 2],
        [[True, False]],
        [[True] * 2],
    ]
