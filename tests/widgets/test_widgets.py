"""Live figures in Python: they construct, say what is wrong, and store what the page needs."""

import copy
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from ipywidgets.embed import dependency_state, embed_data
from traitlets import TraitError

from seqattn import CoverageAttention, alignment_error_rate, widgets
from seqattn.data import TINY, measured
from seqattn.metrics import bleu_from_counts, bootstrap_bleu, sentence_counts
from seqattn.models import ModelConfig, build_model
from tests.widgets.figures import FIGURES, agrees

ROOT = Path(__file__).resolve().parents[2]
COUNTS = torch.tensor(
    [[5, 5, 3, 2, 1, 1, 5, 4, 3, 2], [4, 5, 4, 3, 2, 1, 4, 3, 2, 1], [6, 6, 2, 1, 1, 0, 6, 5, 4, 3]]
)
every_figure = pytest.mark.parametrize("make", FIGURES.values(), ids=FIGURES)


def softmax(scores, temperature=1.0):
    e = np.exp((np.asarray(scores) - np.max(scores)) / temperature)
    return e / e.sum()


def test_every_public_figure_is_under_test():
    assert set(FIGURES) == set(widgets.__all__) - {"LiveFigure"}


@every_figure
def test_a_figure_that_has_not_run_says_so_in_a_sentence(make):
    figure = make()
    assert re.fullmatch(r"A live figure\. .*run the cell above.*, or Run All\.", repr(figure))
    assert len(repr(figure)) <= 110  # else ipywidgets 7 cuts the sentence


@every_figure
def test_a_misspelt_option_is_refused(make, monkeypatch):
    build = widgets.LiveFigure.__init__
    handed_on = lambda self, **options: build(self, captoin="Move it.", **options)
    monkeypatch.setattr(widgets.LiveFigure, "__init__", handed_on)
    with pytest.raises(TypeError, match="takes no option 'captoin'; did you mean caption"):
        make()


@every_figure
def test_numbers_are_plain_and_the_same_each_time(make):
    agrees(make().numbers(), make().numbers())
    assert "nan" not in str(make().numbers()).lower()


@every_figure
def test_no_trait_has_a_name_that_widgets_reserve(make):
    ours = [c for c in type(make()).__mro__ if c.__module__.startswith("seqattn")]
    assert not {"keys", "comm", "model_id"} & {name for c in ours for name in vars(c)}


@every_figure
def test_what_a_page_stores_of_a_figure_is_small(make):
    figure = make()
    state = embed_data([figure], state=dependency_state([figure], drop_defaults=False))
    # With its script and style: a notebook holds both per figure, and one of these five models.
    assert len(str(state)) < 85_000


@every_figure
def test_a_question_has_a_right_answer_among_its_options(make):
    asked = make().predict
    if asked:
        assert 0 <= asked["answer"] < len(asked["options"])
        assert len(asked["explain"]) == len(asked["options"])


@every_figure
def test_start_remembers_what_the_reader_moves(make):
    figure = make()
    assert figure.start == {name: getattr(figure, name) for name in type(figure)._moves}


def test_values_set_in_python_change_the_numbers():
    figure = widgets.SoftmaxTemperature([0.0, math.log(3.0)], ["a", "b"])
    agrees(figure.numbers()["weights"], [0.25, 0.75])
    figure.mask = [True, False]
    agrees(figure.numbers()["weights"], [1.0, 0.0])


def test_what_how_to_use_says_of_traits_works_as_it_stands(capsys):
    text = (ROOT / "chapters" / "how_to_use.md").read_text(encoding="utf-8")
    names = {}
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], names)
    figure = names["figure"]
    agrees(figure.scores, (TINY.h @ TINY.s).tolist())
    assert str(figure.numbers()["weights"]) in capsys.readouterr().out
    names["slider"].value = 2.5
    assert figure.temperature == 2.5
    assert capsys.readouterr().out == "2.5\n"
    with pytest.raises(TraitError, match="scores has 2 entries; expected 3, one for each of"):
        figure.scores = torch.zeros(2)
    assert set(figure.start) == {"scores", "temperature", "mask"}


