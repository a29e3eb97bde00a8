// What every live figure shares. A figure's own file follows and defines `figure`:
//   figure.name -> that of its files; where a page gives no other, answers are kept under it
//   figure.numbers(get) -> the computed numbers: plain arithmetic, no drawing
//   figure.build(ui)    -> lays out controls and drawings, returns draw(numbers, width)
//   figure.text(numbers, get, open) -> one or two sentences that say what is to be seen
//   figure.fullest -> values of traits that together bring longer sentences than each alone
//   figure.jumps -> numbers that jump when the others glide, such as an index
// `open` is false while a question waits for its answer: then nothing that answers it is shown.
// No libraries and no network: the same text runs in JupyterLab, Colab and the static book.

const SVG = "http://www.w3.org/2000/svg";
const sum = (xs) => xs.reduce((a, b) => a + b, 0);
const dot = (a, b) => sum(a.map((x, i) => x * b[i]));
const matvec = (M, x) => M.map((row) => dot(row, x));
const argmax = (xs) => xs.indexOf(Math.max(...xs));
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

// Masked positions get exactly 0; with nothing to attend to, every weight is 0.
function softmax(scores, temperature = 1, mask = null) {
  const open = scores.map((_, i) => !mask || mask[i]);
  const top = Math.max(...scores.filter((_, i) => open[i]));
  const e = scores.map((x, i) => (open[i] ? Math.exp((x - top) / temperature) : 0));
  const total = sum(e);
  return e.map((x) => (total ? x / total : 0));
}
const entropy = (weights) => -sum(weights.map((w) => (w ? w * Math.log(w) : 0)));
const weightedSum = (weights, values) =>
  values[0].map((_, d) => sum(weights.map((w, i) => w * values[i][d])));

function fmt(x, digits = 2) {
  const text = Math.abs(x).toFixed(digits);
  return (x < 0 && Number(text) !== 0 ? "−" : "") + text;
}
// Those that look as large as the largest, once rounded: where several tie, none is the one.
const leaders = (names, xs, digits = 2) => names.filter((_, i) => fmt(xs[i], digits) === fmt(Math.max(...xs), digits));
const both = (names) => names.map((name) => `“${name}”`).join(" and ");
const fmtVector = (xs, digits = 2) => `(${xs.map((x) => fmt(x, digits)).join(", ")})`;
// Three significant digits, without an exponent where it can be helped.
function short(x) {
  const size = Math.abs(x);
  if (Number.isInteger(x) && size < 1e5) return fmt(x, 0);
  if (size >= 1e-3 && size < 1e5) return fmt(x, size < 100 ? clamp(2 - Math.floor(Math.log10(size)), 0, 5) : 0);
  const [digits, power] = x.toExponential(1).split("e");
  return `${digits.replace("-", "−")} × ${powerOfTen(Number(power))}`;
}
const powerOfTen = (p) => (p ? `10${[...String(p)].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("")}` : "1");
// About `count` round numbers between a and b, with their labels.
function ticks(a, b, count) {
  const unit = 10 ** Math.floor(Math.log10((b - a) / count));
  const gap = unit * [1, 2, 5, 10].find((m) => (b - a) / (m * unit) <= count);
  const first = Math.ceil(a / gap - 1e-9);
  return Array.from({ length: Math.floor(b / gap + 1e-9) - first + 1 }, (_, i) => Number(((first + i) * gap).toPrecision(6)))
    .map((v) => [v, String(v).replace("-", "−")]);
}

const absent = (value) => value === false || value == null;
const present = (children) => children.flat(9).filter((child) => !absent(child));
function node(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (absent(value)) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value);
  }
  element.append(...present(children).map(made));
  return element;
}
const h = (tag, attributes = {}, ...children) => node(document.createElement(tag), attributes, children);
// A drawing is only drafted: most of it is there already, and `morph` makes what is not.
const s = (tag, attributes = {}, ...children) => ({ tag, attributes, children: present(children) });
function made(draft) {
  if (!draft.tag) return draft; // text, or an element
  const element = node(document.createElementNS(SVG, draft.tag), draft.attributes, draft.children);
  element.draft = draft;
  return element;
}

