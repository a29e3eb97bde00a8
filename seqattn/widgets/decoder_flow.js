const figure = {
  name: "DecoderFlow",
  jumps: ["y", "s", "alpha", "c", "f", "p", "boxes_that_move"],
  steps: 3,
  boxes: ["y", "s", "alpha", "c", "f", "p"],
  // What a box is called, its sign in the drawing, and its colour.
  kinds: {
    y: ["word read", "y"], s: ["state", "s", "query"], alpha: ["weights", "α", "weights"],
    c: ["context", "c", "context"], f: ["features", "s̃"], p: ["probabilities", "p"],
  },
  orders: { after: "update, then ask", before: "ask, then update" },

  arrows(get) {
    const before = get("order") === "before", readout = get("readout");
    return [["y", "s", 0], ["s", "s", 1], ["s", "alpha", before ? 1 : 0], ["alpha", "c", 0],
      ...(get("fed") ? [before ? ["c", "s", 0] : ["f", "s", 1]] : []), ["s", "f", 0],
      ...(readout === "state alone" ? [] : [["c", "f", 0]]),
      ...(readout === "linear" || readout === "maxout" ? [["y", "f", 0]] : []), ["f", "p", 0]];
  },

  numbers(get) {
    const arrows = this.arrows(get), start = `${get("what")}${get("step")}`, reached = new Set([start]);
    const ahead = [[get("what"), get("step")]];
    while (ahead.length) {
      const [box, t] = ahead.pop();
      for (const [a, b, later] of arrows)
        if (a === box && t + later <= this.steps && !reached.has(`${b}${t + later}`)) {
          reached.add(`${b}${t + later}`);
          ahead.push([b, t + later]);
        }
    }
    reached.delete(start);
    const steps = Array.from({ length: this.steps }, (_, i) => i + 1);
    return { ...Object.fromEntries(this.boxes.map((box) => [box, steps.filter((t) => reached.has(`${box}${t}`))])), boxes_that_move: reached.size };
  },

  // The word that step t reads is the one before it.
  sign: (box, t) => figure.kinds[box][1] + "₀₁₂₃"[box === "y" ? t - 1 : t],

  text(n, get, open) {
    const what = `${this.kinds[get("what")][0]} ${this.sign(get("what"), get("step"))}`;
    if (!open) return `Changed: ${what}. What that moves is drawn when you have answered.`;
    const list = this.boxes.flatMap((box) => n[box].map((t) => this.sign(box, t)));
    return `Changed: ${what}. ${list.length ? `It can move ${list.join(", ")}; nothing else.` : "Nothing else can move."}`;
  },

  build(ui) {
    const nearest = (x, y) => {
      const { X, Y } = this.places(ui.get, Number(svg.dataset.wide));
      const all = this.boxes.flatMap((box) => [1, 2, 3].map((t) => [box, t]));
      const far = all.map(([box, t]) => Math.hypot(X(t) - x, Y(box) - y));
      const [box, t] = all[far.indexOf(Math.min(...far))];
      ui.model.set("what", box);
      ui.set("step", t);
    };
    const svg = ui.svg("Three steps of a decoder: boxes, and arrows from what each is computed from", nearest, "step");
    svg.style.cursor = "pointer";
    const named = (label, names, trait) => {
      const spelled = Object.values(names), by = Object.keys(names);
      return ui.choice({ label, options: spelled, trait, read: () => names[ui.get(trait)], write: (x) => ui.set(trait, by[spelled.indexOf(x)]) });
    };
    const same = (names) => Object.fromEntries(names.map((name) => [name, name]));
    ui.add(
      named("order", this.orders, "order"),
      ui.toggle({ label: "the update reads what attention gave", name: "the update reads what attention gave", trait: "fed" }),
      named("readout", same(["tanh", "linear", "maxout", "state alone"]), "readout"),
      svg,
      named("change", Object.fromEntries(this.boxes.map((box) => [box, this.kinds[box][0]])), "what"),
      ui.slider({ label: "at step", trait: "step", min: 1, max: this.steps, step: 1, show: (x) => String(x), glides: true }));
    return (n, width) => this.paint(svg, n, ui, Math.min(width, 600));
  },

  // Columns are steps. Rows stand in the order of events, the first at the bottom.
  places(get, wide) {
    const rows = get("order") === "before" ? ["p", "f", "s", "c", "alpha", "y"] : ["p", "f", "c", "alpha", "s", "y"];
    const first = 26, column = (wide - first - 56) / 2.72;
    return { X: (t) => (t ? first + column * (t - 0.28) : first - 6), Y: (box) => 34 + 58 * rows.indexOf(box), height: 34 + 58 * 5 + 60 };
  },

  paint(svg, n, ui, wide) {
    svg.dataset.wide = wide;
    const { get } = ui, { X, Y, height } = this.places(get, wide), W = 19, H = 15, open = ui.open();
    const changed = (box, t) => box === get("what") && t === get("step");
    const moves = (box, t) => open && n[box].includes(t);
    const touched = (box, t) => changed(box, t) || moves(box, t);
    const colour = (box) => ({ class: this.kinds[box][2] || "", style: this.kinds[box][2] ? null : "color:var(--sa-ink)" });
    const draw = ([a, b, later]) => [1, 2, 3].map((t) => {
      const from = t - later;
      if (from < 1 && a !== "s") return null;
      const lit = from > 0 && touched(a, from) && moves(b, t), { class: role, style } = colour(a);
      const look = lit ? { class: `sa-flow ${role}`, style } : { class: "sa-past" };
      const x0 = X(from), y0 = Y(a), x1 = X(t), y1 = Y(b);
      if (from === t) {
        const apart = Math.round(Math.abs(y0 - y1) / 58);
        if (apart === 1) return arrow(x0, y0 - H * Math.sign(y0 - y1), x1, y1 + (H + 2) * Math.sign(y0 - y1), look);
        // Round what stands in between: words on the left, the rest on the right.
        return bend(x0, y0, x1, y1, (a === "y" ? -1 : 1) * (W + 3), (a === "y" ? -1 : 1) * (10 + 5 * apart), look);
      }
      if (y0 === y1) return arrow(x0 + W, y0, x1 - W - 2, y1, look);
      const slope = Math.atan2(y1 - y0, x1 - x0);
      return arrow(x0 + (W + 2) * Math.cos(slope), y0 + (H + 2) * Math.sin(slope), x1 - (W + 5) * Math.cos(slope), y1 - (H + 6) * Math.sin(slope), look);
    });
    const box = (kind, t) => {
      const hot = changed(kind, t), moved = moves(kind, t), { class: role, style } = colour(kind);
      return s("g", { class: role, style, "stroke-opacity": hot || moved ? 1 : 0.55 },
        s("rect", { x: X(t) - W, y: Y(kind) - H, width: 2 * W, height: 2 * H, rx: 5, stroke: "currentColor", "stroke-width": hot || moved ? 2.6 : 1.2,
          "stroke-dasharray": hot ? "4 3" : null, fill: moved ? "currentColor" : "var(--sa-panel)", "fill-opacity": moved ? 0.28 : 1 }),
        words(X(t), Y(kind) + 5, this.sign(kind, t), { "text-anchor": "middle", class: hot || moved ? "sa-strong" : "" }),
        hot && words(X(t), Y(kind) + H + 13, "changed", { "text-anchor": "middle", class: "sa-later" }));
    };
    svg.paint([wide, height],
      this.arrows(get).map(draw),
      words(X(0), Y("s") + 5, "s₀", { "text-anchor": "middle", class: "sa-soft" }),
      [1, 2, 3].map((t) => [this.boxes.map((kind) => box(kind, t)),
        words(X(t), height - 8, `step ${t}`, { "text-anchor": "middle", class: "sa-soft" })]));
  },
};

// An arrow from the side of one box to the side of another, round those between them.
function bend(x0, y0, x1, y1, side, out, look) {
  const tip = x1 + side, up = y1 < y0 ? 1 : -1;
  return s("g", look,
    s("path", { d: `M${x0 + side} ${y0} C${x0 + side + 1.4 * out} ${y0 - 14 * up} ${tip + 1.4 * out} ${y1 + 14 * up} ${tip} ${y1}`, fill: "none" }),
    s("polygon", { points: `${tip},${y1} ${tip + Math.sign(side) * 9},${y1 + 1 * up} ${tip + Math.sign(side) * 5},${y1 + 8 * up}`, fill: "currentColor", stroke: "none" }));
}
