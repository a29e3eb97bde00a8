"""Formulas as MathML: what MathML Core leaves open is mended, and every formula has its letters."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fontTools.ttLib import TTFont

from tools import part_colours
from tools.mathml import FormulaError, aligned, mathml

ROOT = Path(__file__).resolve().parents[2]
# Single letters are drawn with these: italic Latin and Greek.
ITALIC = {
    **{chr(0x41 + i): chr(0x1D434 + i) for i in range(26)},
    **{chr(0x61 + i): chr(0x1D44E + i) for i in range(26)},
    **{chr(0x3B1 + i): chr(0x1D6FC + i) for i in range(25)},
    "h": "ℎ",
    "∂": "\U0001d715",
    **dict(zip("ϵϑϰϕϱϖ", map(chr, range(0x1D716, 0x1D71C)), strict=True)),
}


def parts(tex, display=False):
    return ElementTree.fromstring(mathml(tex, display))


def test_operators_in_scripts_take_no_space_and_those_of_the_line_keep_theirs():
    script, line = parts("e_{t-1} - 1").iter("mo")
    assert (script.get("lspace"), script.get("rspace")) == ("0", "0")
    assert line.get("lspace") is None


@pytest.mark.parametrize(
    ("tex", "before", "behind"),
    [(r"x_1, \dots, x_n", "0", "0.1667em"), (r"1 \dots l", "0.1667em", "0.1667em")],
)
def test_dots_stand_as_far_from_what_follows_as_from_what_is_before(tex, before, behind):
    (dots,) = (sign for sign in parts(tex).iter("mo") if sign.text == "…")
    assert (dots.get("lspace"), dots.get("rspace")) == (before, behind)


def test_a_root_over_a_low_letter_stands_as_high_as_over_a_capital():
    (root,) = parts(r"1/\sqrt{n}").iter("msqrt")
    assert ("0.75em", "0.2em") in [(s.get("height"), s.get("depth")) for s in root.iter("mspace")]


def test_an_arrow_over_a_letter_is_a_small_one_that_leaves_its_index_where_it_was():
    arrow, sign = parts(r"\overleftarrow{h}_1 +").iter("mo")
    assert (arrow.text, arrow.get("stretchy")) == ("←", "false")
    assert arrow.get("style") == "font-size:0.65em"
    assert sign.get("style") is None
    (wide,) = parts(r"\overrightarrow{AB}").iter("mo")
    assert wide.get("stretchy") == "true"


def test_an_exponent_beside_a_letter_with_a_sign_over_it_stands_no_higher_than_beside_others():
    (letter,) = parts(r"\hat{y}^2 + \hat{y}_k").iter("mpadded")
    assert letter.get("height") == "0.7em"
    assert [child.tag for child in letter] == ["mover"]


@pytest.mark.parametrize(
    ("tex", "spaces"),
    [
        (r"v \tanh(x)", 1),
        (r"v^\top \tanh(x)", 1),
        (r"(a) \exp(b)\exp(c)", 2),
        (r"= \tanh(x)", 0),
        (r"T_s \log_2(x)", 1),
    ],
)
def test_the_name_of_a_function_stands_apart_from_what_it_follows(tex, spaces):
    assert len(list(parts(tex).iter("mspace"))) == spaces


def test_a_display_is_told_from_a_line():
    assert parts("x", display=True).get("display") == "block"
    assert parts("x").get("display") is None


def test_a_class_of_ours_reaches_the_page_so_that_a_symbol_takes_its_colour():
    assert parts(r"\class{sa-query}{s}").find(".//mi[@class='sa-query']").text == "s"


def test_a_formula_that_is_none_is_named():
    with pytest.raises(FormulaError, match=re.escape(r"in the formula: \frac{1}")):
        mathml(r"\frac{1}")


@pytest.mark.parametrize(
    ("tex", "expected"),
    [
        ("a = b", "a = b"),
        (r"a &= b \\ c &= d", r"\begin{split}a &= b \\ c &= d\end{split}"),
        ("a\n\nb", r"\begin{aligned}a \\ b\end{aligned}"),
    ],
)
def test_lines_are_set_below_each_other(tex, expected):
    assert aligned(tex) == expected
    mathml(expected, display=True)


def test_a_prime_goes_from_the_middle_of_a_letter_to_the_head_of_a_capital():
    font = TTFont(ROOT / "_assets" / "fonts" / "math.woff2")
    sizes, names = font["MATH"].table.MathConstants, font.getBestCmap()
    prime, capital = (font["glyf"][names[ord(sign)]] for sign in "′H")
    share, up = sizes.ScriptPercentScaleDown / 100, sizes.SuperscriptShiftUp.Value
    foot, head = (up + share * y for y in (prime.yMin, prime.yMax))
    assert 0.5 * capital.yMax < foot < 0.7 * capital.yMax
    assert head == pytest.approx(1.1 * capital.yMax, rel=0.1)


@pytest.mark.book
def test_the_font_has_every_character_of_every_formula(book):
    has = TTFont(ROOT / "_assets" / "fonts" / "math.woff2").getBestCmap()
    missing = {}
    for page in book.rglob("*.html"):
        for made in re.findall(r"<math\b.*?</math>", page.read_text(encoding="utf-8"), re.DOTALL):
            for token in ElementTree.fromstring(made.replace("&nbsp;", " ")).iter():
                text = (token.text or "").strip()
                drawn = ITALIC.get(text, text) if token.tag == "mi" else text
                lost = {c for c in drawn if ord(c) not in has and not c.isspace()}
                if token.tag in ("mi", "mo", "mn", "mtext") and lost:
                    missing[page.name] = missing.get(page.name, set()) | lost
    assert missing == {}


@pytest.mark.book
def test_no_page_has_a_formula_left_as_tex_or_asks_for_a_script_for_them(book):
    pages = [*book.glob("chapters/*.html"), *book.glob("exercises/*.html")]
    texts = {p.name: p.read_text(encoding="utf-8") for p in pages}
    assert sum(text.count("<math") for text in texts.values()) > 500
    assert [
        name
        for name, text in texts.items()
        if re.search(r"<script[^>]*mathjax|\\\(|\\\[", text, re.I)
    ] == []


def test_each_part_of_attention_has_its_colour_in_formulas_and_in_the_style():
    style = (ROOT / "_assets" / "seqattn.css").read_text(encoding="utf-8")
    for name in part_colours.PARTS:
        marked = [e for e in parts(rf"a + \{name}{{b_t}}").iter() if e.get("class") == f"sa-{name}"]
        assert ["".join(e.itertext()) for e in marked] == ["bt"]
        assert f"math .sa-{name} {{ color: var(--sa-{name}); }}" in style
        assert f".sa-part.sa-{name} {{ color: var(--sa-{name}); }}" in style
