"""Files from the network, kept in a cache: checked, continued after a break, never half there."""

import hashlib
import http.client
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

__all__ = ["DownloadError", "cache_folder", "checksum", "fetch"]

CHUNK = 1 << 16
TIMEOUT = 30  # seconds without a byte


class DownloadError(OSError):
    """A file could not be had, or is not what it should be."""


def cache_folder() -> Path:
    """Give the folder where downloads are kept: the one that the operating system means for it."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif os.name == "nt":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "seqattn"


def checksum(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(url: str, path: Path, sha256: str, *, otherwise: str = "") -> Path:
    """Download a file, unless it is there already.

    What has arrived is kept beside ``path``, as ``.part``, and continued next time. Only when the
    checksum is right does it get its name, in one step: nobody ever sees half a file.

    Parameters
    ----------
    url : str
        Where it is.
    path : Path
        Where to keep it. A file there with another checksum is replaced.
    sha256 : str
        Checksum in hexadecimal.
    otherwise : str
        What the reader may do without the network; ends the error message.

    Returns
    -------
    Path
        ``path``.

    Raises
    ------
    DownloadError
        If the file cannot be reached or written, or has the wrong checksum.
    """
    if path.is_file() and checksum(path) == sha256:
        return path
    wrong = ""
    if path.is_file():
        wrong = f". The file that is there, {path}, has SHA-256 {checksum(path)}; expected {sha256}"
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        continued = part.is_file()
        _download(url, part)
        if checksum(part) != sha256 and continued:  # perhaps the parts do not belong together
            part.unlink()
            _download(url, part)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise DownloadError(
            f"could not download {url}: {reason}. Try again with a network (it continues where "
            f"it stopped){wrong}{otherwise}"
        ) from error
    found = checksum(part)
    if found != sha256:
        part.unlink()
        raise DownloadError(
            f"{url} has SHA-256 {found}; expected {sha256}. The file was not kept: it was changed "
            f"at its source or on the way{otherwise}"
        )
    os.replace(part, path)
    return path


def _download(url: str, part: Path) -> None:
    """Add to ``part`` what is missing at its end."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            # A server that knows no ranges answers 200 and sends the whole.
            with part.open("ab" if response.status == 206 else "wb") as file:
                while chunk := response.read(CHUNK):
                    file.write(chunk)
            expected = response.headers.get("Content-Length")
            grown = part.stat().st_size - (have if response.status == 206 else 0)
            if expected is not None and grown < int(expected):
                raise ConnectionError(f"broken off after {grown} of {expected} bytes")
    except urllib.error.HTTPError as error:
        if error.code != 416:  # nothing is left after what we have: let the checksum speak
            raise
