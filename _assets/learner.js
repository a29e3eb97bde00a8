// Questions: makes forms of them, says what an answer means, and unfolds the output that waits for it.
// Without it every page still has its questions and folded answers.
(function () {
const { of, keep, all, make, here } = window.seqattnAnswers;
const letter = (i) => `(${"abcdefgh"[i]})`;
// In plain text, which is all that is kept of a formula, its indices keep their signs: s_{t-1}.
function words(element) {
  const copy = element.cloneNode(true);
  for (const script of all("msub, msup", copy)) {
    const low = script.lastElementChild.textContent.trim();
    script.lastElementChild.textContent = `${script.localName === "msub" ? "_" : "^"}${low.length > 1 ? `{${low}}` : low}`;
  }
  return copy.textContent.trim().replace(/\s+/g, " ");
}
// What was said is a list of strings and options: as plain text, and with the options' formulas.
const join = (parts, by) => parts.flatMap((part, i) => (i ? [by, ...part] : part));
const plain = (said) => said.map((part) => (part.nodeType ? words(part) : part)).join("");
function shown(said) {
  const quote = make("span", {}, said.flatMap((part) => (part.nodeType ? inside(part) : [part])));
  quote.normalize();
  while (quote.lastChild.nodeType === Node.TEXT_NODE) { // a sentence of ours goes on: no full stop
    quote.lastChild.data = quote.lastChild.data.replace(/\s*[.…]?\s*$/, "");
    if (quote.lastChild.data) break;
    quote.lastChild.remove();
  }
  return quote;
}
const inside = (element) => [...element.cloneNode(true).childNodes].flatMap((n) => (n.nodeName === "P" ? [...n.childNodes] : [n]));


// -- Outputs that wait for an answer -------------------------------------------------------------------
// A cell with the tag hide-until-NAME is a closed <details> already, so nothing on the page moves.
const folds = (name) => all(`.cell[class~="tag_hide-until-${name}"] details.hide`).filter((fold) => fold.querySelector(".cell_output"));
function wait(name, shown) {
  for (const fold of folds(name)) {
    const [word] = all("p.collapsed", fold), before = word.textContent;
    word.textContent = "Your prediction first — or just show me";
    fold.open = shown;
    fold.addEventListener("toggle", () => {
      if (!fold.open) return;
      word.textContent = before;
      fold.parentElement.classList.add("sa-told"); // what came of it stays when it is folded again
      if (!shown) open(name); // the rest waits for nothing else
      shown = true;
    });
  }
}
const open = (name) => folds(name).forEach((fold) => { fold.open = true; });

// -- The kinds of answer: each gives `fields`, `read` (null where something is missing) and `write` ------
function choice({ ask, options, asks }, many) {
  const inputs = options.map((_, i) => make("input", { type: many ? "checkbox" : "radio", name: ask.id, value: i }));
  return {
    fields: make("div", { class: "sa-ask-options", role: many ? "group" : "radiogroup", "aria-labelledby": asks },
      options.map((option, i) => make("label", {}, inputs[i], make("span", {}, `${letter(i)} `, ...inside(option))))),
    missing: many ? "Tick at least one first." : "Choose one first.",
    read() {
      const chosen = inputs.flatMap((input, i) => (input.checked ? [i] : []));
      return chosen.length ? (many ? chosen : chosen[0]) : null;
    },
    write(value) { inputs.forEach((input, i) => { input.checked = [value].flat().includes(i); }); },
    right: (value) => [value].flat().join() === ask.right.join(),
    said: (value) => join([value].flat().map((i) => [`${letter(i)} `, options[i]]), "; "),
    of: (value) => [value].flat(),
  };
}

function number({ ask, asks }) {
  const input = make("input", { type: "text", inputmode: "decimal", autocomplete: "off", "aria-labelledby": asks });
  const value = (text) => Number(text.replace(/[\s,_]/g, "").replace("−", "-"));
  const meant = (x) => ask.spans.findIndex(([low, high]) => low <= x && x <= high);
  return {
    fields: make("label", { class: "sa-ask-number" }, input, make("span", {}, ask.unit)),
    missing: "Write a number first.",
    read: () => (input.value.trim() && Number.isFinite(value(input.value)) ? value(input.value) : null),
    write(x) { input.value = x; },
    right: (x) => ask.right.includes(meant(x)),
    said: (x) => [`${x.toLocaleString("en")} ${ask.unit}`.trim()],
    of: (x) => [meant(x) < 0 ? "other" : meant(x)],
  };
}

function order({ ask, options, asks }) {
  let now = ask.order.slice(); // as shown: the place of each in the right order
  const told = make("span", { class: "sa-unseen", "aria-live": "polite" });
  const list = make("ol", { class: "sa-ask-order", "aria-labelledby": asks });
  const rows = options.map((option, i) => {
    const row = make("li", {}, make("span", {}, ...inside(option)));
    const arrow = (sign, by, name) => make("button", { type: "button", "aria-label": `${name}: ${words(option)}`, on: { click: (event) => move(ask.order[i], by, event.currentTarget) } }, sign);
    row.append(make("span", {}, arrow("↑", -1, "Up"), arrow("↓", 1, "Down")));
    return row;
  });
  const rowOf = (place) => rows[ask.order.indexOf(place)];
  function draw() { list.append(...now.map(rowOf)); }
  function move(place, by, button) {
    const at = now.indexOf(place), to = at + by;
    if (to < 0 || to >= now.length) return;
    [now[at], now[to]] = [now[to], now[at]];
    draw();
    button.focus();
    told.textContent = `Now number ${to + 1} of ${now.length}`;
  }
  draw();
  return {
    fields: make("div", {}, list, told),
    read: () => now.slice(),
    write(value) { now = value.slice(); draw(); },
    right: (value) => value.every((place, i) => place === i),
    said: (value) => join(value.map((place) => [options[ask.order.indexOf(place)]]), " → "),
    of: (value) => value.filter((place, i) => place !== i),
  };
}

function curve({ ask, options }) {
  const width = Math.max(300, Math.min(640, document.querySelector(".bd-article").clientWidth - 40)), height = 264;
  const left = 56, right = 16, top = 28, bottom = 48;
  const { ticks, label } = ask.x, [low, high] = ask.y.ticks;
  const across = (i) => left + ((width - left - right) * i) / (ticks.length - 1);
  const up = (y) => height - bottom - ((height - top - bottom) * (y - low)) / (high - low);
  const clamp = (y) => Math.min(high, Math.max(low, y));
  const line = (heights) => heights.map((y, i) => `${i ? "L" : "M"}${across(i)} ${up(y)}`).join("");
  let heights = ticks.map(() => (low + high) / 2), drawn = false, locked = false;
  const path = make("path", { class: "sa-ask-yours" }), truth = make("path", { class: "sa-ask-true" });
  const unit = (high - low) / 20;
  const steps = { ArrowUp: unit, ArrowRight: unit, ArrowDown: -unit, ArrowLeft: -unit, PageUp: 4 * unit, PageDown: -4 * unit, Home: low - high, End: high - low };
  const points = ticks.map((tick, i) => make("circle", {
    r: 8, cx: across(i), tabindex: 0, role: "slider", "aria-label": `${ask.y.label} at ${label} ${tick}`,
    "aria-orientation": "vertical", "aria-valuemin": low, "aria-valuemax": high,
    on: { keydown(event) {
      if (locked || !(event.key in steps)) return;
      event.preventDefault();
      put(i, heights[i] + steps[event.key]);
    } },
  }));
  // Where a finger may take hold of a point.
  const holds = ticks.map((tick, i) => make("rect", { class: "sa-ask-hold", x: across(i) - 22, width: 44, height: 44 }));
  function put(i, y) { heights[i] = clamp(y); drawn = true; draw(); }
  function draw() {
    path.setAttribute("d", line(heights));
    path.classList.toggle("sa-ask-flat", !drawn);
    points.forEach((point, i) => {
      point.setAttribute("cy", up(heights[i]));
      holds[i].setAttribute("y", up(heights[i]) - 22);
      point.setAttribute("aria-valuenow", Math.round(100 * heights[i]) / 100);
    });
  }
  // A pen: columns that the pointer jumped over lie on the line between two of its places.
  let pen = null, down = null;
  const held = (event) => !locked && event.target.closest(".sa-ask-hold");
  function trace(event) {
    const box = svg.getBoundingClientRect(), scale = width / box.width;
    const x = ((event.clientX - box.left) * scale - left) / (width - left - right) * (ticks.length - 1);
    const y = clamp(low + ((height - bottom - (event.clientY - box.top) * scale) / (height - top - bottom)) * (high - low));
    const near = Math.min(ticks.length - 1, Math.max(0, Math.round(x)));
    if (pen && near !== pen.near) {
      const by = Math.sign(near - pen.near);
      for (let i = pen.near + by; i !== near; i += by) put(i, pen.y + ((y - pen.y) * (i - pen.near)) / (near - pen.near));
    }
    put(near, y);
    pen = { near, y };
  }
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Your curve: ${ask.y.label} against ${label}`,
    on: {
      // A finger that is not on a point may be about to scroll: it has to go sideways first, or lift.
      touchstart(event) { if (held(event)) event.preventDefault(); },
      pointerdown(event) {
        if (locked) return;
        pen = null;
        down = { id: event.pointerId, x: event.clientX, y: event.clientY, sure: event.pointerType !== "touch" || held(event) };
        if (!down.sure) return;
        event.preventDefault();
        svg.setPointerCapture(event.pointerId);
        trace(event);
      },
      pointermove(event) {
        if (locked || event.pointerId !== down?.id) return;
        if (!down.sure && Math.abs(event.clientX - down.x) > Math.max(8, Math.abs(event.clientY - down.y))) {
          down.sure = true;
          trace({ clientX: down.x, clientY: down.y });
        }
        if (down.sure) trace(event);
      },
      pointerup(event) { if (!locked && event.pointerId === down?.id) trace(event); pen = down = null; },
      pointercancel() { pen = down = null; },
    } },
  [low, (low + high) / 2, high].map((y) => make("g", {}, make("line", { x1: left, x2: width - right, y1: up(y), y2: up(y) }), make("text", { x: left - 16, y: up(y) + 4, "text-anchor": "end" }, y))),
  ticks.map((tick, i) => make("text", { x: across(i), y: height - bottom + 20, "text-anchor": "middle" }, tick)),
  make("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, label),
  make("text", { x: 4, y: 10 }, ask.y.label),
  ask.given ? [make("path", { class: "sa-ask-given", d: line(ask.given.curve) }), make("text", { x: width - right, y: 10, "text-anchor": "end" }, `grey: ${ask.given.label}`)] : [],
  truth, path, points, holds);
  draw();
  const away = (a, b) => a.reduce((sum, y, i) => sum + Math.abs(y - b[i]), 0);
  const nearest = (value) => {
    const far = ask.curves.map((other) => away(value, other));
    return far.indexOf(Math.min(...far));
  };
  return {
    fields: make("div", { class: "sa-ask-draw" }, make("p", { class: "sa-ask-hint" }, "Draw with the pointer, or go from point to point with Tab and move it with the arrow keys."), svg),
    missing: "Draw the curve first.",
    read: () => (drawn ? heights.map((y) => Math.round(100 * y) / 100) : null),
    write(value) { heights = value.slice(); drawn = true; draw(); },
    show() {
      locked = true;
      truth.setAttribute("d", line(ask.curves[ask.right[0]]));
      points.forEach((point) => point.setAttribute("aria-disabled", "true"));
    },
    right: (value) => ask.right.includes(nearest(value)),
    said: (value) => [`a curve nearest to ${letter(nearest(value))} `, options[nearest(value)]],
    of: (value) => [nearest(value)],
    after: "Dashed: yours. Solid: what comes out.",
  };
}

const kinds = { one: (q) => choice(q, false), several: (q) => choice(q, true), number, order, curve };

// -- A question comes to life ------------------------------------------------------------------------------
function enliven(box) {
  const ask = JSON.parse(box.dataset.ask), [list] = all(".sa-ask-options", box), [answer] = all(".sa-ask-answer", box);
  const options = list ? [...list.children] : [], [asked] = all(".sa-ask-asks", box);
  const question = kinds[ask.kind]({ ask, options, asks: asked.id });
  const why = (i) => inside(all(`[data-option="${i}"]`, answer)[0]);
  const said = make("div", { class: "sa-ask-said", tabindex: -1 });
  const commit = make("button", { type: "submit", class: "sa-ask-commit" }, ask.use === "predict" ? "Commit" : "Check");
  const show = make("button", { type: "button", on: { click: reveal } }, "Just show me");
  const buttons = make("div", { class: "sa-ask-buttons" }, commit, show);
  const form = make("form", { on: { submit(event) { event.preventDefault(); take(); } } }, question.fields, buttons, said);
  said.setAttribute("aria-live", "polite");
  if (list) list.replaceWith(form);
  else answer.before(form);
  answer.hidden = true;
  if (ask.use === "predict") wait(ask.id, Boolean(of().all || of().shown[ask.id]));

  function take() {
    const value = question.read();
    if (value === null) { said.textContent = question.missing; return; }
    keep(({ answers }) => { answers[ask.id] = { choice: value, said: plain(question.said(value)), asked: words(asked), right: question.right(value), page: here }; });
    finish(value);
    said.focus();
  }
  function finish(value) {
    const right = question.right(value), chosen = question.of(value), rest = ask.right.filter((i) => !chosen.includes(i));
    said.dataset.right = right;
    said.replaceChildren(
      make("p", {}, make("strong", {}, right ? "✓ Right. " : "✗ Not so. "), "Your answer: ", shown(question.said(value)), `. ${question.after ?? ""}`),
      ...(ask.kind === "order" ? chosen.slice().sort() : right ? chosen : [...chosen, ...rest]).map((i) => make("p", {}, ...why(i))));
    question.show?.();
    if (ask.use === "predict") { all("input, .sa-ask-order button", form).forEach((input) => { input.disabled = true; }); buttons.hidden = true; open(ask.id); }
    else show.hidden = true;
    answer.hidden = false;
    answer.firstChild.textContent = "All answers, explained";
  }
  function reveal() {
    keep(({ shown }) => { shown[ask.id] = 1; });
    answer.hidden = false;
    answer.open = true;
    open(ask.id);
    answer.firstChild.focus();
  }

  const before = of().answers[ask.id];
  if (of().shown[ask.id]) { answer.hidden = false; open(ask.id); }
  if (!before) return;
  try {
    question.write(before.choice);
    // What was kept before indices had signs is still the same answer.
    const [now, then] = [plain(question.said(before.choice)), before.said].map((text) => text.replace(/[_^{}]/g, ""));
    if (now === then) finish(before.choice);
  } catch { /* an answer to an older form of the question, which no longer fits */ }
}

all(".sa-ask").forEach(enliven);
})();
