// What a search finds stands in this order: chapters, then exercises and other texts, then the
// reference and the source code. Sphinx puts this into language_data.js.
var Scorer = {
  score: ([docname, , , , score]) => score +
    (/^chapters\/\d/.test(docname) ? 200 : /^(chapters\/api|_modules|genindex|py-modindex)/.test(docname) ? 0 : 100),
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};

// What a search shows of a page is its text alone, with a space where a line or a cell begins.
if (typeof Search !== "undefined") {
  Search.htmlToText = (html, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html"), all = (what) => page.querySelectorAll(what);
    all(".headerlink, script, style, svg, annotation, .where, .launch-row, .sa-place, .provenance, .eqno, div.math").forEach((part) => part.remove());
    all("h1, h2, h3, h4, h5, h6, p, li, dt, dd, th, td, caption, pre, div, section, summary, label, button, br").forEach((part) => part.after(" "));
    const text = page.querySelector(".bd-article") ?? page.querySelector("[role=main]");
    return ((anchor && text?.querySelector(anchor)) || text)?.textContent.replace(/\s+/g, " ").trim() ?? "";
  };
  Documentation.TRANSLATIONS["Your search did not match any documents. Please make sure that all words are spelled correctly and that you've selected enough categories."] =
    "No page has all of these words. Are they spelled as you meant them?";
}
