const FACTORS = { "÷ √d": (d) => 1 / Math.sqrt(d), none: () => 1, "× √d": Math.sqrt };
const FIRST = 2;
const figure = {
  name: "DotVariance",
  jumps: ["d", "largest"],

  numbers(get) {
    const kind = get("kinds").indexOf(get("kind")), at = get("exponent") - FIRST, d = 2 ** get("exponent");
    const factor = FACTORS[get("factor")](d);
    const scores = get("products")[kind][at][get("draw")].map((x) => factor * x);
    return { d, factor, spread: factor * get("spreads")[kind][at], scores, weights: softmax(scores), largest: argmax(scores) };
  },

  text(n, get) {
    const done = { "÷ √d": `divided by ${short(1 / n.factor)}`, none: "as they are", "× √d": `times ${short(n.factor)}` }[get("factor")];
    const top = n.weights[n.largest];
    const verdict = top > 0.9 ? "nearly all of the weight is on one key" : top < 0.12 ? "the weights are all but equal" : "the weights are neither equal nor on one key";
    return `Vectors of ${n.d} numbers, products ${done}: they spread by ${short(n.spread)}. The largest of ten weights is ${fmt(top, 3)}; ${verdict}.`;
  },

  build(ui) {
    const many = ui.get("products")[0][0][0].map((_, i) => i);
    const number = () => many.map(() => h("span", { class: "sa-num" }));
    const scores = number(), shown = number(), bars = many.map(() => bar());
    const plot = ui.svg("Spread of the scores as the size d grows, for each of the three factors");
    ui.add(
      ui.choice({ label: "vectors", options: ui.get("kinds"), trait: "kind", read: () => ui.get("kind"), write: (kind) => ui.set("kind", kind) }),
      ui.choice({ label: "factor", options: Object.keys(FACTORS), trait: "factor", read: () => ui.get("factor"), write: (factor) => ui.set("factor", factor) }),
      ui.slider({ label: "size d", trait: "exponent", min: FIRST, max: FIRST + ui.get("spreads")[0].length - 1, step: 1, show: (p) => String(2 ** p), glides: true }),
      h("div", { class: "sa-side" },
        h("div", {},
          h("div", { class: "sa-hit sa-heads", "aria-hidden": "true" }, h("span", {}, "key"), h("span", { class: "sa-num" }, "score"), h("span", {}, "weight α"), h("span", { class: "sa-num" }, "")),
          many.map((i) => h("div", { class: "sa-hit" }, h("span", { class: "keys" }, String(i + 1)), scores[i], bars[i], shown[i]))),
        plot),
      ui.slider({ label: "another draw", trait: "draw", min: 0, max: ui.get("products")[0][0].length - 1, step: 1, show: (i) => String(i + 1), glides: true }));
    return (n, width) => {
      n.weights.forEach((w, i) => {
        scores[i].textContent = Math.abs(n.scores[i]) < 100 ? fmt(n.scores[i]) : fmt(n.scores[i], 0);
        bars[i].set(w, i === n.largest ? "weights" : "weights pale");
        shown[i].textContent = fmt(w);
      });
      this.curves(plot, n, ui, width > 560 ? width - 344 : width);
    };
  },

  curves(plot, n, ui, width) {
    const spreads = ui.get("spreads")[ui.get("kinds").indexOf(ui.get("kind"))], last = FIRST + spreads.length - 1, chosen = ui.get("factor");
    const right = width - 46, bottom = 250, power = (x) => clamp(Math.log10(x), -3.5, 3.5);
    const { group, sx, sy } = axes({ x: [FIRST, last], y: [-3.5, 3.5], box: [48, 30, right, bottom],
      xticks: [2, 4, 6, 8, 10].map((p) => [p, String(2 ** p)]), yticks: [-3, -2, -1, 0, 1, 2, 3].map((p) => [p, String(10 ** p)]),
      xlabel: "size d", ylabel: "spread of the scores" });
    const at = (factor) => spreads.map((spread, i) => [sx(FIRST + i), sy(power(spread * FACTORS[factor](2 ** (FIRST + i))))]);
    plot.paint([width, bottom + 40], group,
      s("line", { x1: 48, x2: right, y1: sy(0), y2: sy(0), stroke: "currentColor", "stroke-dasharray": "2 3" }),
      ui.open() ? Object.keys(FACTORS).map((factor) => {
        const points = at(factor), on = factor === chosen;
        return [line(points, { class: on ? "scores" : "scores pale", "stroke-width": on ? 3 : 1.5 }),
          words(right + 5, points.at(-1)[1] + 4, factor, { class: "scores", "font-weight": on ? 700 : 400 })];
      }) : words((48 + right) / 2, sy(1.5), "The curves wait for your answer.", { "text-anchor": "middle", class: "sa-soft" }),
      s("circle", { cx: sx(Math.log2(n.d)), cy: sy(power(n.spread)), r: 5, fill: "currentColor", class: "scores sa-ring" }));
  },
};
