const figure = {
  name: "PositionDials",
  places: 32,

  vector(p, d, base) {
    return Array.from({ length: d / 2 }, (_, k) => { const angle = p * base ** ((-2 * k) / d); return [Math.sin(angle), Math.cos(angle)]; });
  },

  numbers(get) {
    const d = Number(get("size")), base = Number(get("base")), p = get("position"), n = get("shift");
    const hands = this.vector(p, d, base);
    // The matrix of the shift knows n alone: each pair is turned by its own angle.
    const shifted = hands.map(([sine, cosine], k) => {
      const angle = n * base ** ((-2 * k) / d), c = Math.cos(angle), s = Math.sin(angle);
      return [sine * c + cosine * s, cosine * c - sine * s];
    });
    const product = (a, b) => sum(a.map((pair, k) => dot(pair, b[k])));
    const products = Array.from({ length: this.places }, (_, q) => product(hands, this.vector(q, d, base)));
    return { product: product(hands, shifted), length: Math.sqrt(product(hands, hands)), hands, shifted, products };
  },

  text(n, get, open) {
    const p = get("position"), by = get("shift");
    const first = `Position ${p} has ${n.hands.length} dials and length ${fmt(n.length)}. Turned by the angles of a shift by ${by}, it is position ${p + by}.`;
    return open ? `${first} The product of the two is ${fmt(n.product)}.` : first;
  },

  build(ui) {
    const dials = ui.svg("A dial for each pair of features: a thin hand for the position, a thick one for the shifted position");
    const map = ui.svg("Dot products of positions 0 to 31: the darker, the larger");
    const curve = ui.svg("Dot product of the chosen position with each of the positions 0 to 31");
    ui.add(
      ui.slider({ label: "position p", trait: "position", min: 0, max: this.places - 1, step: 1, show: String }),
      ui.slider({ label: "shift n", trait: "shift", min: 0, max: this.places - 1, step: 1, show: String }),
      ui.choice({ label: "features d", options: ["4", "16", "64"], trait: "size", read: () => ui.get("size"), write: (value) => ui.set("size", value) }),
      ui.choice({ label: "base", options: ["10", "100", "10000"], trait: "base", read: () => ui.get("base"), write: (value) => ui.set("base", value) }),
      dials, h("div", { class: "sa-pair" }, map, curve));
    return (n, width) => {
      this.dials(dials, n, width);
      const half = width > 560 ? (width - 24) / 2 : width;
      this.map(map, n, ui, Math.min(half, 300));
      this.curve(curve, n, ui, half);
    };
  },

  dials(plot, n, width) {
    // A box that 32 dials fill: few are larger, and what stands below keeps its place.
    const all = n.hands.length, wide = width > 560, rows = all > 8 ? (wide ? 2 : 4) : all > 2 && !wide ? 2 : 1;
    const columns = all / rows, high = wide ? (width - 8) / 8 : (width - 8) / 2;
    const cell = Math.min((width - 8) / columns, high / rows), r = 0.4 * cell;
    const left = 4 + (width - 8 - columns * cell) / 2, top = 4 + (high - rows * cell) / 2;
    // From the top, clockwise: the cosine points up, the sine to the right.
    const hand = ([sine, cosine], x, y, attributes) => s("line", { x1: x, y1: y, x2: x + r * sine, y2: y - r * cosine, stroke: "currentColor", ...attributes });
    plot.paint([width, high + 8], n.hands.map((pair, k) => {
      const x = left + (k % columns + 0.5) * cell, y = top + (Math.floor(k / columns) + 0.5) * cell;
      return [s("circle", { cx: x, cy: y, r, class: "sa-frame" }),
        hand(pair, x, y, { class: "sa-thin", "stroke-width": 1.5, "stroke-opacity": 0.55 }),
        hand(n.shifted[k], x, y, { class: "keys", "stroke-width": 3.2, "stroke-linecap": "round" })];
    }));
  },

  map(plot, n, ui, width) {
    const d = Number(ui.get("size")), base = Number(ui.get("base")), p = ui.get("position"), side = (width - 30) / this.places;
    const products = ui.memo("map", [d, base, ui.open(), side], () => {
      const table = Array.from({ length: this.places }, (_, q) => this.vector(q, d, base));
      return s("g", { class: "scores" }, table.map((a, q) => table.map((b, r) => s("rect", { x: 26 + r * side, y: 22 + q * side, width: side + 0.3, height: side + 0.3, fill: "currentColor", "stroke-width": 0,
        "fill-opacity": ui.open() ? Number(Math.max(0, sum(a.map((pair, k) => dot(pair, b[k]))) / (d / 2)).toFixed(3)) : 0 }))));
    });
    const foot = 22 + this.places * side;
    plot.paint([width, width + 32], products,
      words(26, 14, "product of p (row) and q"),
      s("rect", { x: 26, y: 22, width: this.places * side, height: this.places * side, class: "sa-frame" }),
      !ui.open() && words(26 + (this.places * side) / 2, 22 + (this.places * side) / 2, "appears with your answer", { "text-anchor": "middle", class: "sa-later" }),
      s("rect", { x: 26, y: 22 + p * side, width: this.places * side, height: side, class: "sa-cursor" }),
      words(20, 22 + (p + 0.5) * side + 4, String(p), { "text-anchor": "end" }),
      [0, 10, 20, 30].map((q) => words(26 + (q + 0.5) * side, foot + 16, String(q), { "text-anchor": "middle" })),
      words(26 + (this.places * side) / 2, foot + 34, "position q", { "text-anchor": "middle" }));
  },

  curve(plot, n, ui, width) {
    const top = n.length ** 2, p = ui.get("position");
    const { group, sx, sy } = axes({ x: [0, this.places - 1], y: [-top, top], box: [34, 28, width - 12, 220],
      xticks: [0, 10, 20, 30].map((v) => [v, String(v)]), yticks: ticks(-top, top, 4), xlabel: "position q", ylabel: "product with p" });
    plot.paint([width, 262], group, ui.open() ? [
      line(n.products.map((y, q) => [sx(q), sy(y)]), { stroke: "currentColor", class: "scores", "stroke-width": 2 }),
      n.products.map((y, q) => s("circle", { cx: sx(q), cy: sy(y), r: q === p ? 5 : 2.4, fill: "currentColor", class: "scores", "stroke-width": 0 }))] :
      words((22 + width) / 2, sy(0) - 12, "appears with your answer", { "text-anchor": "middle", class: "sa-later" }));
  },
};
