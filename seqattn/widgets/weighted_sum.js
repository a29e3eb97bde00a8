const figure = {
  name: "WeightedSum",

  numbers(get) {
    const weights = softmax(get("scores"));
    const rounded = sum(weights.map((w) => Number(w.toFixed(2))));
    return { target: this.target(get), scores: get("scores"), weights,
      sum_of_rounded_weights: Number(rounded.toFixed(2)), context: weightedSum(weights, get("values")) };
  },
  // The word whose scores these are; none once one of them was moved.
  target(get) {
    const row = new Map(get("targets")).get(get("target"));
    return row && row.every((score, i) => score === get("scores")[i]) ? get("target") : "";
  },

  text(n, get) {
    const top = Math.max(...n.weights), best = get("words").filter((_, i) => top - n.weights[i] < 0.005);
    const where = best.length === n.weights.length ? `all weights are ${fmt(top)}` :
      best.length > 1 ? `the largest weights are ${fmt(top)}, on ${best.map((word) => `“${word}”`).join(" and ")}` : `the largest weight is ${fmt(top)}, on “${best[0]}”`;
    return `${n.target ? `To produce “${n.target}”` : "With these scores"}, ${where}; ` +
      `the context is ${fmtVector(n.context)}. Weights are shown rounded to two decimals, which add up to ` +
      `${fmt(n.sum_of_rounded_weights)}; unrounded they sum to 1.`;
  },

  build(ui) {
    const names = ui.get("words"), targets = new Map(ui.get("targets"));
    const bars = names.map(() => bar()), shown = names.map(() => h("span", { class: "sa-num" }));
    const plot = ui.svg("The states as points; their shares laid end to end lead from the origin to the context");
    const place = h("div", {}, plot);
    const terms = names.map((name) => [h("span"), h("span", { class: "soft" }, ` ${name}`)]), total = h("div", { class: "context" });
    ui.add(
      targets.size > 1 && ui.choice({ label: "next target word", options: [...targets.keys()], trait: "target", read: () => this.target(ui.get),
        write: (target) => { ui.model.set("scores", targets.get(target)); ui.set("target", target); } }),
      h("div", { class: "sa-beside" },
        h("div", { class: "sa-side" }, place, h("div", { class: "sa-terms" },
          h("div", {}, "context c ="), terms.map((term) => h("div", {}, term)), total)),
        h("div", {},
          h("div", { class: "sa-row sa-heads", "aria-hidden": "true" },
            h("span", {}, "source word"), h("span", {}, "score e"), h("span", {}, "weight α"), h("span")),
          names.map((name, i) => h("div", { class: "sa-row" }, h("span", {}, name),
            ui.slider({ label: "", name: `score of ${name}, word ${i + 1}`, trait: "scores", at: i, min: -5, max: 5, show: (x) => fmt(x, 1), role: "scores" }),
            bars[i], shown[i])))));
    return (n, width) => {
      const top = Math.max(...n.weights), values = ui.get("values");
      n.weights.forEach((w, i) => {
        bars[i].set(w, top - w < 0.005 ? "weights" : "weights pale");
        shown[i].textContent = fmt(w);
        terms[i][0].textContent = `${i ? "+" : "\u2007"} ${fmt(w)} × ${fmtVector(values[i], 1)}`;
      });
      total.textContent = `= ${fmtVector(n.context)}`;
      this.sketch(plot, n, values, names, Math.min(place.clientWidth || width, 360));
    };
  },

  sketch(plot, n, values, names, size) {
    const reach = 1.25 * Math.max(...values.flat().map(Math.abs), 0.1);
    const { group, sx, sy } = plane(size, reach);
    const px = ([x, y]) => [sx(x), sy(y)];
    const joints = values.reduce((path, value, i) => [...path, path.at(-1).map((x, d) => x + n.weights[i] * value[d])], [[0, 0]]).map(px);
    const c = px(n.context);
    plot.paint([size, size],
      group,
      s("polygon", { points: hull(values).map((p) => px(p).join()).join(" "), fill: "currentColor", "fill-opacity": 0.12, class: "values", "stroke-width": 0 }),
      values.map((value, i) => [
        s("circle", { cx: px(value)[0], cy: px(value)[1], r: 3 + 9 * Math.sqrt(n.weights[i]), fill: "currentColor", class: "values", "stroke-width": 0 }),
        nameAt(names[i], ...px(value), size / 2, size)]),
      line(joints, { class: "values", "stroke-width": 1.5, "stroke-linejoin": "round" }),
      joints.slice(1, -1).map(([x, y]) => s("circle", { cx: x, cy: y, r: 2, fill: "currentColor", class: "values", "stroke-width": 0 })),
      arrow(...px([0, 0]), ...c, { class: "context", "stroke-width": 3 }),
      words(c[0] + 10, c[1] + (c[1] > size / 2 ? 18 : -8), "c", { class: "context", "font-weight": 700 }));
  },
};
// Corners of the convex hull, in order (Andrew's monotone chain).
function hull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const half = (list) => {
    const out = [];
    for (const p of list) {
      const left = ([a, b]) => (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) > 0;
      while (out.length > 1 && !left(out.slice(-2))) out.pop();
      out.push(p);
    }
    return out.slice(0, -1);
  };
  return [...half(sorted), ...half(sorted.reverse())];
}
