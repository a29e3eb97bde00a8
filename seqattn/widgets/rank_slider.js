const figure = {
  name: "RankSlider",
  jumps: ["rank"],

  numbers(get) {
    const rank = get("ranks")[get("step")], squares = get("values").map((x) => x * x);
    return { rank, kept: sum(squares.slice(0, rank)) / sum(squares), bleu: get("bleu")[get("step")], map: get("maps")[get("step")] };
  },

  range: (xs) => `${fmt(Math.min(...xs), 1)} to ${fmt(Math.max(...xs), 1)}`,

  text(n, get) {
    const all = get("values").length, whole = n.rank === all;
    return `Rank ${n.rank} of ${all} keeps ${fmt(100 * n.kept, 0)}% of the squared length of W. BLEU of the models ${whole ? "as they were trained" : "cut so"}: ` +
      `${this.range(n.bleu)}${whole || get("ranks").at(-1) !== all ? "" : `; whole, ${this.range(get("bleu").at(-1))}`}.`;
  },

  build(ui) {
    const ranks = ui.get("ranks");
    const spectrum = ui.svg("Singular values of the matrix, largest first; those that are kept are dark");
    const course = ui.svg("BLEU by rank");
    const map = ui.svg("Attention weights: a row for each target word, a column for each source word; the darker, the larger");
    ui.add(
      ui.slider({ label: "rank kept", trait: "step", min: 0, max: ranks.length - 1, step: 1, show: (i) => String(ranks[i]), glides: true }),
      h("div", { class: "sa-pair" }, spectrum, course),
      map);
    return (n, width) => {
      const half = width > 560 ? (width - 24) / 2 : width;
      this.spectrum(spectrum, n, ui, half);
      this.course(course, n, ui, half);
      this.cells(map, n, ui, width);
    };
  },

  spectrum(plot, n, ui, width) {
    const values = ui.get("values"), all = values.length, top = Math.max(...values);
    const { group, sx, sy } = axes({ x: [0.5, all + 0.5], y: [0, top], box: [34, 28, width - 8, 140],
      xticks: [1, ...[1, 2, 3, 4].map((i) => (i * all) / 4)].filter(Number.isInteger).map((v) => [v, String(v)]), yticks: ticks(0, top, 3), xlabel: "j", ylabel: "singular value σⱼ" });
    const wide = Math.max(1, sx(2) - sx(1) - 1);
    plot.paint([width, 180], group, values.map((value, i) =>
      s("rect", { x: sx(i + 1) - wide / 2, y: sy(value), width: wide, height: 140 - sy(value), fill: "currentColor", "stroke-width": 0, "fill-opacity": i < n.rank ? 0.9 : 0.2 })));
  },

  course(plot, n, ui, width) {
    const ranks = ui.get("ranks"), bleu = ui.get("bleu"), top = Math.max(...bleu.flat());
    const { group, sx, sy } = axes({ x: [-0.4, ranks.length - 0.6], y: [0, top], box: [34, 28, width - 8, 140],
      xticks: ranks.map((rank, i) => [i, String(rank)]), yticks: ticks(0, top, 3), xlabel: "rank kept", ylabel: "BLEU, each model a dot" });
    const shown = bleu.map((found, i) => [found, i]).filter(([, i]) => ui.open() || i === ui.get("step"));
    plot.paint([width, 180], group, shown.map(([found, i]) => found.map((value) =>
      s("circle", { cx: sx(i), cy: sy(value), r: i === ui.get("step") ? 5 : 3.5, fill: "currentColor", "fill-opacity": i === ui.get("step") ? 1 : 0.45, "stroke-width": 0 }))));
  },

  cells(plot, n, ui, width) {
    const source = ui.get("source"), target = ui.get("target"), wide = (words) => 7.4 * Math.max(...words.map((word) => word.length));
    const left = Math.min(width * 0.3, wide(target) + 10), over = Math.min(110, wide(source) * 0.87 + 16);
    const side = Math.min(34, (width - left - 40) / source.length), x = (i) => left + i * side, y = (t) => over + t * side;
    plot.paint([width, over + target.length * side + 4],
      source.map((word, i) => words(0, 0, word, { transform: `translate(${x(i + 0.5) + 4} ${over - 2}) rotate(-60)` })),
      target.map((word, t) => words(left - 6, y(t + 0.5) + 4, word, { "text-anchor": "end" })),
      scaleOfWeights(left - 12),
      s("g", {}, n.map.map((row, t) => row.map((w, i) => weightCell(w, x(i), y(t), side)))),
      s("rect", { x: left, y: over, width: source.length * side, height: target.length * side, class: "sa-frame" }));
  },
};
