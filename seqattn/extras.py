"""Optional packages: imported where they are used, with an error that says how to get them."""

from importlib import import_module
from types import ModuleType

__all__ = ["require"]


def require(module: str, purpose: str, extra: str) -> ModuleType:
    """Import a package that one of the extras brings.

    Parameters
    ----------
    module : str
        What to import.
    purpose : str
        What needs it, as the subject of a sentence.
    extra : str
        Name of the extra that installs it.

    Returns
    -------
    module
        Imported.

    Raises
    ------
    ImportError
        If it is not installed, with the command that installs it.

    Examples
    --------
    >>> require("json", "this example", "nmt").dumps([1])
    '[1]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f'{purpose} needs {package}: pip install "seqattn[{extra}]"') from error
