"""The project's public address: from ``_config.yml``, or from the publishing workflow's own fork.

While it is unknown everything here is empty, and the book shows no link that would be dead.
"""

import os
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGES_BRANCH = "gh-pages"


def repository() -> str:
    """Return the repository's address, such as ``https://github.com/owner/name``, or nothing."""
    if slug := os.environ.get("SEQATTN_PUBLISH_REPOSITORY"):
        return f"https://github.com/{slug}"
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return (config.get("repository", {}).get("url") or "").rstrip("/")


def book() -> str:
    """Return the published book's address, or nothing."""
    if given := os.environ.get("SEQATTN_PUBLISH_BOOK"):
        return given.rstrip("/")
    owner, name = _slug()
    if not owner:
        return ""
    site = f"https://{owner.lower()}.github.io"
    return site if name.lower() == f"{owner}.github.io".lower() else f"{site}/{name}"


def colab(path: str) -> str:
    """Return the address that opens a published notebook in Colab, or nothing."""
    owner, name = _slug()
    if not owner:
        return ""
    return f"https://colab.research.google.com/github/{owner}/{name}/blob/{PAGES_BRANCH}/{path}"


def _slug() -> tuple[str, str]:
    parts = repository().removeprefix("https://github.com/").split("/")
    if len(parts) != 2:
        return "", ""
    return parts[0], parts[1].removesuffix(".git")
