"""Ideas that no preset uses, tried on one: ``python -m benchmarks.trials pieces RUN --seed 1``.

Trains the preset ``transformer-tiny`` from English to German as the three runs with 40 epochs in
``chapters/training_runs.md`` were trained, but in 32 bits and with one idea more, for as many
updates unless ``--updates`` says otherwise:

pieces
    Dropout of pieces: each time a sentence is read, each possible merge of the byte-pair encoding
    is left out with a probability of ``RATE``, on both sides. So a word comes in other pieces in
    each epoch, while validation and test have the usual ones.
rdrop
    R-Drop: each update reads its batch twice, with different features dropped, and asks besides
    that both readings give the same words the same probabilities, with the weight ``AGREEMENT``.

RUN is the folder, as ``seqattn train`` leaves it, with ``trial.json`` beside the rest::

    settings   what was tried, {name: value}
    command    which repeats it
    averages   one entry for each way to choose the weights that are averaged:
               chosen, updates (those chosen), bleu, perplexity (of their mean, on validation)

A run that was cut off goes on when the command is given again. ``python -m benchmarks.quality RUN
--tried --book`` puts it beside the preset's runs.

References
----------
Provilkov, Emelianenko and Voita (2020), "BPE-Dropout: Simple and Effective Subword Regularization".
Liang et al. (2021), "R-Drop: Regularized Dropout for Neural Networks".
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import torch
from tokenizers import pre_tokenizers
from torch import Tensor, nn

from seqattn.data.batches import Batch, Batches, Example
from seqattn.data.corpora import CorpusConfig, read_split
from seqattn.data.pairs import TextPair
from seqattn.data.vocabulary import Subwords
from seqattn.evaluation import evaluate
from seqattn.precision import autocast
from seqattn.process import prepare_process
from seqattn.specials import EOS, PAD
from seqattn.training import RunFolder, Trainer, read_preset
from seqattn.training.checkpoints import TrainingState, average_weights
from seqattn.training.losses import TokenLoss
from seqattn.training.start import new_run
from seqattn.training.step import Update
from seqattn.translator.checkpoint import write_checkpoint

RATE = 0.1  # of the merges left out, as the paper has it for most languages
AGREEMENT = 5.0  # alpha of R-Drop, as the paper has it for translation
TRIED = {"pieces": {"dropout of pieces": RATE}, "rdrop": {"R-Drop": AGREEMENT}}
TOGETHER = 32  # tokens whose two readings are compared at a time
UPDATES = 8_800  # of 40 epochs, of those that the trials are compared with
AVERAGED = 10  # validations, as in the preset
# Into words of bytes, each written as a letter: what the vocabulary does before it merges.
SPLITTER = pre_tokenizers.ByteLevel(add_prefix_space=False)


class DroppedPieces:
    """Byte-pair encoding that leaves out merges by chance.

    Parameters
    ----------
    subwords : Subwords
        Its merges, and its pieces.
    rate : float
        Probability that a merge which is possible is left out, drawn anew before each merge.
    """

    def __init__(self, subwords: Subwords, rate: float):
        self.subwords = subwords
        self.rate = rate
        self._rank = {pair: rank for rank, pair in enumerate(subwords.merges)}
        self._ids = {piece: i for i, piece in enumerate(subwords.pieces)}
        self._words: dict[str, list[list[str]]] = {}

    def encode(self, text: str, rng: Random) -> list[int]:
        """Give the ids of a sentence, without special tokens."""
        if text not in self._words:
            split = SPLITTER.pre_tokenize_str(" " + text)
            self._words[text] = [list(word) for word, _ in split]
        words = self._words[text]
        return [self._ids[piece] for word in words for piece in self.merge(word, rng)]

    def merge(self, letters: Sequence[str], rng: Random) -> list[str]:
        """Let the letters of a word grow together, the most important merge first."""
        pieces, draw, rate, rank = list(letters), rng.random, self.rate, self._rank
        while len(pieces) > 1:
            possible = [
                (rank[pair], at)
                for at, pair in enumerate(pairwise(pieces))
                if pair in rank and draw() >= rate
            ]
            if not possible:
                break
            _, at = min(possible)
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
        return pieces


class RereadBatches(Batches):
    """Batches whose sentences come in other pieces in each epoch.

    Parameters
    ----------
    pairs : sequence of TextPair
        To train on.
    encoding : DroppedPieces
        Of both languages.
    tokens, seed : int
        As those of :class:`~seqattn.data.batches.Batches`; the seed also draws the merges.
    """

    def __init__(
        self, pairs: Sequence[TextPair], encoding: DroppedPieces, *, tokens: int, seed: int
    ):
        self.pairs = pairs
        self.encoding = encoding
        self.number = 0
        super().__init__(list(self._read(seed, 0)), tokens=tokens, seed=seed)

    def plan(self, number: int) -> list[list[int]]:
        """Give the rows of each batch of an epoch, once its sentences are read."""
        if number != self.number:
            super().__init__(
                list(self._read(self.seed, number)), tokens=self.tokens, seed=self.seed
            )
            self.number = number
        return super().plan(number)

    def _read(self, seed: int, number: int) -> Iterator[Example]:
        rng = Random(f"{seed} {number} pieces")
        for source, target in ((pair.source, pair.target) for pair in self.pairs):
            yield Example(
                [*self.encoding.encode(source, rng), EOS], [*self.encoding.encode(target, rng), EOS]
            )


def judge_two_readings(
    scores: Tensor, words: Tensor, smoothing: float = 0.0
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute R-Drop's loss of some tokens and its gradient, by the formula of the gradient.

    Autograd keeps a dozen arrays of the size of the scores: an update took some third longer.

    Parameters
    ----------
    scores : (2, tokens, vocabulary)
        Of both readings, before softmax.
    words : (tokens) integers
        The right ones.
    smoothing : float
        Of the labels.

    Returns
    -------
    tuple
        Cross-entropy and disagreement, each summed, and the gradient of the first plus
        ``AGREEMENT`` times the second, shaped as the scores. The cross-entropy counts both
        readings; the disagreement is the mean of the KL divergences from each to the other.
    """
    logs = scores.log_softmax(-1)
    p = logs.exp()
    gap = torch.stack([logs[0] - logs[1], logs[1] - logs[0]])
    kl = (p * gap).sum(-1, keepdim=True)
    right = words.expand(2, -1).unsqueeze(-1)
    share, half = smoothing / scores.shape[-1], AGREEMENT / 2
    cross = -(1 - smoothing) * logs.gather(-1, right).sum() - share * logs.sum()
    slope = p * (gap - kl + 1).mul_(half).add_(1)
    slope.sub_(p.flip(0), alpha=half).sub_(share)
    slope.scatter_add_(-1, right, slope.new_full(right.shape, smoothing - 1))
    return cross, kl.sum() / 2, slope


