// The reader's answers: kept in this browser, counted in the contents, listed where a page has the place.
// Silent until there is one. _assets/learner.js takes them; where nothing can be kept they last for a visit.
(function () {
const KEY = "seqattn.answers.v1";
const root = document.currentScript.src.replace(/_static\/[^/]*$/, "");
const known = JSON.parse(document.getElementById("sa-known").textContent);
const here = known.page;

// -- What is kept: { answers: { name: { choice, said, asked, right, page } }, shown: { name: 1 }, all } --
const none = () => ({ answers: {}, shown: {} });
let kept = none(), lasting = true;
try {
  lasting = localStorage instanceof Storage; // not what stands in for it (_templates/layout.html)
} catch { lasting = false; }
function look() {
  if (!lasting) return;
  try {
    const found = JSON.parse(localStorage.getItem(KEY));
    kept = found?.answers && found?.shown ? found : none();
  } catch { kept = none(); /* nothing readable, or no permission: begin anew */ }
}
// Other tabs, and the pages between leaving this one and Back, may have kept answers since this page looked.
function keep(change) {
  look();
  change(kept);
  try { localStorage.setItem(KEY, JSON.stringify(kept)); } catch { lasting = false; }
  marks();
}
function lookAgain() { look(); marks(); all(".sa-report").forEach(report); }
addEventListener("storage", ({ key }) => { if (key === KEY || key === null) lookAgain(); });
addEventListener("pageshow", ({ persisted }) => { if (persisted) lookAgain(); });
look();

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
function make(tag, { on = {}, ...attributes } = {}, ...children) {
  const svg = ["svg", "g", "path", "line", "circle", "text", "rect"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== false) element.setAttribute(name, value === true ? "" : value);
  for (const [event, act] of Object.entries(on)) element.addEventListener(event, act);
  element.append(...children.flat());
  return element;
}

// -- Live figures ask as well: they tell what was answered ----------------------------------------------------
document.addEventListener("seqattn:answer", ({ detail: { id, choice, right, asked = id, said = String(choice) } }) => {
  keep(({ answers }) => { answers[id] = { choice, said, asked, right, page: here }; });
});
// A figure that asks says that it is there: it gets back what was answered on an earlier visit.
document.addEventListener("seqattn:figure", ({ detail: { id, answer } }) => {
  const before = kept.answers[id];
  if (Number.isInteger(before?.choice)) answer(before.choice);
});

// -- Progress: silent until the first answer -------------------------------------------------------------------
function count(page) {
  const names = known.pages[page]?.questions ?? [];
  return { done: names.filter((name) => kept.answers[name]).length, of: names.length };
}
function marks() {
  for (const page of Object.keys(known.pages)) {
    const { done, of } = count(page), text = `${done} of ${of} questions answered`;
    for (const link of all(".bd-links a.reference")) {
      const target = link.getAttribute("href") === "#" ? here : new URL(link.href).pathname.replace(/\.html$/, "");
      if (target !== page && !target.endsWith(`/${page}`)) continue;
      all(".sa-mark", link).forEach((mark) => mark.remove());
      if (done) link.append(make("span", { class: "sa-mark", role: "img", "aria-label": text, title: text }, `${done}/${of}`));
    }
  }
  const { done, of } = count(here), [article] = all(".bd-article");
  all(".sa-progress").forEach((line) => line.remove());
  if (done && article) article.append(make("p", { class: "sa-progress" }, `You have answered ${done} of the ${of} questions of this chapter. `, lasting ? make("a", { href: `${root}chapters/your_answers.html` }, "All your answers") : "This browser keeps no answers for this page: they last until you leave it."));
}

// -- The report --------------------------------------------------------------------------------------------------
function report(place) {
  const answers = Object.values(kept.answers).filter((a) => a?.said), parts = [];
  const check = make("input", { type: "checkbox", on: { change() { keep((answers) => { answers.all = check.checked || undefined; }); } } });
  check.checked = Boolean(kept.all);
  for (const page of new Set([...Object.keys(known.pages), ...answers.map((a) => a.page)])) {
    const given = answers.filter((a) => a.page === page), { title = page } = known.pages[page] ?? {};
    if (!given.length) continue;
    const { done, of } = count(page);
    parts.push(make("h2", {}, make("a", { href: `${root}${page}.html` }, title)),
      make("p", {}, of ? `${done} of ${of} questions answered, ${given.filter((a) => a.right).length} right.` : ""),
      make("ul", {}, given.map((a) => make("li", {}, `${a.asked} `, make("br"), make("strong", {}, a.right === true ? "✓ " : a.right === false ? "✗ " : ""), a.said))));
  }
  const ask = make("button", { type: "button", on: { click() { sure.hidden = false; ask.hidden = true; all("button", sure)[0].focus(); } } }, "Erase all answers");
  const sure = make("span", { hidden: true }, "Erase them for good? ",
    make("button", { type: "button", on: { click() { kept = none(); try { localStorage.removeItem(KEY); } catch { /* none kept */ } marks(); report(place); place.focus(); } } }, "Erase"), " ",
    make("button", { type: "button", on: { click() { sure.hidden = true; ask.hidden = false; ask.focus(); } } }, "Keep them"));
  place.tabIndex = -1;
  place.replaceChildren(
    make("p", { class: "sa-ask-buttons" }, make("button", { type: "button", on: { click: () => print() } }, "Print"), ask, sure),
    make("p", { class: "sa-report-all" }, make("label", {}, check, " Show all outputs at once, without asking me first")),
    ...(parts.length ? parts : [make("p", {}, "There are no answers yet.")]));
}

all(".sa-report").forEach(report);
marks();
window.seqattnAnswers = { of: () => kept, keep, all, make, here };
})();
