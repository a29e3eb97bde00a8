const figure = {
  name: "SelfAttentionLayer",
  jumps: ["order", "place"],

  layer(get, order) {
    const x = order.map((i) => get("states")[i]), phi = (get("turn") * Math.PI) / 180, cos = Math.cos(phi), sin = Math.sin(phi);
    const weights = x.map(([a, b], t) => softmax(x.map((key) => dot([a * cos - b * sin, a * sin + b * cos], key)), Math.SQRT2, x.map((_, i) => !get("causal") || i <= t)));
    return { weights, outputs: weights.map((row) => weightedSum(row, x)) };
  },

  numbers(get) {
    const order = get("words").map((_, i) => i), a = get("first"), b = get("second");
    const before = this.layer(get, order).outputs[get("word")];
    [order[a], order[b]] = [order[b], order[a]];
    const { weights, outputs } = this.layer(get, order), place = order.indexOf(get("word")), output = outputs[place];
    return { order, place, weights, outputs, output, moved: Number(Math.hypot(output[0] - before[0], output[1] - before[1]).toFixed(9)) };
  },

  text(n, get, open) {
    const names = get("words"), same = get("first") === get("second");
    const swapped = same ? "No words are exchanged." : `“${names[get("first")]}” and “${names[get("second")]}” have changed places.`;
    const most = names[n.order[argmax(n.weights[n.place])]];
    return `${swapped} “${names[get("word")]}” looks most at “${most}”; its output is ${fmtVector(n.output)}` +
      (same || !open ? "." : `, ${n.moved < 0.005 ? "where it was before." : `${fmt(n.moved)} away from where it was.`}`);
  },

  build(ui) {
    const names = ui.get("words"), reach = 1.8;
    const map = mapOfCells(ui, "Attention weights: a row for each word that asks, a column for each word that is asked; the darker, the larger", (row) => {
      const order = figure.numbers(ui.get).order;
      ui.set("word", order[row]);
    });
    const plot = ui.svg("The outputs of the eight words as dots in the plane");
    const at = (label, trait) => ui.slider({ label, trait, min: 0, max: names.length - 1, step: 1, show: (i) => `${i + 1}: ${names[i]}`, glides: true });
    ui.add(h("div", { class: "sa-side" }, map, plot),
      at("exchange place", "first"), at("with place", "second"),
      ui.toggle({ label: "causal: no word looks at a later place", trait: "causal" }),
      ui.slider({ label: "angle φ between query and key", trait: "turn", min: 0, max: 180, step: 5, show: (x) => `${fmt(x, 0)}°`, role: "query" }),
      ui.slider({ label: "watched word", trait: "word", min: 0, max: names.length - 1, step: 1, show: (i) => names[i], say: (i) => (names[i] === "." ? "full stop" : names[i]), glides: true }));
    return (n, width) => {
      const said = n.order.map((i) => names[i]), size = Math.min(width, 300), { group, sx, sy } = plane(size, reach), o = size / 2;
      // Cells keep their size, whichever word comes last.
      map.cells(n.weights, said, said, n.place, n.place, Math.min(width, 340) - 40 + Math.min(40, 3.7 * said[said.length - 1].length));
      // By word, not by place: so that a dot that stays is seen to stay.
      const dots = n.order.map((word, t) => ({ word, x: n.outputs[t] })).sort((a, b) => a.word - b.word);
      plot.paint([size, size], group, dots.map(({ word, x }) => {
        const on = word === ui.get("word");
        return [
          s("circle", { cx: sx(x[0]), cy: sy(x[1]), r: on ? 8 : 5, fill: "currentColor", "fill-opacity": on ? 1 : 0.55, "stroke-width": 0, class: "context" }),
          on && nameAt(names[word], sx(x[0]), sy(x[1]), o, size, { class: "context", "font-weight": 700 })];
      }));
    };
  },
};
