"""What chapters 18 to 20 claim, and no test of the package covers."""

import ast
import dis
import itertools
import json
import math
import random
import re
import statistics
import types
from collections import Counter
from pathlib import Path

import pytest
import torch
import typer
from torch.utils.flop_counter import FlopCounterMode
from typer.testing import CliRunner

from benchmarks import additive, contest, order
from seqattn import Attention, DotScore, coverage_loss
from seqattn.cli import app as cli
from seqattn.data import (
    Batches,
    CorpusConfig,
    TextPair,
    Vocabularies,
    encode_pairs,
    measured,
    read_split,
    tokenize,
    toy_by_length,
)
from seqattn.evaluation import alignment_links
from seqattn.metrics import (
    alignment_error_rate,
    attention_entropy,
    corpus_bleu,
    corpus_chrf,
    symmetrize,
)
from seqattn.models import ModelConfig, build_model, guess_frequencies
from seqattn.specials import BOS, UNK
from seqattn.training import cross_entropy
from seqattn.translator import Translator

pytestmark = pytest.mark.slow  # models are trained and read, corpora drawn

CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"
NAMES = ("18_build", "19_judge", "20_study")
WORDS = ["le", "chat", "noir", "dort", "sur", "tapis"]


def bleu(hypotheses, references):
    """BLEU of whole corpora, from the formula."""
    matched, counted, written, wanted = Counter(), Counter(), 0, 0
    for hypothesis, reference in zip(hypotheses, references):
        ours, theirs = hypothesis.split(), reference.split()
        written, wanted = written + len(ours), wanted + len(theirs)
        for n in (1, 2, 3, 4):
            found, there = (
                Counter(tuple(side[i : i + n]) for i in range(len(side) - n + 1))
                for side in (ours, theirs)
            )
            matched[n] += sum((found & there).values())
            counted[n] += sum(found.values())
    mean = math.prod(matched[n] / counted[n] for n in (1, 2, 3, 4)) ** (1 / 4)
    return 100 * min(1.0, math.exp(1 - wanted / written)) * mean


def test_bleu_is_the_formula():
    rng = random.Random(0)
    references = [" ".join(rng.choices(WORDS, k=rng.randint(5, 12))) for _ in range(20)]
    hypotheses = []
    for text in references:
        words = text.split()[: rng.choice((4, 9, 12))]
        changed = [word if rng.random() < 0.8 else rng.choice(WORDS) for word in words]
        hypotheses.append(" ".join(changed))
    found = corpus_bleu(hypotheses, references).score
    assert found == pytest.approx(bleu(hypotheses, references))
    assert 10 < found < 90


def chrf(hypotheses, references, beta=2):
    """Give chrF of whole corpora, from the formula."""
    shares = []
    for n in range(1, 7):
        matched = written = wanted = 0
        for hypothesis, reference in zip(hypotheses, references):
            found, there = (
                Counter(text[i : i + n] for i in range(len(text) - n + 1))
                for text in (hypothesis.replace(" ", ""), reference.replace(" ", ""))
            )
            matched += sum((found & there).values())
            written += sum(found.values())
            wanted += sum(there.values())
        shares.append((matched / written, matched / wanted))
    P, R = (sum(side) / 6 for side in zip(*shares))
    return 100 * (1 + beta**2) * P * R / (beta**2 * P + R)


def test_chrf_is_the_formula():
    rng = random.Random(1)
    references = [" ".join(rng.choices(WORDS, k=rng.randint(5, 12))) for _ in range(20)]
    hypotheses = [text.replace("chat", "chats").removesuffix("sur") for text in references]
    found = corpus_chrf(hypotheses, references).score
    assert found == pytest.approx(chrf(hypotheses, references))
    assert 50 < found < 99


def test_bleu_by_hand():
    hypothesis, reference = "le chat noir dort sur le lit", "le chat blanc dort sur le lit"
    ours, theirs = hypothesis.split(), reference.split()
    shares = []
    for n in (1, 2, 3, 4):
        found, there = (
            Counter(tuple(s[i : i + n]) for i in range(len(s) - n + 1)) for s in (ours, theirs)
        )
        shares.append((sum((found & there).values()), sum(found.values())))
    assert shares == [(6, 7), (4, 6), (2, 5), (1, 4)]
    assert corpus_bleu([hypothesis], [reference]).score == pytest.approx(48.9, abs=0.05)


def test_the_loss_by_hand():
    logits = torch.tensor([[[0.25, 0.5, 0.25]]]).log()
    target = torch.tensor([[1]])
    assert cross_entropy(logits, target).total.item() == pytest.approx(0.693, abs=5e-4)
    smoothed = cross_entropy(logits, target, smoothing=0.3).total.item()
    assert smoothed == pytest.approx(0.832, abs=5e-4)
    on_paper = 0.7 * 0.693 + 0.1 * (0.693 + 1.386 + 1.386)
    assert on_paper == pytest.approx(0.832, abs=5e-4)


