"""What chapter 1 says, where no test of the package says it already."""

import itertools
import math
from collections import Counter

import pytest
import torch
from torch import nn

from benchmarks import bottleneck
from seqattn import attend
from seqattn.data import generate, measured
from seqattn.metrics import corpus_bleu, gradient_reach, superpose, unpack
from seqattn.models import ModelConfig, build_model
from seqattn.specials import SPECIALS
from seqattn.translator import Translator
from seqattn.widgets import FixedVersusDynamic


def halving(words):
    h = 0.0
    for x in words:
        h = 0.5 * h + x
    return h


def recall(words, d, trials=20, vocabulary=1000):
    g = torch.Generator().manual_seed(0)
    right = 0
    for _ in range(trials):
        embeddings = torch.randn(vocabulary, d, generator=g) / d**0.5
        signs = torch.randint(0, 2, (words, d), generator=g) * 2.0 - 1.0
        x = torch.randint(vocabulary, (words,), generator=g)
        right += (unpack(superpose(x, embeddings, signs), embeddings, signs) == x).sum().item()
    return right / (trials * words)


def reach(summarise, words=30, bidirectional=False):
    torch.manual_seed(0)
    rnn = nn.GRU(32, 64, batch_first=True, bidirectional=bidirectional)
    x = torch.randn(16, words, 32, requires_grad=True)
    return gradient_reach(summarise(rnn(x)[0]), x, generator=torch.Generator().manual_seed(0))


def test_the_numbers_of_the_example_by_hand():
    assert [halving(words) for words in ([4], [4, 2], [4, 2, 8])] == [4, 4, 10]
    assert 4 / 4 + 2 / 2 + 8 == 10
    assert 0.5**10 < 0.001
    # The first answer: two sentences with the same context.
    assert halving([8, 4, 7]) == halving([4, 2, 9]) == 11


@pytest.mark.parametrize("architecture", ["fixed", "bahdanau"])
def test_probabilities_of_all_translations_of_a_length_sum_to_one(architecture):
    torch.manual_seed(0)
    words, length = 5, 3
    model = (
        build_model(ModelConfig(architecture, d_embed=7, d_hidden=11), 13, words).double().eval()
    )
    targets = torch.tensor(list(itertools.product(range(words), repeat=length)))
    inputs = torch.cat([torch.ones(len(targets), 1).long(), targets[:, :-1]], 1)
    source = torch.tensor([[4, 7, 9, 2]]).expand(len(targets), -1)
    logits = model(source, torch.full((len(targets),), 4), inputs).logits
    factors = logits.log_softmax(-1).gather(-1, targets[..., None]).squeeze(-1)
    torch.testing.assert_close(factors.sum(-1).exp().sum(), torch.tensor(1.0).double())


def test_one_float_stores_ten_words_exactly():
    assert 30**10 < 2**53 < 30**11


def test_what_can_be_stored_grows_in_proportion_to_the_vector():
    for words, d in [(10, 256), (20, 512)]:
        assert recall(2 * words, 2 * d) == pytest.approx(recall(words, d), abs=0.05)


def test_the_influence_of_a_word_falls_by_a_factor_for_each_later_step():
    shares = reach(lambda h: h[:, -1])
    assert shares[0] < 1e-5 < shares[9] < 1e-3 < shares[19] < 0.02 < shares[24] < 0.1
    steps = (shares[:25].log()[5:] - shares[:25].log()[:-5]) / 5
    assert steps.min() > 0.3
    assert steps.max() < 0.7


