"""The one style sheet: rules that can match stay in order, others and the icon font go."""

import re

import pytest
from fontTools.ttLib import TTFont

from tools import build, figures, fonts, page_ext
from tools.stylesheet import Used, combined, occurring


def sheet(tmp_path, text, name="theirs.css"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


# <p class="a">, <b class="a c" id="a">, and a script that names "fa-sun" and "table".
USED = Used(
    frozenset({frozenset({"p", ".a"}), frozenset({"b", ".a", ".c", "#a"})}),
    frozenset({"fa-sun", "table"}),
)


def kept(tmp_path, text, name="theirs.css"):
    return combined([sheet(tmp_path, text, name)], USED).strip()


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("p{color:red}", "p{color:red}"),
        (".a{color:red} .b{color:red}", ".a{color:red}"),
        (".a,.b{color:red}", ".a{color:red}"),
        (".a .b{color:red}", ""),
        ("#a{color:red} #b{color:red}", "#a{color:red}"),
        (".a:not(.b){color:red}", ".a:not(.b){color:red}"),
        ("p:is(.a,.b){color:red}", "p:is(.a,.b){color:red}"),
        ("i{color:red}", ""),
        ("b.a.c,p.c{color:red}", "b.a.c{color:red}"),
        ('p>b[x=".no"]:hover::after{color:red}', 'p>b[x=".no"]:hover::after{color:red}'),
        (".fa-sun-not,p.fa-moon{color:red}", ""),
        ("p,p::-webkit-calendar-picker-indicator{color:red}", "p{color:red}"),
        ("table{color:red}.table{color:red}", "table{color:red}"),
        ("p{--x:1;--y:var(--x);color:red}", "p{color:red}"),
        ("p{--x:1;--y:var(--x);color:var(--y)}", "p{--x:1;--y:var(--x);color:var(--y)}"),
        ("p{--x:1}", ""),
        ("@media (width>1px){.b{color:red}}", ""),
        ("@media (width>1px){.a{color:red}.b{x:y}}", "@media (width>1px){.a{color:red}}"),
        ("@font-face{font-family:X}", "@font-face{font-family:X}"),
        ("@font-face{font-family:'Font Awesome 6 Free'}", ""),
        ("@charset 'utf-8';p{color:red}", "p{color:red}"),
        (".a{--fa-font:x;color:red}", ".a{color:red}"),
        ("/* hidden */p{color:red}", "p{color:red}"),
    ],
)
def test_a_rule_stays_where_its_names_occur(text, result, tmp_path):
    assert kept(tmp_path, text) == result


def test_ours_may_draw_the_icons(tmp_path):
    assert kept(tmp_path, ".fa-sun{x:y}") == ""
    assert kept(tmp_path, ".fa-sun{x:y}", name="seqattn.css") == ".fa-sun{x:y}"


def test_a_fault_is_named_with_its_file(tmp_path):
    with pytest.raises(ValueError, match=r"theirs\.css: .*line 1"):
        kept(tmp_path, "p } q")


def test_names_come_from_pages_and_from_strings_of_scripts(tmp_path):
    page, script = tmp_path / "a.html", tmp_path / "a.js"
    page.write_text('<p class="one two" id="three">', encoding="utf-8")
    script.write_text('e.classList.add("four-five"); // six', encoding="utf-8")
    found = occurring([page], [script])
    assert found == Used(frozenset({frozenset({"p", ".one", ".two", "#three"})}), {"four-five"})


def test_variables_stay_that_a_drawing_a_script_or_another_sheet_reads(tmp_path):
    page, script = tmp_path / "a.html", tmp_path / "a.js"
    page.write_text('<p><path fill="color-mix(in oklab,var(--x) 5%,red)">', encoding="utf-8")
    script.write_text('e.style.fill = "var(--y)";', encoding="utf-8")
    other = sheet(tmp_path, "p{color:var( --z)}", "other.css")
    used = occurring([page], [script], [other])
    assert used.read == {"--x", "--y", "--z"}
    given = "p{--x:1;--y:2;--z:3}"
    assert combined([sheet(tmp_path, "p{--x:1;--y:2;--unread:0;--z:3}")], used).strip() == given


@pytest.mark.book
def test_the_pages_miss_no_colour(book):
    """Each variable without a fallback that a page or its sheets read is given by one of these."""
    for page in book.rglob("chapters/*.html"):
        text = page.read_text(encoding="utf-8")
        for found in re.findall(r'href="[^"]*_static/(\w+\.css)"', text):
            text += (book / "_static" / found).read_text(encoding="utf-8")
        read = set(re.findall(r"var\(\s*(--sa-[\w-]+)\s*\)", text))
        given = set(re.findall(r"(--sa-[\w-]+)\s*:", text))
        assert read <= given, f"{page.name}: {sorted(read - given)}"