def test_entropies_of_different_lengths_as_shares():
    assert 0.3 / math.log(5) == pytest.approx(0.19, abs=0.005)
    assert 0.5 / math.log(40) == pytest.approx(0.14, abs=0.005)


def test_sorting_by_length_saves_most_of_the_padding():
    pairs = read_split(CorpusConfig(pairs=2_000), "train")
    vocabularies = Vocabularies.learn(pairs, ("en", "fr"))
    batches = Batches(encode_pairs(pairs, vocabularies), tokens=256)

    def padding(found):
        return 1 - sum(b.tokens for b in found) / sum(b.targets.numel() for b in found)

    rows = [range(i, min(i + 32, len(pairs))) for i in range(0, len(pairs), 32)]
    at_random = list(map(batches.take, rows))
    assert padding(list(batches.epoch(0))) < 0.05 < 0.15 < padding(at_random)


def test_rows_sum_to_one_in_expectation_only_under_dropout():
    torch.manual_seed(0)
    attention = Attention(DotScore(), dropout=0.2)
    queries, keys = torch.randn(1, 5_000, 3), torch.randn(1, 7, 3)
    used = attention(queries, keys, torch.eye(7)[None]).context.sum(-1)
    assert used.std() > 0.1
    assert used.mean().item() == pytest.approx(1.0, abs=0.02)
    assert torch.isclose(used.max(), used.max().clamp(max=1 / 0.8))


def cells(*names):
    """Give the cells of these chapters, or of all three."""
    texts = ((CHAPTERS / f"{name}.ipynb").read_text(encoding="utf-8") for name in names or NAMES)
    return [cell for text in texts for cell in json.loads(text)["cells"]]


def code_of(*names):
    return ["".join(c["source"]) for c in cells(*names) if c["cell_type"] == "code"]


def printed(marker):
    """Give what the cell with a line of code printed when the notebook was stored."""
    [cell] = [c for c in cells() if c["cell_type"] == "code" and marker in "".join(c["source"])]
    texts = (o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell["outputs"])
    return "".join(map("".join, texts))


def test_the_table_of_long_runs_is_that_of_the_file():
    record, shown = measured("multi30k"), printed('measured("multi30k")')
    told = ("beam5", "beam5-2017-flickr", "beam5-2017-mscoco", "beam5-tokenized")
    found = [group["tests"][name] for group in record["groups"] for name in told
             if name in group["tests"]]  # fmt: skip
    signatures = {test["signature"].replace("|", " ") for test in found}
    assert shown.count("nrefs:") == len(signatures)
    assert all(signature in shown for signature in signatures)
    for group in record["groups"]:
        name = rf"^{group['preset']} {group['direction']}"
        [row] = re.findall(rf"{name} .*", shown, re.MULTILINE)
        cells = re.split(" {2,}", row)[1:]
        for cell, test in zip(cells, map(group["tests"].get, told), strict=True):
            if test is None:
                assert cell == "–"
            else:
                assert cell.startswith(f"{test['bleu']['mean']:.2f}")
                assert cell.endswith(f"({len(test['seeds'])})")


def test_one_penalty_was_chosen_on_validation_and_is_not_in_this_table():
    groups = measured("multi30k")["groups"]
    chosen = {g["preset"] for g in groups if any("alpha" in name for name in g["tests"])}
    assert chosen == {"transformer-tiny"}
    assert "α" not in printed('measured("multi30k")')


def test_every_model_is_in_the_last_table():
    shown = printed('"BLEU, three seeds; the copyist has none"')
    for name in contest.MODELS:
        row = rf"^{name} +0\.\d+(?: +\d+\.\d to \d+\.\d){{3}}$"
        assert len(re.findall(row, shown, re.MULTILINE)) == 1
    assert "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:" in shown


