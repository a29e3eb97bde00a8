const figure = {
  name: "LocalWindow",
  jumps: ["seen", "half_width", "pads"],
  fullest: { pads: 6, counts_pads: true },

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
  right: (count, z) => count / (1 + Math.exp(-z)),
  near: (distance, D) => Math.exp(-(distance ** 2) / (2 * (D / 2) ** 2)),

  text(n, get) {
    const words_ = get("labels").length, pads = get("pads"), counts = get("counts_pads") && pads > 0;
    const at = `Centre p = S·σ(z) = ${counts ? `(${words_} words + ${pads} ${pads > 1 ? "pads" : "pad"})` : words_}·σ(${fmt(n.z)}) = ${fmt(n.centre)}` +
      `${counts ? `; with S = ${words_} it would be ${fmt(this.right(words_, n.z))}` : ""}. `;
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
      ui.toggle({ label: "S counts the pads, too (a common error)", trait: "counts_pads", idle: () => !ui.get("pads") }),
      plot,
      h("div", { class: "sa-two" }, h("span", {}, "row sum"), total, number));
    return (n, width) => {
      this.paint(plot, n, ui, width);
      total.set(n.row_sum, "weights");
      number.textContent = fmt(n.row_sum);
    };
  },

  paint(plot, n, ui, width) {
    const labels = ui.get("labels"), words_ = labels.length, pads = Math.round(n.pads), narrow = width < 430, last = words_ + MOST_PADS + (narrow ? 0.2 : 0.7), D = n.half_width;
    // Pads have their room from the start, so that what stands there does not move when they come.
    const { group, sx, sy } = axes({ x: [-0.6, last], y: [0, 1], box: [narrow ? 39 : 34, 34, width - 8, 190], xticks: [], yticks: [[0, "0"], [0.5, "0.5"], [1, "1"]], ylabel: "weight α" });
    const edge = (x) => sx(clamp(x, -0.6, last)), wide = Math.min(34, 0.62 * (sx(1) - sx(0)));
    const [from, to] = [edge(n.centre - D), edge(n.centre + D)], open = ui.open() || n.z === ui.get("start").z;
    const grid = Array.from({ length: 61 }, (_, i) => n.centre - D + (i / 60) * 2 * D).filter((x) => x >= -0.6 && x <= last);
    const letters = { "text-anchor": "middle", style: narrow ? "font-size:12.2px" : null };
    const right = this.right(words_, n.z), counts = ui.get("counts_pads") && pads > 0;
    const span = (from, count, name) => [
      s("path", { d: `M${sx(from - 0.38)} 250v5H${sx(from + count - 0.62)}v-5`, fill: "none", class: "soft" }),
      words(sx(from + (count - 1) / 2), 270, name, { "text-anchor": "middle", class: "sa-soft" })];
    plot.paint([width, 276],
      s("rect", { x: from, y: 34, width: Math.max(0, to - from), height: 156, fill: "currentColor", "fill-opacity": 0.1, stroke: "none", class: "query", style: "stroke:none" }),
      group,
      n.gaussian > 0 && line(grid.map((x) => [sx(x), sy(this.near(x - n.centre, D))]), { class: "query", "stroke-width": 1.5, "stroke-dasharray": "5 4" }),
      labels.map((_, i) => open && s("rect", { x: sx(i) - wide / 2, y: sy(n.weights[i]), width: wide, height: Math.max(0, 190 - sy(n.weights[i])), fill: "currentColor", class: "weights", style: "stroke:none" })),
      s("line", { x1: sx(n.centre), x2: sx(n.centre), y1: 28, y2: 190, class: "query", "stroke-width": 1.5 }),
      words(clamp(sx(n.centre), 74, width - 30), 22, `p = ${fmt(n.centre)}`, { class: "query", "text-anchor": "middle" }),
      counts && [
        s("line", { x1: sx(right), x2: sx(right), y1: 34, y2: 190, class: "soft", "stroke-dasharray": "2 3" }),
        words(sx(right) + (sx(right) < 130 ? 5 : -5), 48, `right: ${fmt(right)}`, { class: "sa-soft sa-name", "text-anchor": sx(right) < 130 ? "start" : "end" })],
      words(2, 225, "i", { class: "sa-soft" }), words(2, 242, "score", { class: "scores" }),
      labels.map((label, i) => {
        const outside = !n.seen.includes(i);
        return [
          words(sx(i), 208, label, { ...letters, "font-weight": outside ? 400 : 700, class: outside ? "sa-soft" : "" }),
          words(sx(i), 225, String(i), { "text-anchor": "middle", class: "sa-soft" }),
          words(sx(i), 242, narrow ? fmt(ui.get("scores")[i], 1).replace(/\b0/, "") : fmt(ui.get("scores")[i], 1), { ...letters, class: "scores" })];
      }),
      Array.from({ length: pads }, (_, k) => {
        const i = words_ + k, slot = sx(1) - sx(0);
        return [
          s("rect", { x: sx(i) - 0.44 * slot, y: 195, width: 0.88 * slot, height: 18, rx: 3, fill: "none", class: "soft pale", "stroke-width": 1 }),
          !narrow && words(sx(i), 208, "pad", { ...letters, class: "sa-soft" }),
          words(sx(i), 225, String(i), { "text-anchor": "middle", class: "sa-soft" })];
      }),
      span(0, words_, `${words_} words`), pads > 0 && span(words_, pads, pads > 1 ? `${pads} pads` : "1 pad"));
  },
};

const MOST_PADS = 6;