// Text in which W_q and p_gen are set with a subscript.
const rich = (content) => content.split(/\b([A-Za-z]_\w+)/).map((part) => (/^[A-Za-z]_\w+$/.test(part) ? [part[0], h("sub", {}, part.slice(2))] : part));

const scale = (d0, d1, r0, r1) => (x) => r0 + ((x - d0) / (d1 - d0)) * (r1 - r0);
const line = (points, attributes) => s("polyline", { points: points.map((p) => p.join()).join(" "), fill: "none", ...attributes });
// A name that lines may pass behind stands on itself in the ground's colour, and wider: Firefox draws
// the letters of one text by turns, outline and all, and so each outline would cover the letter before.
function words(x, y, content, attributes = {}) {
  const text = (kind) => s("text", { x, y, ...attributes, class: kind }, content);
  if (!/sa-(name|later)/.test(attributes.class)) return text(attributes.class);
  return s("g", {}, text(`sa-under ${attributes.class}`), text(attributes.class));
}
function arrow(x0, y0, x1, y1, attributes) {
  const angle = Math.atan2(y1 - y0, x1 - x0), size = Math.min(9, Math.hypot(x1 - x0, y1 - y0));
  const wing = (turn) => [x1 - size * Math.cos(angle + turn), y1 - size * Math.sin(angle + turn)];
  return s("g", attributes,
    line([[x0, y0], [x1, y1]]),
    size > 1 && s("polygon", { points: [[x1, y1], wing(0.4), wing(-0.4)].join(" "), fill: "currentColor", stroke: "none" }));
}
// Axes with ticks [[value, label], ...]; returns the group and both scales.
function axes({ x, y, box: [left, top, right, bottom], xticks, yticks, xlabel, ylabel }) {
  const sx = scale(...x, left, right), sy = scale(...y, bottom, top);
  const group = s("g", { class: "sa-axes" },
    yticks.map(([v, label]) => [
      s("line", { x1: left, x2: right, y1: sy(v), y2: sy(v), class: "sa-grid" }),
      words(left - 6, sy(v) + 4, label, { "text-anchor": "end" })]),
    s("line", { x1: left, x2: right, y1: bottom, y2: bottom }),
    xticks.map(([v, label]) => [
      s("line", { x1: sx(v), x2: sx(v), y1: bottom, y2: bottom + 4 }),
      words(sx(v), bottom + 17, label, { "text-anchor": "middle" })]),
    xlabel && words((left + right) / 2, bottom + 34, xlabel, { "text-anchor": "middle" }),
    ylabel && words(2, top - 13, ylabel));
  return { group, sx, sy };
}

// The plane from -reach to reach in both directions, `size` pixels wide, with its axes drawn.
function plane(size, reach) {
  const sx = scale(-reach, reach, 0, size), sy = scale(-reach, reach, size, 0);
  const ticks = Array.from({ length: 2 * Math.floor(reach) + 1 }, (_, i) => i - Math.floor(reach));
  const group = s("g", { class: "sa-axes" },
    ticks.map((v) => [
      s("line", { x1: sx(v), x2: sx(v), y1: 0, y2: size, class: v ? "sa-grid" : "" }),
      s("line", { y1: sy(v), y2: sy(v), x1: 0, x2: size, class: v ? "sa-grid" : "" })]));
  return { group, sx, sy, back: (x, y) => [(x / size) * 2 * reach - reach, reach - (y / size) * 2 * reach] };
}
// A name at the tip of a vector, pushed outwards and kept inside the drawing.
function nameAt(name, x, y, centre, size, attributes) {
  const away = Math.atan2(y - centre, x - centre);
  const anchor = Math.cos(away) > 0.35 ? "start" : Math.cos(away) < -0.35 ? "end" : "middle";
  return words(clamp(x + 11 * Math.cos(away), 4, size - 4), clamp(y + 14 * Math.sin(away) + 4, 12, size - 4), name,
    { "text-anchor": anchor, ...attributes, class: `sa-name ${attributes?.class ?? ""}` });
}

// A native slider for what `read` gives and `write` takes. A finger that sets out to scroll the page
// moves it at first; then all goes back, also to a value between two steps of the slider.
function range({ read, write, ...attributes }) {
  let before = null;
  return h("input", { type: "range", ...attributes,
    onpointerdown: (event) => { before = event.pointerType === "touch" ? [read()] : null; },
    onpointercancel: () => before?.forEach(write) });
}

