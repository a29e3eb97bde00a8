"""What a GPU does with all this, in order of worth: ``python -m benchmarks.gpu [--book]``.

Each part (:mod:`benchmarks.gpu_parts` lists them) is a process of its own that ends within eight
minutes, so ten minutes with a GPU bring the first part or two, and the same command goes on with
the others later: what was measured is in ``--work`` and is not measured again. A part that fails
says so, and the next one begins. What was cut short twice is passed over, so that it cannot keep
all that comes after it from its turn.

``--book`` stores what came in ``seqattn/data/measured/gpu.json`` and on the page of benchmarks,
after each part. Without it the folder of ``--work`` holds all: copy it to where the book is, and
``--book --work FOLDER`` there, where there is no GPU, stores it. ``--device cpu --tiny`` tries all
but the notebooks in minutes of a CPU, in a folder of its own; the book does not take that.

It wants the package with its extra ``test``, and Multi30k, which the first part that needs it
fetches unless ``SEQATTN_DATA`` names a folder that has it.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import IO, NamedTuple

import torch

from benchmarks import quality
from benchmarks.gpu_job import Job, Row, UnfinishedError, full, tiny, told
from benchmarks.gpu_parts import ROOT, parts
from benchmarks.measure import processor, told_range, write_block
from benchmarks.quality_tables import summary_table
from benchmarks.race import Standing, standing_lines
from benchmarks.study import MEASURED, Study
from seqattn.process import prepare_process

# Seconds: a part is asked to end, and then ended.
ASKED, ENDED = 7.25 * 60, 8 * 60
METHOD = "whole passes"  # what a turn of the speeds is: change it, and no older folder goes on
# Parts that compare a way of computing with the plain one: part, what it needs first, heads, title.
WAYS = (
    ("graphs", "record", "recorded", "s of two passes", "Replayed from CUDA graphs"),
    (
        "compiled",
        "compile",
        "compiled",
        "s to compile",
        "Compiled, on one batch of middling length",
    ),
)
NOT_YET = "Not yet measured on a GPU: `python -m benchmarks.gpu --book` does it where there is one."

# --- a part, and the process in which it runs ----------------------------------------------------


def write(path: Path, state: str, rows: Sequence[Row], why: str | None = None) -> None:
    """Keep how a part stands, when and beside which processor; nobody ever meets half a file."""
    where = {"date": str(date.today()), "processor": processor()}
    unfinished, stands = path.with_suffix(".part"), {"state": state, "why": why, "rows": rows}
    unfinished.write_text(json.dumps(stands | where), encoding="utf-8")
    unfinished.replace(path)


def run_part(name: str, options: argparse.Namespace) -> None:
    """Do a part in this process, and keep its rows as they come."""
    prepare_process()
    setting = tiny() if options.tiny else full()
    study = Study("gpu", options.work / "cells", options.result)
    job = Job(torch.device(options.device), setting, study, options.joeynmt)
    path, rows = options.work / f"{name}.json", []
    write(path, "unfinished", rows)
    try:
        for row in parts(setting)[name](job):
            rows.append(row)
            write(path, "unfinished", rows)
            print(f"  {summary(row)}", flush=True)
    except UnfinishedError as error:
        return write(path, "unfinished", rows, str(error))
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        return write(path, "failed", rows, told(error))
    failed = [row["failed"] for row in rows if "failed" in row]
    write(path, "failed" if failed else "done", rows, "; ".join(failed)[:500] or None)


def summary(row: Row) -> str:
    """Tell a row on the terminal, in a line."""
    return ", ".join(f"{k} {v}" for k, v in row.items() if not isinstance(v, dict | list))


def run_apart(name: str, options: argparse.Namespace) -> None:
    """Do a part in a process of its own, and end it when its time is over."""
    command = [sys.executable, "-m", "benchmarks.gpu", "--part", name]
    command += ["--device", options.device, "--work", str(options.work)]
    command += ["--tiny"] if options.tiny else []
    command += ["--joeynmt", options.joeynmt] if options.joeynmt else []
    path = options.work / f"{name}.json"
    write(path, "unfinished", [])
    with (options.work / f"{name}.log").open("w", encoding="utf-8") as log:
        status = obeyed(command, log)
    stands = json.loads(path.read_text(encoding="utf-8"))
    if stands["state"] == "unfinished" and stands["why"] is None:
        if status is None:
            write(path, "unfinished", stands["rows"], "its eight minutes were over")
        else:
            why = f"its process ended with {status}; see {name}.log"
            write(path, "failed", stands["rows"], why)


def obeyed(
    command: Sequence[str], log: IO[str], asked: float = ASKED, ended: float = ENDED
) -> int | None:
    """Run a command for no longer than a part may take; give its status, None if it was ended."""
    process = subprocess.Popen(command, cwd=ROOT, stderr=log, start_new_session=True)
    try:
        return process.wait(timeout=asked)
    except subprocess.TimeoutExpired:
        return None
    finally:  # Ctrl-C comes by here as well
        family = descendants(process.pid)  # a notebook's kernel has a session of its own
        if process.poll() is None:
            process.terminate()  # a training saves, and ends
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=ended - asked)
            family |= descendants(process.pid)
        with suppress(ProcessLookupError):  # whoever it started and left behind
            os.killpg(process.pid, signal.SIGKILL)
        for one in family & set(running()):
            with suppress(ProcessLookupError):
                os.kill(one.number, signal.SIGKILL)
        process.wait()


class Running(NamedTuple):
    """A process: numbers are used again, but not with the same beginning."""

    number: int
    began: str


def running() -> dict[Running, int]:
    """Give each process and the number of its parent; none where there is no /proc."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            rest = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            found[Running(int(path.parent.name), rest[19])] = int(rest[1])
    return found


