"""Hatch's hook for the wheel: writes the book's address into it, and takes the answers out of it.

``SEQATTN_EDITION=students`` makes the edition without answers; ``python -m tools.build wheels``
makes both.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

EDITIONS = ("instructors", "students")


def edition() -> str:
    """Say which edition is asked for."""
    asked = os.environ.get("SEQATTN_EDITION") or "instructors"
    if asked not in EDITIONS:
        raise SystemExit(f"SEQATTN_EDITION is {asked!r}; expected {' or '.join(EDITIONS)}")
    return asked


class WheelHook(BuildHookInterface):
    """Adds files to a wheel; what is installed for editing stays as it is."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "standard":
            return
        sys.path.insert(0, self.root)
        from tools import address

        self._folder = Path(tempfile.mkdtemp())
        added = {"address.txt": address.book().encode()}
        if edition() == "students":
            from seqattn.grading.bank import EDITION, exercises, without_keys

            added[EDITION] = b"students\n"
            added |= {f"banks/{name}.bank": without_keys(name) for name in exercises()}
        for name, content in added.items():
            path = self._folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
            build_data["force_include"][str(path)] = f"seqattn/grading/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version == "standard":
            shutil.rmtree(self._folder)
