const figure = {
  name: "CopyMixture",

  extended: (get) => [...new Set([...get("known"), ...get("source")])],

  numbers(get) {
    const extended = this.extended(get), gate = get("gate"), weights = softmax(get("scores"));
    const written = softmax(get("logits")).map((p) => gate * p);
    const copied = extended.map((word) => (1 - gate) * sum(weights.filter((_, i) => get("source")[i] === word)));
    return { weights, written, mixture: extended.map((_, i) => (written[i] ?? 0) + copied[i]) };
  },

  text(n, get, open) {
    if (!open) return "The mixture appears with your answer.";
    const top = argmax(n.mixture), from = n.written[top] ?? 0;
    const first = leaders(this.extended(get), n.mixture);
    const together = `All bars together make ${fmt(sum(n.mixture))}.`;
    if (first.length > 1) return `The most probable words are ${both(first)} with ${fmt(n.mixture[top])} each. ${together}`;
    return `The most probable word is ${both(first)} with ${fmt(n.mixture[top])}: ${fmt(from)} from writing and ${fmt(n.mixture[top] - from)} from copying. ${together}`;
  },

  build(ui) {
    const extended = this.extended(ui.get), source = ui.get("source");
    const plot = ui.svg("Probability of each word of the extended vocabulary, from writing and from copying");
    const shown = source.map(() => h("span", { class: "sa-num" })), bars = source.map(() => bar());
    ui.add(
      ui.slider({ label: "gate p_gen", name: "gate p_gen", trait: "gate", min: 0, max: 1, step: 0.01 }),
      h("p", { class: "sa-heads" }, "A bar is filled where the word is copied, and an outline where it is written."),
      plot,
      h("div", { class: "sa-row sa-heads", "aria-hidden": "true" }, h("span", {}, "source"), h("span", {}, "score e"), h("span", {}, "weight α"), h("span", { class: "sa-num" })),
      source.map((word, i) => h("div", { class: "sa-row" }, h("span", { class: "keys" }, word),
        ui.slider({ label: word, name: `score of ${word}`, trait: "scores", at: i, min: -3, max: 3, role: "scores", show: (x) => fmt(x, 1) }), bars[i], shown[i])));
    return (n, width) => {
      n.weights.forEach((w, i) => { bars[i].set(w, "weights"); shown[i].textContent = fmt(w); });
      this.mixture(plot, n, ui, extended, width);
    };
  },

  mixture(plot, n, ui, extended, width) {
    const high = 28, left = Math.min(80, width * 0.2), sx = scale(0, 1, left, width - 46), V = ui.get("known").length;
    const height = high * extended.length + 26;
    plot.paint([width, height],
      words(left - 8, 13, "word", { "text-anchor": "end", class: "sa-soft" }), words(left, 13, "probability", { class: "sa-soft" }),
      extended.map((word, i) => words(left - 8, 22 + high * i + 18, word, { "text-anchor": "end", "font-weight": i >= V ? 700 : 400 })),
      s("line", { x1: 4, x2: width - 4, y1: 22 + high * V, y2: 22 + high * V, class: "soft", "stroke-dasharray": "4 4" }),
      ui.open() ? s("g", { class: "sa-sweep" }, extended.map((_, i) => {
        const y = 22 + high * i + 4, writes = n.written[i] ?? 0, p = n.mixture[i];
        return [
          s("rect", { x: sx(0), y, width: sx(writes) - sx(0), height: high - 8, fill: "none", stroke: "currentColor", "stroke-width": 1.5 }),
          s("g", { class: "weights" }, s("rect", { x: sx(writes), y, width: sx(p) - sx(writes), height: high - 8, fill: "currentColor", "fill-opacity": 0.7, "stroke-width": 0 })),
          words(sx(p) + 6, y + 15, fmt(p))];
      })) : words((left + width) / 2, 22 + (high * V) / 2 + 4, "appears with your answer", { "text-anchor": "middle", class: "sa-later" }));
  },
};
