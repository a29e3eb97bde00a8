const figure = {
  name: "WeightSurgery",

  row: (get, name) => get(name)[get("machines").indexOf(get("machine"))],
  shares(raw) {
    const total = sum(raw);
    return raw.map((w) => (total > 0 ? w / total : 1 / raw.length));
  },
  numbers(get) {
    const m = this.row(get, "margins"), own = this.shares(this.row(get, "own")), weights = this.shares(get("weights"));
    const sigmoid = (x) => 1 / (1 + Math.exp(-x)), before = sigmoid(dot(own, m)), probability = sigmoid(dot(weights, m));
    const part = (w, i) => (w > 0 ? w * Math.log(w / ((own[i] + weights[i]) / 2)) : 0);
    return { weights, own_weights: own, answers_of_single_states: m.map(sigmoid), own_probability: before, probability,
      moved: Math.abs(probability - before), divergence: Math.max(0, (sum(own.map(part)) + sum(weights.map(part))) / 2),
      lowest: sigmoid(Math.min(...m)), highest: sigmoid(Math.max(...m)) };
  },

  // What can be put in the place of a machine's own weights.
  presets(get) {
    const own = this.row(get, "own"), top = argmax(own);
    return new Map([["own", own], ["uniform", own.map(() => 1 / own.length)], ["largest erased", own.map((w, i) => (i === top ? 0 : w))], ["moved by one", [own.at(-1), ...own.slice(0, -1)]]]);
  },

  text(n, get, open) {
    const says = `${get("machine")}: probability of “${get("answer")}” ${fmt(n.probability, 3)}`;
    if (!open) return `${says}, with its own weights.`;
    const sides = n.probability < 0.5 !== n.own_probability < 0.5;
    const change = sides ? "The answer changes sides." : `The answer moves by ${n.moved <= 0.05 ? "no more" : "more"} than 0.05, and stays on its side.`;
    return `${says}, ${n.moved < 0.0005 ? "as with its own weights" : `${fmt(n.moved, 3)} away from that with its own weights`}; the weights differ by ${fmt(n.divergence)} nats of at most 0.69. ` +
      `${change} No weights at all could bring it below ${fmt(n.lowest, 3)} or above ${fmt(n.highest, 3)}.`;
  },

  build(ui) {
    const names = ui.get("words"), get = ui.get;
    const bars = names.map(() => [bar(), bar()]), single = names.map(() => h("span", { class: "sa-num context" }));
    const track = ui.svg("The probability of the answer on a line from 0 to 1: with the machine's own weights, with yours, and the range that weights can reach");
    const same = (a, b) => this.shares(a).every((w, i) => Math.abs(w - this.shares(b)[i]) < 1e-9);
    const presets = ui.choice({ label: "weights", options: [...this.presets(get).keys()],
      read: () => [...this.presets(get)].find(([, row]) => same(row, get("weights")))?.[0],
      write: (name) => ui.set("weights", this.presets(get).get(name)) });
    presets.classList.add("sa-told"); // until then it keeps its place
    ui.add(
      get("machines").length > 1 && ui.choice({ label: "machine", options: get("machines"), trait: "machine", read: () => get("machine"),
        write: (machine) => { ui.model.set("machine", machine); ui.set("weights", this.row(get, "own")); } }),
      presets,
      h("div", { class: "sa-row sa-heads", "aria-hidden": "true" },
        h("span", {}, "word"), h("span", {}, "your weight"), h("span", {}, "weight: own, yours"), h("span", { class: "sa-num" }, "alone")),
      names.map((name, i) => h("div", { class: "sa-row" }, h("span", { class: "keys" }, name),
        ui.slider({ label: "", name: `weight of ${name}, word ${i + 1}`, trait: "weights", at: i, min: 0, max: 1, step: 0.02, role: "weights" }),
        h("span", { class: "sa-bars" }, bars[i]), single[i])),
      track);
    return (n, width) => {
      n.weights.forEach((w, i) => {
        bars[i][0].set(n.own_weights[i], "weights pale");
        bars[i][1].set(w, "weights");
        single[i].textContent = ui.open() ? fmt(n.answers_of_single_states[i]) : "";
      });
      const sx = scale(0, 1, 14, width - 14), at = (p, y, up, name, kind) => [
        s("polygon", { points: `${sx(p)},${y} ${sx(p) - 6},${y + up * 11} ${sx(p) + 6},${y + up * 11}`, fill: "currentColor", class: kind }),
        words(clamp(sx(p), 40, width - 40), y + up * 22 + (up > 0 ? 4 : 0), name, { "text-anchor": "middle", class: kind })];
      track.paint([width, 116], s("g", { class: "sa-axes" },
        s("line", { x1: 14, x2: width - 14, y1: 52, y2: 52 }),
        [0, 0.5, 1].map((v) => words(sx(v), 106, String(v), { "text-anchor": "middle" })), words(2, 14, `probability of “${get("answer")}”`)),
        ui.open() && s("line", { x1: sx(n.lowest), x2: sx(n.highest), y1: 52, y2: 52, class: "context pale", "stroke-width": 8 }),
        at(n.own_probability, 58, 1, "own", "weights"), at(n.probability, 46, -1, fmt(n.probability), "context"));
    };
  },
};