def test_the_stored_contest_is_of_these_models():
    stored = measured("contest")
    trained = [(row["model"], row["seed"]) for row in stored["contest"]]
    assert trained == list(itertools.product(contest.MODELS, (1, 2, 3)))
    long = stored["long"]
    assert trained == [(row["model"], row["seed"]) for row in long["test"]]
    assert long["best"] == contest.best_rates(long["contest"])
    assert all(row["lr"] == long["best"][row["model"]] for row in long["test"])
    asked = itertools.product(contest.PENALTY_RATES, (1, 2, 3))
    assert list(asked) == [(row["lr"], row["seed"]) for row in long["penalty"]]
    asked = itertools.product(contest.DROPOUT_LRS, ("0%", "30%"), (1, 2, 3))
    assert list(asked) == [(row["lr"], row["model"], row["seed"]) for row in stored["long_dropout"]]
    vocabularies = measured("order")["card"]["vocabularies"]
    for row in stored["contest"]:
        model = build_model(contest.MODELS[row["model"]], *vocabularies)
        assert sum(p.numel() for p in model.parameters()) == row["parameters"]
    groups = contest.growing_pairs()
    assert list(groups) == long["lengths"]["lengths"]
    firsts = [pairs[0].source for pairs in groups.values()]
    assert firsts == [text["source"] for text in long["lengths"]["texts"]]
    joined = [statistics.mean(map(contest.is_joined, pairs)) for pairs in groups.values()]
    assert joined == pytest.approx(long["lengths"]["joined"], abs=0.0051)


def test_the_sentences_that_grow_are_in_no_split():
    groups = contest.growing_pairs()
    assert {len(pairs) for pairs in groups.values()} == {40}
    drawn = {pair.source for pairs in groups.values() for pair in pairs}
    for split in ("train", "valid", "test"):
        assert drawn.isdisjoint(pair.source for pair in read_split(contest.CORPUS, split))


def test_both_kinds_of_the_study_of_dropped_weights_drop_features():
    kinds = contest.dropping()
    assert {config.attention_dropout for config in kinds.values()} == {0.0, 0.3}
    assert {config.dropout for config in kinds.values()} == {0.1}


def test_the_toy_training_has_no_sentence_above_twelve_words():
    train = read_split(contest.CORPUS, "train")
    assert max(len(tokenize(pair.source, "en")) for pair in train) == 12


@pytest.mark.parametrize("name", NAMES)
def test_a_page_of_the_capstone_is_no_longer_than_a_session(name):
    cells = json.loads((CHAPTERS / f"{name}.ipynb").read_text())["cells"]
    assert 20 <= len(cells) <= 35


def test_test_pairs_are_read_in_one_cell_of_each_page_and_not_while_building():
    reads = re.compile(r"""read_split\(corpus, "test"\)|long\["test"\]|split="test\"""")
    found = {name: sum(bool(reads.search(text)) for text in code_of(name)) for name in NAMES}
    assert found == {"18_build": 0, "19_judge": 1, "20_study": 1}


def test_the_stored_rules_are_those_of_the_corpus():
    found = contest.rules(*(read_split(contest.CORPUS, split) for split in ("valid", "train")))
    assert found == measured("contest")["rules"]


def test_the_copyist_of_chapter_18_has_that_chapters_pairs():
    corpus = CorpusConfig(pairs=20_000)
    copied = contest.copied_bleu(read_split(corpus, "valid"), read_split(corpus, "train"))
    shown = re.search(r"the nearest: validation BLEU ([\d.]+)", printed("copying the nearest"))
    assert float(shown[1]) == pytest.approx(copied, abs=0.05)


def test_maps_of_other_words_are_what_chance_does(monkeypatch):
    """One-hot rows: models and seeds differ in known rows; chance has another order of rows."""

    def maps(name, seed):
        """Row 0 is the model's, rows 1 and 2 the seed's; the others are all alike."""
        places = torch.arange(9)
        places[0] = 3 + (name == "two")
        places[1:3] = 4 + seed
        return torch.eye(12)[places]

    fake = types.SimpleNamespace(
        load=lambda folder: types.SimpleNamespace(
            force=lambda pairs: [types.SimpleNamespace(weights=maps(*folder))] * 5
        )
    )
    monkeypatch.setattr(contest, "Translator", fake)
    asked = list(itertools.product(("one", "two"), (1, 2, 3)))
    trials = [types.SimpleNamespace(name=a, seed=b, folder=(a, b)) for a, b in asked]
    found = {
        (row["first"], row["second"]): row["distances"] for row in contest.maps_apart(trials, [])
    }
    seeds, both = round(2 / 9, 4), round(3 / 9, 4)  # two rows of nine differ, or three
    assert {pair: apart for pair, apart in found.items() if pair[1] != "shuffled"} == {
        ("one", "one"): [seeds] * 3,
        ("one", "two"): [both] * 6,
        ("two", "two"): [seeds] * 3,
    }
    for name in ("one", "two"):
        assert len(found[name, "shuffled"]) == 3
        assert all(0.7 < value <= 1 for value in found[name, "shuffled"])


def test_test_sentences_that_are_one_word_away_are_shorter():
    train, test = (read_split(contest.CORPUS, split) for split in ("train", "test"))
    far = contest.far_from(train, test)
    near = [pair for pair in test if pair not in far]
    words = [statistics.mean(len(pair.source.split()) for pair in some) for some in (near, far)]
    assert len(near) > 100
    assert words[0] < 0.75 * words[1]


