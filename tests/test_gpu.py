"""The command for whoever has a GPU for ten minutes: tried here on a CPU, in a small setting."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from benchmarks import gpu, gpu_job, gpu_parts, gpu_speed, tested
from benchmarks.measure import PAGE, processor
from benchmarks.race import Standing
from benchmarks.study import MEASURED, Study
from seqattn.training import read_preset

CPU = ["--device", "cpu", "--tiny"]
CARD = {"device": "a card", "processor": "a chip", "cuda": "1", "torch": "2", "date": "2026-01-01",
        "command": "it"}  # fmt: skip


@pytest.fixture
def here(monkeypatch):
    """Do every part in this process, and say which were begun."""
    begun = []

    def run(name, options):
        begun.append(name)
        gpu.run_part(name, options)

    monkeypatch.setattr(gpu, "run_apart", run)
    # What it sets is for a whole process, and would hold for the tests that come after.
    monkeypatch.setattr(gpu, "prepare_process", lambda: None)
    return begun


@pytest.fixture
def stands(tmp_path):
    """How a part stands, from its file."""
    return lambda name: json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))


def given(folder, *more):
    return [*more, *CPU, "--work", str(folder)]


def parts_of(monkeypatch, **parts):
    monkeypatch.setattr(gpu, "parts", lambda setting: parts)


# --- what the parts measure ----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")  # of the first validation's BLEU of nothing
def test_the_parts_measure_on_this_device_once(
    here, stands, tmp_path, monkeypatch, capsys, unchecked
):
    monkeypatch.setattr(gpu_speed, "PRECISIONS", ("bf16",))
    names = ["speed", "reach-bahdanau", "quality", "compiled", "graphs"]
    gpu.main(given(tmp_path, *names))
    assert here == names
    assert [stands(name)["state"] for name in names] == ["done"] * 5, capsys.readouterr().out
    speed = stands("speed")["rows"]
    assert [row["what"] for row in speed] == [
        "bahdanau", "transformer-tiny", "nn.Transformer as transformer-tiny",
    ]  # fmt: skip
    for row in speed:
        assert row["tokens_per_second"] > 0
        assert row["peak_mib"] is None  # a CPU's is another matter
        # Speed and limit are timed one after the other, so beside other work a share may pass 1.
        assert row["input_share"] > 0
        assert row["limit_share"] > 0
    [reached] = stands("reach-bahdanau")["rows"]
    assert 0 < reached["seconds_to"]["0"] < reached["seconds"]
    assert reached["seconds_to"]["101"] is None
    assert reached["updates"] == 4
    [tested] = stands("quality")["rows"]
    assert sorted(tested["run"]["tests"]) == ["beam5", "beam5-tokenized", "greedy"]
    assert {row["what"] for row in stands("compiled")["rows"]} == {"bahdanau", "transformer-tiny"}
    assert {row["what"] for row in stands("graphs")["rows"]} == {"bahdanau", "transformer-tiny"}
    for part in ("compiled", "graphs"):
        assert all(row["low"] <= row["ratio"] <= row["high"] for row in stands(part)["rows"])
    said = capsys.readouterr().out
    assert "Not finished: tests (not begun)" in said
    assert re.search(r"^\| bahdanau, short \| \d+ \| not reached \|", said, re.MULTILINE)
    # What is done is done; what a part had measured before it was cut short is not lost.
    cut = stands("speed")
    (tmp_path / "speed.json").write_text(json.dumps({**cut, "state": "unfinished"}))
    monkeypatch.setattr(gpu_speed, "tokens_per_second", None)
    gpu.main(given(tmp_path, *names))
    assert here == [*names, "speed"]
    assert stands("speed") == cut


def test_a_training_that_is_asked_to_end_is_taken_up_again(tmp_path, monkeypatch):
    setting, folder = gpu_job.tiny(), tmp_path / "one"
    job = gpu_job.Job(
        torch.device("cpu"), setting, Study("gpu", tmp_path, tmp_path / "x.json"), None
    )
    folder.mkdir()
    run = gpu_parts.new_run

    def interrupted(*arguments, **options):
        trainer = run(*arguments, **options)
        trainer._reason_to_stop = lambda signal: "interrupted" if trainer.state.step == 3 else ""
        return trainer

    monkeypatch.setattr(gpu_parts, "new_run", interrupted)
    with pytest.raises(gpu_job.UnfinishedError, match="saved at update 3"):
        gpu_parts.train_to_the_end(job, "bahdanau", folder, {})
    monkeypatch.delattr(gpu_parts, "new_run")  # it goes on, and does not begin anew
    found = gpu_parts.train_to_the_end(job, "bahdanau", folder, {})
    assert found["prepared_seconds"] >= 0
    assert gpu_parts.RunFolder(folder / "run").records()[-1]["step"] == 4


def test_products_have_the_precision_of_the_row_and_no_longer():
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    with gpu_speed.products("tf32"):
        assert torch.get_float32_matmul_precision() == "high"
        assert torch.backends.cudnn.allow_tf32
    with gpu_speed.products("fp32"):
        assert torch.get_float32_matmul_precision() == "highest"
        assert not torch.backends.cudnn.allow_tf32
    assert (torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32) == before


def test_pytorchs_transformer_sees_neither_padding_nor_the_future():
    config = gpu_job.tiny().presets["transformer-tiny"].model
    model = gpu_speed.TorchTransformer(config, 9, 9).eval()
    assert model.vocabulary.weight is model.source.weight
    source, lengths = torch.tensor([[4, 5, 2], [6, 2, 0]]), torch.tensor([3, 2])
    inputs = torch.tensor([[1, 7, 8], [1, 8, 5]])
    expected = model(source, lengths, inputs).logits
    assert expected.shape == (2, 3, 9)
    source[1, 2], inputs[:, 2] = 7, 4
    torch.testing.assert_close(model(source, lengths, inputs).logits[:, :2], expected[:, :2])
    source[1, 1] = 5
    assert not torch.allclose(model(source, lengths, inputs).logits[1, 0], expected[1, 0])


def line(test, outcome, seconds=0.0):
    return {"test": test, "outcome": outcome, "seconds": seconds}


ENDED = [line("one", "began"), line("one", "passed", 1.5), line("two", "began"),
         line("two", "skipped", 0.5)]  # fmt: skip


@pytest.mark.parametrize(
    ("more", "failed"),
    [
        ([], None),
        ([line("three", "began"), line("three", "failed", 1.0)], "tests: three"),
        ([line("four", "began")], "tests: four"),
        ([line("five", "failed"), line("five", "began"), line("five", "passed")], None),
    ],
)
def test_what_tests_left_is_counted(more, failed):
    row = gpu_parts.count_tests([*ENDED, *more])
    assert (row["passed"], row["skipped"]) == (1 + (more[-1:] == [line("five", "passed")]), 1)
    assert row.get("failed") == failed


def test_no_test_at_all_is_no_pass():
    assert gpu_parts.count_tests([])["failed"] == "tests: none passed"


def test_the_device_tests_are_asked_for_on_this_device(monkeypatch, tmp_path):
    asked, status = [], 0

    def run(command, **options):
        path = Path(options["env"][tested.FILE])
        path.write_text("".join(json.dumps(each) + "\n" for each in ENDED))
        asked.append((" ".join(command), options["env"]["SEQATTN_TESTS"]))
        return SimpleNamespace(returncode=status)

    monkeypatch.setattr(gpu_parts.subprocess, "run", run)
    study = Study("gpu", tmp_path, tmp_path / "x.json")
    job = gpu_job.Job(torch.device("cuda:0"), gpu_job.tiny(), study, None)
    assert [row["passed"] for row in gpu_parts.tests(job)] == [1]
    [(command, thorough)] = asked
    assert re.search(r" -p benchmarks.tested -m device -k cuda \S+test_device.py$", command)
    assert thorough == "thorough"
    status = -11  # the whole run came down: no count of what is known can stand for it
    with pytest.raises(RuntimeError, match="ended with -11"):
        list(gpu_parts.tests(job))


TESTS = """
import os, pathlib, pytest