def descendants(number: int) -> set[Running]:
    """Give whom a process has started, and whom those have."""
    everybody, found, new = running(), set[Running](), {number}
    while new:
        children = {one for one, parent in everybody.items() if parent in new} - found
        found |= children
        new = {one.number for one in children}
    return found


# --- what the book shows -------------------------------------------------------------------------


def collect(options: argparse.Namespace, card: Row) -> dict:
    """Put together what the parts have left."""
    found = {}
    for name in parts(tiny() if options.tiny else full()):
        path = options.work / f"{name}.json"
        if path.is_file():
            found[name] = json.loads(path.read_text(encoding="utf-8"))
    return {"card": card, "parts": found}


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Give a table in Markdown whose first column is words."""
    lines = [f"| {' | '.join(heads)} |", "|---|" + "---:|" * (len(heads) - 1)]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]


def _number(value: float | None, form: str = ",.0f") -> str:
    return "" if value is None else format(value, form)


def told_tests(row: Row) -> str:
    """Say how many tests passed, and which did not."""
    text = f"{row['passed']} tests passed on the device, {row['skipped']} skipped."
    # Of a table of tests the name once, with the number of its rows.
    failing = Counter(re.sub(r".*::|\[.*", "", name) for name in row.get("failing", []))
    told = ", ".join(f"`{name}` ({rows})" for name, rows in failing.items())
    return f"{text} Not passed: {told}." if told else text


def speed_table(rows: Sequence[Row]) -> list[str]:
    """Give a row for each contestant: tokens per second in each precision, and what the last needs.

    The last is 32 bits, in which all of a model's memory and products count.
    """
    precisions = list(dict.fromkeys(row["precision"] for row in rows))
    found = {(row["what"], row["precision"]): row for row in rows}
    last = precisions[-1]
    needed = (f"{what}, {last}" for what in ("peak MiB", "input", "share of limit"))
    heads = ("target tokens a second", *precisions, *needed)
    body = []
    for what in dict.fromkeys(row["what"] for row in rows):
        each = [found.get((what, precision), {}) for precision in precisions]
        needs = each[-1]
        body.append(
            (what, *(_number(r.get("tokens_per_second")) for r in each),
             _number(needs.get("peak_mib")), _number(needs.get("input_share"), ".1%"),
             _number(needs.get("limit_share"), ".1%"))
        )  # fmt: skip
    return table(heads, body)


def page_lines(record: dict | None) -> list[str]:
    """Give what the book's page says, in Markdown; that nothing was measured, if so it is."""
    if record is None:
        return [NOT_YET]
    card, stands, lines = record["card"], record["parts"], list[str]()
    # Rows of trainings bear the preset in the name of their part.
    rows: dict[str, list[Row]] = {}
    for name, part in stands.items():
        good = [row for row in part["rows"] if "failed" not in row]
        kind = name.partition("-")[0]
        rows.setdefault(kind, []).extend(good)

    def show(title: str, body: list[str]) -> None:
        lines.extend([f"**{title}**", "", *body, ""])

    if found := stands.get("tests", {}).get("rows"):
        show("Tests", [told_tests(found[0])])
    if found := rows.get("speed"):
        show("Training", speed_table(found))
    notebooks = rows.get("notebook", [])
    trainings = [row for row in notebooks if "seconds_to" in row]
    if found := rows.get("quality", []) + rows.get("reach", []) + trainings:
        marks = list(found[0]["seconds_to"])
        heads = ("training", *(f"s to {mark}" for mark in marks), "best BLEU", "updates",
                 "s to prepare", "median tokens/s")  # fmt: skip
        body = [
            (r["what"], *(_number(r["seconds_to"][m]) or "not reached" for m in marks),
             _number(r["best_bleu"], ".2f"), _number(r["updates"]),
             _number(r.get("prepared_seconds"), ".1f"), _number(r["tokens_per_second"]))
            for r in found
        ]  # fmt: skip
        show("Validation BLEU, greedy, validations included in the time", table(heads, body))
    for found_row in rows.get("joeynmt", []):
        standings = {
            title: [Standing(**row) for row in standing]
            for title, standing in found_row["parts"].items()
        }
        lines += [*standing_lines(standings), ""]
        if not found_row["joeynmt"]:
            lines += ["JoeyNMT was not at hand.", ""]
    for found_row in rows.get("quality", []):
        groups = quality.aggregate([found_row["run"]])
        show("Transformer-tiny to the end of its preset", summary_table(groups, costs=True))
    for kind, key, way, took, title in WAYS:
        if found := rows.get(kind):
            # A precision that all rows share stands above: phones have no room for its column.
            shared = len({r["precision"] for r in found}) == 1
            heads = ("what", "precision", "launched, tokens/s", way, "ratio", took)
            body = [
                (r["what"], r["precision"], _number(r["plain"]), _number(r[kind]),
                 told_range(r["ratio"], r["low"], r["high"]),
                 _number(r[f"seconds_to_{key}"], ".1f"))
                for r in found
            ]  # fmt: skip
            if shared:
                heads, *body = (row[:1] + row[2:] for row in (heads, *body))
            show(f"{title}, {found[0]['precision']}" if shared else title, table(heads, body))
    if found := [row for row in notebooks if row not in trainings]:
        body = [(r["what"], _number(r["seconds"])) for r in found]
        show("Notebooks in full mode", table(("notebook", "seconds"), body))
    left = [
        f"{name} ({part['state']}: {part['why'] or 'cut short'})"
        for name, part in stands.items()
        if part["state"] != "done" and not (name == "tests" and part["rows"])
    ]
    left += [f"{name} (not begun)" for name in parts(full()) if name not in stands]
    if left:
        lines += [f"Not finished: {'; '.join(left)}.", ""]
    where = f"{card['device']}, launched from {card['processor']}, CUDA {card['cuda']}"
    how = f"`{card['command']}`: {where}, PyTorch {card['torch']}"
    return [*lines, f"Last measured on {card['date']} by {how}."]


