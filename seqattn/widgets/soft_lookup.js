const figure = {
  name: "SoftLookup",

  numbers(get) {
    const turn = (get("angle") * Math.PI) / 180;
    const query = [get("length") * Math.cos(turn), get("length") * Math.sin(turn)];
    const temperature = get("temperature"), hard = get("hard");
    const scores = get("key_vectors").map((k) => dot(query, k));
    const largest = argmax(scores);
    const weights = hard ? scores.map((_, i) => Number(i === largest)) : softmax(scores, temperature);
    return { query, temperature, hard, scores, weights, largest, output: dot(weights, get("values")) };
  },

  text(n, get) {
    const name = get("names")[n.largest];
    if (n.hard) return `The query ${fmtVector(n.query)} scores highest with ${name}; hard look-up returns its value, ${short(n.output)}, and ignores the rest.`;
    return `The query ${fmtVector(n.query)} puts most weight, ${fmt(n.weights[n.largest])}, on ${name}; the answer is the mixture ${fmt(n.output)}.`;
  },

  build(ui) {
    const names = ui.get("names"), reach = 1.08 * Math.max(2.5, ...ui.get("key_vectors").flat().map(Math.abs));
    const toQuery = (x, y) => {
      const [a, b] = plane(Number(sketch.getAttribute("height")), reach).back(x, y);
      ui.model.set("length", Number(clamp(Math.hypot(a, b), 0, 2.5).toFixed(2)));
      ui.set("angle", Math.round((Math.atan2(b, a) * 180) / Math.PI));
    };
    const sketch = ui.svg("Keys and query as arrows in the plane", toQuery), row = ui.svg("The values on a line, and the answer among them");
    sketch.classList.add("sa-free");
    const bars = names.map(() => bar()), scores = names.map(() => h("span", { class: "sa-num" })), shown = names.map(() => h("span", { class: "sa-num" }));
    ui.add(
      h("div", { class: "sa-side" }, sketch,
        h("div", {},
          h("div", { class: "sa-hit sa-heads", "aria-hidden": "true" }, h("span", {}, "key"), h("span", { class: "sa-num" }, "q·k"), h("span", {}, "weight α"), h("span", { class: "sa-num" }, "")),
          names.map((name, i) => h("div", { class: "sa-hit" }, h("span", {}, name), scores[i], bars[i], shown[i])))),
      row,
      ui.slider({ label: "angle of the query", trait: "angle", min: -180, max: 180, step: 5, show: (x) => `${fmt(x, 0)}°` }),
      ui.slider({ label: "length of the query", trait: "length", min: 0, max: 2.5 }),
      ui.slider({ label: "temperature τ", trait: "temperature", min: 0.05, max: 20, log: true }),
      ui.toggle({ label: "hard: return the best match alone", read: () => ui.get("hard"), write: (on) => ui.set("hard", on) }));
    return (n, width) => {
      n.weights.forEach((w, i) => {
        bars[i].set(w, i === n.largest ? "main" : "");
        scores[i].textContent = fmt(n.scores[i]);
        shown[i].textContent = fmt(w);
      });
      this.vectors(sketch, n, ui, names, Math.min(width, 300), reach);
      this.values(row, n, ui.get("values"), names, width);
    };
  },

  vectors(sketch, n, ui, names, size, reach) {
    const { group, sx, sy } = plane(size, reach), o = size / 2;
    sketch.paint([size, size], group,
      ui.get("key_vectors").map((k, i) => [
        arrow(o, o, sx(k[0]), sy(k[1]), { class: i === n.largest ? "main" : "pale", "stroke-width": 1.5 + 3 * n.weights[i] }),
        nameAt(names[i], sx(k[0]), sy(k[1]), o, size)]),
      arrow(o, o, sx(n.query[0]), sy(n.query[1]), { class: "warm", "stroke-width": 3 }),
      nameAt("q", sx(n.query[0]), sy(n.query[1]), o, size, { class: "warm", "font-weight": 700 }));
  },

  values(row, n, values, names, width) {
    const low = Math.min(...values), high = Math.max(...values), sx = scale(low, high === low ? low + 1 : high, 34, width - 34), x = sx(n.output);
    row.paint([width, 84], s("g", { class: "sa-axes" }, s("line", { x1: 20, x2: width - 20, y1: 46, y2: 46 })),
      values.map((v, i) => [
        s("circle", { cx: sx(v), cy: 46, r: 3 + 8 * Math.sqrt(n.weights[i]), fill: "currentColor", class: i === n.largest ? "main" : "pale" }),
        words(sx(v), 74, `${names[i]}: ${short(v)}`, { "text-anchor": "middle", class: "sa-soft" })]),
      s("polygon", { points: `${x},44 ${x - 6},32 ${x + 6},32`, fill: "currentColor", class: "warm" }),
      words(clamp(x, 60, width - 60), 22, `answer ${fmt(n.output)}`, { "text-anchor": "middle", class: "warm", "font-weight": 700 }));
  },
};