@pytest.mark.parametrize("n", range(3))
def test_good(n):
    pathlib.Path("ran").open("a").write(f"good{n} ")

def test_bad():
    pathlib.Path("ran").open("a").write("bad ")
    assert False

def test_breaks():
    pathlib.Path("ran").open("a").write("breaks ")
    os._exit(7)

def test_last():
    pathlib.Path("ran").open("a").write("last ")

@pytest.mark.skip
def test_skipped(): ...

@pytest.fixture
def untidy():
    yield
    assert False

def test_leaves_a_mess(untidy): ...
"""


@pytest.mark.slow
def test_tests_that_are_cut_short_go_on_where_they_were(tmp_path):
    (tmp_path / "test_some.py").write_text(TESTS)
    path = tmp_path / "left.jsonl"

    def run():
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:nbval", "-p", "no:cacheprovider",
                   "-p", "no:xdist", "-p", "benchmarks.tested"]  # fmt: skip
        environment = {**os.environ, tested.FILE: str(path), "PYTHONPATH": str(gpu_parts.ROOT)}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)
        (tmp_path / "ran").touch()
        ran = (tmp_path / "ran").read_text().split()
        (tmp_path / "ran").unlink()
        return done.returncode, ran

    assert run() == (7, ["good0", "good1", "good2", "bad", "breaks"])
    assert run() == (7, ["bad", "breaks"])  # what failed is tried again, and what broke off once
    assert run() == (1, ["bad", "last"])
    assert run() == (1, ["bad"])
    row = gpu_parts.count_tests(tested.read_lines(path))
    assert (row["passed"], row["skipped"]) == (4, 1)
    names = ["test_bad", "test_breaks", "test_leaves_a_mess"]
    assert row["failed"] == f"tests: {', '.join(f'test_some.py::{name}' for name in names)}"


def test_what_is_cut_short_twice_lets_the_others_have_their_turn(tmp_path):
    study, asked = Study("gpu", tmp_path / "cells", tmp_path / "x.json"), []
    job = gpu_job.Job(torch.device("cpu"), gpu_job.tiny(), study, None)

    def endless():
        asked.append("endless")
        raise KeyboardInterrupt  # as if its time were over

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            job.cell("endless", endless)
    found = job.cell("endless", endless)
    assert asked == ["endless"] * 2
    assert re.match(r"endless did not end, 2 times; remove .*endless\.begun to", found["failed"])
    # What fails is another matter, and so is what ends the second time.
    for _ in range(3):
        assert job.cell("bad", lambda: 1 / 0)["failed"].startswith("ZeroDivisionError")
    with pytest.raises(KeyboardInterrupt):
        job.cell("slow", endless)
    assert job.cell("slow", lambda: {"what": 1}) == {"what": 1}
    assert sorted(path.name for path in study.work.iterdir()) == ["endless.begun", "slow.json"]


def test_the_contest_is_held_on_this_device(monkeypatch, tmp_path):
    told = []
    row = Standing("ours", 20.0, "JoeyNMT", 2.0, 1.9, 2.1, None)

    def hold(arguments):
        told.append((str(arguments.device), arguments.joeynmt))
        return {"Same batches": [row]}

    monkeypatch.setattr(gpu_parts.train, "hold", hold)
    study = Study("gpu", tmp_path, tmp_path / "x.json")
    job = gpu_job.Job(torch.device("cuda"), gpu_job.tiny(), study, "joey/python")
    [found] = gpu_parts.joeynmt(job)
    assert told == [("cuda", "joey/python")]
    assert Standing(**found["parts"]["Same batches"][0]) == row


@pytest.mark.slow
def test_notebooks_run_in_full_mode_in_one_folder(here, stands, tmp_path, monkeypatch):
    code = "# %%\nFULL = False\n# %%\nassert FULL\n{}\n"
    texts = {
        "good": 'open("left", "w").close()',
        "after": 'open("left").close()',
        "bad": "1 / 0",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(code.format(text))
    (tmp_path / "none.py").write_text("# %%\npass\n")
    monkeypatch.setattr(
        gpu_parts, "NOTEBOOKS", {name: tmp_path / f"{name}.py" for name in (*texts, "none")}
    )
    run = tmp_path / "cells" / "notebooks" / "trained"
    run.mkdir(parents=True)
    lines = [{"kind": "train", "step": 2, "tokens_per_second": 90},
             {"kind": "valid", "step": 4, "seconds": 7.5, "bleu": 12.5}]  # fmt: skip
    (run / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))
    trainings = dict.fromkeys(("good", "bad"), "trained")
    monkeypatch.setattr(gpu_parts, "TRAININGS", trainings)
    names = [f"notebook-{name}" for name in (*texts, "none")]
    gpu.main(given(tmp_path, *names))
    assert [stands(name)["state"] for name in names] == ["done", "done", "failed", "failed"]
    assert "CellExecutionError" in stands("notebook-bad")["why"]
    # What a notebook trained is told, be it finished or not.
    for name in ("good", "bad"):
        *_, trained = stands(f"notebook-{name}")["rows"]
        assert trained["what"] == f"{name}, its training"
        assert trained["seconds_to"] == {"0": 7.5, "101": None}
        assert (trained["best_bleu"], trained["updates"]) == (12.5, 4)
    assert len(stands("notebook-after")["rows"]) == 1
    assert "0 cells with FULL = False" in stands("notebook-none")["why"]


@pytest.mark.parametrize("name", gpu_parts.NOTEBOOKS)
def test_the_books_notebooks_have_the_flag(name):
    assert gpu_parts.NOTEBOOKS[name].read_text(encoding="utf-8").count("\nFULL = False\n") == 1


# --- one part after the other --------------------------------------------------------------------


def test_a_part_that_fails_says_so_and_the_next_goes_on(here, stands, tmp_path, monkeypatch):
    def bad(job):
        yield {"what": "first"}
        raise ArithmeticError("no number\nmore of it")

    def half(job):
        yield job.cell("a", lambda: {"what": "a"})
        yield job.cell("b", lambda: 1 / 0)
        yield job.cell("c", lambda: {"what": "c"})

    def unfinished(job):
        yield {"what": "some"}
        raise gpu_job.UnfinishedError("saved at update 3")

    good = {"good": lambda job: iter([{"what": "all"}])}
    parts_of(monkeypatch, bad=bad, half=half, unfinished=unfinished, **good)
    gpu.main(given(tmp_path))
    assert here == ["bad", "half", "unfinished", "good"]
    assert stands("bad") == {
        "state": "failed", "why": "ArithmeticError: no number", "rows": [{"what": "first"}],
        "date": str(date.today()), "processor": processor(),
    }  # fmt: skip
    assert stands("half")["why"] == "ZeroDivisionError: division by zero"
    assert [row.get("what") for row in stands("half")["rows"]] == ["a", None, "c"]
    assert stands("unfinished")["state"] == "unfinished"
    assert stands("good")["state"] == "done"
    gpu.main(given(tmp_path))  # all that is not done is tried again
    assert here[4:] == ["bad", "half", "unfinished"]


SCRIPTS = {
    "ends": ("import sys; sys.exit(3)", 3),
    "stops when asked": ("import time; print('x', flush=True); time.sleep(600)", None),
    "stubborn": (
        "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)",
        None,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SCRIPTS)
def test_a_part_ends_in_time_and_leaves_nobody_behind(kind, tmp_path):
    text, expected = SCRIPTS[kind]
    child = (
        "import subprocess, sys; sys.stderr.write(' '.join(str(subprocess.Popen(['sleep', '600'], "
        "start_new_session=own).pid) for own in (False, True))); "
    )
    with (tmp_path / "log").open("w+") as log:
        command = [sys.executable, "-S", "-c", child + "sys.stderr.flush(); " + text]
        assert gpu.obeyed(command, log, asked=2.0, ended=3.0) == expected
        log.seek(0)
        grandchildren = log.read().split()  # a busy machine may not have come so far
    if kind == "ends" and grandchildren:  # who has a session of its own is nobody's any more
        os.kill(int(grandchildren.pop()), signal.SIGKILL)
    assert all(map(gone, grandchildren))


def test_a_part_has_less_than_eight_minutes_to_end():
    assert gpu.ASKED + 30 < gpu.ENDED <= 8 * 60
    defaults = gpu.obeyed.__defaults__
    assert defaults == (gpu.ASKED, gpu.ENDED)


def gone(process):
    """Wait until a process is no more, or but a name."""
    for _ in range(1000):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


@pytest.mark.slow
def test_a_part_is_a_process_of_its_own(stands, tmp_path, capfd):
    gpu.main(given(tmp_path, "reach-bahdanau"))
    found = stands("reach-bahdanau")
    assert (found["state"], found["why"]) == ("done", None), (
        tmp_path / "reach-bahdanau.log"
    ).read_text()
    assert found["rows"][0]["updates"] == 4
    gpu.main(given(tmp_path, "reach-bahdanau"))
    assert "reach-bahdanau: done before" in capfd.readouterr().out
    assert stands("reach-bahdanau") == found


@pytest.mark.parametrize(
    ("status", "state", "why"),
    [(-11, "failed", "its process ended with -11"), (None, "unfinished", "eight minutes")],
)
def test_a_process_that_dies_or_is_ended_leaves_its_rows_and_a_reason(
    status, state, why, stands, tmp_path, monkeypatch
):
    def obeyed(command, log):
        assert command[1:5] == ["-m", "benchmarks.gpu", "--part", "one"]
        assert command[-2:] == ["--joeynmt", "python"]
        gpu.write(tmp_path / "one.json", "unfinished", [{"what": "first"}])
        return status

    monkeypatch.setattr(gpu, "obeyed", obeyed)
    parts_of(monkeypatch, one=None)
    gpu.main([*given(tmp_path), "--joeynmt", "python"])
    found = stands("one")
    assert (found["state"], found["rows"]) == (state, [{"what": "first"}])
    assert why in found["why"]


def test_what_another_machine_measured_is_not_mixed_in(here, tmp_path, monkeypatch):
    parts_of(monkeypatch, one=lambda job: iter([]))
    gpu.main(given(tmp_path))
    card = json.loads((tmp_path / "card.json").read_text())
    (tmp_path / "card.json").write_text(json.dumps({**card, "torch": "1.0"}))
    with pytest.raises(SystemExit, match=r"torch 1\.0, here .*--work"):
        gpu.main(given(tmp_path))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--tiny", "--device", "cpu", "--book"], "stores what a GPU did"),
        (["--device", "cpu", "--book"], "stores what a GPU did"),
        (["sleep", "--tiny", "--device", "cpu"], "no part 'sleep'; expected some of tests, speed"),
        (["--device", "cuda"], "no GPU here"),
    ],
)
def test_what_cannot_be_done_is_refused(words, why, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match=why):
        gpu.main([*words, "--work", str(tmp_path)])


def test_a_contest_without_joeynmt_is_held_again_where_there_is_one(here, tmp_path, monkeypatch):
    def joeynmt(job):
        yield {"parts": {}, "joeynmt": job.joeynmt is not None}

    parts_of(monkeypatch, joeynmt=joeynmt)
    for more in ([], [], ["--joeynmt", "python"], ["--joeynmt", "python"]):
        gpu.main(given(tmp_path, *more))
    assert here == ["joeynmt"] * 2


def test_tests_that_did_not_end_are_named_as_unfinished():
    part = {"state": "failed", "why": "RuntimeError: pytest ended with 4", "rows": []}
    lines = gpu.page_lines({"card": CARD, "parts": {"tests": part}})
    said = "\n".join(lines)
    assert "Not finished: tests (failed: RuntimeError: pytest ended with 4)" in said


# --- the book ------------------------------------------------------------------------------------


def test_a_folder_from_a_gpu_is_stored_where_there_is_none(tmp_path, monkeypatch):
    page, stored, work = tmp_path / "page.md", tmp_path / "gpu.json", tmp_path / "w"
    page.write_text("<!-- begin gpu -->\nold\n<!-- end gpu -->\n")
    monkeypatch.setattr("benchmarks.measure.PAGE", page)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(gpu, "run_apart", None)
    call = ["--book", "--work", str(work), "--result", str(stored)]
    with pytest.raises(SystemExit, match="no GPU here"):
        gpu.main(call)
    work.mkdir()
    (work / "card.json").write_text(json.dumps(CARD | {"setting": "tiny"}))
    with pytest.raises(SystemExit, match="measured with --tiny"):
        gpu.main(call)
    (work / "card.json").write_text(json.dumps(CARD | {"setting": "full"}))
    row = {"passed": 7, "skipped": 0, "seconds": 3.0}
    (work / "tests.json").write_text(json.dumps({"state": "done", "why": None, "rows": [row]}))
    gpu.main(call)
    assert "7 tests passed on the device" in page.read_text()
    assert json.loads(stored.read_text())["card"]["device"] == "a card"


def test_the_books_page_says_what_its_file_says_or_that_there_is_none():
    text = PAGE.read_text(encoding="utf-8")
    block = text.partition("<!-- begin gpu -->\n")[2].partition("<!-- end gpu -->")[0]
    path = MEASURED / "gpu.json"
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    assert block.rstrip("\n") == "\n".join(gpu.page_lines(record))
    assert record is not None or "Not yet measured on a GPU" in block


def test_the_book_gets_what_came_after_each_part(here, tmp_path, monkeypatch):
    page, stored = tmp_path / "page.md", tmp_path / "gpu.json"
    page.write_text("Before.\n<!-- begin gpu -->\nold\n<!-- end gpu -->\nAfter.\n")
    monkeypatch.setattr("benchmarks.measure.PAGE", page)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a card")
    seen = []

    def tests(job):
        yield {"passed": 7, "skipped": 0, "seconds": 3.0}

    def speed(job):
        seen.append(page.read_text())
        yield {"what": "luong", "precision": "bf16", "tokens_per_second": 81234.5,
               "peak_mib": 512.25, "input_share": 0.125, "limit_share": 0.0625}  # fmt: skip

    def fails(job):
        raise ValueError("no memory")
        yield

    parts_of(monkeypatch, tests=tests, speed=speed, quality=fails, joeynmt=fails)
    gpu.main(["tests", "speed", "quality", "--work", str(tmp_path / "w"), "--result", str(stored),
              "--book"])  # fmt: skip
    assert "7 tests passed on the device, 0 skipped." in seen[0]
    text = page.read_text()
    assert text.startswith("Before.\n<!-- begin gpu -->\n**Tests**")
    assert text.endswith("<!-- end gpu -->\nAfter.\n")
    assert "| luong | 81,234 | 512 | 12.5% | 6.2% |" in text
    assert "Not finished: quality (failed: ValueError: no memory); joeynmt (not begun)." in text
    assert f": a card, launched from {processor()}, CUDA " in text
    record = json.loads(stored.read_text())
    assert record["card"]["command"] == "python -m benchmarks.gpu --book"
    assert "\n".join(gpu.page_lines(record)) in text


def stored_parts() -> dict:
    return json.loads((MEASURED / "gpu.json").read_text(encoding="utf-8"))["parts"]


def said(*sentences: str) -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    for sentence in sentences:
        assert sentence in page


def test_what_the_page_says_of_launched_recorded_and_compiled_updates_holds():
    parts = stored_parts()
    speed = parts["speed"]["rows"]
    tokens = {(row["what"], row["precision"]): row["tokens_per_second"] for row in speed}
    recorded = parts["graphs"]["rows"]
    said("learn from more than twice as many tokens a second as those that are launched")
    assert all(row["low"] > 2 for row in recorded)
    said("in nine of eleven rows, from more than five times as many")
    assert (sum(row["low"] > 5 for row in recorded), len(recorded)) == (9, 11)
    said("the Transformer of that training is missing, and so are tf32 and fp32")
    assert {row["precision"] for row in recorded} == {"bf16"}
    assert "transformer-tiny" not in {row["what"] for row in recorded}
    said("of a recorded update it must be several times as much")
    assert all(row["graphs"] > 2 * tokens[row["what"], "bf16"] for row in recorded)
    compiled = parts["compiled"]["rows"]
    said("No median ratio is above 1.6, and compiling took 19 seconds or more")
    assert 1.4 < max(row["ratio"] for row in compiled) < 1.6
    assert min(row["seconds_to_compile"] for row in compiled) >= 19


def test_what_the_page_says_of_other_machines_holds():
    elsewhere = json.loads((gpu_parts.ROOT / "benchmarks" / "gpu_elsewhere.json").read_text())
    parts = stored_parts()
    tokens = {(row["what"], row["precision"]): row["tokens_per_second"]
              for row in parts["speed"]["rows"]}  # fmt: skip
    in_turns = parts["graphs"]["rows"]
    said("Recorded updates were the same within 4% on another one with the same card")
    there = elsewhere["third"]
    for row in in_turns:
        assert abs(there["recorded"][row["what"]] / row["graphs"] - 1) < 0.04
    said("launched updates were 0.9 to 1.5 times as fast there as in *Replayed*")
    ratios = [there["launched"][row["what"]] / row["plain"] for row in in_turns]
    assert (f"{min(ratios):.1f}", f"{max(ratios):.1f}") == ("0.9", "1.5")
    said("and on a third machine 1.1 to 2.2 times as fast as in *Training*")
    second = elsewhere["second"]["launched"]
    ratios = [second[", ".join(key)] / speed for key, speed in tokens.items()]
    assert (f"{min(ratios):.1f}", f"{max(ratios):.1f}") == ("1.1", "2.2")
    said(
        "Even here the same launched updates, minutes apart in *Training* and *Replayed*, differ by"
    )
    apart = [row["plain"] / tokens[row["what"], "bf16"] for row in in_turns]
    assert 1.25 < max(max(ratio, 1 / ratio) for ratio in apart) < 1.34
    said("Do not rank rows or columns that differ by less than a factor of two")


def test_what_the_page_says_of_joeynmt_on_a_gpu_holds():
    [row] = stored_parts()["joeynmt"]["rows"]
    assert row["joeynmt"]
    same, as_is = ({one["name"]: one for one in part} for part in row["parts"].values())
    said(
        "three rounds of turns of one second",
        "the range over the rounds of each of ours includes 1",
    )
    ours = [one for name, one in same.items() if "ours" in name]
    assert all(one["low"] < 1 < one["high"] for one in ours)
    assert min(one["low"] for one in ours) < 0.9 < 1.1 < max(one["high"] for one in ours)
    said("about seven times as many tokens a second in 32 bits; in bfloat16 from nine to ten times")
    said("and from nearly fourteen times where ours is not fed")
    assert 13.5 < as_is.pop("ours, luong not fed, bf16")["ratio"] < 14
    for kind, low, high in (("fp32", 6.9, 7.5), ("bf16", 9, 10)):
        ratios = [one["ratio"] for name, one in as_is.items() if name.endswith(kind)]
        assert ratios
        assert low < min(ratios) <= max(ratios) < high
    said("1.7 to 1.9 times as fast in batches of similar lengths as in random ones")
    gains = sorted(same[name]["speed"] / as_is[name]["speed"] for name in same if "Joey" in name)
    assert [f"{gain:.1f}" for gain in gains] == ["1.7", "1.9"]
    said("about four times as fast recorded as launched")
    for name in ("ours, bahdanau", "ours, luong"):
        assert 3.7 < as_is[f"{name}, fp32"]["speed"] / same[name]["speed"] < 4.3


def test_what_the_page_says_of_trainings_and_notebooks_holds():
    parts = stored_parts()
    rows = [row for part in parts.values() for row in part["rows"]]
    trainings = {row["what"]: row for row in rows if "seconds_to" in row}
    said("a BLEU of 36 or more: less than three minutes in both")
    assert set(trainings) == {"transformer-tiny", "18_build, its training"}
    assert max(row["seconds_to"]["36"] for row in trainings.values()) < 180
    said("the Transformer's training learned from about a quarter as many")
    found = trainings["transformer-tiny"]
    most = found["updates"] * read_preset("transformer-tiny").training.batch_tokens
    assert 0.2 < most / found["seconds"] / found["tokens_per_second"] < 0.3
    said("The three times add up to less than ten minutes")
    took = [parts[f"notebook-{name}"] for name in gpu_parts.NOTEBOOKS]
    assert [part["state"] for part in took] == ["done"] * 3
    seconds = [part["rows"][0]["seconds"] for part in took]
    assert sum(seconds) < 600
    said("20 minutes for all three and three minutes to a validation BLEU of 36, are both met")
    assert round(seconds[0] / 60) == 3  # as chapter 18 says
    study = (gpu_parts.ROOT / "chapters" / "20_study.py").read_text(encoding="utf-8")
    said("trains fifteen models in full mode, four at a time")
    assert "at_once=4 if DEVICE" in study


def test_every_kind_of_row_has_its_place_on_the_page():
    standing = {"name": "ours", "speed": 9.0, "peer": "JoeyNMT", "ratio": 2.0, "low": 1.9,
                "high": 2.1, "share": None}  # fmt: skip
    reached = {"what": "bahdanau", "prepared_seconds": 20.0, "seconds_to": {"30": 61.2, "36": None},
               "best_bleu": 35.5, "updates": 4000, "seconds": 180.0,
               "tokens_per_second": 9000}  # fmt: skip
    compiled = {"what": "luong", "precision": "bf16", "plain": 10.0, "compiled": 15.0, "ratio": 1.5,
                "low": 1.4, "high": 1.6, "seconds_to_compile": 70.0}  # fmt: skip
    rows = {
        "reach-bahdanau": reached,
        "joeynmt": {"parts": {"Same batches": [standing]}, "joeynmt": False},
        "compiled": compiled,
        "graphs": {
            "what": "toy",
            "precision": "tf32",
            "plain": 20.0,
            "graphs": 90.0,
            "ratio": 4.5,
            "low": 4.4,
            "high": 4.6,
            "seconds_to_record": 1.2,
        },
        "notebook-18_build": {"what": "18_build", "seconds": 300.4},
        "notebook-19_judge": {**reached, "what": "19_judge, its training", "updates": 5000},
        "notebook-20_study": {"failed": "it did"},
    }
    parts = {name: {"state": "done", "why": None, "rows": [row]} for name, row in rows.items()}
    parts["graphs"]["rows"].append({**rows["graphs"], "precision": "bf16"})
    text = "\n".join(gpu.page_lines({"card": CARD, "parts": parts}))
    assert "| bahdanau | 61 | not reached | 35.50 | 4,000 | 20.0 | 9,000 |" in text
    assert "| ours | 9 | JoeyNMT | 2.00 (1.90\u00a0to\u00a02.10) |" in text
    assert "JoeyNMT was not at hand." in text
    # One precision stands in the title, several in a column.
    assert "**Compiled, on one batch of middling length, bf16**" in text
    assert "| luong | 10 | 15 | 1.50 (1.40\u00a0to\u00a01.60) | 70.0 |" in text
    assert "**Replayed from CUDA graphs**" in text
    assert "| toy | tf32 | 20 | 90 | 4.50 (4.40\u00a0to\u00a04.60) | 1.2 |" in text
    assert "| 18_build | 300 |" in text
    assert "| 19_judge, its training | 61 | not reached | 35.50 | 5,000 |" in text
    assert "| 19_judge, its training | 180 |" not in text
    assert "20_study |" not in text
