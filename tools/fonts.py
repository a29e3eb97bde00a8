"""Cut the book's fonts to the characters it may need: ``python -m tools.fonts``.

The fonts come from ``npm ci`` in ``tools/vendor``; what is cut lies in ``_assets/fonts`` and is
committed, so that nobody else needs this (nor brotli, which it compresses with).
"""

from pathlib import Path

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
GREEK = {*range(0x391, 0x3CA)} - {0x3A2}
# Formulas: what single letters are drawn with (italic), arrows and
# operators, and what stretches.
MATH = {
    *range(0x20, 0x7F),
    *map(ord, "±·×÷¬°"),
    *GREEK,
    *map(ord, "ϕϵϑϱ"),
    *range(0x1D434, 0x1D468),  # italic
    *range(0x1D6E2, 0x1D71C),  # Greek: italic
    *map(ord, "ℎℋℝ𝔼ℒℓ⋆"),
    *range(0x2190, 0x21A0),
    *map(ord, "↦⇐⇒⇔⟵⟶⟹"),
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
# Ligatures of code fonts turn != into another sign; numbers keep their widths in tables.
FEATURES = {
    "mono": ["kern", "mark", "mkmk", "ccmp"],
    "math": ["ssty", "dtls", "flac", "kern", "mark", "mkmk", "ccmp"],
}
WEIGHTS = (400, 700)


def cut(package: str, name: str, characters: set[int], features: list[str] | None) -> TTFont:
    """Keep of a font only some characters and features, and weights from regular to bold."""
    path = PACKAGES / package / "files" / f"{name}.woff2"
    font = TTFont(path, recalcTimestamp=False)  # the same font again, byte for byte
    options = Options(layout_features=features or [*Options().layout_features, "tnum"])
    options.flavor = "woff2"
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=characters)
    subsetter.subset(font)
    if "fvar" in font:
        font = instantiateVariableFont(font, {"wght": WEIGHTS})
    font.flavor = "woff2"
    return font


def main() -> None:
    """Write the fonts and the licences that they come with."""
    TARGET.mkdir(parents=True, exist_ok=True)
    licences = {}
    for face, (package, name, characters) in FACES.items():
        cut(package, name, characters, FEATURES.get(face)).save(TARGET / f"{face}.woff2")
        size = (TARGET / f"{face}.woff2").stat().st_size
        print(f"{face}: {size / 1000:.0f} kB")
        licences[package] = (PACKAGES / package / "LICENSE").read_text(encoding="utf-8").strip()
    text = ["The fonts of the book, cut to the characters it uses, each with its licence."]
    for package, licence in licences.items():
        text += ["=" * 78, package, "", licence, ""]
    (TARGET / "LICENSES.txt").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