def test_a_target_set_in_a_cell_brings_its_scores_and_a_moved_score_leaves_it():
    figure = widgets.WeightedSum()
    figure.target = "tapis"
    assert figure.scores == dict(figure.targets)["tapis"]
    assert figure.numbers()["target"] == "tapis"
    figure.scores = [0.0] * 6
    assert figure.numbers()["target"] == ""


def test_softmax_numbers_match_the_formulas():
    scores = [0.7, -1.1, 2.3, 0.2, 1.9]
    shown = widgets.SoftmaxTemperature(scores, temperature=0.6).numbers()
    weights = softmax(scores, 0.6)
    agrees(shown["weights"], weights.tolist())
    agrees(shown["entropy"], float(-(weights * np.log(weights)).sum()))
    agrees(shown["effective_positions"], math.exp(shown["entropy"]))


def test_paired_draws_are_the_chapters_bootstrap():
    stored = measured("seeds")
    a, b = (sentence_counts(t, stored["references"]) for t in stored["texts"]["whole"][:2])
    figure = widgets.PairedDraws({"a": a, "b": b})
    for n, size in ((400, 3), (100, 1)):
        figure.size = size
        drawn = [bootstrap_bleu(c[:n], draws=200).numpy() for c in (a, b)]
        own = bootstrap_bleu(b[:n], draws=200, seed=1).numpy()
        for paired, other in ((True, drawn[1]), (False, own)):
            figure.paired = paired
            shown = figure.numbers()
            variances = [np.var(x, ddof=1) for x in (drawn[0], other)]
            variance = sum(variances) - 2 * np.cov(drawn[0], other)[0, 1]
            assert shown["plus_minus_difference"] == pytest.approx(1.96 * variance**0.5, abs=0.01)
            assert shown["plus_minus"] == pytest.approx(1.96 * np.sqrt(variances), abs=0.01)
        scores = [bleu_from_counts(c[:n].sum(0)).item() for c in (a, b)]
        assert shown["scores"] == pytest.approx(scores, abs=1e-3)
        assert shown["difference"] == pytest.approx(scores[1] - scores[0], abs=1e-3)


@pytest.mark.parametrize("baseline", ["mean reward", "best"])
def test_two_clouds_show_the_gradient_and_the_variance_of_all_choices(baseline):
    figure = widgets.TwoClouds(rewards=[2.0, -1.0, 0.5], shift=3.0, baseline=baseline, draws=2)
    shown, r = figure.numbers(), np.array([5.0, 2.0, 3.5])
    weights = softmax(np.array(figure.scores))
    slopes = np.eye(3) - weights
    estimates = {
        "without": r[:, None] * slopes,
        "with": (r - shown["baseline"])[:, None] * slopes,
    }
    for name, each in estimates.items():
        agrees(shown["gradient"], (weights @ each).tolist())
        variance = weights @ ((each - weights @ each) ** 2).sum(1) / 4
        agrees(shown[f"noise_{name}"], math.sqrt(variance))
        # 600 draws: their mean lies within a few standard errors of the gradient.
        away = np.abs(np.array(shown[f"mean_{name}"]) - shown["gradient"]).max()
        assert away < 4 * shown[f"noise_{name}"] / math.sqrt(150)
    assert shown["noise_with"] < shown["noise_without"] / 2


def test_penalties_move_a_row_to_a_corner_to_the_middle_or_nowhere():
    ends = {
        (penalty, factor): widgets.PenaltyPath(penalty=penalty, factor=factor, steps=100).numbers()
        for penalty in ("entropy", "1 − Σα²", "Σ|α|")
        for factor in (-1.0, 1.0)
    }
    for (penalty, factor), shown in ends.items():
        if penalty == "Σ|α|":
            agrees(shown["weights"], shown["first_weights"])
        elif factor > 0:
            assert max(shown["weights"]) > 0.99
        else:
            assert max(shown["weights"]) - min(shown["weights"]) < 0.01


