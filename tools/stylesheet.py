"""One style sheet for the book, with the rules that its pages can use and no others.

Theme and extensions bring half a megabyte of rules, most for things that no page of ours has.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tinycss2

# The theme's icon font. Ours are drawn by our own style (_assets/seqattn.css).
ICONS = re.compile(r"Font ?Awesome|\.fa-|\.fa\b|\.fa[srlbd]\b|--fa-", re.IGNORECASE)
OURS = ("stand_ins.css", "seqattn.css", "plots.css", "learner.css", "figure.css")
# Blocks whose content is rules again.
NESTED = {"media", "supports", "layer", "container"}
NAME = re.compile(r"[A-Za-z_][\w-]*")
CLASS = re.compile(r"\.((?:\\.|[\w-])+)")
ID = re.compile(r"#((?:\\.|[\w-])+)")
# What stands in these makes a selector narrower (:not) or is one of several (:is, :where).
LISTS = re.compile(r":(?:not|is|where|has|matches|any|-webkit-any)\((?:[^()]|\([^()]*\))*\)")


def names(pages: Iterable[Path], scripts: Iterable[Path]) -> set[str]:
    """Collect every name that an element may carry: classes and ids of pages, words of scripts."""
    found: set[str] = set()
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for values in re.findall(r'\b(?:class|id)="([^"]*)"', text):
            found.update(values.split())
    for script in scripts:
        found.update(NAME.findall(script.read_text(encoding="utf-8")))
    return found


def _can_match(selector: str, used: set[str]) -> bool:
    plain = LISTS.sub("", selector)
    wanted = [*CLASS.findall(plain), *ID.findall(plain)]
    return all(name.replace("\\", "") in used for name in wanted)


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
    return re.sub(r"\s*([{};,>])\s*", r"\1", text).replace(";}", "}").strip()


def _kept(rules: list[Any], used: set[str], theirs: bool) -> str:
    text = []
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [s for s in _split(rule.prelude) if _can_match(s, used)]
            body = tinycss2.serialize(rule.content)
            if theirs:
                selectors = [s for s in selectors if not ICONS.search(s)]
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


def combined(sheets: Iterable[Path], used: set[str]) -> str:
    """Join style sheets, in order, without the rules that nothing on a page can match.

    Parameters
    ----------
    sheets : iterable of Path
        They may refer to files beside them no more: what they need stands in ours.
    used : set of str
        Classes and ids that occur (:func:`names`).

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
    return _short("\n".join(texts)) + "\n"
