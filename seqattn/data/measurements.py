"""Measurements that the book shows but does not repeat: their trainings take too long for a page.

Each is a JSON file that a program in ``benchmarks/`` writes, and says which, on what machine, and
how to get it again.
"""

import json
from importlib.resources import files
from typing import Any

__all__ = ["measured"]


def measured(name: str) -> dict[str, Any]:
    """Read a measurement.

    Parameters
    ----------
    name : str
        Name of the program in ``benchmarks/`` that made it, such as ``"bottleneck"``.

    Returns
    -------
    dict
        What the program wrote. ``card`` says how it was measured.

    Raises
    ------
    ValueError
        If there is none of that name.

    Examples
    --------
    >>> measured("bottleneck")["card"]["command"]
    'python -m benchmarks.bottleneck'
    """
    folder = files("seqattn.data") / "measured"
    file = folder / f"{name}.json"
    if not file.is_file():
        names = sorted(f.name.removesuffix(".json") for f in folder.iterdir())
        raise ValueError(f"no measurement {name!r}; expected one of {', '.join(names)}")
    return json.loads(file.read_text(encoding="utf-8"))
