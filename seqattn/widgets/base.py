"""What every live figure shares: one cell that moves in a notebook and in the static book.

A figure computes in JavaScript (float64), so that it moves without a kernel; :meth:`numbers`
computes the same with PyTorch, and a test holds the two together.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar

import torch
import traitlets

try:
    import anywidget
except ImportError as error:
    raise ImportError(
        'live figures need anywidget and ipywidgets: pip install "seqattn[viz]"'
    ) from error

__all__ = ["LiveFigure", "Numbers", "floats", "masked_entropy"]

HERE = Path(__file__).parent


def _source(name: str) -> str:
    """Text of a file beside this one, without indentation and whole-line comments.

    A notebook stores the text once for each figure, so it is kept short.
    """
    lines = (line.strip() for line in (HERE / name).read_text(encoding="utf-8").splitlines())
    text = "\n".join(line for line in lines if line and not line.startswith("//"))
    return re.sub(r"\s*([{};,])\s*", r"\1", text) if name.endswith(".css") else text


class Numbers(traitlets.List):
    """A list of numbers, or of rows of numbers, that can also be set to an array or a tensor."""

    def validate(self, obj: Any, value: Any) -> Any:
        """Give a list for whatever has ``tolist``."""
        return super().validate(obj, value.tolist() if hasattr(value, "tolist") else value)


class LiveFigure(anywidget.AnyWidget):
    """A figure that the reader moves.

    In a notebook each control is a trait: a cell can read and set it, ``observe`` it and link it to
    other widgets; ``start`` names them, with their values at the start.

    Subclasses name their JavaScript file in ``_js``, the traits that the reader moves in ``_moves``
    and a default question in ``_question``.

    Parameters
    ----------
    title : str, optional
        Heading of the figure.
    caption : str
        What to try, and what should happen.
    predict : mapping or False, optional
        Question to answer before moving: ``question``, ``options``, ``answer`` (index of the right
        option), ``explain``, one text for the right answer or a list with a text for each option,
        and, if it is one control that would tell, ``tests``, the trait of that control: it waits
        for the answer. False leaves the question out. If not given, the figure asks its own, which
        is about the numbers that come with it: give False with numbers of your own.

    Raises
    ------
    TypeError
        If the figure takes no such option.
    ValueError
        If the question lacks a part, or its parts do not fit one another.
    """

    _js: ClassVar[str] = ""
    _moves: ClassVar[tuple[str, ...]] = ()
    _title: ClassVar[str] = ""
    _question: ClassVar[Mapping[str, Any]] = {}
    _css = _source("figure.css")

    title = traitlets.Unicode().tag(sync=True)
    caption = traitlets.Unicode().tag(sync=True)
    predict: "traitlets.Dict[str, Any]" = traitlets.Dict().tag(sync=True)
    predicted = traitlets.Int(-1, help="The option last checked; -1 before.").tag(sync=True)
    revealed = traitlets.Bool(False, help="Whether the answer was asked for.").tag(sync=True)
    start: "traitlets.Dict[str, Any]" = traitlets.Dict(help="Where Reset goes.").tag(sync=True)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if "_js" in cls.__dict__:
            entry = "export default { render: (context) => live(figure, context) };"
            cls._esm = "\n".join([_source("core.js"), _source(cls._js), entry])
        super().__init_subclass__(**kwargs)

    def __init__(
        self,
        *,
        title: str | None = None,
        caption: str = "",
        predict: Mapping[str, Any] | bool | None = None,
        **traits: Any,
    ) -> None:
        for name in traits:
            if not self.has_trait(name):
                close = get_close_matches(name, self.trait_names())
                meant = f"; did you mean {close[0]}?" if close else ""
                raise TypeError(f"{type(self).__name__} takes no option {name!r}{meant}")
        asked = self._question if predict is None or predict is True else predict or {}
        super().__init__(
            title=self._title if title is None else title,
            caption=caption,
            predict=_checked_question(asked, self._moves),
            **traits,
        )
        self.start = {name: getattr(self, name) for name in self._moves}

    def numbers(self) -> dict[str, Any]:
        """Compute what the figure shows now, by PyTorch in float64."""
        raise NotImplementedError

    def _one_for_each(self, names: str, proposal: Any) -> Any:
        """Refuse numbers that are not as many as the figure has words for them."""
        found, wanted = len(proposal["value"]), len(getattr(self, names))
        if found != wanted:
            raise traitlets.TraitError(
                f"{proposal['trait'].name} has {found} entries; expected {wanted}, one for each of "
                f"the figure's {names}"
            )
        return proposal["value"]

    def __repr__(self) -> str:
        # What stands in a notebook that has not run; ipywidgets 7 cuts it after 110 characters.
        return "A live figure. To see and move it, run the cell above (Shift+Enter), or Run All."


def _checked_question(asked: Mapping[str, Any], controls: Sequence[str]) -> dict[str, Any]:
    if not asked:
        return {}
    wanted = {"question", "options", "answer", "explain"}
    if set(asked) - {"tests"} != wanted:
        raise ValueError(
            f"predict has the entries {sorted(asked)}; expected {sorted(wanted)} and, if one "
            "control would tell the answer, 'tests'"
        )
    if asked.get("tests", controls[0]) not in controls:
        raise ValueError(
            f"predict['tests'] is {asked['tests']!r}; expected one of the controls {list(controls)}"
        )
    options, explain = list(asked["options"]), asked["explain"]
    if not 0 <= asked["answer"] < len(options):
        raise ValueError(
            f"predict['answer'] is {asked['answer']}; expected the index of one of the "
            f"{len(options)} options, counting from 0"
        )
    if not isinstance(explain, str):
        explain = list(explain)
        if len(explain) != len(options):
            raise ValueError(
                f"predict['explain'] has {len(explain)} texts; expected one for each of the "
                f"{len(options)} options, or one string"
            )
    return {**asked, "options": options, "explain": explain}


def floats(values: Any, name: str, length: int | None = None) -> list[float]:
    """Turn a list, array or tensor into a list of Python floats of the expected length.

    Parameters
    ----------
    values : sequence, array or tensor
        One number for each position.
    name : str
        What to call it in an error.
    length : int, optional
        Number of entries expected.

    Returns
    -------
    list of float

    Raises
    ------
    ValueError
        If there are not ``length`` entries.
    """
    result = [float(x) for x in values]
    if length is not None and len(result) != length:
        raise ValueError(f"{name} has {len(result)} entries; expected {length}, one for each label")
    return result


def masked_entropy(weights: Sequence[float]) -> float:
    r"""Entropy :math:`-\sum_i \alpha_i \ln \alpha_i` in nats of one row, with :math:`0 \ln 0 = 0`.

    Parameters
    ----------
    weights : sequence of float
        Non-negative weights; all zero gives 0.

    Returns
    -------
    float
    """
    return float(torch.special.entr(torch.tensor(weights, dtype=torch.float64)).sum())
