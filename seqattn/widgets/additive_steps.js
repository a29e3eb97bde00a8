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
    const roles = ["keys", "", "", "scores", "weights"];
    const cells = names.map(() => heads.map((head) => h("td", {}, h("span", { class: "sa-label", "aria-hidden": "true" }, rich(head)), h("span"))));
    const bars = cells.map((row) => { const it = bar(); row[4].insertBefore(it, row[4].lastChild); return it; });
    const table = h("table", { class: "sa-steps" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "word"), heads.map((x, j) => h("th", { scope: "col", class: roles[j] }, rich(x))))),
      h("tbody", {}, names.map((name, i) => h("tr", {}, h("th", { scope: "row" }, name), cells[i]))));
    const drag = (x, y) => ui.set("query", plane(Number(map.getAttribute("height")), 2).back(x, y).map((v) => clamp(Number(v.toFixed(1)), -2, 2)));
    const map = ui.svg("The decoder state as a point in the plane, and which word wins at each place", drag, "query");
    const legend = h("p", { class: "sa-heads" }), both = h("p", { class: "sa-heads sa-room", "aria-hidden": "true" }, this.legend(names, new Set([0])));
    const shared = h("span"), plots = [0, 1].map((d) => ui.svg(`tanh of number ${d + 1}, one point for each word`));
    ui.add(
      h("div", { class: "sa-side" }, map, h("div", {},
        ui.slider({ label: "state s₁", name: "decoder state s₁", trait: "query", at: 0, min: -2, max: 2, show: (x) => fmt(x, 1), role: "query" }),
        ui.slider({ label: "state s₂", name: "decoder state s₂", trait: "query", at: 1, min: -2, max: 2, show: (x) => fmt(x, 1), role: "query" }),
        h("p", { class: "sa-terms" }, "The same for every word: ", h("span", { class: "query" }, rich("W_q s")), shared),
        h("div", { class: "sa-stack" }, legend, both))),
      table, h("div", { class: "sa-pair" }, plots));
    return (n, width) => {
      const won = this.winners(map, n, ui, Math.min(width, 280));
      legend.textContent = won ? this.legend(names, won) : "Which word wins where? The plane is filled in with your answer.";
      shared.textContent = ` = ${fmtVector(n.projected_query)}, and v = ${fmtVector(ui.get("v"), 1)}.`;
      const top = argmax(n.weights);
      names.forEach((_, i) => {
        bars[i].set(n.weights[i], i === top ? "weights" : "weights pale");
        const row = [fmtVector(n.projected_keys[i]), fmtVector(n.sums[i]), fmtVector(n.tanh[i]), fmt(n.scores[i], 3), fmt(n.weights[i])];
        cells[i].forEach((cell, j) => { cell.lastChild.textContent = row[j]; });
      });
      plots.forEach((plot, d) => this.bend(plot, n, d, names, width < 480 ? width : (width - 24) / 2));
    };
  },

  legend(names, won) {
    const lost = names.filter((_, i) => !won.has(i));
    return `Each shade: where a word has the largest weight.${lost.length ? ` Nowhere in this square: ${lost.join(", ")}.` : ""} Drag s across a border.`;
  },

  // For which states s which word has the largest weight: shades of grey, each with its word.
  winners(map, n, ui, size) {
    const { group, sx, sy } = plane(size, 2), x = sx(n.query[0]), y = sy(n.query[1]);
    const areas = ui.open() && this.areas(ui, size);
    map.paint([size, size],
      areas ? areas.group : s("g"),
      group,
      s("circle", { cx: x, cy: y, r: 8, fill: "currentColor", class: "query sa-ring" }),
      words(clamp(x + 13, 4, size - 14), clamp(y - 9, 14, size - 4), "s", { class: "query", "font-weight": 700 }),
      handle(x, y));
    return areas && areas.won;
  },
  // The areas stay while s moves.
  areas(ui, size) {
    return ui.memo("areas", [size, ...["W_q", "W_k", "v", "states"].map(ui.get)], () => this.found(ui, size));
  },
  found(ui, size) {
    const names = ui.get("words"), cells = 40, side = size / cells, place = (i) => ((i + 0.5) / cells) * 4 - 2;
    const keys = ui.get("states").map((x) => matvec(ui.get("W_k"), x));
    const runs = [], roomiest = new Map(); // neighbours of one word in a row are one rectangle
    const squares = []; // the largest of one word that ends in each cell
    for (let j = 0; j < cells; j++) for (let i = 0; i < cells; i++) {
      const query = matvec(ui.get("W_q"), [place(i), -place(j)]);
      const top = argmax(keys.map((key) => dot(ui.get("v"), key.map((x, d) => Math.tanh(x + query[d]))))), last = runs.at(-1);
      if (last && last.j === j && last.top === top) last.length++;
      else runs.push({ i, j, top, length: 1 });
      const length = 1 + Math.min(...[[i - 1, j], [i, j - 1], [i - 1, j - 1]].map(([a, b]) => {
        const near = a >= 0 && b >= 0 ? squares[b * cells + a] : null;
        return near?.top === top ? near.length : 0;
      }));
      squares.push({ i, j, top, length });
      if (length > (roomiest.get(top)?.length ?? 0)) roomiest.set(top, squares.at(-1));
    }
    const group = s("g", { class: "sa-sweep" },
      runs.map((r) => s("rect", { x: r.i * side, y: r.j * side, width: r.length * side, height: side, fill: "currentColor", "fill-opacity": [0.04, 0.13, 0.24][r.top % 3], "shape-rendering": "crispEdges" })),
      // A word's name stands in the middle of the largest square that is all its own.
      [...roomiest].map(([top, { i, j, length }]) => words((i + 1 - length / 2) * side, (j + 1 - length / 2) * side + 4, names[top], { "text-anchor": "middle", "font-weight": 650 })));
    return { group, won: new Set(roomiest.keys()) };
  },

  // Where each word stands on the tanh: moving s slides all of them along it by the same step.
  bend(plot, n, d, names, width) {
    const { group, sx, sy } = axes({ x: [-3, 3], y: [-1, 1], box: [30, 28, width - 6, 138], xticks: [-2, 0, 2].map((v) => [v, fmt(v, 0)]),
      yticks: [-1, 0, 1].map((v) => [v, fmt(v, 0)]), ylabel: `tanh of number ${d + 1}` });
    const curve = Array.from({ length: 61 }, (_, i) => -3 + i / 10).map((x) => [sx(x), sy(Math.tanh(x))]);
    const order = names.map((_, i) => i).sort((a, b) => n.sums[a][d] - n.sums[b][d]);
    plot.paint([width, 160], group, line(curve, { class: "soft", "stroke-width": 1.5 }),
      order.map((i, rank) => {
        const x = sx(clamp(n.sums[i][d], -3, 3)), y = sy(n.tanh[i][d]), below = rank % 2 === 1;
        return [s("circle", { cx: x, cy: y, r: 5, fill: "currentColor", class: "keys sa-ring" }),
          words(x + (below ? 6 : -6), y + (below ? 18 : -8), names[i], { "text-anchor": below ? "start" : "end" })];
      }));
  },
};