# --- the command ---------------------------------------------------------------------------------


def make_card(options: argparse.Namespace, study: Study) -> Row:
    """Say what measures."""
    device = torch.device(options.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "a CPU"
    setting = "tiny" if options.tiny else "full"
    card = study.card(device=name, cuda=torch.version.cuda, setting=setting, method=METHOD)
    joeynmt = " --joeynmt PYTHON" if options.joeynmt else ""
    command = f"{card['command']}{joeynmt} --book"
    return {**card, "processor": processor(), "command": command}


def check_folder(work: Path, card: Row) -> None:
    """Refuse to mix what two kinds of GPU, two PyTorchs, settings or methods measured."""
    path, same = work / "card.json", ("device", "torch", "cuda", "setting", "method")
    if path.is_file():
        before = json.loads(path.read_text(encoding="utf-8"))
        other = [
            f"{key} {before.get(key)}, here {card[key]}"
            for key in same
            if before.get(key) != card[key]
        ]
        if other:
            raise SystemExit(
                f"{work} was measured with {'; '.join(other)}: name another folder with --work"
            )
    work.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(card), encoding="utf-8")


def main(given: Sequence[str] | None = None) -> None:
    """Do the parts that are not done, or those that are named; store what came if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__.replace("``", ""), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ", ".join(parts(full()))
    parser.add_argument("only", nargs="*", help=f"some of {names}; all if none is named")
    parser.add_argument("--device", default="cuda", help="cuda, or cpu with --tiny")
    parser.add_argument("--tiny", action="store_true", help="small models, to try the command")
    parser.add_argument("--joeynmt", help="the Python of an environment with joeynmt==2.3")
    parser.add_argument("--work", type=Path, help="what was measured; runs/gpu if not given")
    parser.add_argument("--result", type=Path, default=MEASURED / "gpu.json")
    parser.add_argument("--book", action="store_true", help="store what came in the book")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args(given)
    usual = Path("runs") / ("gpu-tiny" if options.tiny else "gpu")
    options.work = (options.work or usual).absolute()
    device = torch.device(options.device)
    study = Study("gpu", options.work / "cells", options.result)
    if options.book and (options.tiny or device.type != "cuda"):
        raise SystemExit("--book stores what a GPU did, and not --tiny or --device cpu")
    if device.type == "cuda" and not torch.cuda.is_available():
        card = options.work / "card.json"
        if not (options.book and card.is_file()):
            raise SystemExit("PyTorch finds no GPU here; --device cpu --tiny tries the command")
        measured = json.loads(card.read_text(encoding="utf-8"))
        if measured["setting"] != "full":
            raise SystemExit(f"{options.work} was measured with --tiny, which is not for the book")
        return keep(study, collect(options, measured))
    known = list(parts(tiny() if options.tiny else full()))
    if unknown := [name for name in options.only if name not in known]:
        raise SystemExit(f"no part {unknown[0]!r}; expected some of {', '.join(known)}")
    if options.part:
        return run_part(options.part, options)
    card = make_card(options, study)
    check_folder(options.work, card)
    usual_parts = [name for name in known if not (options.tiny and name.startswith("notebook-"))]
    for name in options.only or usual_parts:
        path = options.work / f"{name}.json"
        if is_done(path, options):
            print(f"{name}: done before", flush=True)
            continue
        print(f"{name}:", flush=True)
        run_apart(name, options)
        stands = json.loads(path.read_text(encoding="utf-8"))
        print(f"{name}: {stands['state']}" + (f", {stands['why']}" if stands["why"] else ""))
        if options.book:  # after each part: who has ten minutes may be cut off
            keep(study, collect(options, card))
    record = collect(options, card)
    print("", *page_lines(record), sep="\n")
    if options.book:
        keep(study, record)


def is_done(path: Path, options: argparse.Namespace) -> bool:
    """Say whether a part need not run: it has, and not without the JoeyNMT that there is now."""
    if not path.is_file():
        return False
    part = json.loads(path.read_text(encoding="utf-8"))
    missed = options.joeynmt and any(row.get("joeynmt") is False for row in part["rows"])
    return part["state"] == "done" and not missed


def keep(study: Study, record: dict) -> None:
    """Store a record, and show it on the page."""
    study.write(record)
    write_block("gpu", page_lines(record))


if __name__ == "__main__":
    main()
