"""Contestants in turns: who is started, what is compared, and what the page is given."""

import functools
import importlib
import itertools
import json
import re
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks import gains, race, train
from benchmarks.textbook import TextbookModel
from seqattn.decoding import beam_search, greedy
from seqattn.models import build_model
from seqattn.training.graphs import GraphedUpdates, repeat

BENCHMARKS = Path(race.__file__).parent
# A contestant that does so many tokens in a second, says how often it was asked, and is quick.
PROGRAM = """
import json, sys
print({said!r}, flush=True)
for line in sys.stdin:
    print(json.dumps({{"tokens": {speed} * float(line), "seconds": float(line)}}), flush=True)
"""


def contestant(speed, said="ready"):
    return [sys.executable, "-S", "-c", PROGRAM.format(speed=speed, said=said)]


# JoeyNMT's own stands in an environment of its own.
@pytest.mark.parametrize("name", sorted({p.stem for p in BENCHMARKS.glob("*.py")} - {"joey"}))
def test_every_benchmark_finds_what_it_imports(name):
    importlib.import_module(f"benchmarks.{name}".removesuffix(".__init__"))


def test_each_is_asked_in_each_round_and_compared_within_it(capsys):
    commands = {
        "ours, luong": contestant(30),
        race.JOEY_BAHDANAU: contestant(10, "ready: JoeyNMT 2.3"),
        race.JOEY_LUONG: contestant(15),
    }
    speeds = race.race(commands, rounds=3, seconds=2.0)
    assert speeds == {name: [speed] * 3 for name, speed in zip(commands, (30, 10, 15))}
    assert "JoeyNMT 2.3" in capsys.readouterr().out
    rows = race.report(speeds, race.JOEY_BAHDANAU, {"ours, luong": 60.0})
    assert [(row.peer, row.ratio) for row in rows] == [
        (race.JOEY_LUONG, 2.0),
        (race.JOEY_BAHDANAU, 1.0),
        (race.JOEY_BAHDANAU, 1.5),
    ]
    lines = race.standing_lines({"All": rows})
    assert (
        f"| ours, luong | 30 | {race.JOEY_LUONG} | 2.00 (2.00\u00a0to\u00a02.00) | 50% |" in lines
    )


def test_who_does_not_start_is_named():
    with pytest.raises(SystemExit, match="ours did not start"):
        race.race({"ours": contestant(1, "no such file")}, rounds=1, seconds=1.0)


def test_contestants_are_told_the_device_if_it_is_another_one():
    given = ["--joeynmt", "joey/python"]
    for more, words in (([], []), (["--device", "cuda"], ["--device", "cuda"])):
        arguments = race.read_arguments("", [*given, *more, "--threads", "1"], device=True)
        found, base = race.commands(
            arguments, Path("data.json"), "train", {"ours": ["a"]}, {"joey": ["b"]}
        )
        assert base == "joey"
        ours, joey = found["ours"], found["joey"]
        told = [*words, "--contestant", "data.json", "a"]
        assert ours[1:] == ["-m", "benchmarks.train", "--threads", "1", *told]
        assert joey == [
            "joey/python",
            str(BENCHMARKS / "joey.py"),
            *words,
            "train",
            "data.json",
            "b",
        ]


def test_both_trainings_of_the_contest_learn_and_count_their_tokens():
    data = {
        "sizes": [9, 9],
        "examples": [([5] * n + [2], [6] * n + [2]) for n in range(1, 9)],
        "bucketed": [[0, 1, 2], [5, 6]],
    }
    torch.manual_seed(0)
    for work in (train.ours(data, "luong", "bucketed", False), train.textbook(data, "bucketed")):
        assert [work(), work()] == [2 + 3 + 4, 7 + 8]


