const figure = {
  name: "CoverageSteps",
  steps: 6,

  numbers(get) {
    const keys = get("states").map((x) => matvec(get("W_k"), x)), query = matvec(get("W_q"), get("query"));
    const n = { scores: [], weights: [], coverage: keys.map(() => 0), losses: [] };
    for (let t = 0; t < get("step"); t++) {
      const before = n.coverage;
      const scores = keys.map((key, i) => dot(get("v"), key.map((x, d) => Math.tanh(query[d] + x + get("w_c")[d] * before[i]))));
      const weights = softmax(scores);
      n.scores.push(scores);
      n.weights.push(weights);
      n.losses.push(sum(weights.map((a, i) => Math.min(a, before[i]))));
      n.coverage = before.map((c, i) => c + weights[i]);
    }
    return n;
  },

  text(n, get) {
    const names = get("words"), read = n.weights.map((row) => names[argmax(row)]);
    return `Largest weight so far, step by step: ${read.join(", ")}. After ${read.length} step${read.length > 1 ? "s" : ""} the coverage is ${fmtVector(n.coverage)}, ` +
      `in sum ${read.length}. The last step costs ${fmt(n.losses.at(-1))} of a coverage loss.`;
  },

  build(ui) {
    const map = ui.svg("A row of weights for each step, and its coverage loss"), bars = ui.svg("Coverage of each word, stacked from the weights of the steps");
    const slide = (label, trait, at, reach, role, name = label) => ui.slider({ label, name, trait, at, min: -reach, max: reach, show: (x) => fmt(x, 1), role });
    ui.add(
      ui.slider({ label: "steps taken", trait: "step", min: 1, max: this.steps, step: 1, show: (x) => fmt(x, 0), glides: true }),
      h("div", { class: "sa-pair" }, map, bars),
      slide("coverage on feature 1", "w_c", 0, 3, "", "coverage on feature 1"), slide("coverage on feature 2", "w_c", 1, 3, "", "coverage on feature 2"),
      slide("state s₁", "query", 0, 2, "query", "decoder state s₁"), slide("state s₂", "query", 1, 2, "query", "decoder state s₂"));
    return (n, width) => {
      const wide = width < 504 ? width : (width - 24) / 2;
      this.rows(map, n, ui.get("words"), wide);
      this.stack(bars, n, ui.get("words"), wide);
    };
  },

  rows(map, n, names, width) {
    const left = 52, right = 48, side = (width - left - right) / names.length, high = 30, y = (t) => 28 + t * high;
    map.paint([width, y(this.steps) + 4],
      names.map((name, i) => words(left + side * (i + 0.5), 16, name, { "text-anchor": "middle", class: "keys" })),
      words(width - 4, 16, "loss", { "text-anchor": "end", class: "sa-soft" }),
      Array.from({ length: this.steps }, (_, t) => words(left - 8, y(t) + 20, `step ${t + 1}`, { "text-anchor": "end", class: "sa-soft" })),
      n.weights.map((row, t) => [
        row.map((a, i) => [
          s("g", { class: "weights" }, s("rect", { x: left + side * i + 1, y: y(t) + 1, width: side - 2, height: high - 2, fill: shade(a), "stroke-width": i === argmax(row) ? 2 : 0 })),
          words(left + side * (i + 0.5), y(t) + 20, fmt(a), { "text-anchor": "middle", "font-weight": i === argmax(row) ? 700 : 400, class: onCell(a) })]),
        words(width - 4, y(t) + 20, fmt(n.losses[t]), { "text-anchor": "end" })]));
  },

  // Each step lays its weight on top of those before: shades alternate, and each says its step.
  stack(bars, n, names, width) {
    const top = Math.max(3, Math.ceil(Math.max(...n.coverage) - 1e-9));
    const { group, sx, sy } = axes({ x: [0, names.length], y: [0, top], box: [28, 28, width - 6, 182], xticks: names.map((name, i) => [i + 0.5, name]),
      yticks: Array.from({ length: top + 1 }, (_, k) => [k, String(k)]), ylabel: "coverage" });
    const slot = sx(1) - sx(0);
    bars.paint([width, 212], group,
      names.map((_, i) => {
        let below = 0;
        return n.weights.map((row, t) => {
          const from = below, y = sy((below += row[i])), height = sy(from) - y;
          return [
            s("g", { class: "weights" }, s("rect", { x: sx(i) + 0.2 * slot, y, width: 0.6 * slot, height, fill: "currentColor", "fill-opacity": t % 2 ? 0.3 : 0.6, "stroke-width": 0.5 })),
            height > 13 && words(sx(i + 0.5), y + height / 2 + 5, String(t + 1), { "text-anchor": "middle" })];
        });
      }),
      s("line", { x1: sx(0), x2: sx(names.length), y1: sy(1), y2: sy(1), stroke: "currentColor", "stroke-dasharray": "5 4" }));
  },
};
