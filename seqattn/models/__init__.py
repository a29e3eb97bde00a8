"""Sequence-to-sequence models: encoders, decoders around any attention, and the two together."""

from seqattn.models.config import ModelConfig, build_model
from seqattn.models.copying import CopyGate, extend_vocabulary, mix_copy
from seqattn.models.decoders import AttentionDecoder
from seqattn.models.encoders import Encoded, Encoder
from seqattn.models.first_guess import guess_frequencies
from seqattn.models.pointer import PointerGenerator
from seqattn.models.seq2seq import Output, Seq2SeqAttention, evaluating
from seqattn.models.steps import State, Step
from seqattn.models.transformer import Transformer
from seqattn.models.tying import tie_matrices

__all__ = [
    "AttentionDecoder",
    "CopyGate",
    "Encoded",
    "Encoder",
    "ModelConfig",
    "Output",
    "PointerGenerator",
    "Seq2SeqAttention",
    "State",
    "Step",
    "Transformer",
    "build_model",
    "evaluating",
    "extend_vocabulary",
    "guess_frequencies",
    "mix_copy",
    "tie_matrices",
]