def update_by_two_readings(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    *,
    lr: float,
    smoothing: float,
    clip: float,
    bf16: bool,
) -> Update:
    """Make one step downhill on the loss of R-Drop, per token and reading.

    Both readings are rows of one batch, because dropout draws anew for each row.
    """
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.zero_grad()
    sides = (torch.cat([side, side]) for side in (batch.source, batch.lengths, batch.inputs))
    with autocast(batch.source.device, bf16):
        logits = model(*sides).logits
    read = logits.detach().float().unflatten(0, (2, -1)).flatten(1, 2)
    words = batch.targets.flatten()
    slope, crosses = torch.zeros_like(read), []
    # Few tokens at a time, whose numbers stay in the processor's cache.
    for rows in words.ne(PAD).nonzero().squeeze(1).split(TOGETHER):
        cross, _, slope[:, rows] = judge_two_readings(read[:, rows], words[rows], smoothing)
        crosses.append(cross)
    # The mean of both readings, as the log counts each token once.
    loss = TokenLoss(torch.stack(crosses).sum() / 2, words.ne(PAD).sum())
    logits.backward((slope / (2 * loss.tokens)).view_as(logits).to(logits.dtype))
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return Update(loss, norm)


def read_twice(trainer: Trainer) -> None:
    """Let each update of a training read its batch twice."""
    config = trainer.config

    def one_update(parts: Sequence[Sequence[int]], tokens: int, rate: float) -> Update:
        [rows] = parts
        return update_by_two_readings(
            trainer.model,
            trainer.optimizer,
            trainer.batches.take(rows).to(trainer.device),
            lr=rate,
            smoothing=config.smoothing,
            clip=config.clip,
            bf16=config.bf16,
        )

    trainer._update = one_update  # type: ignore[method-assign]


