const figure = {
  name: "KernelSmoother",

  weights: (x, bandwidth, position) => softmax(x.map((place) => -((position - place) ** 2) / 2), bandwidth ** 2),
  numbers(get) {
    const position = get("position"), bandwidth = get("bandwidth"), weights = this.weights(get("x"), bandwidth, position);
    return { position, bandwidth, weights, prediction: dot(weights, get("y")) };
  },

  text(n) {
    const near = Math.exp(entropy(n.weights));
    return `At x = ${fmt(n.position)} with bandwidth ${fmt(n.bandwidth)} the prediction is ${fmt(n.prediction, 3)}. ` +
      `It averages over as many points as ${fmt(near, 1)} equal weights would.`;
  },

  build(ui) {
    const xs = ui.get("x"), low = Math.min(...xs), high = Math.max(...xs);
    const step = Number(((high - low) / 100).toPrecision(1));
    let back = (x) => x;
    const plot = ui.svg("Data, smoothed curve and the weight of each point", (x) => ui.set("position", clamp(Number(back(x).toFixed(2)), low, high)), "position");
    ui.add(plot,
      ui.slider({ label: "place x (the query)", trait: "position", min: low, max: high, step, role: "query" }),
      ui.slider({ label: "bandwidth h", trait: "bandwidth", min: 0.03, max: 3, log: true }));
    return (n, width) => { back = this.paint(plot, n, ui, width); };
  },

  paint(plot, n, ui, width) {
    const xs = ui.get("x"), ys = ui.get("y");
    const low = Math.min(...xs), high = Math.max(...xs), pad = (high - low) * 0.03, y0 = Math.min(...ys), y1 = Math.max(...ys), room = (y1 - y0) * 0.12 || 1;
    const top = Math.max(...n.weights);
    const { group, sx, sy } = axes({ x: [low - pad, high + pad], y: [y0 - room, y1 + room], box: [38, 26, width - 8, 210],
      xticks: [], yticks: ticks(y0 - room, y1 + room, 4), ylabel: "y (values)" });
    const stems = axes({ x: [low - pad, high + pad], y: [0, top], box: [38, 252, width - 8, 312], xticks: ticks(low - pad, high + pad, 6),
      yticks: [[0, "0"], [top, fmt(top)]], xlabel: "x (keys)", ylabel: "weight α of each point" });
    const at = sx(n.position);
    plot.paint([width, 352], group, stems.group,
      s("line", { x1: at, x2: at, y1: 26, y2: 210, class: "query", "stroke-dasharray": "3 3" }),
      s("line", { x1: at, x2: at, y1: 252, y2: 312, class: "query", "stroke-dasharray": "3 3" }),
      xs.map((x, i) => s("line", { x1: sx(x), x2: sx(x), y1: 312, y2: stems.sy(n.weights[i]), class: "weights", "stroke-width": 5 })),
      line(ui.memo("curve", [n.bandwidth, xs, ys], () => this.curve(xs, ys, n.bandwidth, low - pad, high + pad)).map(([x, y]) => [sx(x), sy(y)]), { class: "context", "stroke-width": 2.5, "stroke-linejoin": "round" }),
      xs.map((x, i) => s("circle", { cx: sx(x), cy: sy(ys[i]), r: 3 + 4 * Math.sqrt(n.weights[i] / top), fill: "currentColor", class: "values sa-ring" })),
      s("circle", { cx: at, cy: sy(n.prediction), r: 6, fill: "currentColor", class: "context sa-ring" }));
    return (px) => low - pad + ((px - 38) / (width - 46)) * (high - low + 2 * pad);
  },

  // Where the nearest point changes, a small bandwidth climbs a step; more places there keep it upright.
  curve(xs, ys, bandwidth, from, to) {
    const sorted = [...xs].sort((a, b) => a - b);
    const steps = sorted.slice(1).flatMap((x, i) => Array.from({ length: 9 }, (_, t) =>
      (x + sorted[i]) / 2 + (t - 4) * Math.min((x - sorted[i]) / 9, bandwidth ** 2 / (x - sorted[i] || 1))));
    const places = [...Array.from({ length: 81 }, (_, i) => from + (i / 80) * (to - from)), ...steps].sort((a, b) => a - b);
    return places.map((p) => [p, dot(this.weights(xs, bandwidth, p), ys)]);
  },
};
