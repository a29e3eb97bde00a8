const PENALTIES = ["entropy", "1 − Σα²", "Σ|α|"], STEPS = 100;
const figure = {
  name: "PenaltyPath",

  slope(weights, penalty) {
    const spread = entropy(weights), squares = dot(weights, weights);
    if (penalty === "entropy") return weights.map((w) => -w * (Math.log(w) + spread));
    if (penalty === "1 − Σα²") return weights.map((w) => -2 * w * (w - squares));
    return weights.map(() => 0);
  },
  // The rows after 0, 1, 2 … steps.
  path(get, steps) {
    let scores = get("scores");
    const rows = [softmax(scores)];
    for (let k = 0; k < steps; k++) {
      const slope = this.slope(rows.at(-1), get("penalty"));
      scores = scores.map((e, i) => e - get("factor") * slope[i]);
      rows.push(softmax(scores));
    }
    return rows;
  },

  numbers(get) {
    const rows = this.path(get, get("steps")), weights = rows.at(-1);
    return { first_weights: rows[0], weights, slope: this.slope(weights, get("penalty")), entropy: entropy(weights), sum_of_squares: dot(weights, weights) };
  },

  text(n, get) {
    const steps = get("steps"), done = steps === 1 ? "one step" : `${steps} steps`;
    const moved = sum(n.weights.map((w, i) => Math.abs(w - n.first_weights[i]))) / 2;
    return `After ${done} the weights are ${fmtVector(n.weights, 3)}: ${moved < 5e-7 ? "they have not moved" : `${short(moved)} of the weight has moved`}. ` +
      `Entropy ${fmt(n.entropy)} nats, sum of squares ${fmt(n.sum_of_squares)}, sum 1.`;
  },

  build(ui) {
    const labels = ui.get("labels"), bars = labels.map(() => bar()), shown = labels.map(() => h("span", { class: "sa-num" }));
    const plot = ui.svg("The row as a point in a triangle, and the way that it has come");
    ui.add(
      ui.choice({ label: "penalty", options: PENALTIES, trait: "penalty", read: () => ui.get("penalty"), write: (kind) => ui.set("penalty", kind) }),
      ui.slider({ label: "factor λ", trait: "factor", min: -1, max: 1, step: 0.1, show: (x) => fmt(x, 1) }),
      ui.slider({ label: "steps taken", trait: "steps", min: 0, max: STEPS, step: 1, show: String }),
      h("div", { class: "sa-side" }, plot,
        h("div", {},
          labels.map((label, i) => h("div", { class: "sa-two" }, h("span", { class: "keys" }, label), bars[i], shown[i])))));
    return (n, width) => {
      n.weights.forEach((w, i) => { bars[i].set(w, "weights"); shown[i].textContent = fmt(w, 3); });
      this.triangle(plot, n, ui, labels, Math.min(width, 300));
    };
  },

  triangle(plot, n, ui, labels, width) {
    const side = width - 60, high = side * Math.sqrt(0.75), corners = [[30, 24 + high], [30 + side / 2, 24], [30 + side, 24 + high]];
    const at = (row) => [0, 1].map((d) => sum(row.map((w, i) => w * corners[i][d])));
    const path = this.path(ui.get, ui.get("steps")).map(at), [x, y] = at(n.weights), [x0, y0] = at(n.first_weights), middle = at([1 / 3, 1 / 3, 1 / 3]);
    plot.paint([width, high + 50],
      s("polygon", { points: corners.map((p) => p.join()).join(" "), class: "sa-frame" }),
      s("circle", { cx: middle[0], cy: middle[1], r: 2.5, fill: "currentColor", class: "soft" }),
      words(middle[0] + 8, middle[1] + 4, "equal", { class: "sa-soft" }),
      line(path, { class: "weights", "stroke-width": 2.5, "stroke-linejoin": "round" }),
      s("circle", { cx: x0, cy: y0, r: 4, class: "weights", fill: "none", "stroke-width": 2 }),
      s("circle", { cx: x, cy: y, r: 6, fill: "currentColor", class: "weights sa-ring" }),
      corners.map(([a, b], i) => words(a, b + (i === 1 ? -8 : 18), labels[i], { "text-anchor": "middle", class: "keys" })));
  },
};