def prepare(idea: str, folder: Path, *, seed: int, updates: int) -> Trainer:
    """Prepare a training with one idea; take it up where it was cut off."""
    preset = read_preset("transformer-tiny")
    corpus = CorpusConfig("multi30k", "en", "de", lowercase=True)
    training = replace(preset.training, seed=seed, epochs=None, steps=updates)
    trainer = new_run(folder, corpus, preset=preset, training=training, go_on=True)
    if idea == "pieces":
        drop_pieces(trainer, read_split(corpus, "train"))
    else:
        read_twice(trainer)
    keep_every(trainer)
    return trainer


def drop_pieces(trainer: Trainer, pairs: Sequence[TextPair]) -> None:
    """Let a training of a joint vocabulary read its pairs with dropout of pieces."""
    subwords, usual = trainer.translator.vocabularies.source, trainer.batches
    if not isinstance(subwords, Subwords):
        raise TypeError(f"the vocabulary is of {subwords.kind}; expected subwords")
    encoding = DroppedPieces(subwords, RATE)
    trainer.batches = RereadBatches(pairs, encoding, tokens=usual.tokens, seed=usual.seed)


def keep_every(trainer: Trainer) -> None:
    """Let a training keep the weights of each validation, to choose among them afterwards."""
    checkpointer, usual = trainer.checkpointer, trainer.checkpointer.keep

    def keep(state: TrainingState, bleu: float) -> None:
        path = trainer.run_folder.path / "every" / f"{state.step}.safetensors"
        path.parent.mkdir(exist_ok=True)
        weights = trainer.model.state_dict()
        write_checkpoint(path, {f"model.{name}": value for name, value in weights.items()}, {})
        usual(state, bleu)

    checkpointer.keep = keep  # type: ignore[method-assign]


def compare_averages(trainer: Trainer) -> list[dict[str, Any]]:
    """Average ten validations' weights, chosen in three ways, and judge each on validation."""
    folder = trainer.run_folder
    valid = [record for record in folder.records() if record["kind"] == "valid"]
    orders: dict[str, Callable[[dict[str, Any]], float]] = {
        "highest BLEU": lambda record: -record["bleu"],
        "lowest perplexity": lambda record: record["perplexity"],
        "last": lambda record: -record["step"],
    }
    found = []
    for name, order in orders.items():
        steps = sorted(record["step"] for record in sorted(valid, key=order)[:AVERAGED])
        paths = [folder.path / "every" / f"{step}.safetensors" for step in steps]
        trainer.model.load_state_dict(average_weights(paths))
        judged = evaluate(trainer.translator, trainer.validator.pairs, details=True)
        scores = {"bleu": round(judged.bleu, 2), "perplexity": round(judged.perplexity, 3)}
        found.append({"chosen": name, "updates": steps, **scores})
    return found


def main() -> None:
    """Train, and compare the averages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("idea", choices=tuple(TRIED))
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--updates", type=int, default=UPDATES)
    options = parser.parse_args()
    prepare_process()
    trainer = prepare(options.idea, options.run, seed=options.seed, updates=options.updates)
    if trainer.run().reason == "interrupted":
        raise SystemExit("interrupted; the same command goes on")
    idea, seed = options.idea, options.seed
    command = f"python -m benchmarks.trials {idea} runs/{idea}-{seed} --seed {seed}"
    if options.updates != UPDATES:
        command += f" --updates {options.updates}"
    averages = compare_averages(trainer)
    told = {"settings": TRIED[idea], "command": command, "averages": averages}
    RunFolder(options.run).write("trial.json", told)
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
