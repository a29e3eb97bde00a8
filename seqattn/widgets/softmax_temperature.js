const figure = {
  name: "SoftmaxTemperature",
  jumps: ["largest"],

  numbers(get) {
    const scores = get("scores"), mask = get("mask"), temperature = get("temperature");
    const weights = softmax(scores, temperature, mask);
    const spread = entropy(weights), any = mask.some(Boolean);
    return { scores, mask, temperature, weights, entropy: spread,
      effective_positions: any ? Math.exp(spread) : 0, largest: any ? argmax(weights) : "none" };
  },

  text(n, get) {
    if (n.largest === "none") return "Every position is masked: all weights are exactly 0, and so is the weighted sum.";
    const open = n.mask.filter(Boolean).length;
    const hidden = n.mask.length - open;
    const first = leaders(get("labels"), n.weights, 3);
    return `At temperature ${fmt(n.temperature)} the largest weight${first.length > 1 ? "s are" : " is"} ${fmt(n.weights[n.largest], 3)}, on ${both(first)}. ` +
      `Entropy ${fmt(n.entropy)} of at most ${fmt(Math.log(open))} nats: as spread out as ${fmt(n.effective_positions, 1)} equal weights` +
      `${hidden ? `. ${hidden === 1 ? "One masked position gets" : `${hidden} masked positions get`} exactly 0` : ""}.`;
  },

  build(ui) {
    const labels = ui.get("labels");
    const bars = labels.map(() => bar()), numbers = labels.map(() => h("span", { class: "sa-num" }));
    const rows = labels.map((label, i) => h("div", { class: "sa-row" },
      ui.toggle({ label, name: `attend to ${label}`, trait: "mask", at: i }),
      ui.slider({ label: "", name: `score of ${label}`, trait: "scores", at: i, min: -5, max: 5, show: (x) => fmt(x, 1), role: "scores" }),
      bars[i], numbers[i]));
    const plot = ui.svg("Weights and entropy as functions of the temperature");
    ui.add(
      h("div", { class: "sa-row sa-heads", "aria-hidden": "true" },
        h("span", {}, "attend to"), h("span", {}, "score e"), h("span", {}, "weight α"), h("span")),
      rows,
      ui.slider({ label: "temperature τ", name: "temperature", trait: "temperature", min: 0.05, max: 20, log: true, show: (x) => fmt(x) }),
      plot);
    return (n, width) => {
      n.weights.forEach((w, i) => {
        bars[i].set(w, i === n.largest ? "weights" : "weights pale");
        numbers[i].textContent = fmt(w, 3);
        rows[i].classList.toggle("sa-masked", !n.mask[i]);
      });
      this.curves(plot, n, labels, width);
    };
  },

  curves(plot, n, labels, width) {
    const right = width - 92, at = Math.log10(n.temperature);
    const { group, sx, sy } = axes({ x: [Math.log10(0.05), Math.log10(20)], y: [0, 1], box: [34, 30, right, 150],
      xticks: [0.05, 0.2, 1, 5, 20].map((t) => [Math.log10(t), String(t)]), yticks: [[0, "0"], [0.5, "0.5"], [1, "1"]],
      xlabel: "temperature τ (logarithmic)", ylabel: "weights; entropy ÷ its maximum" });
    const grid = Array.from({ length: 81 }, (_, i) => Math.log10(0.05) + (i / 80) * Math.log10(400));
    const rows = grid.map((p) => softmax(n.scores, 10 ** p, n.mask));
    const top = Math.log(Math.max(2, n.mask.filter(Boolean).length));
    const open = n.scores.map((_, i) => i).filter((i) => n.mask[i]);
    plot.paint([width, 190], group, n.largest === "none" ? words(width / 2, 90, "nothing to attend to", { "text-anchor": "middle" }) : [
      open.map((i) => line(grid.map((p, k) => [sx(p), sy(rows[k][i])]), { class: i === n.largest ? "weights" : "weights pale", "stroke-width": i === n.largest ? 2.5 : 1.5 })),
      line(grid.map((p, k) => [sx(p), sy(entropy(rows[k]) / top)]), { class: "soft", "stroke-width": 2, "stroke-dasharray": "5 4" }),
      s("line", { x1: sx(at), x2: sx(at), y1: 30, y2: 150, stroke: "currentColor" }),
      open.map((i) => s("circle", { cx: sx(at), cy: sy(n.weights[i]), r: i === n.largest ? 4.5 : 3, fill: "currentColor", class: i === n.largest ? "weights" : "weights pale" })),
      s("circle", { cx: sx(at), cy: sy(n.entropy / top), r: 4, fill: "currentColor", class: "soft" }),
      words(right + 8, sy(entropy(rows.at(-1)) / top) + 4, "entropy", { class: "sa-soft" }),
      words(right + 8, sy(rows.at(-1)[n.largest]) + 4, `“${labels[n.largest]}”`, { class: "weights" }),
    ]);
  },
};
