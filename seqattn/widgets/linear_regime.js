const figure = {
  name: "LinearRegime",

  // tanh of small numbers loses digits in a difference; scores are plain float64, as in PyTorch.
  at(get, scale) {
    const keys = get("states").map((x) => matvec(get("W_k"), x.map((y) => scale * y)));
    const [first, second] = get("queries").map((s) => {
      const query = matvec(get("W_q"), s.map((y) => scale * y));
      return softmax(keys.map((key) => dot(get("v"), key.map((x, d) => Math.tanh(query[d] + x)))));
    });
    const difference = Math.max(...first.map((w, i) => Math.abs(w - second[i])));
    const contrast = Math.max(...first.map((w) => Math.abs(w - 1 / first.length)));
    return { scale, first_weights: first, second_weights: second, max_difference: difference, relative_difference: difference / contrast };
  },
  numbers(get) { return this.at(get, get("scale")); },

  text(n) {
    const contrast = n.max_difference / n.relative_difference;
    return `At scale λ = ${short(n.scale)} the two queries’ weights differ by at most ${short(n.max_difference)}. ` +
      `The first query’s own weights are at most ${short(contrast)} away from equal ones.`;
  },

  build(ui) {
    const names = ui.get("words"), [a, b] = ui.get("queries").map((q) => fmtVector(q, 1));
    const rows = names.map((name) => {
      const bars = [bar(), bar()], shown = [0, 1].map(() => h("span", { class: "sa-num" }));
      return { bars, shown, el: h("div", { class: "sa-two" }, h("span", {}, name), h("div", {}, bars), h("div", {}, shown)) };
    });
    const plot = ui.svg("Difference of the two queries' weights against the scale, both logarithmic");
    const later = h("p", { class: "sa-heads" }, "The curve for all scales appears when you have checked an answer.");
    ui.add(
      h("p", { class: "sa-heads" }, h("span", { class: "main" }, `■ s = ${a}`), " \u2003 ", h("span", { class: "warm" }, `■ s′ = ${b}`)),
      rows.map((row) => row.el),
      ui.slider({ label: "scale λ", trait: "scale", min: 0.01, max: 10, log: true, show: short }),
      later, plot);
    return (n, width) => {
      rows.forEach((row, i) => [n.first_weights[i], n.second_weights[i]].forEach((w, j) => {
        row.bars[j].set(w, ["main", "warm"][j]);
        row.shown[j].textContent = fmt(w, 3);
      }));
      const open = ui.answered();
      later.style.display = open ? "none" : "";
      plot.style.display = open ? "" : "none";
      if (open) this.fall(plot, n, ui.get, width);
    };
  },

  fall(plot, n, get, width) {
    const right = width - 74, at = Math.log10(n.scale);
    const { group, sx, sy } = axes({ x: [-2, 1], y: [-7, 1.4], box: [68, 30, right, 176],
      xticks: [-2, -1, 0, 1].map((p) => [p, String(10 ** p)]), yticks: [-6, -3, 0].map((p) => [p, (10 ** p).toFixed(-p)]),
      xlabel: "scale λ (logarithmic)", ylabel: "difference of the weights (logarithmic)" });
    const grid = Array.from({ length: 61 }, (_, i) => -2 + i / 20).map((p) => [p, this.at(get, 10 ** p)]);
    const y = (x) => sy(Math.max(-7, Math.log10(x)));
    const last = grid.at(-1)[1];
    plot.paint([width, 216], group,
      line(grid.map(([p, v]) => [sx(p), y(v.relative_difference)]), { class: "green", "stroke-width": 2, "stroke-dasharray": "5 4" }),
      line(grid.map(([p, v]) => [sx(p), y(v.max_difference)]), { class: "main", "stroke-width": 2.5 }),
      s("line", { x1: sx(at), x2: sx(at), y1: 30, y2: 176, stroke: "currentColor" }),
      s("circle", { cx: sx(at), cy: y(n.relative_difference), r: 4, fill: "currentColor", class: "green" }),
      s("circle", { cx: sx(at), cy: y(n.max_difference), r: 5, fill: "currentColor", class: "main" }),
      words(right + 8, Math.min(y(last.relative_difference), y(last.max_difference) - 18) + 4, "relative", { class: "green" }),
      words(right + 8, y(last.max_difference) + 8, "absolute", { class: "main" }));
  },
};