def test_the_best_rate_has_the_best_mean_of_its_seeds():
    rows = [
        {"model": name, "lr": lr, "bleu": bleu}
        for name, lr, values in (("a", 0.1, (1, 9)), ("a", 0.2, (6, 6)), ("b", 0.1, (3, 3)))
        for bleu in values
    ]
    assert contest.best_rates(rows) == {"a": 0.2, "b": 0.1}


def test_what_reads_no_source_is_scored_from_the_formula():
    """Frequencies with one added, from the counts; equal weights over all positions."""
    train = [TextPair("a b", "x x y"), TextPair("b", "y")]
    judged = [TextPair("a a a", "y z"), TextPair("b", "x")]
    found = contest.rules(judged, train)
    # Four special tokens, x and y; <eos> ends both; z is unknown.
    counts = {"x": 2 + 1, "y": 2 + 1, "<eos>": 2 + 1, "<unk>": 0 + 1}
    total = sum(counts.values()) + 2
    written = ["y", "<unk>", "<eos>", "x", "<eos>"]
    nats = -sum(math.log(counts[token] / total) for token in written) / len(written)
    assert found["frequencies"] == pytest.approx(math.exp(nats), rel=1e-4)
    lengths = [4, 4, 4, 2, 2]  # of each source with its <eos>, once for each token written
    assert found["equal"] == pytest.approx(statistics.mean(map(math.log, lengths)), abs=1e-4)


@pytest.fixture
def small_contest(tmp_path, monkeypatch):
    """Give what runs the whole command with few pairs, two models and two updates."""
    monkeypatch.setattr(contest, "CORPUS", contest.replace(contest.CORPUS, pairs=400))
    monkeypatch.setattr(contest, "FEW", contest.replace(contest.CORPUS, pairs=350))
    small = {"d_embed": 4, "d_hidden": 6}
    models = {"Bahdanau": ModelConfig(**small), "fixed vector": ModelConfig("fixed", **small)}
    monkeypatch.setattr(contest, "MODELS", models)
    monkeypatch.setattr(contest, "prepare_process", lambda: None)
    result = tmp_path / "contest.json"

    def run(*options):
        contest.main(["--work", str(tmp_path), "--result", str(result), "--steps", "2", *options])
        return json.loads(result.read_text())

    run.result = result
    return run


@pytest.mark.weekly  # two dozen processes
def test_the_contest_keeps_what_each_training_costs_and_asks_at_four_rates(small_contest):
    found = small_contest()
    assert {*found, "long", "long_dropout", "long_dropout_card"} == set(measured("contest"))
    for row in found["contest"]:
        assert row["seconds"] > 0
        assert row["memory"] > 0
    for row in found["dropout"]:
        assert row["gap"] == pytest.approx(row["perplexity"] / row["training"], rel=1e-3)
    rates = [(row["lr"], row["model"], row["seed"]) for row in found["rates"]]
    assert rates == [(lr, model, 0) for lr in contest.LEARNING_RATES for model in contest.MODELS]
    assert contest.BUDGET.lr in contest.LEARNING_RATES
    assert {row["seed"] for row in found["contest"]} == {1, 2, 3}


@pytest.mark.weekly  # eight processes
def test_rates_are_renewed_alone(small_contest):
    before = {"contest": "kept", "rates": "old"}
    small_contest.result.write_text(json.dumps(before))
    found = small_contest("--rates")
    assert found["contest"] == "kept"
    rates = [(row["lr"], row["model"]) for row in found["rates"]]
    assert rates == [(lr, model) for lr in contest.LEARNING_RATES for model in contest.MODELS]
    assert found["rates_card"]["command"].endswith("benchmarks.contest --rates --steps 2")


