"""Live figures: the same cell moves in JupyterLab, in Colab and in the static book."""

from seqattn.widgets.base import LiveFigure
from seqattn.widgets.softmax_temperature import SoftmaxTemperature

__all__ = ["LiveFigure", "SoftmaxTemperature"]
