"""Kill a small training again and again: ``python -m tools.faults --kills 200``.

Each time, at a random moment, the process gets SIGKILL (mostly), SIGTERM or SIGINT. After each kill
every checkpoint must be readable and none may be older than the one before; the run is then taken
up again. Once it ends, its weights, its checkpoints and its log must be those of a run that nobody
touched, bit for bit. Then another run begins, until all kills are spent.

The processes are forked from one that has imported everything, so that most kills hit the training
and its saves (one after each update) and not Python's start.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import torch

from seqattn.data import CorpusConfig, read_split
from seqattn.models import ModelConfig
from seqattn.training import RunFolder, TrainingConfig, new_run, read_checkpoint, resumed_run
from seqattn.translator.checkpoint import read_header

CORPUS = CorpusConfig(pairs=300)
MODEL = ModelConfig(d_embed=8, d_hidden=12, dropout=0.2)
TRAINING = TrainingConfig(
    steps=30, batch_tokens=64, accumulate=2, lr=0.01, warmup=5, sampling="linear",
    sampling_constant=0.02, validate_every=10, average=2, log_every=4, save_minutes=0.0,
)  # fmt: skip
SIGNALS = [signal.SIGKILL] * 8 + [signal.SIGTERM, signal.SIGINT]
FINISHED, SAVED, FAILED, EARLY = 0, 3, 4, 5
NEVER = 1e9  # seconds
# Times that differ between two runs, and say nothing about the training.
TIMES = ("seconds", "tokens_per_second")


class FaultError(Exception):
    """Something that must not happen after a kill."""


def train(folder: Path) -> int:
    """Begin or take up the run, as a process of its own would; give its exit status."""
    run = RunFolder(folder)
    if run.last.is_file():
        trainer = resumed_run(folder, quiet=True)
    else:
        trainer = new_run(
            folder, CORPUS, model=MODEL, training=TRAINING, subwords=0,
            overwrite=True, quiet=True,  # it may have been killed before it was first saved
        )  # fmt: skip
    return FINISHED if trainer.run().reason == "done" else SAVED


def fork(folder: Path) -> int:
    """Start :func:`train` in a copy of this process; give its number."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    try:
        status = train(folder)
    except KeyboardInterrupt:  # before the training listens to it
        status = EARLY
    except BaseException:
        traceback.print_exc()
        status = FAILED
    finally:
        sys.stderr.flush()
    os._exit(status)


def strike(folder: Path, after: float, number: int) -> str:
    """Let the run work for so many seconds, and send a signal; tell how it ended."""
    child, done, end = fork(folder), 0, time.monotonic() + after
    while not done and time.monotonic() < end:
        time.sleep(min(0.01, after / 10))
        done, status = os.waitpid(child, os.WNOHANG)
    if not done:
        os.kill(child, number)
        _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "killed" if os.WTERMSIG(status) == number else "crashed"
    return {FINISHED: "finished", SAVED: "saved", EARLY: "killed"}.get(
        os.WEXITSTATUS(status), "failed"
    )


def check(folder: Path) -> int:
    """Read every checkpoint; give the update that the run would go on from."""
    for path in folder.rglob("*.safetensors"):
        if not path.name.startswith("."):
            read_checkpoint(path)
    last = RunFolder(folder).last
    return read_header(last)["position"]["step"] if last.is_file() else 0


def remains(folder: Path) -> dict[str, object]:
    """Give all that a finished run left, but for times."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*.safetensors")):
        checkpoint = read_checkpoint(path)
        name = str(path.relative_to(folder))
        found |= {f"{name} {key}": tensor for key, tensor in checkpoint.tensors.items()}
        checkpoint.header.get("position", {}).pop("seconds", None)
        found[f"{name} header"] = checkpoint.header
    for number, record in enumerate(RunFolder(folder).records()):
        found[f"log {number}"] = {k: v for k, v in record.items() if k not in TIMES}
    return found


def differences(one: dict[str, object], other: dict[str, object]) -> list[str]:
    """Name what two runs left differently."""
    found = sorted(one.keys() ^ other.keys())
    for name in one.keys() & other.keys():
        a, b = one[name], other[name]
        same = torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b  # type: ignore[arg-type]
        found += [] if same else [name]
    return found


def torment(kills: int, *, seed: int, folder: Path) -> dict[str, int]:
    """Kill runs until all kills are spent and the last run has ended; count what happened."""
    rng = random.Random(seed)
    read_split(CORPUS, "train")  # drawn once, for all copies of this process
    began = time.monotonic()
    if strike(folder / "whole", NEVER, signal.SIGKILL) != "finished":
        raise FaultError("the run that nobody touched did not end")
    patience = (time.monotonic() - began) / 4
    whole, seen = remains(folder / "whole"), Counter[str]()
    while seen["kills"] < kills:
        run, step = folder / f"run-{seen['runs']}", 0
        ended = ""
        while ended != "finished":
            last_one = seen["kills"] >= kills
            number = rng.choice(SIGNALS)
            ended = strike(run, NEVER if last_one else rng.uniform(0.0, patience), number)
            if ended in ("failed", "crashed"):
                raise FaultError(f"{run.name}, taken up at update {step}, {ended}: see above")
            now = check(run)
            if now < step:
                raise FaultError(f"{run.name} fell back from update {step} to {now}")
            step = now
            seen["kills"] += ended != "finished"
            seen[signal.Signals(number).name] += ended != "finished"
            seen["in the middle of a write"] += any(run.rglob(".*.part"))
        if wrong := differences(whole, remains(run)):
            raise FaultError(
                f"{run.name} ended otherwise than the run that nobody touched: {wrong}"
            )
        seen["runs"] += 1
    return dict(seen)


def main() -> None:
    """Kill, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # copies of a process have no threads of the library's pool
    with tempfile.TemporaryDirectory() as folder:
        seen = torment(arguments.kills, seed=arguments.seed, folder=Path(folder))
    print(json.dumps(seen))
    print(
        f"{seen['kills']} kills: every checkpoint readable, every run resumed, "
        f"{seen['runs']} finished run(s) equal to one that nobody touched"
    )


if __name__ == "__main__":
    main()
