"""One style sheet for the book, with the rules that its pages can use and no others.

Theme and extensions bring half a megabyte of rules, most for things that no page of ours has.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import tinycss2

# The theme's icon font. Ours are drawn by our own style (_assets/seqattn.css).
ICONS = re.compile(r"Font ?Awesome|\.fa-|\.fa\b|\.fa[srlbd]\b|--fa-", re.IGNORECASE)
# What the theme's rules ask for and no page here has or shows: Bootstrap's own dark look, a choice
# of a file or a date, files to download, other versions, and a page whose look nobody set.
UNASKED = re.compile(
    r"\[data-bs-theme|::file-selector-button|-calendar-picker|reference\.download|"
    r"#bd-header-version|html:not\(\[data-theme\]\)"
)
OURS = ("stand_ins.css", "seqattn.css", "plots.css", "learner.css", "waiting.css", "figure.css")
# Blocks whose content is rules again.
NESTED = {"media", "supports", "layer", "container"}
# Parts of the theme that the book has not, though the theme's script would know what to do.
ABSENT = re.compile(
    r"version-(?:switcher|warning)|announcement|stable-version|dropdown|list-group|"
    r"pst-(?:squeeze|collapse|expand)|thebe|noprint|full-width|margin-caption|"
    r"^(?:sidebar|margin|marginnote|sidenote|popout)$"
)
# A script that says "table" makes an element, not a class of the theme's that has this name.
TAGS = frozenset(
    re.findall(
        r"\w+",
        "a b body button code dd details div dl dt figure form g h1 h2 h3 h4 h5 h6 i img input kbd "
        "label li line main math nav ol output p path pre q rect s section select small span "
        "strong style sub sup svg table td text th title tr ul",
    )
)
STRING = re.compile(r"""\"[^"\n]*"|'[^'\n]*'|`[^`]*`""")
NAME = re.compile(r"[A-Za-z_][\w-]*")
CLASS = re.compile(r"\.((?:\\.|[\w-])+)")
ID = re.compile(r"#((?:\\.|[\w-])+)")
TAG = re.compile(r"[A-Za-z][\w-]*")
# What stands in these makes a selector narrower (:not) or is one of several (:is, :where).
LISTS = re.compile(r":(?:not|is|where|has|matches|any|-webkit-any)\((?:[^()]|\([^()]*\))*\)")
ASIDE = re.compile(r"\[[^\]]*\]|::?[\w-]+(?:\([^()]*\))?")
USES = re.compile(r"var\(\s*(--[\w-]+)")
# A value may hold a semicolon in quotation marks, as the address of a picture does.
GIVES = re.compile(r"""(?<=[{;])\s*(--[\w-]+)\s*:(?:"[^"]*"|'[^']*'|[^;{}"'])*(?:;|(?=\}))""")


@dataclass(frozen=True)
class Used:
    """What a selector may meet.

    Parameters
    ----------
    elements : frozenset of frozenset of str
        For each kind of element on a page its tag, its classes (``.a``) and its id (``#a``).
    words : frozenset of str
        Words in the strings of scripts, which may make any of them a tag, a class or an id.
    read : frozenset of str
        Variables that pages, scripts and other sheets read, such as a drawing in its colours.
    """

    elements: frozenset[frozenset[str]]
    words: frozenset[str]
    read: frozenset[str] = frozenset()


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[frozenset[str]] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        classes = {f".{name}" for name in (given.get("class") or "").split()}
        self.found.add(frozenset({tag, f"#{given.get('id')}"} | classes))


def occurring(pages: Iterable[Path], scripts: Iterable[Path], sheets: Iterable[Path] = ()) -> Used:
    """Collect the kinds of elements of pages, what scripts may add, and variables that are read."""
    reader, words, read = _Elements(), set(), set()
    for page in pages:
        text = page.read_text(encoding="utf-8")
        reader.feed(text)
        read.update(USES.findall(text))
    for script in scripts:
        text = script.read_text(encoding="utf-8")
        read.update(USES.findall(text))
        for string in STRING.findall(text):
            words.update(NAME.findall(string))
    for sheet in sheets:
        read.update(USES.findall(sheet.read_text(encoding="utf-8")))
    present = frozenset(w for w in words if not ABSENT.search(w))
    return Used(frozenset(reader.found), present, frozenset(read))


