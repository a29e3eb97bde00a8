"""Cut the book's fonts to the characters it may need: ``python -m tools.fonts``.

The fonts come from ``npm ci`` in ``tools/vendor``; what is cut lies in ``_assets/fonts`` and is
committed, so that nobody else needs this (nor brotli, which it compresses with).

Where a font is not there in time, a page is set in one that the reader has. ``python -m tools.fonts
--stand-ins`` measures both and writes ``_assets/stand_ins.css``, which gives the second the widths
and the lines of the first.
"""

import argparse
from collections import Counter
from functools import cache
from pathlib import Path

import matplotlib
from fontTools.afmLib import AFM
from fontTools.agl import UV2AGL
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ROOT / "tools" / "vendor" / "node_modules"
TARGET = ROOT / "_assets" / "fonts"
# Text: Latin with the accents of French and German, quotation marks, dashes, arrows, what figures
# use. Every letter may stand in a table of the course's languages.
TEXT = {
    *range(0x20, 0x7F),
    *range(0xA0, 0x180),
    *map(ord, "‐‑–—‘’‚“”„†•…‰′″‹›⁄€−×·→←↑↓≈≠≤≥∞√∑∂✓✗"),
    *map(ord, "⁰⁴⁵⁶⁷⁸⁹⁻₀₁₂₃₄₅₆₇₈₉"),
}
# Formulas: what single letters are drawn with (italic), arrows and
# operators, and what stretches.
MATH = {
    *range(0x20, 0x7F),
    *map(ord, "±·×÷¬°"),
    *map(ord, "ΓΔΘΛΞΠΣΦΨΩ"),
    *range(0x1D434, 0x1D468),  # italic
    *range(0x1D6FC, 0x1D71C),  # small Greek: italic
    *map(ord, "ℎℋℝ𝔼ℒℓ⋆"),
    *map(ord, "←↑→↓↔↕↦⇐⇒⇔⟵⟶⟹"),
    *map(ord, "′″‖…⋯⋮⋱⋅∘†‾¯ˆ˜˙¨→⃗"),
    *map(ord, "∀∂∃∅∇∈∉∋∏∑−∓∗∘√∝∞∠∣∥∧∨∩∪∫∼≈≅≠≡≤≥≪≫⊂⊃⊆⊇⊕⊗⊙⊤⊥⌈⌉⌊⌋⟨⟩⏞⏟⏜⏝"),
    *map(ord, "\u2009\u200a\u2061\u2062\u2063\u20d7\u0302\u0303\u0304\u0305\u0307"),
}
FACES = {
    "serif": ("@fontsource-variable/source-serif-4", "source-serif-4-latin-wght-normal", TEXT),
    "serif-italic": (
        "@fontsource-variable/source-serif-4",
        "source-serif-4-latin-wght-italic",
        TEXT,
    ),
    "sans": ("@fontsource-variable/source-sans-3", "source-sans-3-latin-wght-normal", TEXT),
    "mono": ("@fontsource-variable/jetbrains-mono", "jetbrains-mono-latin-wght-normal", TEXT),
    "math": ("@fontsource/stix-two-math", "stix-two-math-latin-400-normal", MATH),
}
# How letters stand together. Ligatures of code fonts turn != into another sign.
TEXT_FEATURES = ["kern", "liga", "locl", "mark", "mkmk", "ccmp"]
FEATURES = {
    "mono": ["kern", "mark", "mkmk", "ccmp"],
    "math": ["ssty", "dtls", "flac", "mark", "mkmk", "ccmp"],
}
WEIGHTS = (400, 700)

# What readers have: fonts of three makers with the widths of Times, of Helvetica and of Courier
# (matplotlib has their tables), or DejaVu (which matplotlib brings).
MEASURED = Path(matplotlib.get_data_path()) / "fonts"
STAND_INS = TARGET.parent / "stand_ins.css"
FAMILIES = {
    "serif": ("Serif Until Then", ("Times New Roman", "Liberation Serif", "Tinos")),
    "sans": ("Sans Until Then", ("Arial", "Liberation Sans", "Arimo")),
    "mono": ("Mono Until Then", ("Courier New", "Liberation Mono", "Cousine")),
}
TABLES = {
    "serif": ("Times-Roman", "Times-Bold", "Times-Italic", "Times-BoldItalic"),
    "sans": ("Helvetica", "Helvetica-Bold"),
    "mono": ("Courier", "Courier-Bold"),
}
# Style, weight at which it is measured, weights for which it stands in, and how it is called.
STYLES = (
    ("normal", 400, "400 549", ""),
    ("normal", 650, "550 700", " Bold"),
    ("italic", 400, "400 549", " Italic"),
    ("italic", 650, "550 700", " Bold Italic"),
)


def cut(package: str, name: str, characters: set[int], features: list[str]) -> TTFont:
    """Keep of a font only some characters and features, and weights from regular to bold."""
    path = PACKAGES / package / "files" / f"{name}.woff2"
    font = TTFont(path, recalcTimestamp=False)  # the same font again, byte for byte
    options = Options(layout_features=features)
    options.flavor = "woff2"
    # A quarter of the font of formulas; they are set large.
    options.hinting = characters is not MATH
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=characters)
    subsetter.subset(font)
    if "MATH" in font:
        narrow_roots(font)
        enlarge_primes(font)
    if "fvar" in font:
        font = instantiateVariableFont(font, {"wght": WEIGHTS})
    font.flavor = "woff2"
    return font