@pytest.mark.slow
def test_what_stands_in_for_a_font_is_measured_on_it():
    """If this fails after a font changed: python -m tools.fonts --stand-ins."""
    written = fonts.STAND_INS.read_text(encoding="utf-8")
    assert written == fonts.stand_ins()
    faces = set(re.findall(r'font-family: "([^"]+)"', written))
    used = (fonts.STAND_INS.parent / "seqattn.css").read_text(encoding="utf-8")
    assert all(f'"{face}"' in used for face in faces)


def test_signs_stay_with_their_formula_and_numbers_have_one_pair_of_brackets():
    formula = '<span class="math notranslate"><math><mi>v</mi></math></span>'
    number = '<a class="reference internal" href="02.html#equation-eq-x">(2.1)</a>'
    assert (
        page_ext.mended(f"so {formula}. And") == f'so <span class="sa-held">{formula}.</span> And'
    )
    assert page_ext.mended(f"{formula} and") == f"{formula} and"
    assert page_ext.mended(f"sum ({number}) of {number}") == (
        f"sum ({number.replace('(2.1)', '2.1')}) of {number}"
    )
    fold = '<summary aria-label="Toggle hidden content">\n<p>Show code</p>'
    for corner in ('<th class="head"><p></p></th>', '<th scope="col"></th>'):
        assert page_ext.mended(corner) == "<td></td>"
    assert page_ext.mended(fold) == "<summary>\n<p>Show code</p>"
    assert page_ext.mended('<span class="n">x</span><span class="k">if</span>') == (
        'x<span class="k">if</span>'
    )
    name = '<code class="xref py py-obj docutils literal notranslate"><span class="pre">x.y</span>'
    assert page_ext.mended(f'<a title="x.y">{name}</code></a>') == (
        '<a><code class="literal notranslate">x.y</code></a>'
    )


def test_signatures_carry_what_is_seen():
    """As Sphinx writes them: a name with its place, what it takes, its source."""
    taken = (
        '<em class="sig-param"><span class="n"><span class="pre">mask</span></span><span class="o">'
        '<span class="pre">=</span></span><span class="default_value"><span class="pre">None</span>'
        "</span></em>"
    )
    whole = (
        '<dt class="sig sig-object py" id="x.y"><span class="sig-prename descclassname"><span '
        'class="pre">x.</span></span><span class="sig-name descname"><span class="pre">y</span>'
        f'</span><span class="sig-paren">(</span>{taken}<span class="sig-paren">)</span>'
        '<a class="reference internal" href="a.html#y"><span class="viewcode-link"><span '
        'class="pre">[source]</span></span></a></dt>'
    )
    assert page_ext.mended(whole) == (
        '<dt class="sig sig-object py" id="x.y"><span class="sig-prename">x.<wbr></span>'
        '<span class="sig-name">y</span>(<wbr><em>mask<i>=None</i></em>)'
        '<a class="viewcode-link" href="a.html#y">[source]</a></dt>'
    )


def test_spaces_are_left_out_where_they_are_not_seen():
    page = (
        "<div>\n\n   <p>two\n   words</p>\n <pre>a\n\n   b</pre>\n\n"
        "  <script>\n\n  x</script>\n\n</div>\n"
    )
    assert page_ext.squeezed(page) == (
        "<div>\n<p>two\nwords</p>\n<pre>a\n\n   b</pre>\n<script>\n\n  x</script>\n</div>\n"
    )
    assert page_ext.squeezed(page_ext.squeezed(page)) == page_ext.squeezed(page)


def test_long_names_may_break_after_a_sign_and_nowhere_else():
    name = "F.scaled_dot_product_attention"
    broken = "F.<wbr>scaled_<wbr>dot_<wbr>product_<wbr>attention"
    assert page_ext.mended(f"<p><code>{name}(q, k)</code></p>") == (
        f"<p><code>{broken}(<wbr>q, k)</code></p>"
    )
    # In the narrow cells of a table sooner, and in code alone.
    assert page_ext.mended(f"<td><code>a.b_c</code> {name}</td>") == (
        f"<td><code>a.b_c</code> {name}</td>"
    )
    assert page_ext.mended("<table><td><code>masked_softmax(scores)</code></td></table>") == (
        "<table><td><code>masked_<wbr>softmax(<wbr>scores)</code></td></table>"
    )
    assert page_ext.mended("<p><code>masked_softmax(scores)</code></p>") == (
        "<p><code>masked_softmax(scores)</code></p>"
    )
    signature = "nrefs:1|case:lc|tok:moses-0.2.0|eff:no"
    assert page_ext.mended(f"<code>{signature}</code>") == (
        "<code>nrefs:<wbr>1|<wbr>case:<wbr>lc|<wbr>tok:<wbr>moses-0.2.0|<wbr>eff:<wbr>no</code>"
    )