def test_the_tutorials_model_leaves_nothing_on_the_cpu():
    # What is on "meta" has a shape and no numbers, and mixes with nothing that has some.
    model = TextbookModel(9, 9, 4, 6, 0.1)
    outputs, hidden, mask = model.encode(torch.tensor([[5, 6, 2], [7, 2, 0]]), torch.tensor([3, 2]))
    model = model.to("meta")
    state = outputs.to("meta"), hidden.to("meta"), mask.to("meta")
    model.encode = lambda source, lengths: state
    logits = model(None, None, torch.tensor([[1, 5, 2], [1, 6, 2]], device="meta"))
    assert (logits.device.type, tuple(logits.shape)) == ("meta", (2, 2, 9))


def test_all_shapes_are_recorded_before_a_contest_that_replays_them(monkeypatch):
    recorded = []

    def recorder(work):
        recorded.append(work)
        return repeat(work)

    made = functools.partial(GraphedUpdates, recorder=recorder)
    monkeypatch.setattr(train, "GraphedUpdates", made)
    data = {
        "sizes": [9, 9],
        "examples": [([5] * n + [2], [6] * n + [2]) for n in range(1, 9)],
        "bucketed": [[0, 1, 2], [5, 6], [0, 2, 1]],
    }
    work = train.ours(data, "luong", "bucketed", False, graphs=True)
    assert len(recorded) == 2
    assert [work(), work(), work()] == [2 + 3 + 4, 7 + 8, 2 + 3 + 4]
    assert len(recorded) == 2


def test_the_cpus_tables_take_nothing_from_a_gpu(monkeypatch):
    monkeypatch.setattr("sys.argv", ["train", "--device", "cuda", "--book"])
    with pytest.raises(SystemExit, match=r"benchmarks\.gpu --book"):
        train.main()


