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
    const names = ui.get("words"), legend = ui.get("queries").map(() => h("span"));
    const rows = names.map((name) => {
      const bars = [bar(), bar()], shown = [0, 1].map(() => h("span", { class: "sa-num" }));
      return { bars, shown, el: h("div", { class: "sa-two" }, h("span", {}, name), h("div", {}, bars), h("div", {}, shown)) };
    });
    const plot = ui.svg("Difference of the two queries' weights against the scale, both logarithmic");
    ui.add(
      h("p", { class: "sa-heads" }, "weights α for ", h("span", { class: "weights" }, "■ "), legend[0], " \u2003 ", h("span", { class: "weights" }, "□ "), legend[1]),
      rows.map((row) => row.el),
      ui.slider({ label: "scale λ", trait: "scale", min: 0.01, max: 10, log: true, show: short }),
      plot);
    return (n, width) => {
      ui.get("queries").forEach((query, j) => { legend[j].textContent = `s${j ? "′" : ""} = ${fmtVector(query, 1)}`; });
      rows.forEach((row, i) => [n.first_weights[i], n.second_weights[i]].forEach((w, j) => {
        row.bars[j].set(w, ["weights", "weights hollow"][j]);
        row.shown[j].textContent = fmt(w, 3);
      }));
      this.fall(plot, n, ui, width);
    };
  },

  fall(plot, n, ui, width) {
    const right = width - 74, at = Math.log10(n.scale);
    const { group, sx, sy } = axes({ x: [-2, 1], y: [-7, 1.4], box: [68, 30, right, 176],
      xticks: [-2, -1, 0, 1].map((p) => [p, String(10 ** p)]), yticks: [-6, -3, 0].map((p) => [p, (10 ** p).toFixed(-p)]),
      xlabel: "scale λ (logarithmic)", ylabel: "difference of the weights (logarithmic)" });
    if (!ui.open()) return plot.paint([width, 216], group, words((68 + right) / 2, 108, "appears with your answer", { "text-anchor": "middle", class: "sa-later" }));
    const grid = this.grid(ui, (scale) => this.at(ui.get, scale)), last = grid.at(-1)[1], y = (x) => sy(Math.max(-7, Math.log10(x)));
    plot.paint([width, 216], group,
      s("g", { class: "sa-sweep" },
        line(grid.map(([p, v]) => [sx(p), y(v.relative_difference)]), { class: "soft", "stroke-width": 2, "stroke-dasharray": "5 4" }),
        line(grid.map(([p, v]) => [sx(p), y(v.max_difference)]), { class: "weights", "stroke-width": 2.5 })),
      s("line", { x1: sx(at), x2: sx(at), y1: 30, y2: 176, stroke: "currentColor" }),
      s("circle", { cx: sx(at), cy: y(n.relative_difference), r: 4, fill: "currentColor", class: "soft" }),
      s("circle", { cx: sx(at), cy: y(n.max_difference), r: 5, fill: "currentColor", class: "weights" }),
      words(right + 8, Math.min(y(last.relative_difference), y(last.max_difference) - 18) + 4, "relative", { class: "sa-soft" }),
      words(right + 8, y(last.max_difference) + 8, "absolute", { class: "weights" }));
  },

  // The curves are the same wherever the slider stands.
  grid: (ui, at) => ui.memo("grid", ["W_q", "W_k", "v", "states", "queries"].map(ui.get), () =>
    Array.from({ length: 61 }, (_, i) => -2 + i / 20).map((p) => [p, at(10 ** p)])),
};