// Where a finger may take hold of a point that moves in both directions.
const handle = (x, y) => s("circle", { cx: x, cy: y, r: 22, class: "sa-handle" });

// The colour of a weight in a map, as stored maps have it (seqattn/plots/style.py), and whether what stands on it is
// in the other ink.
const share = (w) => clamp(Math.round(100 * w) / 100, 0, 1) ** 0.7;
function shade(w) {
  const at = 2 * share(w), [upper, lower] = at <= 1 ? ["map-mid", "panel"] : ["map-high", "map-mid"];
  return `color-mix(in oklab,var(--sa-${upper}) ${Math.round(100 * (at - (at > 1)))}%,var(--sa-${lower}))`;
}
const onCell = (w) => (share(w) < 0.5 ? "sa-on-low" : "sa-on-high");
const weightCell = (w, x, y, side, attributes = {}) => s("rect", { x, y, width: side, height: side, fill: shade(w), style: "stroke:none", ...attributes });
// The scale of these colours, in the corner that a map leaves between its rows' names and its columns'.
const scaleOfWeights = (room) => {
  const wide = clamp(room, 24, 66), part = wide / 11;
  return s("g", {}, Array.from({ length: 11 }, (_, k) => s("rect", { x: k * part, y: 0, width: part + 0.3, height: 8, fill: shade(k / 10), style: "stroke:none" })),
    s("rect", { x: 0, y: 0, width: wide, height: 8, fill: "none", style: "stroke:var(--sa-line)" }),
    words(0, 20, "0", { class: "sa-soft" }), words(wide, 20, "1", { class: "sa-soft", "text-anchor": "end" }));
};

// A map as a grid of cells, with a row for each target word and a column for each source word. A mouse
// chooses a cell by passing over it, a finger by touching it: pick(row, column).
function mapOfCells(ui, label, pick) {
  const svg = ui.svg(label);
  const choose = (event) => {
    const cell = event.target.closest("[data-cell]");
    if (cell && (event.type === "click" || event.pointerType !== "touch")) pick(...cell.dataset.cell.split(",").map(Number));
  };
  for (const event of ["pointermove", "click"]) svg.addEventListener(event, choose);
  // `mark(t, i, x, y, side)` may draw something into a cell.
  svg.cells = (map, source, target, row, column, width, mark = () => null) => {
    const wide = (words) => 7.4 * Math.max(...words.map((word) => word.length));
    const left = Math.min(width * 0.3, wide(target) + 10), over = Math.min(110, wide(source) * 0.87 + 16);
    // The last word's name leans out to the right.
    const side = Math.min(44, (width - left - Math.min(40, wide(source.slice(-1)) * 0.5)) / source.length), x = (i) => left + i * side, y = (t) => over + t * side;
    const chosen = (on) => ({ "font-weight": on ? 700 : 400 });
    svg.paint([width, over + target.length * side + 4],
      source.map((word, i) => words(0, 0, word, { transform: `translate(${x(i + 0.5) + 4} ${over - 7}) rotate(-60)`, ...chosen(i === column) })),
      target.map((word, t) => words(left - 6, y(t + 0.5) + 4, word, { "text-anchor": "end", ...chosen(t === row) })),
      scaleOfWeights(left - 12),
      s("g", {}, map.map((weights, t) => weights.map((w, i) => weightCell(w, x(i), y(t), side, { "data-cell": `${t},${i}`, "pointer-events": "all" })))),
      s("rect", { x: left, y: over, width: source.length * side, height: target.length * side, class: "sa-frame" }),
      s("g", { "pointer-events": "none" }, map.map((weights, t) => weights.map((w, i) => s("g", { class: onCell(w) }, mark(t, i, x(i), y(t), side))))),
      s("rect", { x: x(column) + 1.5, y: y(row) + 1.5, width: side - 3, height: side - 3, class: "sa-cursor-in", "pointer-events": "none" }),
      s("rect", { x: x(column), y: y(row), width: side, height: side, class: "sa-cursor", "pointer-events": "none" }));
  };
  return svg;
}

