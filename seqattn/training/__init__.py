"""Training: losses, schedules, one update, whole runs with validations and checkpoints.

In memory, and in a few lines:

>>> from seqattn.data import Batches, Vocabularies, encode_pairs, toy_corpus
>>> from seqattn.evaluation import evaluate
>>> from seqattn.models import ModelConfig, build_model
>>> from seqattn.training import fit
>>> from seqattn.translator import Translator
>>> corpus = toy_corpus(800)
>>> vocabularies = Vocabularies.learn(corpus["train"], ("en", "fr"))
>>> config = ModelConfig(d_embed=16, d_hidden=16)
>>> model = build_model(config, *map(len, vocabularies))
>>> batches = Batches(encode_pairs(corpus["train"], vocabularies), tokens=512)
>>> history = fit(model, batches, steps=5)
>>> found = evaluate(Translator(model, vocabularies), corpus["valid"][:9])
>>> 0 <= found.bleu <= 100, 0 <= found.aer <= 1
(True, True)

:class:`Trainer` does the same in a folder, with validations, checkpoints and resumption; the
commands ``seqattn train``, ``evaluate`` and ``compare`` stand on these lines:

.. code-block:: python

    corpus = CorpusConfig("multi30k", "de", "en")
    new_run("runs/luong", corpus, preset=read_preset("luong")).run()
    luong, bahdanau = Translator.load("runs/luong"), Translator.load("runs/bahdanau")
    test = read_split(corpus, "test")
    evaluate(luong, test, beam=5, details=True)
    compare({"luong": luong, "bahdanau": bahdanau}, test).table()
"""

from seqattn.metrics import perplexity
from seqattn.plots.run_curves import plot_curves
from seqattn.training.checkpoints import TrainingState, average_weights
from seqattn.training.config import TrainingConfig
from seqattn.training.losses import TokenLoss, cross_entropy
from seqattn.training.presets import Preset, preset_names, read_config, read_preset
from seqattn.training.run_log import write_curves
from seqattn.training.schedules import (
    constant,
    cosine,
    exponential_decay,
    inverse_sigmoid_decay,
    inverse_square_root,
    linear_decay,
    warm_up,
)
from seqattn.training.start import new_run, resumed_run
from seqattn.training.step import DivergedError, History, Update, fit, make_optimizer, update
from seqattn.training.studies import Trial, run_trials
from seqattn.training.trainer import Outcome, Trainer
from seqattn.translator.checkpoint import (
    Checkpoint,
    CheckpointError,
    read_checkpoint,
    write_checkpoint,
)
from seqattn.translator.run_folder import RunFolder, load_model

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "DivergedError",
    "History",
    "Outcome",
    "Preset",
    "RunFolder",
    "TokenLoss",
    "Trainer",
    "TrainingConfig",
    "TrainingState",
    "Trial",
    "Update",
    "average_weights",
    "constant",
    "cosine",
    "cross_entropy",
    "exponential_decay",
    "fit",
    "inverse_sigmoid_decay",
    "inverse_square_root",
    "linear_decay",
    "load_model",
    "make_optimizer",
    "new_run",
    "perplexity",
    "plot_curves",
    "preset_names",
    "read_checkpoint",
    "read_config",
    "read_preset",
    "resumed_run",
    "run_trials",
    "update",
    "warm_up",
    "write_checkpoint",
    "write_curves",
]