def test_with_every_position_masked_all_numbers_are_zero():
    shown = widgets.SoftmaxTemperature(mask=[False] * 5).numbers()
    assert shown["weights"] == [0.0] * 5
    assert shown["entropy"] == shown["effective_positions"] == 0.0
    assert shown["largest"] == "none"


def test_weighted_sum_gives_the_context_of_the_formula():
    figure = widgets.WeightedSum()
    weights = softmax(figure.scores)
    agrees(figure.numbers()["context"], (weights @ np.array(figure.values)).tolist())


def test_hard_lookup_returns_one_value_and_soft_a_mixture():
    agrees(widgets.SoftLookup(hard=True, angle=80.0).numbers()["output"], 20.0)
    soft = widgets.SoftLookup(angle=80.0).numbers()["output"]
    assert 10.0 < soft < 40.0
    sharp = widgets.SoftLookup(angle=80.0, temperature=0.001).numbers()["output"]
    agrees(sharp, 20.0)


def test_a_kernel_smoother_is_the_nadaraya_watson_estimator():
    figure = widgets.KernelSmoother(position=1.3, bandwidth=0.4)
    x, y = np.array(figure.x), np.array(figure.y)
    kernel = np.exp(-((1.3 - x) ** 2) / (2 * 0.4**2))
    agrees(figure.numbers()["prediction"], float((kernel * y).sum() / kernel.sum()))


def test_additive_steps_show_each_step_of_the_formula():
    shown = widgets.AdditiveSteps().numbers()
    W_q, W_k, v, s, h = (x.numpy() for x in (TINY.W_q, TINY.W_k, TINY.v, TINY.s, TINY.h))
    for i in range(3):
        inside = W_q @ s + W_k @ h[i]
        agrees(shown["sums"][i], inside.tolist())
        agrees(shown["tanh"][i], np.tanh(inside).tolist())
        agrees(shown["scores"][i], float(v @ np.tanh(inside)))
    agrees(shown["weights"], softmax(shown["scores"]).tolist())


def test_a_stuck_decoder_reads_on_by_coverage_alone_and_stays_without():
    stuck = widgets.CoverageSteps(w_c=(-1.0, -2.0), step=3).numbers()
    by_hand = [[0.52, 0.32, 0.16], [0.28, 0.46, 0.26], [0.29, 0.31, 0.40]]
    np.testing.assert_allclose(stuck["weights"], by_hand, atol=0.005)
    np.testing.assert_allclose(stuck["coverage"], [1.09, 1.09, 0.82], atol=0.005)
    np.testing.assert_allclose(stuck["losses"], [0, 0.77, 1.0], atol=0.005)
    layer = CoverageAttention(2, 2, 2).double()
    with torch.no_grad():
        layer.w_c.copy_(torch.tensor([-1.0, -2.0]))
        for name, value in (("W_q", TINY.W_q), ("W_k", TINY.W_k), ("v", TINY.v)):
            getattr(layer.attention.score, name).copy_(value)
    found = layer(TINY.s.expand(1, 3, 2), TINY.keys)
    np.testing.assert_allclose(stuck["weights"], found.weights[0].detach(), atol=1e-12)
    still = widgets.CoverageSteps(step=3).numbers()
    assert still["weights"][0] == still["weights"][1] == still["weights"][2]


def test_a_word_that_stands_twice_is_copied_by_both_weights():
    figure = widgets.CopyMixture(["ada", "le", "ada"], [0.0, 0.0, 0.0], gate=0.25)
    mixture = dict(zip(figure.extended, figure.numbers()["mixture"], strict=True))
    assert mixture["ada"] == pytest.approx(0.75 * 2 / 3)
    assert mixture["le"] == pytest.approx(0.25 * 0.2 + 0.75 / 3)
    assert sum(mixture.values()) == pytest.approx(1)


def test_the_query_matters_by_the_cube_of_the_scale():
    small, smaller = (widgets.LinearRegime(scale=x).numbers() for x in (0.1, 0.01))
    ratio = small["max_difference"] / smaller["max_difference"]
    assert 900 < ratio < 1100
    assert smaller["relative_difference"] < small["relative_difference"] / 90


