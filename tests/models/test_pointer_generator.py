"""The pointer-generator as a model: the mixture at every step, behind every search."""

import pytest
import torch

from seqattn import BahdanauAttention, CoverageAttention, padding_mask
from seqattn.decoding import beam_search, greedy
from seqattn.models import AttentionDecoder, Encoder, PointerGenerator
from seqattn.training.losses import cross_entropy
from tests.hostile import every_rubbish, spoil, spoil_embeddings, surround

# Distinct primes where sizes may differ.
VOCAB, D_EMBED, D_HIDDEN, D_ENCODER, D_ATTN = 11, 5, 13, 14, 3
SOURCE = torch.tensor([[4, 12, 11, 12, 2], [5, 11, 2, 0, 0], [7, 2, 0, 0, 0]])
LENGTHS = torch.tensor([5, 3, 2])
INPUTS = torch.tensor([[1, 12, 4, 11], [1, 11, 6, 8], [1, 9, 10, 4]])


def build(attention=BahdanauAttention, readout="linear", vocab=VOCAB, outputs=VOCAB + 1):
    decoder = AttentionDecoder(
        outputs,
        D_EMBED,
        D_HIDDEN,
        D_ENCODER,
        attention(D_HIDDEN, D_ENCODER, D_ATTN),
        readout=readout,
    )
    model = PointerGenerator(Encoder(vocab, D_EMBED, D_ENCODER // 2), decoder).double()
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.4)
    return model


@pytest.mark.parametrize("readout", ["linear", "tanh", "maxout"])
def test_probabilities_are_the_mixture_of_what_the_decoder_says(readout):
    model = build(readout=readout)
    logits, weights = model(SOURCE, LENGTHS, INPUTS)
    known = torch.where(SOURCE >= VOCAB, 3, SOURCE)
    raw, looks = model.model(known, LENGTHS, torch.where(INPUTS >= VOCAB, 3, INPUTS))
    torch.testing.assert_close(weights, looks)
    writes = raw[..., -1].sigmoid()
    for b in range(3):
        for t in range(4):
            for word in range(13):
                written = raw[b, t, :-1].softmax(-1)[word] if word < VOCAB else 0.0
                copied = looks[b, t][SOURCE[b] == word].sum()
                expected = writes[b, t] * written + (1 - writes[b, t]) * copied
                torch.testing.assert_close(logits[b, t, word].exp(), expected, atol=1e-12, rtol=0)
    torch.testing.assert_close(logits.logsumexp(-1), torch.zeros(3, 4).double())


@pytest.mark.parametrize("attention", [BahdanauAttention, CoverageAttention])
def test_step_by_step_is_all_steps(attention):
    model = build(attention)
    whole = model(SOURCE, LENGTHS, INPUTS)
    state, memory = model.begin(SOURCE, LENGTHS)
    for t, tokens in enumerate(INPUTS.unbind(1)):
        step = model.step(tokens, state, memory)
        state = step.state
        torch.testing.assert_close(step.logits, whole.logits[:, t])
        torch.testing.assert_close(step.weights, whole.weights[:, t])


def test_unknown_words_are_read_alike_and_written_apart():
    model = build()
    other = torch.where(SOURCE == 12, 11, SOURCE)
    logits, weights = model(SOURCE, LENGTHS, INPUTS)
    changed, same = model(other, LENGTHS, INPUTS)
    assert torch.equal(weights, same)
    # The first sentence has one unknown word in place of two: its chances are added up.
    both = torch.logaddexp(logits[0, :, 11], logits[0, :, 12])
    torch.testing.assert_close(changed[0, :, 11], both)


@every_rubbish
def test_what_stands_at_padding_does_not_matter(rubbish):
    model = build()
    logits, weights = model(SOURCE, LENGTHS, INPUTS)
    real = padding_mask(LENGTHS, 8)
    padded = spoil(surround(SOURCE, 0), real, 400)  # an id that would ask for 401 outputs
    spoil_embeddings(model.model.encoder.embedding, padded, real, rubbish)
    found = model(padded, LENGTHS, INPUTS)
    torch.testing.assert_close(found.logits, logits)
    torch.testing.assert_close(found.weights[..., :5], weights)
    for search in (greedy, beam_search):
        searched = search(model, padded, LENGTHS, max_len=6)
        assert torch.equal(searched.tokens, search(model, SOURCE, LENGTHS, max_len=6).tokens)


def test_every_parameter_learns_to_copy():
    model = build()
    targets = torch.tensor([[12, 4, 11, 2], [11, 6, 8, 2], [9, 10, 4, 2]])
    loss = cross_entropy(model(SOURCE, LENGTHS, INPUTS).logits, targets)
    loss.total.backward()
    for name, p in model.named_parameters():
        assert p.grad.isfinite().all(), name
        assert p.grad.any(), name


def test_searches_write_words_outside_the_vocabulary():
    torch.manual_seed(3)
    model = build()
    with torch.no_grad():  # the gate closes: copy, never write
        model.model.decoder.vocabulary.weight[-1] = 0.0
        model.model.decoder.vocabulary.bias[-1] = -50.0
    source, lengths = torch.tensor([[12, 11, 13, 12], [11, 12, 0, 0]]), torch.tensor([4, 2])
    for found in (
        greedy(model, source, lengths, max_len=6),
        beam_search(model, source, lengths, beam=3, max_len=6),
    ):
        for row, tokens in enumerate(found.tokens):
            written = tokens[tokens != 0]
            assert set(written.tolist()) <= set(source[row].tolist())
        assert bool((found.tokens >= VOCAB).any())


def test_scheduled_sampling_feeds_back_what_was_copied():
    model = build()
    generator = torch.Generator().manual_seed(1)
    logits, weights = model(SOURCE, LENGTHS, INPUTS, teacher_forcing=0.0, generator=generator)
    model.eval()
    state, memory = model.begin(SOURCE, LENGTHS)
    tokens = INPUTS[:, 0]
    for t in range(INPUTS.shape[1]):
        step = model.step(tokens, state, memory)
        torch.testing.assert_close(step.logits, logits[:, t])
        tokens, state = step.logits.argmax(-1), step.state
    assert weights.shape == (3, 4, 5)
    assert not weights[~padding_mask(LENGTHS)[:, None].expand_as(weights)].any()


def test_it_learns_to_write_words_that_it_has_never_seen(unchecked):
    torch.manual_seed(0)
    model = build().float()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    lengths = torch.full((16,), 4)
    for _ in range(80):  # repeat the source; a third of its words are unknown
        source = torch.cat([torch.randint(4, 15, (16, 3)), torch.full((16, 1), 2)], 1)
        inputs = torch.cat([torch.ones(16, 1, dtype=torch.long), source[:, :-1]], 1)
        loss = cross_entropy(model(source, lengths, inputs).logits, source).mean
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    source = torch.tensor([[12, 5, 11, 2], [11, 12, 6, 2], [14, 13, 9, 2]])
    found = greedy(model, source, torch.full((3,), 4), max_len=5)
    assert (found.tokens[:, :4] == source).float().mean() > 0.6


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: PointerGenerator(
                Encoder(VOCAB, D_EMBED, 7), AttentionDecoder(VOCAB + 1, 5, 13, 14, None)
            ),
            "the decoder has no attention; copying needs its weights",
        ),
        (lambda: build(outputs=VOCAB), "has 11 words and the decoder 11 outputs; expected 12"),
    ],
)
def test_what_cannot_copy_is_refused(make, said, unchecked):
    with pytest.raises(ValueError, match=said):
        make()