def test_what_is_measured_without_our_masks_draws_none_of_them():
    code = (
        "import sys; from benchmarks import gains; own = gains.dropout.dropout; "
        "gains.take_out(gains.MASKS); "
        "print([name for name, module in sys.modules.items() "
        "if name.startswith('seqattn') and getattr(module, 'dropout', None) is own])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_each_other_part_is_taken_out():
    code = (
        "import torch; from benchmarks import gains; from seqattn.training import make_optimizer; "
        "for_speed = gains.SHAPES, gains.ADAM, gains.CASTS; "
        "[gains.take_out(part) for part in for_speed]; "
        "examples = [gains.Example([5] * n, [6]) for n in range(1, 4)]; "
        "batch = next(gains.Batches(examples, tokens=3).epoch(0)); "
        "[optimizer] = [make_optimizer(torch.nn.Linear(2, 2))]; "
        "print(gains.Batches(examples, tokens=1)._rows(1), batch.source.shape[1], "
        "optimizer.defaults['fused'], gains.decoder.ready_for_products('what comes'))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rows, columns, fused, *rest = found.stdout.split()
    assert (rows, fused, rest) == ("1", "False", ["what", "comes"])
    assert int(columns) % 4


@pytest.mark.parametrize("name", gains.RECURRENT)
def test_products_outside_the_loop_change_neither_scores_nor_gradients(name):
    torch.manual_seed(0)
    model = build_model(replace(gains.MODELS[name], d_embed=6, d_hidden=8, dropout=0.0), 11, 13)
    model.double()
    source, lengths = torch.tensor([[4, 5, 6, 2], [7, 8, 2, 0]]), torch.tensor([4, 3])
    inputs = torch.tensor([[1, 5, 6], [1, 9, 0]])
    found = []
    for changed in (model, gains.project(deepcopy(model))):
        logits, weights = changed.decoder(inputs, changed.encoder(source, lengths))
        (logits.sin().sum() + weights.square().sum()).backward()
        found.append([logits, weights, *(p.grad for p in changed.parameters())])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", gains.RECURRENT)
def test_products_outside_the_loop_change_no_search(name):
    torch.manual_seed(0)
    model = build_model(replace(gains.MODELS[name], d_embed=6, d_hidden=8), 11, 13).double().eval()
    source, lengths = torch.tensor([[4, 5, 6, 2], [7, 8, 2, 0]]), torch.tensor([4, 3])
    changed = gains.project(deepcopy(model))
    for search in (greedy, functools.partial(beam_search, beam=3)):
        one, other = (search(m, source, lengths, max_len=9) for m in (model, changed))
        assert torch.equal(one.tokens, other.tokens)
        torch.testing.assert_close(one.scores, other.scores)


def test_two_processes_share_each_batch_and_count_together(tmp_path):
    examples = [([5] * n + [2], [6] * n + [2]) for n in range(1, 9)]
    data = {"bucketed": [[0, 1, 2], [3], [5, 6]], "sizes": [9, 9], "examples": examples}
    halves = [gains.halve(data, which) for which in (0, 1)]
    assert [half["bucketed"] for half in halves] == [[[0, 2], [5]], [[1], [6]]]
    assert data["bucketed"] == [[0, 1, 2], [3], [5, 6]]
    path = tmp_path / "data.json"
    path.write_text(json.dumps(data))
    command = [sys.executable, "-m", "benchmarks.gains", "--threads", "2", "--contestant"]
    found = subprocess.run(
        [*command, str(path), "luong", "fp32", gains.PROCESSES], input="0.05\n0.05\n", text=True,
        capture_output=True, cwd=BENCHMARKS.parent,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    ready, *told = found.stdout.splitlines()
    assert ready == "ready"
    assert len(told) == 2
    # The batches have 9 and 15 tokens, in turns.
    counts = {9 * (n - n // 2) + 15 * (n // 2) for n in range(999)}
    counts |= {15 * (n - n // 2) + 9 * (n // 2) for n in range(999)}
    for line in map(json.loads, told):
        assert line["tokens"] in counts
        assert line["seconds"] > 0.05


def test_what_the_page_says_of_the_gains_holds():
    text = (BENCHMARKS.parent / "chapters" / "benchmarks.md").read_text(encoding="utf-8")
    block = text.partition("<!-- begin gains -->")[2].partition("<!-- end gains -->")[0]
    page, found = " ".join(text.split()), {}
    for title, table in re.findall(r"\*\*([\w-]+, \w+), (.*?)(?=\*\*[\w-]+,|\Z)", block, re.DOTALL):
        model, precision = title.split(", ")
        for row in re.findall(r"\| ([\w' ]+?) \|.*?\| ([\d.]+) \(([\d.]+)\D+([\d.]+)\)", table):
            key = (model, row[0]) if precision == "fp32" else (model, row[0], precision)
            found[key] = [float(x) for x in row[1:]]
    tiny, recurrent = "transformer-tiny", ("bahdanau", "luong")
    said = "keeping the memory saves a tenth of the time or more, in every round"
    assert said in page
    assert found[tiny, gains.MEMORY][2] <= 0.9
    assert "dropout and optimizer save a tenth or more by the median, which is why they" in page
    hints = {(tiny, gains.MASKS), (tiny, gains.ADAM)}
    assert all(found[row][0] <= 0.9 and found[row][1] < 1 < found[row][2] for row in hints)
    assert "save less than a tenth by the median, with ranges below 1" in page
    little = {("bahdanau", gains.MEMORY), ("bahdanau", gains.ADAM)}
    assert all(found[row][0] > 0.9 and found[row][2] < 1 for row in little)
    assert "In the other rows of these six the range has 1 in it: no difference is seen." in page
    looks = "without a look at masks"
    parts = gains.MASKS, gains.MEMORY, gains.SHAPES, gains.ADAM, looks
    others = set(itertools.product((tiny, *recurrent), parts)) - hints - little
    others |= {(name, gains.CASTS, "bf16") for name in recurrent}
    for row in others - {(tiny, gains.MEMORY)}:
        assert found[row][1] < 1 < found[row][2], row
    assert "In all four rows the range has 1 in it: a hint for Bahdanau's model in 32 bits" in page
    for row in itertools.product(recurrent, [(), ("bf16",)]):
        middle, low, high = found[row[0], gains.PROJECTED, *row[1]]
        assert low < 1 < high, row
        assert (middle >= 1.1) is (row == ("bahdanau", ())), row
    assert "By the median none gains a tenth; Bahdanau's is slower, and Luong's perhaps." in page
    pairs = [found[m, gains.PROCESSES] for m in gains.MODELS]
    assert all(middle < 1.1 for middle, _, _ in pairs)
    assert found["bahdanau", gains.PROCESSES][2] < 1
    assert found["luong", gains.PROCESSES][0] <= 0.9


def test_what_the_page_says_of_products_outside_the_loop_of_a_search_holds():
    page, _ = ratios_on_the_page("gains of searches")
    block = page.partition("<!-- begin gains of searches -->")[2]
    block = block.partition("<!-- end gains of searches -->")[0]
    row = re.escape(gains.PROJECTED) + r" \|.*?\| ([\d.]+) \(([\d.]+)\D+([\d.]+)\)"
    titles = re.findall(r"\*\*(\w+, [\w ]+), fp32, 2 threads\*\*", block)
    found = {t: tuple(map(float, r)) for t, r in zip(titles, re.findall(row, block), strict=True)}
    assert len(found) == 4
    assert "faster in every round, by a tenth or more: Bahdanau's model with a beam." in page
    assert found.pop("bahdanau, beam of 5")[1] >= 1.1
    assert "In the others the range has 1 in it: no difference is seen." in page
    assert all(low < 1 < high for _, low, high in found.values())


def ratios_on_the_page(name, of="median"):
    """Give the tables of one benchmark: each row's median ratio, or best, under title and name."""
    text = (BENCHMARKS.parent / "chapters" / "benchmarks.md").read_text(encoding="utf-8")
    block = text.partition(f"<!-- begin {name} -->")[2].partition(f"<!-- end {name} -->")[0]
    found = {}
    for title, table in re.findall(r"\*\*(.*?)\*\*\n(.*?)(?=\*\*|\Z)", block, re.DOTALL):
        ratios = r"\| (ours,.*?) \|.*?\| ([\d.]+) \([\d.]+\sto\s([\d.]+)\)"
        for row, median, best in re.findall(ratios, table):
            found[title, row] = float({"median": median, "best": best}[of])
    return " ".join(text.split()), found


def test_what_the_page_says_of_the_goals_of_speed_holds():
    page, training = ratios_on_the_page("training")
    assert "1.7 times JoeyNMT's speed on the same batches" in page
    assert "3 times in 32 bits and 6 times in bfloat16. No row of ours reaches its goal." in page
    assert len(training) == 8
    for (title, row), ratio in training.items():
        as_it_comes = 6.0 if row.endswith("bf16") else 3.0
        assert ratio < (1.7 if title.startswith("Same batches") else as_it_comes)
    page, translation = ratios_on_the_page("translation", of="best")
    said = "were 2.5 times JoeyNMT's speed in 32 bits and 4.5 times in bfloat16."
    assert f"{said} Both are missed in every round." in page
    beam = {row: best for (title, row), best in translation.items() if title == "Beam of 5"}
    assert sorted("bf16" in row for row in beam) == [False, True]
    assert all(best < (4.5 if "bf16" in row else 2.5) for row, best in beam.items())


def test_pytorch_fuses_attention_only_with_an_axis_for_heads():
    class Called(TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            names.append(str(operator))
            return operator(*args, **(kwargs or {}))

    x = torch.randn(2, 7, 16)
    fused = []
    for asked in (x, x.unsqueeze(1)):
        names: list[str] = []
        with Called():
            torch.nn.functional.scaled_dot_product_attention(asked, asked, asked)
        fused.append(any("flash" in name for name in names))
    assert fused == [False, True]
