"""Stored figures in the pages: the right drawing for the width, whole, in the theme's colours."""

import pytest

from tools.notebooks import CHAPTERS

PAGES = [path.stem for path in sorted(CHAPTERS.glob("[0-9]*.ipynb"))]
SEEN = """() => [...document.querySelectorAll('.sa-plot')].map(plot => {
    const shown = [...plot.children].filter(svg => getComputedStyle(svg).display !== 'none');
    const column = plot.getBoundingClientRect(), box = shown[0].getBoundingClientRect();
    const outside = [...shown[0].querySelectorAll('text')].filter(text => {
        const r = text.getBoundingClientRect();
        return r.left < box.left - 2 || r.right > box.right + 2 || r.top < box.top - 2
            || r.bottom > box.bottom + 2;
    });
    return {
        shown: shown.map(svg => svg.getAttribute('class')),
        outside: outside.map(text => text.textContent),
        fits: box.width <= column.width + 1,
        words: plot.getAttribute('aria-label').length,
        ink: getComputedStyle(shown[0].querySelector('text')).fill,
    };
})"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PAGES)
def test_figures_fit_their_column_and_follow_the_theme(name, new_page, book_server):
    inks = {}
    page = new_page(width=1366)
    page.goto(f"{book_server}/chapters/{name}.html")
    page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
    page.evaluate("document.fonts.ready")
    for width, drawing in ((1366, "wide"), (390, "narrow")):
        page.set_viewport_size({"width": width, "height": 900})
        for theme in ("light", "dark"):
            # Colours that are on their way from one theme to the other are those of neither.
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            page.wait_for_function(
                "theme => document.documentElement.dataset.theme === theme", arg=theme
            )
            found = page.evaluate(SEEN)
            assert found
            for figure in found:
                assert figure["shown"] == [drawing]
                assert figure["outside"] == []
                assert figure["fits"]
                assert figure["words"] > 40
            inks[theme] = [figure["ink"] for figure in found]
    assert all(light != dark for light, dark in zip(inks["light"], inks["dark"], strict=True))
