"""A trained translator: text in, text and attention maps out; and the files it is kept in."""

from seqattn.translator.translation import Translation
from seqattn.translator.translator import Translator

__all__ = ["Translation", "Translator"]
