const figure = {
  name: "AdditiveSteps",

  numbers(get) {
    const projectedQuery = matvec(get("W_q"), get("query")), projectedKeys = get("states").map((x) => matvec(get("W_k"), x));
    const sums = projectedKeys.map((key) => key.map((x, d) => projectedQuery[d] + x));
    const bent = sums.map((row) => row.map(Math.tanh)), scores = bent.map((row) => dot(get("v"), row));
    const weights = softmax(scores);
    return { query: get("query"), projected_query: projectedQuery, projected_keys: projectedKeys, sums, tanh: bent,
      scores, weights, context: weightedSum(weights, get("states")) };
  },

  text(n, get) {
    const top = argmax(n.weights);
    return `With s = ${fmtVector(n.query, 1)} the largest weight is ${fmt(n.weights[top])}, on “${get("words")[top]}”, and the context is ${fmtVector(n.context)}.`;
  },

  build(ui) {
    const names = ui.get("words"), heads = ["W_k h", "W_q s + W_k h", "tanh", "score e", "weight α"];
    const cells = names.map(() => heads.map((head) => h("td", {}, h("span", { class: "sa-label", "aria-hidden": "true" }, rich(head)), h("span"))));
    const bars = cells.map((row) => { const it = bar(); row[4].insertBefore(it, row[4].lastChild); return it; });
    const table = h("table", { class: "sa-steps" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "word"), heads.map((x) => h("th", { scope: "col" }, rich(x))))),
      h("tbody", {}, names.map((name, i) => h("tr", {}, h("th", { scope: "row" }, name), cells[i]))));
    const drag = (x, y) => ui.set("query", plane(Number(map.getAttribute("height")), 2).back(x, y).map((v) => clamp(Number(v.toFixed(1)), -2, 2)));
    const map = ui.svg("The decoder state as a point in the plane", drag), legend = h("p", { class: "sa-heads" });
    map.classList.add("sa-free");
    const shared = h("p", { class: "sa-terms" }), plots = [0, 1].map((d) => ui.svg(`tanh of feature ${d + 1}, one point for each word`));
    ui.add(
      h("div", { class: "sa-side" }, map, legend),
      ui.slider({ label: "decoder state s₁", trait: "query", at: 0, min: -2, max: 2, show: (x) => fmt(x, 1) }),
      ui.slider({ label: "decoder state s₂", trait: "query", at: 1, min: -2, max: 2, show: (x) => fmt(x, 1) }),
      shared, table, h("div", { class: "sa-pair" }, plots));
    return (n, width) => {
      const won = this.winners(map, n, ui);
      legend.replaceChildren(...(won ? ["Largest weight: ", ...names.flatMap((name, i) => won.has(i)
        ? [h("span", { class: this.colours[i % 3] }, `■ ${name}`), " \u2003 "] : [`${name} nowhere in this square \u2003 `])]
        : ["Which word wins where? The plane is coloured when you have checked an answer."]));
      shared.replaceChildren("The same for every word: ", ...rich("W_q s").flat(), ` = ${fmtVector(n.projected_query)}, and v = ${fmtVector(ui.get("v"), 1)}.`);
      const top = argmax(n.weights);
      names.forEach((_, i) => {
        bars[i].set(n.weights[i], i === top ? "main" : "");
        const row = [fmtVector(n.projected_keys[i]), fmtVector(n.sums[i]), fmtVector(n.tanh[i]), fmt(n.scores[i], 3), fmt(n.weights[i])];
        cells[i].forEach((cell, j) => { cell.lastChild.textContent = row[j]; });
      });
      plots.forEach((plot, d) => this.bend(plot, n, d, names, width < 480 ? width : (width - 24) / 2));
    };
  },

  colours: ["main", "warm", "green"],

  // For which states s which word has the largest weight.
  winners(map, n, ui) {
    const size = 240, { group, sx, sy } = plane(size, 2), cells = 40, side = size / cells;
    const at = (s) => ui.get("states").map((x) => dot(ui.get("v"), matvec(ui.get("W_k"), x).map((key, d) => Math.tanh(key + dot(ui.get("W_q")[d], s)))));
    const runs = []; // neighbours of one colour in a row are one rectangle
    for (let j = 0; ui.answered() && j < cells; j++) for (let i = 0; i < cells; i++) {
      const top = argmax(at([((i + 0.5) / cells) * 4 - 2, 2 - ((j + 0.5) / cells) * 4])), last = runs.at(-1);
      if (last && last.j === j && last.top === top) last.length++;
      else runs.push({ i, j, top, length: 1 });
    }
    map.paint([size, size],
      runs.map((r) => s("rect", { x: r.i * side, y: r.j * side, width: r.length * side, height: side, fill: "currentColor", "fill-opacity": 0.28, "shape-rendering": "crispEdges", style: "stroke:none", class: this.colours[r.top % 3] })),
      group,
      s("circle", { cx: sx(n.query[0]), cy: sy(n.query[1]), r: 8, fill: "currentColor", class: "main" }),
      words(clamp(sx(n.query[0]) + 13, 4, size - 14), clamp(sy(n.query[1]) - 9, 14, size - 4), "s", { "font-weight": 700 }));
    return ui.answered() && new Set(runs.map((r) => r.top));
  },

  // Where each word stands on the tanh: moving s slides all of them along it by the same step.
  bend(plot, n, d, names, width) {
    const { group, sx, sy } = axes({ x: [-3, 3], y: [-1, 1], box: [30, 28, width - 6, 138], xticks: [-2, 0, 2].map((v) => [v, fmt(v, 0)]),
      yticks: [-1, 0, 1].map((v) => [v, fmt(v, 0)]), ylabel: `tanh of feature ${d + 1}` });
    const curve = Array.from({ length: 61 }, (_, i) => -3 + i / 10).map((x) => [sx(x), sy(Math.tanh(x))]);
    const order = names.map((_, i) => i).sort((a, b) => n.sums[a][d] - n.sums[b][d]);
    plot.paint([width, 160], group, line(curve, { class: "pale", "stroke-width": 2 }),
      order.map((i, rank) => {
        const x = sx(clamp(n.sums[i][d], -3, 3)), y = sy(n.tanh[i][d]), below = rank % 2 === 1;
        return [s("circle", { cx: x, cy: y, r: 5, fill: "currentColor", class: "main" }),
          words(x + (below ? 6 : -6), y + (below ? 18 : -8), names[i], { "text-anchor": below ? "start" : "end" })];
      }));
  },
};
