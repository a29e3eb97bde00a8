const figure = {
  name: "SoftLookup",
  jumps: ["largest"],

  numbers(get) {
    const temperature = get("temperature"), hard = get("hard");
    return { ...this.at(get, get("angle"), temperature, hard), temperature, hard };
  },
  at(get, angle, temperature, hard) {
    const turn = (angle * Math.PI) / 180;
    const query = [get("length") * Math.cos(turn), get("length") * Math.sin(turn)];
    const scores = get("key_vectors").map((k) => dot(query, k));
    const largest = argmax(scores);
    const weights = hard ? scores.map((_, i) => Number(i === largest)) : softmax(scores, temperature);
    return { query, temperature, hard, scores, weights, largest, output: dot(weights, get("values")) };
  },

  text(n, get) {
    const name = get("names")[n.largest], first = leaders(get("names"), n.scores, 9);
    if (first.length === n.scores.length) {
      const fits = `The query ${fmtVector(n.query)} fits every key equally; `;
      return fits + (n.hard ? `hard look-up takes the first, ${name}, and returns its value, ${short(n.output)}.` : `the answer is the mean of the values, ${fmt(n.output)}.`);
    }
    if (n.hard) return `The query ${fmtVector(n.query)} scores highest with ${first.join(" and ")}; hard look-up returns the value of ${name}, ${short(n.output)}, and ignores the rest.`;
    return `The query ${fmtVector(n.query)} puts most weight, ${fmt(n.weights[n.largest])}, on ${leaders(get("names"), n.weights).join(" and ")}; the answer is the mixture ${fmt(n.output)}.`;
  },

  build(ui) {
    const names = ui.get("names"), reach = 1.08 * Math.max(2.5, ...ui.get("key_vectors").flat().map(Math.abs));
    const toQuery = (x, y) => {
      const [a, b] = plane(Number(sketch.getAttribute("height")), reach).back(x, y);
      ui.model.set("length", Number(clamp(Math.hypot(a, b), 0, 2.5).toFixed(2)));
      ui.set("angle", Math.round((Math.atan2(b, a) * 180) / Math.PI));
    };
    const sketch = ui.svg("Keys and query as arrows in the plane", toQuery), row = ui.svg("The values on a line, and the answer among them");
    const trace = ui.svg("The answer over the full circle of the query, soft and hard");
    const bars = names.map(() => bar()), scores = names.map(() => h("span", { class: "sa-num" })), shown = names.map(() => h("span", { class: "sa-num" }));
    ui.add(
      h("div", { class: "sa-side" }, sketch,
        h("div", {},
          h("div", { class: "sa-hit sa-heads", "aria-hidden": "true" }, h("span", {}, "key"), h("span", { class: "sa-num" }, "q·k"), h("span", {}, "weight α"), h("span", { class: "sa-num" }, "")),
          names.map((name, i) => h("div", { class: "sa-hit" }, h("span", { class: "keys" }, name), scores[i], bars[i], shown[i])),
          row)),
      ui.slider({ label: "angle of the query", trait: "angle", min: -180, max: 180, step: 5, show: (x) => `${fmt(x, 0)}°`, role: "query" }),
      ui.slider({ label: "length of the query", trait: "length", min: 0, max: 2.5, role: "query" }),
      ui.slider({ label: "temperature τ", trait: "temperature", min: 0.05, max: 20, log: true }),
      ui.toggle({ label: "hard: return the best match alone", trait: "hard" }),
      trace);
    return (n, width) => {
      n.weights.forEach((w, i) => {
        bars[i].set(w, i === n.largest ? "weights" : "weights pale");
        scores[i].textContent = fmt(n.scores[i]);
        shown[i].textContent = fmt(w);
      });
      this.vectors(sketch, n, ui, names, Math.min(width, 300));
      this.values(row, n, ui.get("values"), names, width < 480 ? width : width - 344);
      this.circle(trace, n, ui, width);
    };
  },

  vectors(sketch, n, ui, names, size) {
    const vectors = ui.get("key_vectors");
    const { group, sx, sy } = plane(size, 1.08 * Math.max(2.5, ...vectors.flat().map(Math.abs))), o = size / 2;
    const [x, y] = [sx(n.query[0]), sy(n.query[1])];
    sketch.paint([size, size], group,
      vectors.map((k, i) => [
        arrow(o, o, sx(k[0]), sy(k[1]), { class: "keys", "stroke-width": 1.5 + 3 * n.weights[i] }),
        nameAt(names[i], sx(k[0]), sy(k[1]), o, size, { class: "keys" })]),
      arrow(o, o, x, y, { class: "query", "stroke-width": 3 }),
      nameAt("q", x, y, o, size, { class: "query", "font-weight": 700 }),
      handle(x, y));
  },

  values(row, n, values, names, width) {
    const low = Math.min(...values), high = Math.max(...values), sx = scale(low, high === low ? low + 1 : high, 34, width - 34), x = sx(n.output);
    row.paint([width, 84], s("g", { class: "sa-axes" }, s("line", { x1: 20, x2: width - 20, y1: 46, y2: 46 })),
      values.map((v, i) => [
        s("circle", { cx: sx(v), cy: 46, r: 3 + 8 * Math.sqrt(n.weights[i]), fill: "currentColor", class: "values", "stroke-width": 0 }),
        words(sx(v), 74, width < 300 ? short(v) : `${names[i]}: ${short(v)}`, { "text-anchor": "middle", class: "values" })]),
      s("polygon", { points: `${x},44 ${x - 6},32 ${x + 6},32`, fill: "currentColor", class: "context" }),
      words(clamp(x, 60, width - 60), 22, `answer ${fmt(n.output)}`, { "text-anchor": "middle", class: "context", "font-weight": 700 }));
  },

  // The answer at each angle: one look at what turning does.
  circle(trace, n, ui, width) {
    const values = ui.get("values"), low = Math.min(...values), high = Math.max(...values), pad = (high - low) * 0.08 || 1;
    const { group, sx, sy } = axes({ x: [-180, 180], y: [low - pad, high + pad], box: [38, 28, width - 14, 128],
      xticks: [-180, -90, 0, 90, 180].map((v) => [v, `${fmt(v, 0)}°`]), yticks: ticks(low - pad, high + pad, 4), xlabel: "angle of the query", ylabel: "answer" });
    const answer = (hard, step) => ui.memo(`hard ${hard}`, [ui.get("length"), hard || n.temperature, ui.get("key_vectors"), values], () =>
      Array.from({ length: 360 / step + 1 }, (_, i) => i * step - 180).map((angle) => [angle, this.at(ui.get, angle, n.temperature, hard)]));
    const at = sx((Math.atan2(n.query[1], n.query[0]) * 180) / Math.PI);
    // A jump is drawn as a gap: between two values the hard answer takes none.
    const hard = ui.open() ? answer(true, 1) : [], runs = hard.reduce((list, [angle, found]) => {
      if (list.at(-1)?.largest === found.largest) list.at(-1).points.push([sx(angle), sy(found.output)]);
      else list.push({ largest: found.largest, points: [[sx(angle), sy(found.output)]] });
      return list;
    }, []);
    trace.paint([width, 168], group, ui.open() ? [
      s("g", { class: "sa-sweep" },
        line(answer(false, 3).map(([angle, found]) => [sx(angle), sy(found.output)]), { class: n.hard ? "context pale" : "context", "stroke-width": 2.5 }),
        runs.map(({ points }) => line(points, { class: n.hard ? "soft" : "soft pale", "stroke-width": 2.5 }))),
      s("line", { x1: at, x2: at, y1: 28, y2: 128, class: "query", "stroke-dasharray": "3 3" }),
      s("circle", { cx: at, cy: sy(n.output), r: 5, fill: "currentColor", class: "context" }),
      words(width - 96, 18, "— soft", { class: "context" }), words(width - 44, 18, "— hard", { class: "sa-soft" })] :
      words((width - 6) / 2, 82, "appears with your answer", { "text-anchor": "middle", class: "sa-later" }));
  },
};
