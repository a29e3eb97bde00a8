const figure = {
  name: "KernelSmoother",

  weights(get, position) {
    return softmax(get("x").map((x) => -((position - x) ** 2) / 2), get("bandwidth") ** 2);
  },
  numbers(get) {
    const position = get("position"), weights = this.weights(get, position);
    return { position, bandwidth: get("bandwidth"), weights, prediction: dot(weights, get("y")) };
  },

  text(n) {
    const near = Math.exp(entropy(n.weights));
    return `At x = ${fmt(n.position)} with bandwidth ${fmt(n.bandwidth)} the prediction is ${fmt(n.prediction, 3)}. ` +
      `It averages over as many points as ${fmt(near, 1)} equal weights would.`;
  },

  build(ui) {
    const xs = ui.get("x"), ys = ui.get("y"), low = Math.min(...xs), high = Math.max(...xs);
    const step = Number(((high - low) / 100).toPrecision(1));
    let back = (x) => x;
    const plot = ui.svg("Data, smoothed curve and the weight of each point", (x) => ui.set("position", clamp(Number(back(x).toFixed(2)), low, high)));
    ui.add(plot,
      ui.slider({ label: "place x (the query)", trait: "position", min: low, max: high, step }),
      ui.slider({ label: "bandwidth h", trait: "bandwidth", min: 0.03, max: 3, log: true }));
    return (n, width) => {
      const pad = (high - low) * 0.03, y0 = Math.min(...ys), y1 = Math.max(...ys), room = (y1 - y0) * 0.12 || 1;
      const top = Math.max(...n.weights);
      const { group, sx, sy } = axes({ x: [low - pad, high + pad], y: [y0 - room, y1 + room], box: [38, 26, width - 8, 210],
        xticks: [], yticks: ticks(y0 - room, y1 + room, 4), ylabel: "y (values)" });
      const stems = axes({ x: [low - pad, high + pad], y: [0, top], box: [38, 244, width - 8, 304], xticks: ticks(low - pad, high + pad, 6),
        yticks: [[0, "0"], [top, fmt(top)]], xlabel: "x (keys)", ylabel: "weight α of each point" });
      back = (px) => low - pad + ((px - 38) / (width - 46)) * (high - low + 2 * pad);
      const at = sx(n.position);
      const curve = Array.from({ length: 161 }, (_, i) => low - pad + (i / 160) * (high - low + 2 * pad))
        .map((p) => [sx(p), sy(dot(this.weights(ui.get, p), ys))]);
      plot.paint([width, 344], group, stems.group,
        s("line", { x1: at, x2: at, y1: 26, y2: 304, stroke: "currentColor", "stroke-dasharray": "3 3" }),
        xs.map((x, i) => [
          s("circle", { cx: sx(x), cy: sy(ys[i]), r: 3 + 4 * Math.sqrt(n.weights[i] / top), fill: "currentColor", class: n.weights[i] > 0.01 ? "main" : "pale", "stroke-width": 0 }),
          s("line", { x1: sx(x), x2: sx(x), y1: 304, y2: stems.sy(n.weights[i]), class: "main", "stroke-width": 5 })]),
        line(curve, { class: "warm", "stroke-width": 2.5, "stroke-linejoin": "round" }),
        s("circle", { cx: at, cy: sy(n.prediction), r: 6, fill: "currentColor", class: "warm" }));
    };
  },
};
