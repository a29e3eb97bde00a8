const figure = {
  name: "PairedDraws",
  jumps: ["sentences"],

  draws(get) {
    const [first] = get("names"), at = get("size");
    return [get("same")[first][at], get(get("paired") ? "same" : "own")[get("against")][at]];
  },
  cov(a, b) {
    const [one, other] = [a, b].map((xs) => sum(xs) / xs.length);
    return sum(a.map((x, i) => (x - one) * (b[i] - other))) / (a.length - 1);
  },

  numbers(get) {
    const [a, b] = this.draws(get), at = get("size"), wide = (xs) => 1.96 * Math.sqrt(this.cov(xs, xs));
    const scores = [get("names")[0], get("against")].map((name) => get("found")[name][at]);
    const spread = Math.sqrt(this.cov(a, a) * this.cov(b, b));
    return { sentences: get("sizes")[at], scores, plus_minus: [wide(a), wide(b)], difference: scores[1] - scores[0],
      plus_minus_difference: wide(b.map((x, k) => x - a[k])), correlation: spread ? this.cov(a, b) / spread : 0 };
  },

  text(n, get) {
    const holds = Math.abs(n.difference) <= n.plus_minus_difference;
    const of = (i) => `${fmt(n.scores[i], 1)} ± ${fmt(n.plus_minus[i], 1)}`;
    return `${n.sentences} sentences, ${get("paired") ? "the same draws for both systems" : "draws of its own for each system"}: BLEU ${of(0)} and ${of(1)}. ` +
      `The difference is ${fmt(n.difference, 1)} ± ${fmt(n.plus_minus_difference, 1)}, an interval that ${holds ? "holds 0" : "does not hold 0"}.`;
  },

  build(ui) {
    const others = ui.get("names").slice(1), every = ui.get("sizes").map((_, i) => i);
    const plot = ui.svg("A dot for each draw: across, BLEU of the first system on it; upwards, BLEU of the other. A dashed line where both are equal, and a band for the interval of their difference");
    const label = h("span", {}), rows = [0, 1, 2].map(() => ({ bar: bar(), shown: h("span", { class: "sa-num" }) }));
    const row = (name, i) => h("div", { class: "sa-two" }, h("span", {}, name), rows[i].bar, rows[i].shown);
    ui.add(
      h("div", { class: "sa-side" }, plot,
        h("div", {},
          h("p", { class: "sa-soft" }, "± of ", ui.get("names")[0], " (a), of ", label, " (b), and of their difference:"),
          row("a", 0), row("b", 1), row("b − a", 2))),
      others.length > 1 && ui.choice({ label: `${ui.get("names")[0]} against`, options: others, trait: "against", read: () => ui.get("against"), write: (name) => ui.set("against", name) }),
      ui.slider({ label: "test sentences", trait: "size", min: 0, max: every.length - 1, step: 1, show: (i) => String(ui.get("sizes")[i]), glides: true }),
      ui.toggle({ label: "both systems on the same draw", trait: "paired" }));
    return (n, width) => {
      label.textContent = ui.get("against");
      const shown = [...n.plus_minus, n.plus_minus_difference];
      rows.forEach((r, i) => { r.bar.set(shown[i] / 16, i < 2 ? "soft" : ""); r.shown.textContent = `± ${fmt(shown[i], 1)}`; });
      this.paint(plot, n, ui, Math.min(width, 320));
    };
  },

  // One window for each axis, of one width, that holds every draw of the two systems.
  windows(get) {
    const [first] = get("names"), other = get("against");
    const ends = [get("same")[first], [get("same")[other], get("own")[other]]].map((all) => all.flat(3)).map((all) => [Math.min(...all), Math.max(...all)]);
    const half = Math.max(...ends.map(([low, high]) => (high - low) / 2)) + 1;
    return ends.map(([low, high]) => [(low + high) / 2 - half, (low + high) / 2 + half]);
  },

  paint(plot, n, ui, size) {
    const [a, b] = this.draws(ui.get), [[left, right], [low, high]] = ui.memo("windows", [ui.get("against")], () => this.windows(ui.get));
    const { group, sx, sy } = axes({ x: [left, right], y: [low, high], box: [34, 28, size - 6, size - 12], xticks: ticks(left, right, 4), yticks: ticks(low, high, 4),
      xlabel: `BLEU of ${ui.get("names")[0]}`, ylabel: `BLEU of ${ui.get("against")}` });
    // y = x + off, kept inside the frame.
    const edge = (off) => [left, low - off, high - off, right].map((x) => clamp(x, left, right)).map((x) => [sx(x), sy(clamp(x + off, low, high))]);
    const [under, over] = [-1, 1].map((side) => edge(n.difference + side * n.plus_minus_difference)), equal = edge(0).slice(1, 3);
    plot.paint([size, size + 24], group,
      s("polygon", { points: [...over, ...under.reverse()].join(" "), fill: "currentColor", "fill-opacity": 0.14, style: "stroke:none" }),
      a.map((x, i) => s("circle", { cx: sx(x).toFixed(1), cy: sy(b[i]).toFixed(1), r: 2.5, fill: "currentColor", "fill-opacity": 0.5, "stroke-width": 0, class: "soft" })),
      line(equal, { class: "soft", "stroke-width": 1.5, "stroke-dasharray": "5 4" }),
      words(equal[1][0] - 14, equal[1][1] + 10, "equal", { "text-anchor": "end", class: "sa-soft" }),
      s("circle", { cx: sx(n.scores[0]), cy: sy(n.scores[1]), r: 5, fill: "currentColor", class: "sa-ring" }));
  },
};