@pytest.mark.slow
def test_reach_is_the_product_of_the_jacobians_of_the_steps():
    torch.manual_seed(0)
    cell = nn.GRUCell(3, 5).double()
    x = torch.randn(1, 6, 3, dtype=torch.float64, requires_grad=True)
    states = [torch.zeros(1, 5, dtype=torch.float64)]
    for i in range(6):
        states.append(cell(x[:, i], states[-1]))
    jacobian = torch.autograd.functional.jacobian
    norms = []
    for i in range(6):
        product = jacobian(lambda w, i=i: cell(w, states[i].detach()), x[:, i].detach())[0, :, 0]
        for later in range(i + 1, 6):
            step = jacobian(lambda h, k=later: cell(x[:, k].detach(), h), states[later].detach())
            product = step[0, :, 0] @ product
        norms.append(product.norm())
    expected = torch.stack(norms) / torch.stack(norms).max()
    measured_reach = gradient_reach(
        states[-1], x, probes=4000, generator=torch.Generator().manual_seed(0)
    )
    torch.testing.assert_close(measured_reach, expected, rtol=0.05, atol=0.005)


def test_with_a_factor_of_a_tenth_no_two_sentences_of_three_digits_collide():
    contexts = {a + 10 * b + 100 * c for a in range(10) for b in range(10) for c in range(10)}
    assert len(contexts) == 1000


def test_a_bidirectional_summary_feels_the_middle_least():
    ends = reach(lambda h: torch.cat([h[:, -1, :64], h[:, 0, 64:]], -1), bidirectional=True)
    assert 10 < ends.argmin() < 20
    assert min(ends[0], ends[-1]) > 0.5


def test_each_state_is_one_step_from_a_dynamic_context():
    h = torch.randn(7, 3, dtype=torch.float64)
    weights = torch.randn(5, 7, dtype=torch.float64).softmax(-1)
    scores = weights.log()[None]
    jacobian = torch.autograd.functional.jacobian(lambda h: attend(scores, h[None])[0][0], h)
    for t, i in itertools.product(range(5), range(7)):
        expected = weights[t, i] * torch.eye(3, dtype=torch.float64)
        torch.testing.assert_close(jacobian[t, :, i], expected)


def test_bleu_is_a_precision_with_a_penalty_for_brevity():
    reference = "le chat noir dort devant la grande porte de la maison ."
    bleu = lambda text: corpus_bleu([text], [reference]).score
    assert bleu(reference) == pytest.approx(100)
    # Every word and run of words is right, two words are missing: all precisions are 1.
    words = reference.split()
    assert bleu(" ".join(words[:10])) == pytest.approx(100 * math.exp(1 - 12 / 10))
    # Words too many cost precision: 12 of 14 words, 11 of 13 pairs, 10 of 12, 9 of 11.
    share = (12 / 14 * 11 / 13 * 10 / 12 * 9 / 11) ** 0.25
    assert bleu(reference + " bien tard") == pytest.approx(100 * share)


def test_the_bits_in_the_answers():
    assert 1000 * math.log2(32_000) < 15_000 < 512 * 32 == 16_384


def test_the_figure_asks_where_the_fixed_vector_falls_behind_and_knows():
    figure = FixedVersusDynamic(**measured("bottleneck")["figure"])
    asked = figure.predict
    assert asked["options"][asked["answer"]] == "At once, from the shortest sentences."
    assert figure.attention[0] - figure.attention_spread[0] > (
        figure.fixed[0] + figure.fixed_spread[0]
    )
    # The other answers: the gap at half the trained length, and its growth beyond it, are larger.
    gaps = [a - f for a, f in zip(figure.attention, figure.fixed)]
    half = figure.lengths.index(12)
    assert gaps[0] < gaps[half] < max(gaps[figure.lengths.index(figure.trained_to) :])


@pytest.mark.slow
def test_the_training_has_few_sentences_of_twelve_words():
    drawn = generate(4_000, seed=0, max_len=bottleneck.TRAINED_TO)
    found = Counter(len(pair.source) for pair in drawn)
    assert 0.2 < found[12] / found[16] < 0.45


def test_the_grammar_has_about_a_thousand_english_words():
    known = Translator.load("toy").vocabularies.source  # of 40,000 pairs of the grammar's
    assert 950 < len(known) - len(SPECIALS) < 1_050


def test_an_unknown_measurement_is_refused_by_name():
    with pytest.raises(ValueError, match="expected one of additive, bottleneck"):
        measured("botleneck")