// Make the children of `parent` what is drafted, changing only what differs: a drawing that keeps its
// nodes is painted sooner, and nothing in it starts anew. What is the same draft stands as it is.
function morph(parent, drafts) {
  const old = [...parent.childNodes];
  drafts.forEach((to, i) => {
    const from = old[i], was = from?.draft;
    if (was === to && was) return;
    if (!from) parent.append(made(to));
    else if (!to.tag && from.nodeType === Node.TEXT_NODE) { if (from.data !== String(to)) from.data = to; }
    else if (!to.tag || was?.tag !== to.tag) from.replaceWith(made(to));
    else {
      const had = was.attributes, has = to.attributes;
      for (const name in had) if (absent(has[name]) && !absent(had[name])) from.removeAttribute(name);
      for (const name in has) if (had[name] !== has[name] && !absent(has[name])) from.setAttribute(name, has[name]);
      from.draft = to;
      morph(from, to.children);
    }
  });
  old.slice(drafts.length).forEach((left) => left.remove());
}

// Between two results of figure.numbers: numbers on their way, everything else at its goal.
function between(a, b, part, jumps = []) {
  if (typeof a === "number" && typeof b === "number") return a + part * (b - a);
  if (Array.isArray(b)) return Array.isArray(a) && a.length === b.length ? b.map((x, i) => between(a[i], x, part)) : b;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return b;
  return Object.fromEntries(Object.entries(b).map(([key, x]) => [key, jumps.includes(key) ? x : between(a[key], x, part)]));
}
const GLIDE = 350; // milliseconds
const calm = matchMedia("(prefers-reduced-motion: reduce)");

// One bar of a row: a number from 0 to 1 (or -1 to 1, from the middle) that is also printed beside it.
function bar(signed = false) {
  const fill = made(s("rect", { y: 0, height: 1 }));
  const svg = made(s("svg", { class: "sa-bar", viewBox: "0 0 1 1", preserveAspectRatio: "none", "aria-hidden": "true" }, fill));
  svg.set = (value, kind = "") => {
    const x = clamp(value, -1, 1);
    fill.setAttribute("x", signed ? Math.min(0.5, 0.5 + x / 2) : 0);
    fill.setAttribute("width", signed ? Math.abs(x) / 2 : x);
    fill.setAttribute("class", kind);
  };
  return svg;
}