@pytest.mark.weekly  # four dozen processes
def test_longer_trainings_of_the_contest_are_looked_into(small_contest):
    small_contest.result.write_text(json.dumps({"contest": "kept"}))
    found, updates = small_contest("--long")["long"], 2 * contest.LONGER
    seen = {(row["lr"], row["model"], row["seed"]) for row in found["contest"]}
    assert len(seen) == len(found["contest"]) == len(contest.LONG_RATES) * 2 * 3
    assert set(measured("contest")["long"]) == set(found)
    assert json.loads(small_contest.result.read_text())["contest"] == "kept"
    assert all("far" in row for row in found["test"])
    assert [(row["model"], row["lr"]) for row in found["test"][::3]] == list(found["best"].items())
    assert found["card"]["updates"] == updates
    every = max(updates // contest.LOOKS, 1)
    for row in found["contest"]:
        assert len(row["curve"]) == -(-updates // every)
        assert row["bleu"] == pytest.approx(max(row["curve"]), abs=0.01)
    assert found["lengths"]["left"]["Bahdanau"] == [None] * 3  # of no BLEU at all
    # A second run finds all trainings, and all commands leave what is not theirs.
    assert small_contest("--long")["long"]["contest"] == found["contest"]
    every_one = [small_contest("--dropout"), small_contest()][-1]
    assert every_one["long"]["contest"] == found["contest"]
    assert set(measured("contest")) == set(every_one)
    dropped = [(row["lr"], row["model"]) for row in every_one["long_dropout"][::3]]
    assert dropped == list(itertools.product(contest.DROPOUT_LRS, ("0%", "30%")))
    for row in every_one["long_dropout"]:
        assert row["gap"] == pytest.approx(row["perplexity"] / row["training"], rel=1e-3)
    assert every_one["long_dropout_card"]["dropout_updates"] == updates // 2


SIZES = (31, 37)


def test_the_two_orders_differ_in_what_the_output_reads_alone():
    """Same first weights; the update reads the same context; the output reads another."""
    source, lengths = torch.tensor([[5, 9, 7, 2]]), torch.tensor([4])
    inputs = torch.tensor([[1, 8, 11, 5, 9]])
    for score, readout in (("additive", "maxout"), ("general", "tanh")):
        found = {}
        for name in order.ORDERS:
            torch.manual_seed(3)
            model = found[name] = order.build(score, name, readout, SIZES).eval()
            with torch.no_grad():
                for weights in model.parameters():
                    weights.mul_(4)  # as if trained: rows that are not uniform
        before, after = found["before"], found["after"]
        assert all(
            torch.equal(x, y) for x, y in zip(before.parameters(), after.parameters(), strict=True)
        )
        with torch.no_grad():
            early, late = (m(source, lengths, inputs) for m in (before, after))
        # Its state is the same, so what s_t asks for is what the other order asks for a step later.
        torch.testing.assert_close(late.weights[:, :-1], early.weights[:, 1:])
        assert (late.weights - early.weights).abs().max() > 0.01
        assert (late.logits - early.logits).abs().max() > 0.01


def test_the_study_of_score_and_order_holds_all_else_fixed():
    study = measured("order")
    rows = study["rows"]
    assert study["card"]["judged_on"] == "validation"
    settings = [tuple(row[name] for name in ("score", "order", "readout", "seed")) for row in rows]
    assert len(settings) == len(set(settings)) == 24
    assert len({row["lr"] for row in rows}) == 1
    sizes = [row["parameters"] for row in rows]
    assert max(sizes) - min(sizes) < 0.001 * min(sizes)
    vocabularies = study["card"]["vocabularies"]
    for row in rows:
        model = order.build(row["score"], row["order"], row["readout"], vocabularies)
        assert sum(p.numel() for p in model.parameters()) == row["parameters"]


def test_a_fresh_model_starts_at_the_uniform_loss_and_a_guess_at_the_entropy():
    pairs = read_split(CorpusConfig(pairs=2_000), "train")
    vocabularies = Vocabularies.learn(pairs, ("en", "fr"))
    examples = encode_pairs(pairs, vocabularies)
    torch.manual_seed(0)
    sizes = len(vocabularies.source), len(vocabularies.target)
    model = build_model(ModelConfig(d_embed=64, d_hidden=96), *sizes).eval()
    batches = list(Batches(examples, tokens=256).epoch(0))

    def loss():
        with torch.no_grad():
            found = [cross_entropy(model(b.source, b.lengths, b.inputs).logits, b.targets)
                     for b in batches]  # fmt: skip
        return (sum(f.total for f in found) / sum(f.tokens for f in found)).item()

    assert loss() == pytest.approx(math.log(sizes[1]), rel=0.02)
    guess_frequencies(model.decoder.vocabulary, [target for _, target in examples])
    counts = Counter(token for _, target in examples for token in target)
    total = sum(counts.values())
    entropy = -sum(n / total * math.log(n / total) for n in counts.values())
    assert loss() == pytest.approx(entropy, rel=0.02)
    assert entropy < 0.8 * math.log(sizes[1])


def test_the_decoder_does_most_of_the_work():
    model = build_model(ModelConfig(d_embed=64, d_hidden=96), 1020, 1809).eval()
    source, lengths = torch.randint(4, 1020, (8, 10)), torch.full((8,), 10)
    inputs = torch.randint(4, 1809, (8, 10))
    with FlopCounterMode(display=False) as whole, torch.no_grad():
        model(source, lengths, inputs)
    with FlopCounterMode(display=False) as head, torch.no_grad():
        model.encoder(source, lengths)
    # Not every product of PyTorch's own recurrent layers is counted: add them by hand.
    encoder = max(head.get_total_flops(), 2 * 80 * 2 * 3 * 96 * (64 + 96))
    assert whole.get_total_flops() - head.get_total_flops() > encoder


def test_a_mean_of_sharp_rows_is_less_sharp():
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(1, 50, 7, generator=generator).mul(3).softmax(-1)
    others = torch.randn(1, 50, 7, generator=generator).mul(3).softmax(-1)
    mixed = attention_entropy((rows + others) / 2)
    single = (attention_entropy(rows) + attention_entropy(others)) / 2
    assert (mixed >= single - 1e-6).all()
    assert mixed.mean() > single.mean() + 0.1


def test_the_minimum_tells_twice_at_one_word_from_once_at_two():
    twice = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]])
    once = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    assert coverage_loss(twice).item() > 0.4
    assert coverage_loss(once).item() == pytest.approx(0, abs=1e-6)


