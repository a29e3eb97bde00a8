// What every live figure shares. A figure's own file follows and defines `figure`:
//   figure.numbers(get) -> the computed numbers: plain arithmetic, no drawing
//   figure.build(ui)    -> lays out controls and drawings, returns draw(numbers, width)
//   figure.text(numbers, get) -> one or two sentences that say what is to be seen
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

function node(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value == null) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value);
  }
  element.append(...children.flat(9).filter((child) => child != null && child !== false));
  return element;
}
const h = (tag, attributes = {}, ...children) => node(document.createElement(tag), attributes, children);
const s = (tag, attributes = {}, ...children) => node(document.createElementNS(SVG, tag), attributes, children);

// Text in which W_q is set with a subscript.
const rich = (content) => content.split(/(\w_\w)\b/).map((part) => (/^\w_\w$/.test(part) ? [part[0], h("sub", {}, part[2])] : part));

const scale = (d0, d1, r0, r1) => (x) => r0 + ((x - d0) / (d1 - d0)) * (r1 - r0);
const line = (points, attributes) => s("polyline", { points: points.map((p) => p.join()).join(" "), fill: "none", ...attributes });
const words = (x, y, content, attributes = {}) => s("text", { x, y, ...attributes }, content);
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
    ylabel && words(2, top - 10, ylabel));
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
  return words(clamp(x + 11 * Math.cos(away), 4, size - 4), clamp(y + 14 * Math.sin(away) + 4, 12, size - 4), name, { "text-anchor": anchor, ...attributes });
}

