"""What each of the quicker ways brings to an update: ``python -m benchmarks.gains [--book]``.

Three of our models train on the same pairs in 32 bits: as they are, and without one of the things
in the code that are there for an update's speed on a CPU:

- dropout masks that a CPU draws four features at a time (``seqattn/dropout.py``);
- memory that stays with the process (``seqattn/process.py``);
- batches whose rows and source columns are multiples of a few (``seqattn/data/batches.py``);
- an optimiser that updates each matrix in one pass (``seqattn/training/step.py``).

What brings less than a tenth of an update to every model is to go, unless there is another reason
for it. And they train as two processes
that have half of the threads and of every batch each, and exchange gradients, as ``accelerate
launch`` lets them. The recurrent models also train, in 32 bits and in bfloat16, with every product
taken out of the loop over the steps that can leave it, and in bfloat16 with what all steps read
cast at each step anew, instead of once (``seqattn/precision.py``).

With ``--search`` the recurrent models, untrained, translate as in ``benchmarks.decode``: as they
are, and with the products of contexts taken out of the loop.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, distributed, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from benchmarks import decode, train
from benchmarks.race import (
    Standing,
    commands,
    obey,
    race,
    read_arguments,
    report,
    write_examples,
    write_standings,
)
from seqattn import dropout, process
from seqattn.attention import Memory
from seqattn.data import Batches, Example, batches
from seqattn.models import AttentionDecoder, Encoded, State, decoder
from seqattn.models.decoder import stack_steps
from seqattn.models.rnn import Hidden, gru_step
from seqattn.training import read_preset

AS_IT_IS, MASKS, MEMORY = "as it is", "with PyTorch's dropout", "with memory given back"
SHAPES, ADAM = "with batches of any shape", "with PyTorch's usual AdamW"
CASTS = "cast at each step"
PROCESSES, PEER = "as two processes", "the second of two"
PROJECTED = "with products out of the loop"
RECURRENT, SMALL = ("bahdanau", "luong"), "transformer-tiny"
MODELS = {
    **{name: train.MODELS[name] for name in RECURRENT},
    # With a vocabulary for each language, as the other two have.
    SMALL: replace(read_preset("transformer-tiny").model, tie="output"),
}


def take_out(part: str) -> None:
    """Do in this process as PyTorch and the C library do by themselves."""
    if part == MASKS:
        own = dropout.dropout
        for module in list(sys.modules.values()):
            if getattr(module, "dropout", None) is own:
                module.dropout = F.dropout
    elif part == MEMORY:
        process._ask_library = lambda *_: None
    elif part == SHAPES:
        batches.ROWS = batches.COLUMNS = 1
    elif part == ADAM:
        own_optimizer = torch.optim.AdamW
        torch.optim.AdamW = lambda *groups, **options: own_optimizer(  # type: ignore
            *groups, **{**options, "fused": False}
        )
    elif part == CASTS:
        decoder.ready_for_products = lambda x: x


class ProjectingDecoder(AttentionDecoder):
    """A decoder with as few products in its loop over the steps as its equations allow.

    A product with a weighted sum is the weighted sum of the products. So what a context goes
    through, which is the readout and in Bahdanau's order the recurrent update as well, is done with
    the values once for a sentence. What depends on no step before is done for all steps at once:
    the embeddings' part of the update, and a readout that is not fed back.
    """

    def remember(self, encoded: Encoded) -> Memory | None:
        """Send the values through all that a context goes through, side by side."""
        memory = super().remember(encoded)
        assert memory is not None
        update, readout = self._parts()
        through = [readout["context"], *([update["beside"]] if self.context_first else [])]
        return memory._replace(values=nn.functional.linear(memory.values, torch.cat(through)))

    def _parts(self) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Name the parts of two matrices by what they multiply."""
        d_embed, d_hidden = self.embedding.embedding_dim, self.rnn.hidden_size
        W_x = self.rnn.weight_ih_l0
        update = {"embedded": W_x[:, :d_embed], "beside": W_x[:, d_embed:]}
        if not self.context_first:
            W_c = self.readout.W_c.weight.split((self.d_encoder, d_hidden), 1)
            return update, dict(zip(("context", "state"), W_c))
        W = self.readout.W.weight.split((d_hidden, self.d_encoder, d_embed), 1)
        return update, dict(zip(("state", "context", "embedded"), W))

    def _take(
        self, gates_x: Tensor, h: Tensor, fed: Tensor | None, memory: Memory | None, state: State
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Take a step: the next state, what the context brings to the features, and weights."""
        linear = nn.functional.linear
        update, readout = self._parts()
        if self.context_first:
            context, weights, _ = self._attend(h, memory, state)
            context, beside = context.tensor_split([len(readout["context"])], -1)
        else:
            beside = linear(fed, update["beside"])
        h = gru_step(gates_x + beside, h, self.rnn.weight_hh_l0, self.rnn.bias_hh_l0)
        if not self.context_first:
            context, weights, _ = self._attend(h, memory, state)
            context = torch.tanh(context + linear(h, readout["state"]))
        return h, context, weights

    def _read_out(self, contexts: Tensor, states: Tensor, embedded: Tensor) -> Tensor:
        """Give the features of one step, or of all at once."""
        if not self.context_first:
            return contexts
        readout = self._parts()[1]
        W = torch.cat([readout["state"], readout["embedded"]], 1)
        both = nn.functional.linear(torch.cat([states, embedded], -1), W, self.readout.W.bias)
        return torch.maximum(*(contexts + both).chunk(2, -1))

    def _gates(self, embedded: Tensor) -> Tensor:
        return nn.functional.linear(embedded, self._parts()[0]["embedded"], self.rnn.bias_ih_l0)

    def _advance(
        self, embedded: Tensor, state: State, memory: Memory | None
    ) -> tuple[State, Tensor, Tensor | None]:
        """Take a step of a search, which knows the last word alone."""
        h = state.hidden.outputs[-1]
        h, context, weights = self._take(self._gates(embedded), h, state.fed, memory, state)
        features = self._read_out(context, h, embedded)
        fed = None if self.context_first else features
        return State(Hidden((h,), None), fed, state.fixed, state.past), features, weights

    def _one_by_one(
        self, embedded: Tensor, state: State, memory: Memory | None
    ) -> tuple[Tensor, Tensor | None]:
        """Run step by step; the two orders share what is before the loop."""
        h, fed = state.hidden.outputs[-1], state.fed
        states, contexts, maps = [], [], []
        for gates_x in self._gates(embedded).unbind(1):
            h, fed, weights = self._take(gates_x, h, fed, memory, state)
            states.append(h)
            contexts.append(fed)
            maps.append(weights)
        features = self._read_out(torch.stack(contexts, 1), torch.stack(states, 1), embedded)
        return features, stack_steps(maps)


def project(model: nn.Module) -> nn.Module:
    """Let a model of Bahdanau's or Luong's kind, with one layer, take products out of its loop."""
    model.decoder.__class__ = ProjectingDecoder
    return model


def hold(arguments: argparse.Namespace) -> dict[str, list[Standing]]:
    """Let each model train in turns with all, and without one."""
    parts = {}
    all_parts = AS_IT_IS, MASKS, MEMORY, SHAPES, ADAM, PROCESSES, PROJECTED
    tables = {(model, "fp32"): all_parts for model in RECURRENT}
    tables[SMALL, "fp32"] = all_parts[:-1]
    tables |= {(model, "bf16"): (AS_IT_IS, CASTS, PROJECTED) for model in RECURRENT}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.json"
        write_examples(path, arguments.corpus, arguments.tokens)
        for (model, precision), chosen in tables.items():
            names = {part: [model, precision, part] for part in chosen}
            started, base = commands(arguments, path, "gains", names, {})
            title = f"{model}, {precision}, {arguments.threads} threads, batches of "
            title += f"{arguments.tokens:,} tokens"
            print(f"\n{title}")
            speeds = race(started, rounds=arguments.rounds, seconds=arguments.seconds)
            parts[title] = report(speeds, base)
    return parts


def hold_searches(arguments: argparse.Namespace) -> dict[str, list[Standing]]:
    """Let each recurrent model translate in turns as it is, and with products out of the loop."""
    parts = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.json"
        write_examples(path, arguments.corpus, arguments.tokens)
        for model in RECURRENT:
            for title, beam in (("greedy search", "1"), ("beam of 5", "5")):
                names = {part: [model, "fp32", beam, part] for part in (AS_IT_IS, PROJECTED)}
                started, base = commands(arguments, path, "gains", names, {})
                title = f"{model}, {title}, fp32, {arguments.threads} threads"
                print(f"\n{title}")
                speeds = race(started, rounds=arguments.rounds, seconds=arguments.seconds)
                parts[title] = report(speeds, base)
    return parts


def halve(data: train.Data, which: int) -> train.Data:
    """Give every other sentence of each batch that has several."""
    shared = [rows for rows in data["bucketed"] if len(rows) > 1]
    return {**data, "bucketed": [rows[which::2] for rows in shared]}


def obey_in_step(work: Callable[[], int], lead: bool) -> None:
    """Be one of two processes that train together: the first is a contestant, and leads.

    They exchange gradients in every update, so both make as many.
    """

    def shared(value: float) -> float:
        told = torch.tensor(value, dtype=torch.float64)
        distributed.broadcast(told, 0)
        return told.item()

    work()
    if lead:
        print("ready", flush=True)
    while True:
        line = sys.stdin.readline() if lead else ""
        seconds = shared(float(line) if line else 0.0)
        if not seconds:
            return
        began, tokens = time.perf_counter(), 0
        while shared(time.perf_counter() - began < seconds):
            tokens += work()
        both = torch.tensor(tokens)
        distributed.all_reduce(both)
        if lead:
            took = time.perf_counter() - began
            print(json.dumps({"tokens": both.item(), "seconds": took}), flush=True)


def be_one_of_two(arguments: argparse.Namespace, data: train.Data) -> None:
    """Be the contestant of two processes, which starts the other, or that one."""
    file, model, _, part = arguments.contestant
    lead = part == PROCESSES
    command = [sys.executable, *sys.orig_argv[1:-1], PEER]
    beside = [subprocess.Popen(command)] if lead else []
    torch.set_num_threads(max(arguments.threads // 2, 1))
    distributed.init_process_group(
        "gloo", init_method=f"file://{file}.{model}", rank=int(not lead), world_size=2
    )
    work = train.ours(
        halve(data, int(not lead)), model, "bucketed", False, wrap=DistributedDataParallel
    )
    try:
        obey_in_step(work, lead)
    except RuntimeError:
        if lead:
            raise  # the second: the first is gone, for a contestant is killed in the end
    for other in beside:
        other.wait()


def be(arguments: argparse.Namespace) -> None:
    """Be a contestant."""
    file, model, precision, *beam, part = arguments.contestant
    train.MODELS = MODELS
    data = json.loads(Path(file).read_text())
    if beam:
        wrap = project if part == PROJECTED else lambda model: model
        return obey(decode.ours(data, model, int(beam[0]), precision == "bf16", wrap))
    if part in (PROCESSES, PEER):
        return be_one_of_two(arguments, data)
    if part == SHAPES:
        examples = [Example(*pair) for pair in data["examples"]]
        data["bucketed"] = Batches(examples, tokens=data["tokens"]).plan(0)
    wrap = project if part == PROJECTED else None
    obey(train.ours(data, model, "bucketed", precision == "bf16", wrap=wrap))


def main() -> None:
    """Run the contest, or be one of its contestants."""
    take_out(sys.argv[-1])  # before anything is set up
    arguments = read_arguments(__doc__.splitlines()[0], search=True)
    if arguments.contestant:
        return be(arguments)
    print(f"PyTorch {torch.__version__}, {arguments.corpus}, {arguments.rounds} rounds")
    parts = hold_searches(arguments) if arguments.search else hold(arguments)
    if arguments.book:
        name = "gains of searches" if arguments.search else "gains"
        given = " ".join(word for word in sys.argv[1:] if word != "--book")
        how = f"python -m benchmarks.gains {given} --book".replace("  ", " ")
        write_standings(name, parts, how, arguments)


if __name__ == "__main__":
    main()
