"""Which part of a sample is a commit's turn: the same at each run of it, another with the next."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def turn(folder: Path = ROOT) -> int:
    """Give a number as good as drawn for each commit; 0 where there is no history.

    Examples
    --------
    >>> turn() == turn()
    True
    >>> turn(Path("/"))
    0
    """
    command = ["git", "-C", str(folder), "rev-parse", "--verify", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return 0
    return int(done.stdout[:8], 16) if done.returncode == 0 else 0