function live(figure, { model, el }) {
  const id = `sa-${Math.random().toString(36).slice(2)}`; // two views of one model need two ids
  const get = (name) => model.get(name);
  const set = (name, value) => { model.set(name, value); model.save_changes(); };
  const setAt = (name, at, value) => set(name, get(name).map((old, i) => (i === at ? value : old)));
  const open = () => !get("predict").question || get("predicted") >= 0 || Boolean(get("revealed"));
  // The control that would test an answer waits for it.
  const locked = (trait) => Boolean(trait) && !open() && get("predict").tests === trait;
  const syncs = [], ends = [];
  const text = h("p", { class: "sa-text", id: `${id}-text`, "aria-live": "polite" });
  const room = h("p", { class: "sa-room", "aria-hidden": "true" });
  // What a hand does at once is drawn at once; what jumps, glides, but for jumps in quick succession:
  // under a key held down each is drawn at once.
  let byHand = false, jumped = -Infinity;
  const hand = (act) => { byHand = true; act(); byHand = false; };
  const jump = (act) => {
    const now = performance.now(), soon = now - jumped < GLIDE;
    jumped = now;
    root.classList.toggle("sa-at-once", soon);
    if (soon) hand(act);
    else act();
  };

  const known = {};
  const ui = {
    id, get, set, setAt, model, open, jump,
    // What `make` returned for the same key before.
    memo(name, key, make) {
      const same = key.join();
      if (known[name]?.same !== same) known[name] = { same, made: make() };
      return known[name].made;
    },
    // A labelled native range input on a trait, or on entry `at` of a list trait. One that goes
    // from one thing to the next glides between them. `say` is what a screen reader is told, if not what is shown.
    slider({ label, name = label, trait, at, min, max, step, log = false, show = fmt, say = show, role = "", glides = false }) {
      const to = log ? Math.log10 : Number;
      const from = (p) => (log ? Number((10 ** p).toPrecision(3)) : p);
      const read = () => (at === undefined ? get(trait) : get(trait)[at]);
      const write = (value) => (at === undefined ? set(trait, value) : setAt(trait, at, value));
      const output = h("output");
      const act = () => write(from(Number(input.value)));
      const input = range({ read, write, min: to(min), max: to(max), step: log ? (to(max) - to(min)) / Math.round((to(max) - to(min)) / 0.05) : step ?? 0.1, "aria-label": name,
        oninput: () => (glides ? jump : hand)(act) });
      ends.push({ trait, at, values: glides ? Array.from({ length: max - min + 1 }, (_, i) => min + i) : [min, max] });
      syncs.push(() => {
        const value = read();
        input.value = to(value);
        input.disabled = locked(trait);
        input.style.setProperty("--at", `${100 * clamp((to(value) - to(min)) / (to(max) - to(min)), 0, 1)}%`);
        input.setAttribute("aria-valuetext", say(value));
        output.textContent = show(value);
      });
      return h("label", { class: `sa-slider ${role}`, "data-trait": trait }, h("span", {}, rich(label)), input, output);
    },
    // A checkbox on a trait, or on entry `at` of a list trait; `idle` says when it would change nothing.
    toggle({ label, name, trait, at, idle = () => false }) {
      const input = h("input", { type: "checkbox", "aria-label": name, onchange: () => (at === undefined ? set(trait, input.checked) : setAt(trait, at, input.checked)) });
      ends.push({ trait, at, values: [false, true] });
      syncs.push(() => { input.checked = at === undefined ? get(trait) : get(trait)[at]; input.disabled = locked(trait) || idle(); });
      return h("label", { class: "sa-toggle", "data-trait": trait }, input, h("span", {}, label));
    },
    // A row of radio buttons: one of `options`, which are the values of a trait, or else are read and written.
    choice({ label, options, trait, read, write = (option) => set(trait, option) }) {
      if (!read) ends.push({ trait, values: options });
      read ??= () => get(trait);
      const key = `${id}-${syncs.length}`;
      const inputs = options.map((option) => h("input", { type: "radio", name: key, onchange: () => write(option) }));
      syncs.push(() => inputs.forEach((input, i) => { input.checked = options[i] === read(); input.disabled = locked(trait); }));
      return h("fieldset", { class: "sa-choice", "data-trait": trait }, h("legend", {}, label),
        options.map((option, i) => h("label", {}, inputs[i], h("span", {}, String(option)))));
    },
    // A drawing; fill it with svg.paint([width, height], ...children) in units of one pixel.
    // With `drag`, a pressed pointer calls drag(x, y); a slider does the same for the keyboard.
    // A finger scrolls the page up and down, and moves what it has by its handle or taps.
    svg(label, drag, trait) {
      let pressed = null;
      const held = (event) => event.target.closest(".sa-handle");
      const act = (event) => {
        const box = svg.getBoundingClientRect();
        if (!locked(trait)) hand(() => drag(event.clientX - box.left, event.clientY - box.top));
      };
      const svg = made(s("svg", { class: drag ? "sa-svg sa-drag" : "sa-svg", role: "img", "aria-label": label, "aria-describedby": `${id}-text`, "data-trait": drag && trait,
        ontouchstart: drag && ((event) => { if (held(event)) event.preventDefault(); }),
        onpointerdown: drag && ((event) => {
          // A finger that is not on a handle may be about to scroll: it has to go sideways first, or lift.
          pressed = { id: event.pointerId, x: event.clientX, y: event.clientY, sure: event.pointerType !== "touch" || held(event) };
          if (!pressed.sure) return;
          svg.setPointerCapture(pressed.id);
          act(event);
        }),
        onpointermove: drag && ((event) => {
          if (event.pointerId !== pressed?.id) return;
          pressed.sure ||= Math.abs(event.clientX - pressed.x) > Math.max(8, Math.abs(event.clientY - pressed.y));
          if (pressed.sure) act(event);
        }),
        onpointerup: drag && ((event) => { if (event.pointerId === pressed?.id) act(event); pressed = null; }),
        onpointercancel: drag && (() => { pressed = null; }) }));
      svg.paint = ([wide, height], ...children) => {
        svg.style.maxWidth = `${wide}px`;
        for (const [name, value] of [["viewBox", `0 0 ${wide} ${height}`], ["height", String(height)]])
          if (svg.getAttribute(name) !== value) svg.setAttribute(name, value);
        morph(svg, present(children));
      };
      return svg;
    },
  };

  const title = get("title"), caption = get("caption");
  const body = h("div", { class: "sa-body" });
  const table = h("tbody");
  const details = h("details", { class: "sa-numbers", ontoggle: () => update() },
    h("summary", {}, "Numbers"), h("table", {}, table));
  const reset = h("button", { type: "button", class: "sa-reset", onclick: () => {
    for (const [name, value] of Object.entries(get("start"))) model.set(name, value);
    model.save_changes();
  } }, "Reset");
  const root = h("div", { class: "sa-fig", role: "group", "aria-label": `Live figure: ${title}`,
    "data-figure": figure.name, "data-lm-suppress-shortcuts": "true",
    // JupyterLab takes arrow keys and letters for itself before a control sees them.
    onkeydown: (event) => {
      if (!["Escape", "Tab"].includes(event.key) && !event.ctrlKey && !event.metaKey) event.stopPropagation();
    } });
  const asked = question(ui, {
    name: () => el.closest(".sa-place")?.id || figure.name,
    // Point at what tests the answer until the reader takes it up.
    point: () => {
      for (const control of root.querySelectorAll(`[data-trait="${get("predict").tests}"]`)) {
        control.classList.add("sa-now");
        for (const event of ["input", "pointerdown"]) control.addEventListener(event, () =>
          root.querySelectorAll(".sa-now").forEach((other) => other.classList.remove("sa-now")), { once: true });
      }
    },
  });
  if (asked) syncs.push(asked.sync);
  node(root, {}, [
    h("p", { class: "sa-title" }, title),
    asked?.element, body, h("div", { class: "sa-stack" }, text, room),
    h("div", { class: "sa-foot" }, details, reset),
    caption && h("p", { class: "sa-caption" }, caption)]);
  const draw = figure.build({ ...ui, add: (...children) => node(body, {}, children) });

  let width = 640, settle, goal, drawn, from, since, frame = 0;
  // One drawing a frame at most, the first of them at once.
  function step() {
    frame = 0;
    const part = from ? Math.min(1, (performance.now() - since) / GLIDE) : 1;
    const now = part < 1 ? between(from, goal, 1 - (1 - part) ** 3, figure.jumps) : goal;
    if (part === 1) from = null;
    if (now === drawn) return;
    drawn = now;
    draw(now, width);
    frame = requestAnimationFrame(step);
  }
  function update() {
    goal = figure.numbers(get);
    const isOpen = open();
    from = drawn && !byHand && !calm.matches ? drawn : null;
    since = performance.now();
    for (const sync of syncs) sync(goal);
    if (!frame) step();
    root.dataset.values = JSON.stringify(goal);
    root.dataset.state = JSON.stringify(Object.fromEntries(Object.keys(get("start")).map((name) => [name, get(name)])));
    root.classList.toggle("sa-waits", !isOpen);
    el.closest(".sa-place")?.toggleAttribute("data-asks", !isOpen); // what the page says of it waits as well
    // While a slider moves, screen readers wait; half a second later they read the sentence.
    text.setAttribute("aria-busy", "true");
    text.textContent = figure.text(goal, get, isOpen);
    if (text.textContent.length > room.textContent.length) room.textContent = text.textContent; // wider than foreseen
    clearTimeout(settle);
    settle = setTimeout(() => text.removeAttribute("aria-busy"), 500);
    if (details.open) table.replaceChildren(...Object.entries(goal).map(([key, value]) =>
      h("tr", {}, h("th", { scope: "row" }, key.replaceAll("_", " ")), h("td", {}, spell(value)))));
  }
  // The longest sentence that the ends of the sliders bring keeps its room, so that no height jumps.
  function keepRoom() {
    const said = [{}, figure.fullest ?? {}].flatMap((also) => ends.flatMap(({ trait, at, values }) => values.map((value) => {
      const there = (name) => (name !== trait ? also[name] ?? get(name) : at === undefined ? value : get(name).map((old, i) => (i === at ? value : old)));
      return figure.text(figure.numbers(there), there, true);
    })));
    room.textContent = said.reduce((a, b) => (b.length > a.length ? b : a), "") + "\u2007".repeat(6); // some digits more
  }
  const watch = new ResizeObserver(() => requestAnimationFrame(() => {
    const now = Math.round(body.clientWidth);
    if (now && now !== width) { width = now; drawn = null; update(); }
  }));
  el.append(root);
  asked?.announce();
  if (body.clientWidth) width = Math.round(body.clientWidth);
  keepRoom();
  update();
  watch.observe(body);
  model.on("change", update);
  return () => { watch.disconnect(); model.off("change", update); cancelAnimationFrame(frame); };
}