def test_an_option_of_a_command_is_one_word():
    held = 'seqattn train <span class="sa-held">--seed</span> 1'
    assert page_ext.mended("<code>seqattn train --seed 1</code>") == f"<code>{held}</code>"
    block = '<div class="highlight-bash notranslate"><div class="highlight"><pre>{}</pre>'
    assert page_ext.mended(block.format("seqattn train --seed 1")) == block.format(held)
    foot = "<tfoot><tr><td>To repeat: {}</td></tr></tfoot>"
    assert page_ext.mended(foot.format("seqattn train --seed 1")) == foot.format(held)


def test_signatures_may_break_at_their_joints():
    signature = (
        '<dt class="sig" id="a"><span class="sig-prename">a.b.</span>'
        '<span class="sig-name">c_d</span>(<em>e_f</em>)</dt>'
    )
    assert page_ext.mended(signature) == (
        '<dt class="sig" id="a"><span class="sig-prename">a.<wbr>b.<wbr></span>'
        '<span class="sig-name">c_<wbr>d</span>(<wbr><em>e_f</em>)</dt>'
    )


def test_the_root_sign_is_as_wide_in_every_size():
    """Else Chromium leaves a gap behind small roots, before the comma."""
    font = TTFont(fonts.TARGET / "math.woff2")
    root = font.getBestCmap()[ord("√")]
    variants = font["MATH"].table.MathVariants
    made = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(root)]
    sizes = [size.VariantGlyph for size in made.MathGlyphVariantRecord]
    parts = [part.glyph for part in made.GlyphAssembly.PartRecords]
    assert len({font["hmtx"][name][0] for name in sizes + parts}) == 1


def test_a_shape_stays_on_one_line():
    held = '<p>of <span class="sa-held"><code>(B, T, S)</code></span> and'
    wide = "<code>(batch, keys, d_key)</code> or <code>mask</code></p>"
    assert page_ext.mended(f"<p>of <code>(B, T, S)</code> and {wide}") == f"{held} {wide}"


def test_long_printed_lines_wrap_on_a_phone_unless_they_stand_in_columns():
    output = '<div class="output stream x"><div class="highlight"><pre><span></span>{}</pre></div>'
    long, short = "a sentence that is longer than a phone is wide, and more", "a short one"
    wraps = '<span class="sa-line">{}</span>'
    assert page_ext.mended(output.format(f"{short}\n{long}\n")) == output.format(
        f"{short}\n{wraps.format(long)}\n"
    )
    inset = f'<span class="sa-line" style="--in:4ch">    {long}</span>\n'
    assert page_ext.mended(output.format(f"    {long}\n")) == output.format(inset)
    row = "a row with  1.00   1.00  of a table that is longer than a phone is wide"
    matrix = f"tensor([[0.1],  {'0.1, ' * 10}\n        [0.2]])"
    for printed in (f"{row}\n{row}\n", matrix):
        assert page_ext.mended(output.format(printed)) == output.format(printed)
    # What a sign stands for is one letter; code wraps nowhere.
    assert "sa-line" not in page_ext.mended(output.format("&lt;" * 40))
    assert "sa-line" not in page_ext.mended(f'<div class="highlight"><pre>{long}</pre></div>')


def test_scripts_lose_comments_and_indentation():
    script = "// what it is\nif (a) {\n  // why\n  b(); // here\n\n}\n"
    assert page_ext.bare(script) == "if (a) {\nb(); // here\n}\n"
    assert page_ext.bare(page_ext.bare(script)) == page_ext.bare(script)
    # Where a text goes over several lines, its spaces would be lost.
    for path in [*(build.ROOT / "_assets").glob("*.js"), *figures.HERE.glob("*.js")]:
        for line in path.read_text(encoding="utf-8").splitlines():
            assert re.sub(r"`[^`]*`", "", line).count("`") % 2 == 0, (path.name, line)


def test_a_range_breaks_once_and_a_quoted_value_not_at_all():
    assert page_ext.mended("<table><td>18% to 19%</td></table>") == (
        "<table><td>18% to\u00a019%</td></table>"
    )
    assert page_ext.mended("<p>18 to 19, “local-p”, one</p>") == (
        '<p>18 to 19, <span class="sa-held">“local-p”,</span> one</p>'
    )
    assert page_ext.mended('<b title="a “local-p” b">') == '<b title="a “local-p” b">'


def test_a_variable_that_nothing_reads_goes_whole_with_its_semicolons(tmp_path):
    sheet = tmp_path / "theme.css"
    sheet.write_text(
        """p{--bs-icon:url("data:image/svg+xml;charset=utf8,%3Csvg xmlns='x'/%3E");color:red}"""
    )
    used = Used(frozenset({frozenset({"p"})}), frozenset())
    assert combined([sheet], used) == "p{color:red}\n"