def test_influence_on_the_last_state_falls_by_orders_of_magnitude():
    norms = widgets.Recency().numbers()["values"]
    assert norms[-1] == 1.0
    assert norms[0] < 1e-5
    assert norms == sorted(norms)


def test_recency_leaves_the_random_state_alone():
    before = torch.get_rng_state()
    widgets.Recency()
    assert torch.equal(torch.get_rng_state(), before)


def test_misfit_words_are_counted_on_the_longest_common_subsequence():
    example = dict(source="s", reference="a b c d", fixed="a x c", attention="a b c d")
    figure = widgets.FixedVersusDynamic([3], fixed=[1], attention=[2], examples=[example])
    shown = figure.numbers()
    assert (shown["fixed_wrong_words"], shown["fixed_missing_words"]) == (1, 2)
    assert (shown["attention_wrong_words"], shown["attention_missing_words"]) == (0, 0)


@pytest.mark.parametrize("order", ["bahdanau", "luong", "luong, no feeding"])
def test_unrolled_asks_with_the_state_of_its_order(order):
    figure = widgets.Unrolled("the small king eats", orders=[order], phases=["decode"])
    stored = measured("unrolled")
    w = {k: torch.tensor(v) for k, v in stored["models"][order]["weights"].items()}
    events = figure.runs[order]["decode"]["words"]
    figure.event = 4 * (6 if order != "bahdanau" else 5)  # the first event of step 5
    assert figure.numbers()["step"] == len(events) == 5
    run = figure.runs[order]["decode"]
    s, h = (torch.tensor(run[k]) for k in ("decoder_states", "states"))
    if order == "bahdanau":  # the state before, by the additive score
        W_q, W_k, v = (w[f"decoder.attention.score.{k}"] for k in ("W_q", "W_k", "v"))
        expected = torch.tanh((s[:-1] @ W_q.T)[:, None] + h @ W_k.T) @ v
    else:  # the state after, by the general score
        expected = s[1:] @ w["decoder.attention.score.W"] @ h.T
    torch.testing.assert_close(torch.tensor(run["scores"]), expected, atol=5e-3, rtol=0)
    agrees(figure.numbers()["weights"], softmax(run["scores"][4]).tolist())


def test_unrolled_shows_what_a_transformer_computes():
    torch.manual_seed(0)
    config = ModelConfig("transformer", d_hidden=10, heads=1, d_feedforward=7, dropout=0.0)
    model = build_model(config, 7, 8)
    before = copy.deepcopy(model.state_dict())
    names = ["<pad>", "<bos>", "<eos>", "<unk>", "a", "b", "c", "d"]
    figure = widgets.Unrolled.of(model, [4, 5, 6], [7, 4], ["x", "y", "z"], names, phase="train")
    logits, weights = model(torch.tensor([[4, 5, 6]]), torch.tensor([3]), torch.tensor([[1, 7, 4]]))
    losses = torch.nn.functional.cross_entropy(logits[0], torch.tensor([7, 4, 2]), reduction="none")
    shown = figure.numbers()
    assert shown["losses"] == pytest.approx(losses.tolist(), abs=1e-4)
    assert shown["loss_after"] < shown["loss"]
    assert len(shown["gradients_of_decoder_states"]) == len(shown["gradients_of_embeddings"]) == 3
    run = figure.runs["transformer"]["train"]
    seen = torch.tensor(run["scores"]).softmax(-1)
    torch.testing.assert_close(seen, weights[0], atol=1e-3, rtol=0)
    best = logits[0].softmax(-1).max(-1)
    assert [row[0][0] for row in run["likely"]] == [names[i] for i in best.indices]
    assert torch.tensor(run["back"]).triu(1).abs().max() == 0
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())