def test_the_doctor_finds_the_bug_that_was_put_in():
    shown = printed("findings = examine(translator)")
    assert "no attention on padding" in shown.split("with the bug:")[1]


@pytest.mark.parametrize("name", NAMES)
def test_the_notebook_is_stored_in_quick_mode(name):
    assert [text for text in code_of(name) if text.startswith("FULL = ")] == ["FULL = False"]


TRAIN = {"fit", "new_run", "run_trials", "shell"}  # and whatever loads weights from a folder


def names_of(code):
    """Give the names of the notebook that a piece reads and those that it makes."""
    read, made = set(), set()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
            read.add(step.argval)
        elif step.opname == "STORE_NAME":
            made.add(step.argval)
        elif isinstance(step.argval, types.CodeType):  # what a function of the notebook reads
            read |= names_of(step.argval)[0]
    return read, made


def trained_cells(sources):
    """Number the cells that print what hangs on a training: by the names that carry it."""
    held, found = set(), set()
    for number, text in enumerate(sources):
        parts = [
            part
            for whole in ast.parse(text).body
            for part in (whole.body + whole.orelse if isinstance(whole, ast.If) else [whole])
        ]
        for part in parts:
            read, made = names_of(compile(ast.Module([part], []), "a cell", "exec"))
            for loop in (node for node in ast.walk(part) if isinstance(node, ast.For)):
                read -= {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
            calls = {
                ast.unparse(node.func) for node in ast.walk(part) if isinstance(node, ast.Call)
            }
            made |= {name for name in read if {f"{name}.setdefault", f"{name}.append"} & calls}
            if isinstance(part, ast.Expr) and "fit" in calls:
                made |= {a.id for a in part.value.args if isinstance(a, ast.Name)}
            if not (read & (held | TRAIN) or "Translator.load" in calls):
                held -= made
                continue
            held |= made
            if not isinstance(part, ast.FunctionDef) and {"print", "shell", "ResultTable"} & calls:
                found.add(number)
    return found


def test_what_hangs_on_a_training_is_found_by_its_names():
    sources = [
        "model = build()\nprint(model)",
        "fit(model, pairs)\nprint(1)",
        "score = judge(model)",
        "def gain(x):\n    return x - score",
        "table = {}\nfor x in (1, 2):\n    table.setdefault(x, []).append(gain(x))",
        "for x in table:\n    print(x)",
        "model = build()\nprint(model)",
        "print(Translator.load(path))",
        "shell('seqattn doctor')",
    ]
    assert trained_cells(sources) == {5, 7, 8}


@pytest.mark.parametrize("name", ["18_build", "20_study"])
def test_what_a_training_prints_is_compared_with_nobodys_but_judged(name):
    code = [c for c in cells(name) if c["cell_type"] == "code"]
    printing = trained_cells("".join(c["source"]) for c in code)
    assert printing
    missing = [
        "".join(code[number]["source"])[:80]
        for number in sorted(printing)
        if "nbval-ignore-output" not in code[number]["metadata"].get("tags", [])
    ]
    assert not missing


@pytest.mark.parametrize("pairs", [8_000, 40_000])
def test_long_sentences_join_clauses_as_no_training_sentence_does(pairs):
    """So scores on the joints of trained lengths clear nothing beyond them."""
    longer = [p.source for p in toy_by_length(pairs) if len(p.source.split()) > 12]
    assert sum(", and " in source for source in longer) > 0.95 * len(longer)
    known = read_split(CorpusConfig("toy", "en", "fr", pairs=pairs), "train")
    assert not any(", and " in p.source for p in known)


def test_no_training_source_of_the_shipped_translator_has_an_unknown_word():
    words = Translator.load("toy").vocabularies.source
    known = read_split(CorpusConfig("toy", "en", "fr"), "train")
    assert not any(UNK in words.encode(p.source) for p in known)


def test_chapter_3_found_the_ranges_of_the_penalty_apart():
    """With more pairs and a larger factor than chapter 20."""
    stored = measured("additive")
    with_it, without = (
        [run["test"]["aer"] for run in stored["runs"][name]] for name in ("penalty", "none")
    )
    assert max(with_it) < min(without)
    assert contest.PENALTY < additive.PENALTY
    assert stored["card"]["pairs"] > contest.CORPUS.pairs
    # And what chapter 3 says of chapter 20: apart at two of three rates.
    long, lower = measured("contest")["long"], []
    for lr in contest.PENALTY_RATES:
        with_it, without = (
            [r["aer"] for r in long[part] if (r["model"], r["lr"]) == ("Bahdanau", lr)]
            for part in ("penalty", "contest")
        )
        assert len(with_it) == len(without) == 3
        lower.append(max(with_it) < min(without))
    assert sum(lower) == 2


def test_the_contests_maxout_is_smaller_than_the_studys():
    model = build_model(contest.MODELS["Bahdanau"], 50, 50)
    assert model.decoder.readout.d_features == 48
    assert model.decoder.attention.score.W_q.shape[0] == 96
    assert order.D_ATTN == 64
    assert order.D_READOUT["maxout"] == 80


def test_french_words_that_share_their_english_word():
    """And an English word that has no French word of its own."""
    shared, does, alone = set(), [], []
    for pair in read_split(CorpusConfig("toy", "en", "fr", pairs=8_000), "valid"):
        english, french = tokenize(pair.source, "en"), tokenize(pair.target, "fr")
        assert {j for _, j in pair.links} == set(range(len(french)))
        for i, word in enumerate(english):
            mine = [j for k, j in sorted(pair.links) if k == i]
            shared |= {(word, french[a], french[b]) for a, b in itertools.combinations(mine, 2)}
            alone += [len(mine) == 1 for j in mine if french[j] == "a"]
            if word == "does" and "est-ce" not in french:
                does.append(all(any(k != i and j in mine for k, j in pair.links) for j in mine))
    assert {("did", "est-ce", "que"), ("not", "ne", "pas")} <= shared
    assert len(alone) > 40
    assert sum(alone) < len(alone) / 2
    # Whatever it is linked with is the word of another one, too.
    assert len(does) > 5
    assert all(does)


def test_three_and_three_are_apart_by_luck_once_in_ten():
    """Of all ways to divide six values among two equal models."""
    ways = list(itertools.combinations(range(6), 3))
    apart = [a for a in ways if max(a) == 2 or min(a) == 3]
    assert len(apart) / len(ways) == 1 / 10


def test_the_readouts_differ_in_more_than_a_maximum():
    sizes = measured("order")["card"]["vocabularies"]
    found = {
        name: order.build("additive", "before", name, sizes).decoder.readout
        for name in order.READOUTS
    }
    torch.manual_seed(0)
    state, context = torch.randn(1, order.D_HIDDEN), torch.randn(1, found["tanh"].W_c.in_features)
    context = context[:, : -order.D_HIDDEN]
    for name, reads, size in (("maxout", True, 80), ("tanh", False, 96)):
        one, two = (found[name](state, context, torch.randn(1, order.D_EMBED)) for _ in range(2))
        assert torch.equal(one, two) is not reads
        assert one.shape[-1] == size
    assert found["maxout"].W.bias is not None
    assert found["tanh"].W_c.bias is None


@pytest.mark.weekly  # half a minute of one core
def links_by_the_formula(train, asked, rounds, *, reverse):
    """IBM Model 1 by the formula of chapter 19, with no links to the empty word."""
    sides = [(tokenize(p.source, "en"), tokenize(p.target, "fr")) for p in (*train, *asked)]
    if reverse:
        sides = [side[::-1] for side in sides]
    known, sources, key, owner = {}, {}, [], []
    for x, y in sides[: len(train)]:
        others = [sources.setdefault(word, len(sources)) for word in (None, *x)]
        for number, word in enumerate(y, start=owner[-1] + 1 if owner else 0):
            key += [known.setdefault((word, other), len(known)) for other in others]
            owner += [number] * len(others)
    pair_of, word_of = torch.tensor(key), torch.tensor(owner)
    source_of = torch.tensor([other for _, other in known])

    def added(votes, place):
        return votes.new_zeros(int(place.max()) + 1).index_add(0, place, votes)

    theta = torch.ones(len(known), dtype=torch.float64)
    for _ in range(rounds):
        votes = theta[pair_of]
        counts = added(votes / added(votes, word_of)[word_of], pair_of)
        theta = counts / added(counts, source_of)[source_of]
    table = dict(zip(known, theta.tolist()))
    found = []
    for x, y in sides[len(train) :]:
        links = set()
        for j, word in enumerate(y):
            fits = [table.get((word, sources.get(other)), 0.0) for other in x]
            if max(fits) > 0:
                i = fits.index(max(fits))
                links.add((j, i) if reverse else (i, j))
        found.append(links)
    return found


@pytest.mark.weekly
def test_an_aligner_set_with_care_comes_closer_and_is_still_behind():
    """On validation pairs for chapter 19, on test pairs for chapter 8."""
    corpus = CorpusConfig("toy", "en", "fr", pairs=40_000)
    train, valid, test = (read_split(corpus, split) for split in ("train", "valid", "test"))
    asked = [*valid, *test]
    ways = (links_by_the_formula(train, asked, 20, reverse=way) for way in (False, True))
    links = [symmetrize(*both, "grow-diag") for both in zip(*ways)]
    translator = Translator.load("toy")
    maps = [alignment_links(t.weights, "grow-diag", 0.25) for t in translator.force(asked)]
    rates = []
    for found in (links, maps):
        for part in (slice(len(valid)), slice(len(valid), None)):
            gold = [p.links for p in asked[part]]
            rates.append(alignment_error_rate(found[part], gold, gold))
    assert rates[:2] == pytest.approx([0.111, 0.111], abs=0.0005)
    assert rates[2] < rates[0] - 0.005
    assert rates[3] < rates[1] - 0.01
    # Of the validation pairs, sentences drawn again: how many links agree, and how many there are.
    counts = [
        [
            n
            for found in (links, maps)
            for n in (2 * len(found[i] & pair.links), len(found[i]) + len(pair.links))
        ]
        for i, pair in enumerate(valid)
    ]
    chance = torch.Generator().manual_seed(0)
    drawn = torch.randint(len(valid), (1_000, len(valid)), generator=chance)
    sums = torch.tensor(counts, dtype=torch.float64)[drawn].sum(1)
    assert (sums[:, 2] / sums[:, 3] - sums[:, 0] / sums[:, 1]).quantile(0.025) > 0
    small = [run["links"]["grow-diag"] for run in measured("maps")["runs"]["additive"]]
    assert 0 < min(small) - rates[1] < max(small) - rates[1] < 0.01


def test_maps_name_the_word_that_counts_less_often_than_links_on_draws_too():
    translator = Translator.load("toy")
    valid = read_split(CorpusConfig("toy", "en", "fr", pairs=40_000), "valid")[:150]
    [damage] = [code for code in code_of("19_judge") if "def damage(pair)" in code]
    names = {"torch": torch, "translator": translator, "BOS": BOS, "UNK": UNK, "FULL": False}
    exec(damage[: damage.index("hits, steps")], names)
    counts, by_one = [], []
    for one, told in zip(valid, translator.force(valid), strict=True):
        hurt = names["damage"](one)
        (T, S), worst = hurt.shape, hurt.argmax(-1)
        by_map = (told.weights[:-1, :-1].argmax(-1) == worst).sum().item()
        by_link = sum((i, j) in one.links for j, i in enumerate(worst.tolist()))
        # One of a word's links at random, as the map names one word.
        of_word = Counter(j for _, j in one.links)
        hits = ((i, j) in one.links and 1 / of_word[j] for j, i in enumerate(worst.tolist()))
        by_one.append(by_map - sum(hits))
        on_it = sum(int((j + 0.5) * S / T) == i for j, i in enumerate(worst.tolist()))
        counts.append([by_map - by_link, by_map - on_it, T])
    chance = torch.Generator().manual_seed(0)
    drawn = torch.randint(150, (1_000, 150), generator=chance)
    sums = torch.tensor(counts, dtype=torch.float64)[drawn].sum(1)
    behind, ahead = (sums[:, :2] / sums[:, 2:]).T
    assert behind.quantile(0.975) < 0 < ahead.quantile(0.025)
    assert torch.tensor(by_one, dtype=torch.float64)[drawn].sum(1).quantile(0.025) > 0


def test_the_command_of_chapter_19_gives_the_first_line_of_its_table():
    commands = typer.Typer()
    cli.register(commands)
    found = CliRunner().invoke(commands, ["evaluate", "--run", "toy", "--split", "valid"])
    scores = [float(re.search(rf"{name} +([\d.]+)", found.output)[1])
              for name in ("BLEU", "chrF", "exact match")]  # fmt: skip
    [row] = re.findall(r"^like training\b(?!, copied).*$", printed('"BLEU, yours"'), re.MULTILINE)
    shown = [float(cell.rstrip("%")) for cell in row.split()[4:]]
    assert scores == pytest.approx(shown, abs=0.51)
    assert scores[:2] == pytest.approx(shown[:2], abs=0.06)
