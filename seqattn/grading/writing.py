"""Write files so that nobody ever sees a half of one."""

import secrets
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is never seen half written, whatever happens meanwhile."""
    beside = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        # The tables end their lines as spreadsheets expect; nothing may be translated.
        beside.write_text(text, encoding="utf-8", errors="replace", newline="")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
