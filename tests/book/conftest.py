"""The built book, once for all tests of its pages."""

import pytest

from tools import build


@pytest.fixture(scope="session")
def html():
    """Folder of the built book; an up-to-date one is built again in seconds."""
    build.build_wheel()
    return build.build_pages()
