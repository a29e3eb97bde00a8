"""The public address stands in one place; while it is unknown no link is dead."""

import pytest

from tools import address


@pytest.fixture(autouse=True)
def _unset(monkeypatch):
    for name in ("SEQATTN_PUBLISH_REPOSITORY", "SEQATTN_PUBLISH_BOOK"):
        monkeypatch.delenv(name, raising=False)


def test_without_an_address_there_are_no_links(monkeypatch):
    monkeypatch.setattr(address, "repository", lambda: "")
    assert address.book() == ""
    assert address.colab("notebooks/chapters/x.ipynb") == ""


def test_a_fork_gets_its_own_links(monkeypatch):
    monkeypatch.setenv("SEQATTN_PUBLISH_REPOSITORY", "Ada/attention")
    assert address.repository() == "https://github.com/Ada/attention"
    assert address.book() == "https://ada.github.io/attention"
    assert address.colab("notebooks/chapters/x.ipynb") == (
        "https://colab.research.google.com/github/Ada/attention/blob/gh-pages/notebooks/chapters/x.ipynb"
    )


def test_a_user_site_and_a_custom_domain(monkeypatch):
    monkeypatch.setenv("SEQATTN_PUBLISH_REPOSITORY", "Ada/ada.github.io")
    assert address.book() == "https://ada.github.io"
    monkeypatch.setenv("SEQATTN_PUBLISH_BOOK", "https://attention.example/")
    assert address.book() == "https://attention.example"
