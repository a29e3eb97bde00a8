const figure = {
  name: "Recency",

  numbers(get) {
    const values = get("series")[get("choice")];
    return { length: get("lengths")[get("choice")], values, first_over_last: values[0] / values.at(-1),
      factor_per_step: (values.at(-1) / values[0]) ** (1 / Math.max(1, values.length - 1)) };
  },

  text(n, get, open) {
    if (!open) return `Bars for sentences of ${n.length} words appear with your answer.`;
    return `In a sentence of ${n.length} words the first word reaches the last state with ${short(n.first_over_last)} of the last word’s influence: ` +
      `on average, each step back divides it by ${short(n.factor_per_step)}.`;
  },

  build(ui) {
    const plot = ui.svg("Influence of each word on the last state, on a logarithmic axis"), lengths = ui.get("lengths");
    ui.add(plot, ui.slider({ label: "words in the sentence, T", trait: "choice", min: 0, max: lengths.length - 1, step: 1, show: (i) => String(lengths[i]), glides: true }));
    return (n, width) => this.bars(plot, n, ui, width);
  },

  bars(plot, n, ui, width) {
    const all = ui.get("series").flat().filter((v) => v > 0), longest = Math.max(...ui.get("lengths"));
    const high = Math.ceil(Math.log10(Math.max(...all)) - 1e-9), low = Math.min(high - 1, Math.floor(Math.log10(Math.min(...all)) + 1e-9));
    const every = Math.ceil((high - low) / 5), slot = (width - 54) / longest, skip = [1, 2, 5, 10, 20, 50].find((k) => k * slot > 22) ?? 100;
    const { group, sx, sy } = axes({ x: [0, longest], y: [low, high], box: [48, 30, width - 6, 210],
      xticks: Array.from({ length: longest }, (_, i) => [i + 0.5, String(i + 1)]).filter((_, i) => (i + 1) % skip === 0 || (i === 0 && skip < 3)),
      yticks: Array.from({ length: high - low + 1 }, (_, i) => high - i).filter((p) => (high - p) % every === 0).map((p) => [p, powerOfTen(p)]),
      xlabel: "position i of the word", ylabel: "influence on the last state, last word = 1" });
    const y = (v) => sy(Math.max(low, Math.log10(v)));
    plot.paint([width, 250], group, ui.open() ? s("g", { class: "sa-sweep" }, n.values.map((v, i) =>
      s("rect", { x: sx(i) + slot * 0.12, width: slot * 0.76, y: y(v), height: sy(low) - y(v), fill: "currentColor", class: "soft", "stroke-width": 0 }))) :
      words((42 + width) / 2, 120, "appears with your answer", { "text-anchor": "middle", class: "sa-later" }));
  },
};
