const COUNT = 6;
const figure = {
  name: "TurnedQuestion",
  jumps: ["largest"],

  states: Array.from({ length: COUNT }, (_, i) => [Math.cos((2 * Math.PI * i) / COUNT), Math.sin((2 * Math.PI * i) / COUNT)]),

  numbers(get) {
    const phi = (get("turn") * Math.PI) / 180, cos = Math.cos(phi), sin = Math.sin(phi);
    const [a, b] = this.states[get("asking")];
    const question = [a * cos - b * sin, a * sin + b * cos];
    const raw = this.states.map((state) => get("sharpness") * dot(question, state));
    const top = Math.max(...raw), tidy = (x) => Number(x.toFixed(9)) + 0;
    return { symmetric_part: cos, skew_part: sin, question, scores: raw.map(tidy), weights: softmax(raw),
      own_score: tidy(raw[get("asking")]), largest: raw.flatMap((x, i) => (x > top - 1e-9 ? [i] : [])) };
  },

  text(n, get) {
    const names = n.largest.map((i) => i + 1), one = names.length === 1;
    return `State ${get("asking") + 1} looks ${one ? "most at state" : "alike at states"} ${names.join(" and ")}, ` +
      `with ${one ? "" : "each "}a weight of ${fmt(n.weights[n.largest[0]])}. The symmetric part counts ${fmt(n.symmetric_part)}, ` +
      `the skew part ${fmt(n.skew_part)}; its score with itself is ${fmt(n.own_score)}.`;
  },

  build(ui) {
    const reach = 1.45;
    const toTurn = (x, y) => {
      const [a, b] = plane(Number(plot.getAttribute("height")), reach).back(x, y);
      const degrees = (Math.atan2(b, a) * 180) / Math.PI - (360 / COUNT) * ui.get("asking");
      ui.set("turn", Math.round((((degrees + 180) % 360) + 360) % 360 - 180));
    };
    const plot = ui.svg("Six states round a circle, the one that asks, and its question after the matrix", toTurn, "turn");
    const bars = this.states.map(() => bar()), shown = this.states.map(() => h("span", { class: "sa-num" })), scores = this.states.map(() => h("span", { class: "sa-num" }));
    ui.add(
      h("div", { class: "sa-side" }, plot,
        h("div", {},
          h("div", { class: "sa-hit sa-heads", "aria-hidden": "true" }, h("span", {}, "state"), h("span", { class: "sa-num" }, "score"), h("span", {}, "weight α"), h("span", { class: "sa-num" }, "")),
          this.states.map((_, i) => h("div", { class: "sa-hit" }, h("span", { class: "keys" }, String(i + 1)), scores[i], bars[i], shown[i])))),
      ui.slider({ label: "turn φ", trait: "turn", min: -180, max: 180, step: 5, show: (x) => `${fmt(x, 0)}°`, role: "query" }),
      ui.slider({ label: "factor κ", trait: "sharpness", min: 0.5, max: 20, log: true }),
      ui.choice({ label: "which state asks", options: this.states.map((_, i) => i + 1), trait: "asking", read: () => ui.get("asking") + 1, write: (state) => ui.set("asking", state - 1) }));
    return (n, width) => {
      n.weights.forEach((w, i) => {
        bars[i].set(w, n.largest.includes(i) ? "weights" : "weights pale");
        scores[i].textContent = fmt(n.scores[i]);
        shown[i].textContent = fmt(w);
      });
      const size = Math.min(width, 300), { group, sx, sy } = plane(size, reach), o = size / 2;
      const tip = ([x, y]) => [sx(x), sy(y)], asking = ui.get("asking");
      plot.paint([size, size], group,
        this.states.map((state, i) => [
          s("circle", { cx: sx(state[0]), cy: sy(state[1]), r: 4 + 9 * Math.sqrt(n.weights[i]), fill: "currentColor", "fill-opacity": 0.8, "stroke-width": 0, class: "keys" }),
          // On the axis a name would read as a number there, and the axis itself as a minus.
          nameAt(String(i + 1), sx(1.12 * state[0]), sy(1.12 * state[1]) - (Math.abs(state[1]) < 0.01 ? 16 : 0), o, size, { class: "keys" })]),
        arrow(o, o, ...tip(this.states[asking]), { class: "query", "stroke-width": 1.5, "stroke-dasharray": "5 4" }),
        arrow(o, o, ...tip(n.question), { class: "query", "stroke-width": 3 }),
        words(...tip([0.6 * n.question[0] - 0.22 * n.question[1], 0.6 * n.question[1] + 0.22 * n.question[0]]), "Wᵀs", { class: "query", "font-weight": 700, "text-anchor": "middle", "dominant-baseline": "middle" }),
        handle(...tip(n.question)));
    };
  },
};
