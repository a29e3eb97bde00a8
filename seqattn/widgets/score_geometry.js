const figure = {
  name: "ScoreGeometry",
  jumps: ["largest", "smallest"],

  numbers(get) {
    const turn = (get("angle") * Math.PI) / 180, score = get("score"), W = get("W");
    const query = [get("length") * Math.cos(turn), get("length") * Math.sin(turn)];
    const states = this.states(get);
    // s times W: the question that a general score compares with.
    const compared_with = score === "general" ? [0, 1].map((j) => query[0] * W[0][j] + query[1] * W[1][j]) : query;
    const lengths = states.map((state) => Math.hypot(...state)), asked = Math.hypot(...compared_with);
    const cosines = states.map((state, i) => (asked * lengths[i] ? dot(compared_with, state) / (asked * lengths[i]) : 0));
    const scores = score === "cosine" ? cosines : states.map((state) => dot(compared_with, state));
    return { score, query, compared_with, lengths, cosines, scores, weights: softmax(scores),
      largest: argmax(scores), smallest: argmax(scores.map((x) => -x)) };
  },

  states: (get) => get("states").map((state, i) => state.map((x) => (i === get("stretched") ? get("stretch") * x : x))),

  text(n, get) {
    const words = get("words");
    const long = both(leaders(words, n.lengths)), near = both(leaders(words, n.cosines));
    const turned = n.score === "general" ? `The query ${fmtVector(n.query)} is turned into ${fmtVector(n.compared_with)}. ` : "";
    if (leaders(words, n.scores).length === words.length) return `${turned}All scores are ${fmt(n.scores[0])}: none is first. The longest state is ${long}.`;
    return `${turned}First is “${words[n.largest]}” with a score of ${fmt(n.scores[n.largest])}, last “${words[n.smallest]}” with ` +
      `${fmt(n.scores[n.smallest])}. The best direction is that of ${near}; the longest state is ${long}.`;
  },

  build(ui) {
    const names = ui.get("words"), at = ui.get("stretched");
    const reach = 1.08 * Math.max(2.2, ...ui.get("states").flat().map(Math.abs));
    const toQuery = (x, y) => {
      const [a, b] = plane(Number(plot.getAttribute("height")), reach).back(x, y);
      ui.model.set("length", Number(clamp(Math.hypot(a, b), 0, 3).toFixed(2)));
      ui.set("angle", Math.round((Math.atan2(b, a) * 180) / Math.PI));
    };
    const plot = ui.svg("States and query as arrows in the plane", toQuery, "length");
    // A long arrow leaves the plane, and stands on nothing else; a name may stand on the edge.
    plot.style.clipPath = "inset(-0.5rem -1rem)";
    const number = () => names.map(() => h("span", { class: "sa-num" }));
    const lengths = number(), cosines = number(), scores = number(), shown = number(), bars = names.map(() => bar());
    const head = (label) => h("span", { class: "sa-num" }, label);
    ui.add(
      ui.choice({ label: "score", options: ["dot", "cosine", "general"], trait: "score" }),
      h("div", { class: "sa-side" }, plot,
        h("div", {},
          h("div", { class: "sa-five sa-heads", "aria-hidden": "true" }, h("span", {}, "word"), head("length"), head("cos θ"), head("score"), h("span", {}, "weight α"), head("")),
          names.map((name, i) => h("div", { class: "sa-five" }, h("span", { class: "keys" }, name), lengths[i], cosines[i], scores[i], bars[i], shown[i])))),
      ui.slider({ label: "angle of the query", trait: "angle", min: -180, max: 180, step: 5, show: (x) => `${fmt(x, 0)}°`, role: "query" }),
      ui.slider({ label: "length of the query", trait: "length", min: 0, max: 3, step: 0.05, role: "query" }),
      ui.slider({ label: `length of ${names[at]}, times`, trait: "stretch", min: 0.25, max: 3, step: 0.05 }));
    return (n, width) => {
      n.weights.forEach((w, i) => {
        lengths[i].textContent = fmt(n.lengths[i]);
        cosines[i].textContent = fmt(n.cosines[i]);
        scores[i].textContent = fmt(n.scores[i]);
        bars[i].set(w, i === n.largest ? "weights" : "weights pale");
        shown[i].textContent = fmt(w);
      });
      this.sketch(plot, n, this.states(ui.get), names, Math.min(width, 300), reach);
    };
  },

  sketch(plot, n, states, names, size, reach) {
    const { group, sx, sy } = plane(size, reach), o = size / 2;
    const tip = ([x, y]) => [sx(x), sy(y)];
    plot.paint([size, size], group,
      states.map((state, i) => [
        arrow(o, o, ...tip(state), { class: "keys", "stroke-width": 1.5 + 3 * n.weights[i] }),
        nameAt(names[i], ...tip(state), o, size, { class: "keys" })]),
      n.score === "general" && [
        arrow(o, o, ...tip(n.compared_with), { class: "query", "stroke-width": 2, "stroke-dasharray": "5 4" }),
        nameAt("Wᵀs", ...tip(n.compared_with), o, size, { class: "query" })],
      arrow(o, o, ...tip(n.query), { class: "query", "stroke-width": 3 }),
      nameAt("s", ...tip(n.query), o, size, { class: "query", "font-weight": 700 }),
      handle(...tip(n.query)));
  },
};