def narrow_roots(font: TTFont) -> None:
    """Give every size of the root sign the width of the smallest.

    Chromium keeps as much room for a root as its widest size takes, and the rest of it stays empty
    behind the root: a gap before the comma.
    """
    root = font.getBestCmap()[ord("√")]
    variants, widths, outlines = font["MATH"].table.MathVariants, font["hmtx"], font["glyf"]
    made = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(root)]
    sizes = {size.VariantGlyph for size in made.MathGlyphVariantRecord}
    width = widths[root][0]
    for name in sorted(sizes | {part.glyph for part in made.GlyphAssembly.PartRecords}):
        glyph = outlines[name]
        glyph.coordinates.scale((width / widths[name][0], 1))
        glyph.coordinates.toInt()
        glyph.recalcBounds(outlines)
        widths[name] = (width, glyph.xMin)


def enlarge_primes(font: TTFont) -> None:
    """Draw the prime as large as it should be in a superscript, and as low.

    Formulas put it nowhere else, where it is set at seven tenths. This cut of the font has no
    second drawing for that (``ssty``).
    """
    name = font.getBestCmap()[ord("′")]
    glyph = font["glyf"][name]
    glyph.coordinates.translate((-glyph.xMin, -glyph.yMin))
    glyph.coordinates.scale((1.6, 1.6))
    glyph.coordinates.translate((40, 57))  # a gap, and its foot above the letter's middle
    glyph.coordinates.toInt()
    glyph.recalcBounds(font["glyf"])
    font["hmtx"][name] = (glyph.xMax + 20, glyph.xMin)


@cache
def _prose() -> Counter[str]:
    """Count the letters of some English prose that does not change: the fonts' licences."""
    text = " ".join((TARGET / "LICENSES.txt").read_text(encoding="utf-8").split())
    # Without their capitals, in which they shout.
    return Counter(letter for letter in text if letter.islower() or letter in " ,.")


def _mean_width(widths: dict[str, float]) -> float:
    prose = _prose()
    return sum(widths[letter] * n for letter, n in prose.items()) / prose.total()


def _widths(font: TTFont) -> dict[str, float]:
    """Measure the letters of prose, as shares of the font's size."""
    names, advances = font.getBestCmap(), font["hmtx"].metrics
    size = font["head"].unitsPerEm
    return {letter: advances[names[ord(letter)]][0] / size for letter in _prose()}


def _table_widths(name: str) -> dict[str, float]:
    table = AFM(MEASURED / "pdfcorefonts" / f"{name}.afm")
    return {letter: table[UV2AGL[ord(letter)]][1] / 1000 for letter in _prose()}


def stand_ins() -> str:
    """Compute the style sheet of the fonts that stand in for the book's own.

    ``size-adjust`` makes prose as long as in the book's font, the three overrides make its lines as
    high. They are shares of the adjusted size.

    Returns
    -------
    str
        An ``@font-face`` for each style of each font.
    """
    rules = ["/* Written by python -m tools.fonts --stand-ins. */"]
    for face, (family, names) in FAMILIES.items():
        styles = STYLES if face == "serif" else STYLES[:2]
        for (style, weight, weights, suffix), table in zip(styles, TABLES[face], strict=True):
            path = (
                TARGET / f"{face}-italic.woff2" if style == "italic" else TARGET / f"{face}.woff2"
            )
            font = TTFont(path)
            lines = font["hhea"]
            size = font["head"].unitsPerEm
            wanted = _mean_width(_widths(instantiateVariableFont(font, {"wght": weight})))
            dejavu = f"DejaVu {face.title()}".replace("Mono", "Sans Mono")
            ttf = (dejavu + suffix).replace(" ", "").replace("Bold", "-Bold", 1)
            ttf = ttf if "Bold" in ttf else ttf.replace("Italic", "-Italic")
            have = {
                family: (_table_widths(table), names),
                f"{family}, DejaVu": (_widths(TTFont(MEASURED / "ttf" / f"{ttf}.ttf")), (dejavu,)),
            }
            for name, (widths, locals_) in have.items():
                adjust = wanted / _mean_width(widths)
                overrides = {
                    "ascent-override": lines.ascent / size,
                    "descent-override": -lines.descent / size,
                    "line-gap-override": lines.lineGap / size,
                }
                sources = ", ".join(f'local("{local}{suffix}")' for local in locals_)
                shares = "".join(f" {key}: {x / adjust:.2%};" for key, x in overrides.items())
                rules.append(
                    f'@font-face {{ font-family: "{name}"; src: {sources}; font-style: {style}; '
                    f"font-weight: {weights}; size-adjust: {adjust:.2%};{shares} }}"
                )
    return "\n".join(rules) + "\n"


def main() -> None:
    """Write the fonts and the licences that they come with, and what stands in for them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stand-ins", action="store_true", help="leave the fonts as they are")
    if not parser.parse_args().stand_ins:
        cut_all()
    STAND_INS.write_text(stand_ins(), encoding="utf-8")


def cut_all() -> None:
    """Write the fonts and the licences that they come with."""
    TARGET.mkdir(parents=True, exist_ok=True)
    licences = {}
    for face, (package, name, characters) in FACES.items():
        cut(package, name, characters, FEATURES.get(face, TEXT_FEATURES)).save(
            TARGET / f"{face}.woff2"
        )
        size = (TARGET / f"{face}.woff2").stat().st_size
        print(f"{face}: {size / 1000:.0f} kB")
        licences[package] = (PACKAGES / package / "LICENSE").read_text(encoding="utf-8").strip()
    text = ["The fonts of the book, cut to the characters it uses, each with its licence."]
    for package, licence in licences.items():
        text += ["=" * 78, package, "", licence, ""]
    (TARGET / "LICENSES.txt").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
