const figure = {
  name: "WeightedSum",

  numbers(get) {
    const weights = softmax(get("scores"));
    const rounded = sum(weights.map((w) => Number(w.toFixed(2))));
    return { target: get("target"), scores: get("scores"), weights,
      sum_of_rounded_weights: Number(rounded.toFixed(2)), context: weightedSum(weights, get("values")) };
  },

  text(n, get) {
    const words = get("words"), top = argmax(n.weights);
    return `${n.target ? `To produce “${n.target}”, the` : "The"} largest weight is ${fmt(n.weights[top])}, on “${words[top]}”; ` +
      `the context is ${fmtVector(n.context)}. Weights are shown rounded to two decimals, which add up to ` +
      `${fmt(n.sum_of_rounded_weights)}; unrounded they sum to 1.`;
  },

  build(ui) {
    const names = ui.get("words"), targets = new Map(ui.get("targets"));
    const bars = names.map(() => bar()), shown = names.map(() => h("span", { class: "sa-num" }));
    const plot = ui.svg("The states as points, their weighted sum drawn tip to tail as arrows");
    const terms = h("div", { class: "sa-terms" });
    ui.add(
      targets.size > 1 && ui.choice({ label: "next target word", options: [...targets.keys()], read: () => ui.get("target"),
        write: (target) => { ui.model.set("scores", targets.get(target)); ui.set("target", target); } }),
      h("div", { class: "sa-row sa-heads", "aria-hidden": "true" },
        h("span", {}, "source word"), h("span", {}, "score e"), h("span", {}, "weight α"), h("span")),
      names.map((name, i) => h("div", { class: "sa-row" }, h("span", {}, name),
        ui.slider({ label: "", name: `score of ${name}, word ${i + 1}`, trait: "scores", at: i, min: -5, max: 5, show: (x) => fmt(x, 1) }),
        bars[i], shown[i])),
      h("div", { class: "sa-side" }, plot, terms));
    return (n, width) => {
      const top = argmax(n.weights), values = ui.get("values");
      n.weights.forEach((w, i) => { bars[i].set(w, i === top ? "main" : ""); shown[i].textContent = fmt(w); });
      terms.replaceChildren(
        h("div", {}, "context c ="),
        ...names.map((name, i) => h("div", {}, `${i ? "+" : "\u2007"} ${fmt(n.weights[i])} × ${fmtVector(values[i], 1)} `, h("span", { class: "soft" }, name))),
        h("div", { class: "warm" }, `= ${fmtVector(n.context)}`));
      this.sketch(plot, n, values, names, Math.min(width, 320));
    };
  },

  sketch(plot, n, values, names, size) {
    const reach = 1.25 * Math.max(...values.flat().map(Math.abs), 0.1);
    const { group, sx, sy } = plane(size, reach);
    const px = ([x, y]) => [sx(x), sy(y)];
    let at = [0, 0];
    const chain = values.map((value, i) => {
      const from = at;
      at = [at[0] + n.weights[i] * value[0], at[1] + n.weights[i] * value[1]];
      return arrow(...px(from), ...px(at), { class: "main", "stroke-width": 1.5 });
    });
    plot.paint([size, size],
      group,
      s("polygon", { points: hull(values).map((p) => px(p).join()).join(" "), fill: "currentColor", "fill-opacity": 0.12, class: "main", "stroke-width": 0 }),
      values.map((value, i) => [
        s("circle", { cx: px(value)[0], cy: px(value)[1], r: 3 + 9 * Math.sqrt(n.weights[i]), fill: "currentColor", class: "pale", "stroke-width": 0 }),
        nameAt(names[i], ...px(value), size / 2, size)]),
      chain,
      arrow(...px([0, 0]), ...px(n.context), { class: "warm", "stroke-width": 3 }),
      words(px(n.context)[0] + 8, px(n.context)[1] + 18, "c", { class: "warm", "font-weight": 700 }));
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
