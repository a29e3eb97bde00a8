"""The encoder reads each sentence as if it stood alone."""

import pytest
import torch

from seqattn import padding_mask
from seqattn.decoding import beam_search
from seqattn.models import Encoder, ModelConfig, SentenceClassifier, build_model
from tests.hostile import every_rubbish, spoil_embeddings, surround
from tests.models import oracles

BATCH, KEYS, VOCAB, D_EMBED, D = 3, 7, 23, 5, 11
LENGTHS = torch.tensor([4, KEYS, 2])  # in no order

every_shape = pytest.mark.parametrize("bidirectional", [True, False], ids=["both ways", "one way"])
every_depth = pytest.mark.parametrize("layers", [1, 2])
every_cell = pytest.mark.parametrize("cell", ["gru", "lstm"])


def a_batch(width=KEYS):
    source = torch.randint(1, VOCAB, (BATCH, width))
    for row, length in enumerate(LENGTHS.tolist()):
        source[row, length:] = 0
    return source


@every_cell
@every_depth
@every_shape
def test_each_sentence_is_read_as_if_alone(cell, layers, bidirectional):
    encoder = Encoder(VOCAB, D_EMBED, D, cell=cell, layers=layers, bidirectional=bidirectional)
    encoder.double()
    source = a_batch()
    together = encoder(source, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        alone = encoder(source[row : row + 1, :length], LENGTHS[row : row + 1])
        torch.testing.assert_close(together.states[row, :length], alone.states[0])
        torch.testing.assert_close(together.summary[row], alone.summary[0])


@every_cell
def test_a_batch_without_sentences_is_read(cell):
    encoder = Encoder(VOCAB, D_EMBED, D, cell=cell)
    empty = torch.zeros(0, KEYS, dtype=torch.long), torch.zeros(0, dtype=torch.long)
    with torch.no_grad():
        found = encoder(*empty)
    assert (found.states.shape, found.summary.shape) == ((0, KEYS, 2 * D), (0, 1, 2 * D))


@every_rubbish
@every_depth
@pytest.mark.parametrize("training", [True, False])
def test_more_padding_changes_nothing(layers, rubbish, training):
    encoder = Encoder(VOCAB, D_EMBED, D, layers=layers).double()
    source = a_batch()
    narrow = encoder(source, LENGTHS)
    wider = surround(source, 17, 13)
    spoil_embeddings(encoder.embedding, wider, padding_mask(LENGTHS, KEYS + 13), rubbish)
    with torch.set_grad_enabled(training):  # by steps, or packed
        wide = encoder(wider, LENGTHS)
    assert wide.states.shape[1] == wide.mask.shape[1] == KEYS + 13
    torch.testing.assert_close(wide.states[:, :KEYS], narrow.states)
    torch.testing.assert_close(wide.summary, narrow.summary)


def test_what_stands_at_padding_does_not_matter():
    encoder = Encoder(VOCAB, D_EMBED, D).double()
    source = a_batch()
    rubbish = torch.where(source == 0, 17, source)
    torch.testing.assert_close(
        encoder(rubbish, LENGTHS)[:2], encoder(source, LENGTHS)[:2], atol=0, rtol=0
    )


def test_states_at_padding_are_zero_and_masked():
    encoded = Encoder(VOCAB, D_EMBED, D)(a_batch(), LENGTHS)
    assert encoded.mask.sum(1).tolist() == LENGTHS.tolist()
    assert bool((encoded.states[~encoded.mask] == 0).all())
    assert bool((encoded.states[encoded.mask] != 0).any(-1).all())


@every_cell
@every_depth
def test_the_summary_is_where_each_direction_ends(cell, layers):
    encoder = Encoder(VOCAB, D_EMBED, D, cell=cell, layers=layers)
    encoded = encoder(a_batch(), LENGTHS)
    assert encoded.summary.shape == (BATCH, layers, 2 * D)
    last = encoded.states[torch.arange(BATCH), LENGTHS - 1]
    top = torch.cat([last[:, :D], encoded.states[:, 0, D:]], -1)
    torch.testing.assert_close(encoded.summary[:, -1], top, atol=0, rtol=0)


def test_states_are_those_of_the_formula():
    encoder = Encoder(VOCAB, D_EMBED, D).double()
    weights = {f"encoder.{k}": v.detach().numpy() for k, v in encoder.state_dict().items()}
    source = a_batch()
    encoded = encoder(source, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        states, summary = oracles.encode(source[row, :length].numpy(), weights)
        torch.testing.assert_close(encoded.states[row, :length], torch.as_tensor(states))
        torch.testing.assert_close(encoded.summary[row, 0], torch.as_tensor(summary))


def test_lower_summaries_belong_to_lower_layers():
    deep = Encoder(VOCAB, D_EMBED, D, layers=2).double()
    shallow = Encoder(VOCAB, D_EMBED, D).double()
    shallow.load_state_dict(deep.state_dict(), strict=False)  # its first layer
    source = a_batch()
    torch.testing.assert_close(
        deep(source, LENGTHS).summary[:, 0], shallow(source, LENGTHS).summary[:, 0]
    )


@every_rubbish
@every_cell
def test_padding_gets_no_gradient(cell, rubbish):
    encoder = Encoder(VOCAB, D_EMBED, D, cell=cell)
    source = a_batch()
    source[source == 0] = 17  # an embedding of 0 would hide it
    embedded = []
    spoil_embeddings(encoder.embedding, source, padding_mask(LENGTHS, KEYS), rubbish)
    encoder.embedding.register_forward_hook(lambda _, __, output: embedded.append(output))
    encoded = encoder(source, LENGTHS)
    gradient, *others = torch.autograd.grad(
        encoded.states.sum() + encoded.summary.square().sum(),
        [embedded[0], *encoder.rnn.parameters()],
    )
    assert torch.equal(gradient.abs().sum(-1) > 0, encoded.mask)
    assert all(other.isfinite().all() for other in others)


def test_dropout_is_drawn_in_training_only():
    encoder = Encoder(VOCAB, D_EMBED, D, dropout=0.5)
    source = a_batch()
    assert not torch.equal(encoder(source, LENGTHS).states, encoder(source, LENGTHS).states)
    encoder.eval()
    assert torch.equal(encoder(source, LENGTHS).states, encoder(source, LENGTHS).states)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([4, 0, 2], "lengths hold a 0; expected at least one token"),
        ([4, KEYS + 1, 2], "expected values from 0 to max_len = 7"),
    ],
)
def test_impossible_lengths_are_refused(lengths, message):
    transformer = build_model(ModelConfig("transformer", d_hidden=8), VOCAB, VOCAB)
    for encode in (Encoder(VOCAB, D_EMBED, D), transformer.begin):
        with pytest.raises(ValueError, match=message):
            encode(a_batch(), torch.tensor(lengths))