// One bar of a row: a number from 0 to 1 (or -1 to 1, from the middle) that is also printed beside it.
function bar(signed = false) {
  const fill = s("rect", { y: 0, height: 1 });
  const svg = s("svg", { class: "sa-bar", viewBox: "0 0 1 1", preserveAspectRatio: "none", "aria-hidden": "true" }, fill);
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
  const syncs = [];
  const text = h("p", { class: "sa-text", id: `${id}-text`, "aria-live": "polite" });

  const ui = {
    id, get, set, setAt, model,
    // What would give the answer away is drawn once an answer was checked.
    answered: () => !get("predict").question || get("predicted") >= 0,
    // A labelled native range input on a trait, or on entry `at` of a list trait.
    slider({ label, name = label, trait, at, min, max, step, log = false, show = fmt }) {
      const to = log ? Math.log10 : Number;
      const from = (p) => (log ? Number((10 ** p).toPrecision(3)) : p);
      const read = () => (at === undefined ? get(trait) : get(trait)[at]);
      const write = (value) => (at === undefined ? set(trait, value) : setAt(trait, at, value));
      const output = h("output");
      const input = h("input", { type: "range", min: to(min), max: to(max), step: log ? (to(max) - to(min)) / Math.round((to(max) - to(min)) / 0.05) : step ?? 0.1, "aria-label": name,
        oninput: () => write(from(Number(input.value))) });
      syncs.push(() => {
        const value = read();
        input.value = to(value);
        input.style.setProperty("--at", `${100 * clamp((to(value) - to(min)) / (to(max) - to(min)), 0, 1)}%`);
        input.setAttribute("aria-valuetext", show(value));
        output.textContent = show(value);
      });
      return h("label", { class: "sa-slider" }, h("span", {}, label), input, output);
    },
    toggle({ label, name, read, write }) {
      const input = h("input", { type: "checkbox", "aria-label": name, onchange: () => write(input.checked) });
      syncs.push(() => { input.checked = read(); });
      return h("label", { class: "sa-toggle" }, input, h("span", {}, label));
    },
    // A row of radio buttons: one of `options`.
    choice({ label, options, read, write }) {
      const key = `${id}-${syncs.length}`;
      const inputs = options.map((option) => h("input", { type: "radio", name: key, onchange: () => write(option) }));
      syncs.push(() => inputs.forEach((input, i) => { input.checked = options[i] === read(); }));
      return h("fieldset", { class: "sa-choice" }, h("legend", {}, label),
        options.map((option, i) => h("label", {}, inputs[i], h("span", {}, String(option)))));
    },
    // A drawing; fill it with svg.paint([width, height], ...children) in units of one pixel.
    // With `drag`, a pressed pointer calls drag(x, y); a slider does the same for the keyboard.
    svg(label, drag) {
      const move = (event) => {
        if (event.type === "pointerdown") svg.setPointerCapture(event.pointerId);
        if (!svg.hasPointerCapture(event.pointerId)) return;
        const box = svg.getBoundingClientRect();
        drag(event.clientX - box.left, event.clientY - box.top);
      };
      const svg = s("svg", { class: drag ? "sa-svg sa-drag" : "sa-svg", role: "img", "aria-label": label, "aria-describedby": `${id}-text`,
        onpointerdown: drag && move, onpointermove: drag && move });
      svg.paint = ([wide, height], ...children) => {
        svg.setAttribute("viewBox", `0 0 ${wide} ${height}`);
        svg.setAttribute("height", height);
        svg.style.maxWidth = `${wide}px`;
        svg.replaceChildren(...children.flat(9).filter((child) => child != null && child !== false));
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
    } },
    h("p", { class: "sa-title" }, title),
    question(ui), body, text,
    h("div", { class: "sa-foot" }, details, reset),
    caption && h("p", { class: "sa-caption" }, caption));
  const draw = figure.build({ ...ui, add: (...children) => node(body, {}, children) });

  let width = 640, settle;
  function update() {
    const numbers = figure.numbers(get);
    for (const sync of syncs) sync(numbers);
    draw(numbers, width);
    root.dataset.values = JSON.stringify(numbers);
    root.dataset.state = JSON.stringify(Object.fromEntries(Object.keys(get("start")).map((name) => [name, get(name)])));
    // While a slider moves, screen readers wait; half a second later they read the sentence.
    text.setAttribute("aria-busy", "true");
    text.textContent = figure.text(numbers, get);
    clearTimeout(settle);
    settle = setTimeout(() => text.removeAttribute("aria-busy"), 500);
    if (details.open) table.replaceChildren(...Object.entries(numbers).map(([key, value]) =>
      h("tr", {}, h("th", { scope: "row" }, key.replaceAll("_", " ")), h("td", {}, spell(value)))));
  }
  const watch = new ResizeObserver(() => requestAnimationFrame(() => {
    const now = Math.round(body.clientWidth);
    if (now && now !== width) { width = now; update(); }
  }));
  el.append(root);
  if (body.clientWidth) width = Math.round(body.clientWidth);
  update();
  watch.observe(body);
  model.on("change", update);
  return () => { watch.disconnect(); model.off("change", update); };
}

function spell(value) {
  if (Array.isArray(value)) return `[${value.map(spell).join(", ")}]`;
  return typeof value === "number" ? String(Number(value.toPrecision(6))).replace("-", "−") : String(value);
}

// Predict, then move: a question whose answer the reader commits to and can check.
function question({ id, get, set }) {
  const { question: asked, options, answer, explain } = get("predict");
  if (!asked) return null;
  const inputs = options.map(() => h("input", { type: "radio", name: `${id}-predict` }));
  const said = h("p", { class: "sa-said", "aria-live": "polite" });
  const check = () => {
    const chosen = inputs.findIndex((input) => input.checked);
    if (chosen < 0) { said.textContent = "Choose an answer first."; return; }
    const right = chosen === answer;
    const why = Array.isArray(explain) ? explain[chosen] : right ? explain : "Move the figure, watch, and choose again.";
    said.dataset.right = right;
    said.replaceChildren(right ? "✓ Right. " : "✗ Not so. ", ...rich(why).flat());
    set("predicted", chosen);
  };
  return h("fieldset", { class: "sa-predict" },
    h("legend", {}, "Predict, then move"),
    h("p", {}, rich(asked)),
    h("div", { class: "sa-options", role: "radiogroup", "aria-label": asked }, options.map((option, i) => h("label", {}, inputs[i], h("span", {}, rich(option))))),
    h("div", { class: "sa-answer" }, h("button", { type: "button", onclick: check }, "Check"), said));
}
