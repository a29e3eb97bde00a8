"""Files from the network, kept in a cache: checked, continued after a break, never half there."""

import hashlib
import os
from pathlib import Path

from seqattn.data.pairs import CorpusError
from seqattn.extras import require

__all__ = ["VARIABLE", "DownloadError", "cache_folder", "checksum", "fetch", "local_copy"]

# Of the environment: a folder with a folder for each corpus, read in place of the network.
VARIABLE = "SEQATTN_DATA"

CHUNK = 1 << 12  # bytes; what a break leaves of one is lost
TIMEOUT = 30  # seconds without a byte


class DownloadError(OSError):
    """A file could not be had, or is not what it should be."""


def cache_folder() -> Path:
    """Give the folder where downloads are kept: the one that the operating system means for it."""
    return require("platformdirs", "a download", "nmt").user_cache_path("seqattn", appauthor=False)


def checksum(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def local_copy(path: Path, sha256: str, *, like: str, by_hand: str) -> Path:
    """Give a file of the folder that ``SEQATTN_DATA`` names, if it is what it should be.

    Parameters
    ----------
    path : Path
        The file, in a folder that is named as its corpus.
    sha256 : str
        Checksum in hexadecimal.
    like, by_hand : str
        A file's name, for an example, and how to get this one: both for the error message.

    Returns
    -------
    Path
        ``path``.

    Raises
    ------
    CorpusError
        If it is not there.
    DownloadError
        If it has another checksum.
    """
    if not path.is_file():
        raise CorpusError(
            f"{VARIABLE} is set, and there is no {path}; expected {VARIABLE} to name a folder with "
            f"a folder {path.parent.name} in it, with files such as {like}. Unset {VARIABLE} to "
            f"download them, or {by_hand}"
        )
    if checksum(path) != sha256:
        raise DownloadError(
            f"{path} has SHA-256 {checksum(path)}; expected {sha256}: the copy is altered or "
            f"incomplete. Unset {VARIABLE} to download it, or {by_hand}"
        )
    return path


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
    except OSError as error:
        reason: BaseException = error
        while reason.__context__:  # "connection refused" stands below what requests says of it
            reason = reason.__context__
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
    """Add to ``part`` what is missing at its end, for the checksum to judge."""
    requests = require("requests", "a download", "nmt")
    have = part.stat().st_size if part.exists() else 0
    # A range counts the bytes of what is sent: it must be the file itself.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with (
        part.open("ab") as file,
        requests.get(url, headers=headers, timeout=TIMEOUT, stream=True) as response,
    ):
        if response.status_code == 416:  # nothing is left after what we have
            return
        response.raise_for_status()
        if response.status_code != 206:  # the server sends the whole file, not the rest of it
            file.truncate(0)
        for piece in response.iter_content(CHUNK):
            file.write(piece)