@pytest.mark.parametrize(
    ("lengths", "error", "message"),
    [
        (torch.tensor([4]), ValueError, r"lengths have shape \(1,\); expected \(batch,\) = \(3,\)"),
        (torch.tensor([4, 3, 2, 1]), ValueError, r"lengths have shape \(4,\)"),
        (torch.tensor([[4, 3, 2]]), ValueError, r"lengths have shape \(1, 3\)"),
        (torch.tensor([3.2, 3.0, 2.0]), TypeError, "lengths have dtype torch.float32; expected"),
        (torch.tensor([True, True, True]), TypeError, "lengths have dtype torch.bool"),
        ([4, 3, 2], TypeError, "lengths have type list; expected a tensor of whole numbers"),
    ],
    ids=str,
)
def test_what_is_not_a_length_for_each_sentence_is_refused(lengths, error, message, unchecked):
    names = ("transformer", "luong")
    models = [build_model(ModelConfig(name, d_hidden=8), VOCAB, VOCAB) for name in names]
    ways = [Encoder(VOCAB, D_EMBED, D), *(model.begin for model in models)]
    ways += [SentenceClassifier(VOCAB, d=4, encoder=kind) for kind in ("gru", "words")]
    ways.append(lambda *given: beam_search(models[1], *given, max_len=3))
    for read in ways:
        with pytest.raises(error, match=message):
            read(a_batch(), lengths)


def test_an_unknown_cell_is_refused(unchecked):
    with pytest.raises(ValueError, match="cell is 'LSTM'; expected 'gru' or 'lstm'"):
        Encoder(VOCAB, D_EMBED, D, cell="LSTM")