@pytest.mark.parametrize(
    ("options", "got"),
    [
        ({"layers": 2}, "2 layers, 1 heads, pre norm, added positions"),
        ({"heads": 2}, "1 layers, 2 heads"),
        ({"norm": "post"}, "post norm"),
        ({"positions": "rotary"}, "other positions"),
        ({"positions": "none"}, "other positions"),
    ],
)
def test_unrolled_refuses_a_transformer_that_it_cannot_draw(options, got):
    config = ModelConfig("transformer", **{"d_hidden": 4, "heads": 1, "d_feedforward": 3} | options)
    model = build_model(config, 7, 8)
    with pytest.raises(ValueError, match=f"expected a Transformer of one layer .* got .*{got}"):
        widgets.Unrolled.of(model, [4, 5], [7], ["x", "y"], list("abcdefgh"))


@pytest.mark.parametrize(
    ("architecture", "options", "got"),
    [
        ("bahdanau", {"cell": "lstm"}, "Got LSTM, AdditiveScore"),
        ("bahdanau", {"score": "general"}, "Got GRU, GeneralScore"),
        ("luong", {"score": "dot", "bidirectional": False}, "Got GRU, DotScore, TanhReadout"),
        ("luong", {"score": "general", "readout": "maxout"}, "Got GRU, .*, MaxoutReadout"),
        ("fixed", {"cell": "lstm"}, "Got LSTM"),
        ("fixed", {"feed_summary": False}, "Got GRU, no summary at every step"),
    ],
)
def test_unrolled_refuses_a_model_that_its_formulas_do_not_describe(architecture, options, got):
    sizes = {"d_embed": 3, "d_hidden": 4, "dropout": 0.0}
    model = build_model(ModelConfig(architecture, **sizes, **options), 7, 8)
    with pytest.raises(ValueError, match=got):
        widgets.Unrolled.of(model, [4, 5], [7], ["x", "y"], list("abcdefgh"))


@pytest.mark.parametrize(
    ("architecture", "options", "order"),
    [
        ("fixed", {}, "none"),
        ("luong", {"score": "general"}, "luong"),
        ("luong", {"score": "general", "input_feeding": False}, "luong, no feeding"),
    ],
)
def test_unrolled_takes_every_model_that_its_formulas_describe(architecture, options, order):
    sizes = {"d_embed": 3, "d_hidden": 4, "dropout": 0.0}
    model = build_model(ModelConfig(architecture, **sizes, **options), 7, 8)
    figure = widgets.Unrolled.of(model, [4, 5], [7], ["x", "y"], list("abcdefgh"))
    assert figure.orders == [order]


def test_unrolled_shows_the_training_step_of_the_model_that_it_was_given():
    torch.manual_seed(0)
    model = build_model(ModelConfig("bahdanau", d_embed=3, d_hidden=11, dropout=0.0), 7, 8)
    before = copy.deepcopy(model.state_dict())
    names = ["<pad>", "<bos>", "<eos>", "<unk>", "a", "b", "c", "d"]
    figure = widgets.Unrolled.of(model, [4, 5, 6], [7, 4], ["x", "y", "z"], names, phase="train")
    shown = figure.numbers()
    logits = model(torch.tensor([[4, 5, 6]]), torch.tensor([3]), torch.tensor([[1, 7, 4]])).logits
    losses = torch.nn.functional.cross_entropy(logits[0], torch.tensor([7, 4, 2]), reduction="none")
    assert shown["losses"] == pytest.approx(losses.tolist(), abs=1e-4)
    assert shown["loss_after"] < shown["loss"]
    assert len(figure.runs["bahdanau"]["train"]["states"][0]) == 8 < 22  # what is drawn of a state
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())


def test_a_figure_without_data_says_that_its_numbers_are_invented():
    assert "not a measurement" in widgets.FixedVersusDynamic().note
    measured = widgets.FixedVersusDynamic([3], fixed=[1], attention=[2], note="measured")
    assert measured.note == "measured"


def map_reader(sure, **options):
    return widgets.MapReader(torch.eye(2), ["a", "<eos>"], ["b", "<eos>"], sure, **options)


