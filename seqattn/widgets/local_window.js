const figure = {
  name: "LocalWindow",
  jumps: ["seen", "half_width", "pads"],

  numbers(get) {
    const scores = get("scores"), z = get("z"), D = get("half_width"), pads = get("pads"), gaussian = get("gaussian");
    const centre = (scores.length + (get("counts_pads") ? pads : 0)) / (1 + Math.exp(-z));
    const inside = scores.map((_, i) => Math.abs(i - centre) <= D);
    const raw = softmax(scores, 1, inside).map((w, i) => (gaussian ? w * this.near(i - centre, D) : w));
    const total = sum(raw), shares = raw.map((w) => (total ? w / total : 0));
    const weights = get("renormalize") ? shares : raw;
    return { z, centre, half_width: D, pads, gaussian: Number(gaussian), seen: scores.flatMap((_, i) => (inside[i] ? [i] : [])), weights,
      row_sum: sum(weights), effective_positions: total ? Math.exp(entropy(shares)) : 0 };
  },
  near: (distance, D) => Math.exp(-(distance ** 2) / (2 * (D / 2) ** 2)),

  text(n, get) {
    const S = get("labels").length + (get("counts_pads") ? n.pads : 0);
    const at = `Centre ${S} · σ(${fmt(n.z)}) = ${fmt(n.centre)}. `;
    if (!n.seen.length) return `${at}No word is in the window: all weights are 0, and so is the context. Nothing warns.`;
    const top = argmax(n.weights);
    return `${at}The window holds ${n.seen.length} of ${get("labels").length} words: ${n.seen.length === 1 ? "position" : "positions"} ${n.seen.join(", ")}. ` +
      `Most weight, ${fmt(n.weights[top])}, is on “${get("labels")[top]}”. The row sums to ${fmt(n.row_sum)}.`;
  },

  build(ui) {
    const plot = ui.svg("Weights of the words, the window as a band, the Gaussian as a curve"), total = bar(), number = h("span", { class: "sa-num" });
    ui.add(
      ui.slider({ label: "z (from the decoder state)", name: "z, from the decoder state", trait: "z", min: -4, max: 4, step: 0.05, role: "query" }),
      ui.slider({ label: "half-width D", trait: "half_width", min: 1, max: 4, step: 1, show: (x) => fmt(x, 0), glides: true }),
      h("div", { class: "sa-pair" }, ui.toggle({ label: "Gaussian", trait: "gaussian" }), ui.toggle({ label: "make rows sum to 1", trait: "renormalize" })),
      ui.slider({ label: "pads behind the words", trait: "pads", min: 0, max: 6, step: 1, show: (x) => fmt(x, 0), glides: true }),
      ui.toggle({ label: "S counts the pads (wrong)", trait: "counts_pads" }),
      plot,
      h("div", { class: "sa-two" }, h("span", {}, "row sum"), total, number));
    return (n, width) => {
      this.paint(plot, n, ui, width);
      total.set(n.row_sum, "weights");
      number.textContent = fmt(n.row_sum);
    };
  },

  paint(plot, n, ui, width) {
    const labels = ui.get("labels"), words_ = labels.length, last = words_ + Math.round(n.pads) - 0.5, D = n.half_width;
    const { group, sx, sy } = axes({ x: [-0.6, last + 0.1], y: [0, 1], box: [34, 34, width - 8, 190], xticks: [], yticks: [[0, "0"], [0.5, "0.5"], [1, "1"]], ylabel: "weight α" });
    const edge = (x) => sx(clamp(x, -0.6, last + 0.1)), wide = Math.min(34, 0.62 * (sx(1) - sx(0)));
    const [from, to] = [edge(n.centre - D), edge(n.centre + D)], open = ui.open() || n.z === ui.get("start").z;
    const grid = Array.from({ length: 61 }, (_, i) => n.centre - D + (i / 60) * 2 * D).filter((x) => x >= -0.6 && x <= last + 0.1);
    const letters = { "text-anchor": "middle", style: sx(1) - sx(0) < 28 ? "font-size:11px" : null };
    plot.paint([width, 256],
      s("rect", { x: from, y: 34, width: Math.max(0, to - from), height: 156, fill: "currentColor", "fill-opacity": 0.1, stroke: "none", class: "query", style: "stroke:none" }),
      group,
      n.gaussian > 0 && line(grid.map((x) => [sx(x), sy(this.near(x - n.centre, D))]), { class: "query", "stroke-width": 1.5, "stroke-dasharray": "5 4" }),
      labels.map((_, i) => open && s("rect", { x: sx(i) - wide / 2, y: sy(n.weights[i]), width: wide, height: Math.max(0, 190 - sy(n.weights[i])), fill: "currentColor", class: "weights", style: "stroke:none" })),
      n.centre <= last + 0.1 && s("line", { x1: sx(n.centre), x2: sx(n.centre), y1: 28, y2: 190, class: "query", "stroke-width": 1.5 }),
      n.centre <= last + 0.1 && words(clamp(sx(n.centre), 74, width - 30), 22, `p = ${fmt(n.centre)}`, { class: "query", "text-anchor": "middle" }),
      words(2, 225, "i", { class: "sa-soft" }), words(2, 242, "score", { class: "scores" }),
      labels.map((label, i) => {
        const outside = !n.seen.includes(i);
        return [
          words(sx(i), 208, label, { ...letters, "font-weight": outside ? 400 : 700, class: outside ? "sa-soft" : "" }),
          words(sx(i), 225, String(i), { "text-anchor": "middle", class: "sa-soft" }),
          words(sx(i), 242, fmt(ui.get("scores")[i], 1), { ...letters, class: "scores" })];
      }),
      Array.from({ length: Math.round(n.pads) }, (_, i) => words(sx(words_ + i), 208, "·", { "text-anchor": "middle", class: "sa-soft" })));
  },
};
