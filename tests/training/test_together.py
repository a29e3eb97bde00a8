"""One update from several parts: batches that are accumulated, processes that share a batch."""

import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
import torch

from seqattn.data import Batches, Example
from seqattn.models import ModelConfig, build_model
from seqattn.training import make_optimizer, read_checkpoint, update
from seqattn.training.runtime import Processes
from tests.training.corpus import numbers, write_table
from tests.training.test_trainer import prepare

EXAMPLES = [Example([5] * n + [2], [6] * (n % 7) + [7, 2]) for n in range(1, 30)]


def trained(groups, **options):
    torch.manual_seed(3)
    model = build_model(ModelConfig(d_embed=7, d_hidden=11, dropout=0.0), 9, 9)
    optimizer = make_optimizer(model)
    for parts in groups:
        made = update(model, optimizer, parts, lr=0.01, smoothing=0.1, clip=0.5, **options)
    return list(model.parameters()), made


def test_gradients_of_several_batches_add_up_to_those_of_one():
    batches = Batches(EXAMPLES, tokens=64)
    rows = [[1, 2, 3, 28, 9], [4], [11, 12]]
    every = [row for part in rows for row in part]
    whole, one = trained([batches.take(every)])
    parts, several = trained([[batches.take(part) for part in rows]])
    for a, b in zip(whole, parts, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    assert several.loss.tokens == one.loss.tokens == batches.count_tokens(every)
    torch.testing.assert_close(several.loss.total, one.loss.total)
    torch.testing.assert_close(several.norm, one.norm)


def test_a_process_without_a_row_adds_nothing():
    batches = Batches(EXAMPLES, tokens=64)
    alone, _ = trained([batches.take([5, 6])])
    idle = batches.take([])
    assert idle.tokens == 0
    beside, made = trained([[batches.take([5, 6]), idle]])
    assert all(torch.equal(a, b) for a, b in zip(alone, beside, strict=True))
    assert made.loss.tokens == batches.count_tokens([5, 6])


def test_the_shares_of_all_processes_are_the_batch():
    every = []
    for rank in range(3):
        processes = Processes(torch.device("cpu"))
        processes.rank, processes.count = rank, 3
        every += processes.share([4, 8, 15, 16, 23])
    assert sorted(every) == [4, 8, 15, 16, 23]


def test_an_accumulating_run_takes_its_batches_together(tmp_path):
    trainer = prepare(tmp_path, steps=4, accumulate=4, epochs=None)
    assert len(trainer.batches) == 6
    seen = []
    share = trainer._share
    trainer._share = lambda rows: (seen.append(len(rows)), share(rows))[1]
    trainer.run()
    assert seen == [4, 2, 4, 2]  # an update does not cross the end of an epoch
    assert trainer.state.epoch == 2


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(scope="module")
def launch(tmp_path_factory):
    """Start ``seqattn train`` in so many processes on the CPU."""
    folder = tmp_path_factory.mktemp("together")
    write_table(folder / "numbers.tsv", numbers(200))
    options = "--data numbers.tsv --pair de-en --subwords 0 --device cpu --threads 1 --quiet"
    sizes = "d_embed=7 d_hidden=11 batch_tokens=64 accumulate=2 validate_every=5 average=2"
    command = ["-m", "seqattn", "train", *options.split(), "--steps", "12", "--precision", "fp32"]
    command += [word for size in sizes.split() for word in ("--set", size)]

    def start(processes, run, *more):
        launcher = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_machines", "1"]
        launcher += ["--mixed_precision", "no", "--dynamo_backend", "no"]
        launcher += ["--num_processes", str(processes), "--main_process_port", str(free_port())]
        before = launcher if processes > 1 else []
        return subprocess.Popen(
            [sys.executable, *before, *command, "--run", run, *more],
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def finish(*arguments):
        process = start(*arguments)
        said, _ = process.communicate(timeout=3600)
        assert process.returncode == 0, said
        return read_checkpoint(folder / arguments[1] / "last.safetensors"), said

    finish.start, finish.folder = start, folder
    return finish


@pytest.mark.slow
def test_two_processes_train_what_one_does(launch):
    one, _ = launch(1, "one", "--set", "dropout=0")
    two, said = launch(2, "two", "--set", "dropout=0")
    for name, weights in one.weights.items():
        torch.testing.assert_close(two.weights[name], weights, rtol=1e-4, atol=1e-6)
    assert two.header["position"]["tokens"] == one.header["position"]["tokens"]
    assert said.count("BLEU") == 1  # one of them speaks


@pytest.mark.slow
def test_two_processes_stop_together_and_go_on_as_if_nothing_had_been(launch):
    whole, _ = launch(2, "whole", "--set", "dropout=0.3")
    process = launch.start(2, "stopped", "--set", "dropout=0.3", "--set", "save_minutes=0")
    # On a busy machine it may be at its end before it is told to stop.
    while process.poll() is None and not (launch.folder / "stopped/last.safetensors").is_file():
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=3600)
    train = process.args[: process.args.index("train") + 1]
    resumed = subprocess.run(
        [*train, "--resume", "--run", "stopped", "--device", "cpu", "--quiet"],
        cwd=launch.folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert resumed.returncode == 0, said + resumed.stdout + resumed.stderr
    again = read_checkpoint(launch.folder / "stopped" / "last.safetensors")
    assert again.tensors.keys() == whole.tensors.keys()
    assert any(re.fullmatch(r"random\.cpu\.1", name) for name in again.tensors)
    assert all(torch.equal(again.tensors[name], whole.tensors[name]) for name in whole.tensors)