def test_what_a_figure_cannot_count_is_no_number_below_zero():
    assert "aer_test" not in map_reader([(0, 0)]).numbers()
    assert widgets.SparseReach("blocks").numbers()["layers_to_connect"] == "never"
    heads = FIGURES["HeadsExplorer"]()
    heads.kind, heads.score = "target", "next place"
    assert not {"scores", "score_of_this_head"} & set(heads.numbers())


@pytest.mark.parametrize("merge", [False, True])
def test_a_shifted_map_gives_its_rows_to_the_next_words(merge):
    figure = FIGURES["MapReader"]()
    figure.merge = merge
    still = figure.numbers()
    figure.shift = 2
    moved = figure.numbers()
    assert moved["map"][2:] == still["map"][:-2]
    assert sum(map(sum, moved["map"][:2])) == 0
    assert moved["aer_test"] == figure.rates["rows"][0][4]
    links = {tuple(link) for link in moved["links"]}
    sure, possible = ({tuple(link) for link in x} for x in (figure.sure, figure.possible))
    assert moved["aer"] == alignment_error_rate([links], [sure], [possible])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: widgets.SoftmaxTemperature(temperature=0.0), "temperature is 0.0; expected"),
        (lambda: widgets.SoftmaxTemperature([1.0], ["a", "b"]), "scores has 1 entries; expected 2"),
        (lambda: widgets.SoftmaxTemperature(mask=[True]), "mask has 1 flags"),
        (lambda: widgets.WeightedSum(target="chien"), "target is 'chien'; expected one of"),
        (lambda: widgets.WeightedSum(words=["a"], scores=[0.0]), "values has 6 states"),
        (lambda: widgets.WeightSurgery(["a"], {"A": [1]}, {"B": [1]}), "own has weights of"),
        (lambda: widgets.WeightSurgery(["a"], {"A": []}, {"A": [1]}), "'A' has 0 numbers"),
        (lambda: widgets.SoftLookup(names=["a"]), "there are 4 key vectors; expected 1"),
        (lambda: widgets.SoftLookup(temperature=-1.0), "temperature is -1.0"),
        (lambda: widgets.KernelSmoother(bandwidth=0.0), "bandwidth is 0.0"),
        (lambda: widgets.KernelSmoother([1.0], [1.0, 2.0]), "y has 2 entries; expected 1"),
        (lambda: widgets.AdditiveSteps(words=["a"]), "there are 3 states; expected 1"),
        (lambda: widgets.CoverageSteps(words=["a"]), "there are 3 states; expected 1"),
        (lambda: widgets.CopyMixture(scores=[1.0]), "scores has 1 entries; expected 3"),
        (lambda: widgets.LinearRegime(scale=0.0), "scale is 0.0"),
        (lambda: widgets.LinearRegime(queries=[(1.0, 2.0)]), "there are 1 queries; expected 2"),
        (lambda: widgets.Recency({}), "series is empty"),
        (lambda: widgets.Recency({2: [-1.0, 1.0]}), "expected 2 numbers above 0"),
        (lambda: map_reader([(0, 2)]), r"gold links are \[\(0, 2\)\]; expected at least one sure"),
        (lambda: map_reader([]), "expected at least one sure link"),
        (lambda: map_reader([(0, 0)], source_words=[0, 2]), "without gaps"),
        (lambda: map_reader([(0, 0)], rates={"rows": [[0.1] * 5] * 4}), "rates are given for"),
        (lambda: map_reader([(0, 0)], way="diagonal"), "way 'diagonal'; expected"),
        (lambda: widgets.MapReader([[1.0]], ["a", "b"], ["c"], [(0, 0)]), r"shape \(1, 1\)"),
        (lambda: widgets.MapThroughTraining({}, ["a"], ["b"]), "maps is empty"),
        (
            lambda: widgets.MapThroughTraining({5: [[1.0]]}, ["a", "b"], ["c"]),
            r"after 5 updates has the shape \(1, 1\); expected \(1, 2\)",
        ),
        (
            lambda: widgets.SoftmaxTemperature(
                predict=dict(question="?", options=["a"], answer=0, explain="", tests="width")
            ),
            r"predict\['tests'\] is 'width'; expected one of the controls \['scores'",
        ),
        (lambda: widgets.TwoClouds([1.0, 2.0], ["a", "b"]), "labels has 2 entries; expected 3"),
        (lambda: widgets.TwoClouds(draws=7), "draws is 7; expected an exponent of two"),
        (
            lambda: widgets.TwoClouds(baseline="median"),
            "baseline is 'median'; expected one of mean",
        ),
        (lambda: widgets.TwoClouds(shift=-1.0), "shift is -1.0; expected a number from 0 to 10"),
        (lambda: widgets.PenaltyPath([1.0], ["a"]), "labels has 1 entries; expected 3"),
        (lambda: widgets.PenaltyPath(penalty="L1"), "penalty is 'L1'; expected one of entropy"),
        (lambda: widgets.PenaltyPath(factor=2.0), "factor is 2.0; expected a number from -1 to 1"),
        (lambda: widgets.PenaltyPath(steps=101), "steps is 101; expected a number from 0 to 100"),
        (lambda: widgets.EditCost(["le chat"], edit="caps"), "edit is 'caps'; expected one of cap"),
        (lambda: widgets.EditCost(["le chat"], share=7), "share is 7; expected one of 0, 20"),
        (lambda: widgets.EditCost(["un chat dort"]), "no sentence is changed by 'not dropped'"),
        (lambda: widgets.PairedDraws({"a": COUNTS}), "counts has 1 systems; expected two or more"),
        (
            lambda: widgets.PairedDraws({"a": COUNTS, "b": COUNTS[:2]}),
            r"the systems have \[2, 3\] sentences; expected equally many",
        ),
        (
            lambda: widgets.PairedDraws({"a": COUNTS, "b": COUNTS}, sizes=(2, 4)),
            r"sizes is \(2, 4\); expected growing numbers from 2 to 3",
        ),
        (
            lambda: widgets.PairedDraws({"a": COUNTS, "b": COUNTS}, sizes=(2, 3), against="a"),
            "against is 'a'; expected one of b",
        ),
        (
            lambda: widgets.PairedDraws({"a": COUNTS, "b": COUNTS}, sizes=(2, 3), size=2),
            "size is 2; expected a place in sizes, 0 to 1",
        ),
        (lambda: widgets.Unrolled("the purple cat"), "words holds 'purple'; expected words of"),
        (lambda: widgets.Unrolled(target="le chat miaule"), "target holds 'miaule'"),
        (lambda: widgets.Unrolled(orders=["keras"]), "orders holds 'keras'; expected some of"),
        (lambda: widgets.Unrolled(phases=["decode"], phase="train"), "phase holds 'train'"),
        (
            lambda: widgets.FixedVersusDynamic([1, 2], fixed=[1], attention=[1, 2]),
            "fixed has 1 entries; expected 2",
        ),
        (
            lambda: widgets.SoftmaxTemperature(predict={"question": "?"}),
            r"predict has the entries \['question'\]",
        ),
        (
            lambda: widgets.SoftmaxTemperature(
                predict=dict(question="?", options=["a"], answer=1, explain="")
            ),
            r"predict\['answer'\] is 1",
        ),
        (
            lambda: widgets.SoftmaxTemperature(
                predict=dict(question="?", options=["a"], answer=0, explain=["x", "y"])
            ),
            r"predict\['explain'\] has 2 texts",
        ),
    ],
)
def test_errors_say_what_came_and_what_was_expected(build, message, unchecked):
    with pytest.raises(ValueError, match=message):
        build()


def test_a_class_that_a_figure_gives_itself_means_nothing_to_the_page():
    root = Path(__file__).parents[2]
    code = (root / "seqattn" / "widgets" / "core.js").read_text(encoding="utf-8")
    sheet = (root / "_assets" / "seqattn.css").read_text(encoding="utf-8")
    given = re.findall(r'root\.classList\.\w+\("([\w-]+)"', code)
    assert given
    assert [name for name in given if re.search(rf"\.{name}\b", sheet)] == []