def _can_match(selector: str, used: Used, theirs: bool = False) -> bool:
    """Say whether each element that a selector names can occur, wherever it stands."""
    classes = used.words - TAGS if theirs else used.words
    plain = ASIDE.sub("", LISTS.sub("", selector))
    for compound in re.split(r"[\s>+~|]+", plain):
        tag = TAG.match(compound)
        wanted = {tag[0]} if tag else set()
        wanted |= {f".{name}" for name in CLASS.findall(compound)}
        wanted |= {f"#{name}" for name in ID.findall(compound)}
        wanted = {name.replace("\\", "") for name in wanted}
        wanted = {
            name
            for name in wanted
            if name.lstrip(".#") not in (classes if name.startswith(".") else used.words)
        }
        if not any(wanted <= element for element in used.elements):
            return False
    return True


def _unless(unread: set[str], given: re.Match[str]) -> str:
    return "" if given[1] in unread else given[0]


def _without_unread(text: str, read: frozenset[str]) -> str:
    """Leave out the variables that nothing reads, and those that only these read."""
    while True:
        unread = set(GIVES.findall(text)) - set(USES.findall(text)) - read
        shorter = GIVES.sub(partial(_unless, unread), text)
        shorter = re.sub(r"(^|(?<=[{}]))[^{}@]+\{\s*\}", "", shorter)
        if shorter == text:
            return text
        text = shorter


def _split(prelude: list[Any]) -> list[str]:
    """Split a list of selectors at its outer commas."""
    parts: list[list[Any]] = [[]]
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return [tinycss2.serialize(part).strip() for part in parts]


def _short(text: str) -> str:
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"([;{])\s*([\w-]+)\s*:\s+", r"\1\2:", text)
    return re.sub(r"\s*([{};,>])\s*", r"\1", text).replace(";}", "}").strip()


def _kept(rules: list[Any], used: Used, theirs: bool) -> str:
    text = []
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [s for s in _split(rule.prelude) if _can_match(s, used, theirs)]
            body = tinycss2.serialize(rule.content)
            if theirs:
                selectors = [s for s in selectors if not (ICONS.search(s) or UNASKED.search(s))]
                body = re.sub(r"--fa-[\w-]+\s*:[^;]*;?", "", body)
            if selectors and body.strip():
                text.append(f"{','.join(selectors)}{{{body}}}")
        elif rule.type == "at-rule" and rule.at_keyword in NESTED and rule.content is not None:
            inner = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
            if kept := _kept(inner, used, theirs):
                prelude = tinycss2.serialize(rule.prelude).strip()
                text.append(f"@{rule.at_keyword} {prelude}{{{kept}}}")
        elif rule.type == "at-rule":
            whole = rule.serialize()
            if not (theirs and ICONS.search(whole)) and rule.at_keyword != "charset":
                text.append(whole)
        elif rule.type == "error":
            raise ValueError(
                f"a style sheet has a fault in line {rule.source_line}: {rule.message}"
            )
    return "\n".join(text)


def combined(sheets: Iterable[Path], used: Used) -> str:
    """Join style sheets, in order, without the rules that nothing on a page can match.

    Parameters
    ----------
    sheets : iterable of Path
        They may refer to files beside them no more: what they need stands in ours.
    used : Used
        What occurs (:func:`occurring`).

    Raises
    ------
    ValueError
        If a sheet cannot be read.
    """
    texts = []
    for sheet in sheets:
        rules = tinycss2.parse_stylesheet(
            sheet.read_text(encoding="utf-8"), skip_comments=True, skip_whitespace=True
        )
        try:
            texts.append(_kept(rules, used, sheet.name not in OURS))
        except ValueError as error:
            raise ValueError(f"{sheet.name}: {error}") from None
    return _without_unread(_short("\n".join(texts)), used.read) + "\n"
