"""What ``seqattn train`` does with a corpus when nothing else is asked for."""

from dataclasses import dataclass

from seqattn.models import ModelConfig
from seqattn.training.config import TrainingConfig

__all__ = ["PRESETS", "Preset"]


@dataclass(frozen=True)
class Preset:
    """Settings that suit a corpus.

    Attributes
    ----------
    model : ModelConfig
        Small enough for a laptop's CPU.
    training : TrainingConfig
        With a budget.
    subwords : int
        Size of each subword vocabulary; 0 for whole words.
    """

    model: ModelConfig
    training: TrainingConfig
    subwords: int


# The grammar has no noise to be robust against: no smoothing. Small batches: many updates.
TOY = Preset(
    ModelConfig(d_embed=128, d_hidden=192, dropout=0.1),
    TrainingConfig(epochs=3, batch_tokens=512, lr=3e-3, warmup=100, smoothing=0.0),
    subwords=0,
)
TENS_OF_THOUSANDS = Preset(
    ModelConfig(d_embed=256, d_hidden=384, dropout=0.2),
    TrainingConfig(epochs=12, batch_tokens=1024, lr=2e-3, warmup=200),
    subwords=8_000,
)
PRESETS = {"toy": TOY, "multi30k": TENS_OF_THOUSANDS, "files": TENS_OF_THOUSANDS}
"""By the name of the corpus; see :class:`~seqattn.data.CorpusConfig`."""
