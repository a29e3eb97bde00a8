"""A corpus that is small enough to learn by heart: numbers, said backwards."""

from pathlib import Path
from random import Random

from seqattn.data import CorpusConfig, TextPair
from seqattn.models import ModelConfig
from seqattn.training import TrainingConfig

ENGLISH = ["one", "two", "three", "four", "five", "six", "seven"]
GERMAN = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben"]
TINY = ModelConfig(d_embed=7, d_hidden=11, dropout=0.3)


def numbers(n: int, seed: int = 0) -> list[TextPair]:
    """Draw sequences of one to five numbers."""
    rng = Random(seed)
    drawn = [[rng.randrange(7) for _ in range(rng.randint(1, 5))] for _ in range(n)]
    return [
        TextPair(" ".join(GERMAN[i] for i in said), " ".join(ENGLISH[i] for i in reversed(said)))
        for said in drawn
    ]


def write_table(path: Path, pairs: list[TextPair]) -> Path:
    path.write_text("".join(f"{p.source}\t{p.target}\n" for p in pairs), encoding="utf-8")
    return path


def corpus(folder: Path) -> CorpusConfig:
    """Write 60 pairs to train on, 12 to validate on and 11 to test on."""
    files = {
        split: (str(write_table(folder / f"{split}.tsv", numbers(n, seed))),)
        for seed, (split, n) in enumerate({"train": 60, "valid": 12, "test": 11}.items())
    }
    return CorpusConfig("files", "de", "en", **files)


def settings(**changes) -> TrainingConfig:
    """Twelve updates, five of them in an epoch, with all that is random switched on."""
    usual = dict(steps=12, batch_tokens=64, lr=0.02, warmup=3, log_every=2, validate_every=5)
    sampled = dict(sampling="linear", sampling_constant=0.05)
    if "sampling" in changes:
        sampled = {}
    return TrainingConfig(**{**usual, **sampled, **changes})
