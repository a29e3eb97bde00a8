// What a search finds stands in this order: chapters, then exercises and other texts, then the
// reference and the source code. Sphinx puts this into language_data.js.
var Scorer = {
  score: ([docname, , , , score]) => score +
    (/^chapters\/\d/.test(docname) ? 200 : /^(chapters\/api|_modules|genindex|py-modindex)/.test(docname) ? 0 : 100),
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