function spell(value) {
  if (Array.isArray(value)) return `[${value.map(spell).join(", ")}]`;
  return typeof value === "number" ? String(Number(value.toPrecision(6))).replace("-", "−") : String(value);
}

// Predict, then move: a question whose answer the reader commits to, or has shown.
function question({ id, get, set, open }, { name, point }) {
  const { question: asked, options, answer, explain } = get("predict");
  if (!asked) return null;
  const feedback = (chosen) => {
    const right = chosen === answer, why = Array.isArray(explain) ? explain[chosen] : right ? explain : "Move the figure, watch, and choose again.";
    // Quotation marks inside others are single.
    const quoted = (option) => `“${option.replaceAll("“", "‘").replaceAll("”", "’")}”${/[.!?]$/.test(option) ? "" : "."}`;
    const verdict = chosen < 0 ? `The answer: ${quoted(options[answer])} ` : right ? `✓ You said ${quoted(options[chosen])} Right. ` : `✗ You said ${quoted(options[chosen])} Not so. `;
    return [...rich(verdict).flat(), ...rich(chosen < 0 ? (Array.isArray(explain) ? explain[answer] : explain) : why).flat(), get("predict").tests && " The marked control tests it."];
  };
  const write = (element, chosen) => element.replaceChildren(...feedback(chosen).filter(Boolean));
  const said = h("p", { class: "sa-said", "aria-live": "polite", tabindex: "-1" });
  const rooms = [-1, ...options.keys()].map((chosen) => { const p = h("p", { class: "sa-room", "aria-hidden": "true" }); write(p, chosen); return p; });
  const waiting = () => { delete said.dataset.right; said.textContent = open() ? "Check this answer too." : "The answer stays hidden until you commit to one."; };
  const inputs = options.map(() => h("input", { type: "radio", name: `${id}-predict`, onchange: waiting }));
  const check = () => {
    const chosen = inputs.findIndex((input) => input.checked);
    if (chosen < 0) { said.textContent = "Choose an answer first."; return; }
    shown = chosen;
    set("predicted", chosen);
    tell(chosen);
    document.dispatchEvent(new CustomEvent("seqattn:answer", { detail: { id: name(), choice: chosen, right: chosen === answer, asked, said: options[chosen] } }));
  };
  const tell = (chosen) => {
    shown = chosen;
    if (chosen >= 0) inputs[chosen].checked = true;
    said.dataset.right = chosen < 0 ? "shown" : chosen === answer;
    write(said, chosen);
    point();
  };
  const show = h("button", { type: "button", class: "sa-show", onclick: () => { set("revealed", true); tell(-1); said.focus({ preventScroll: true }); } }, "Just show me");
  let shown = -1;
  waiting();
  return {
    // Whoever keeps a reader's answers may give one back: detail.answer(choice).
    announce: () => document.dispatchEvent(new CustomEvent("seqattn:figure", { detail: { id: name(), answer: (choice) => set("predicted", choice) } })),
    // Another view of the figure, or a cell, may have answered.
    sync: () => {
      show.hidden = open();
      if (get("predicted") >= 0 && get("predicted") !== shown) tell(get("predicted"));
    },
    element: h("fieldset", { class: "sa-predict" },
      h("legend", {}, "Predict, then move"),
      h("p", {}, rich(asked)),
      h("div", { class: "sa-options", role: "radiogroup", "aria-label": asked }, options.map((option, i) => h("label", {}, inputs[i], h("span", {}, rich(option))))),
      h("div", { class: "sa-answer" }, h("button", { type: "button", onclick: check }, "Check"), show),
      h("div", { class: "sa-stack" }, said, rooms)),
  };
}
