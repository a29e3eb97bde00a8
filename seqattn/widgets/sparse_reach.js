const figure = {
  name: "SparseReach",
  jumps: ["pairs", "all_pairs", "reached", "layers_to_connect"],
  size: 32, most: 16,
  patterns: ["window", "window + one global word", "window + stride", "blocks", "blocks + stride"],

  mask(get) {
    const pattern = get("pattern"), w = get("width");
    const sees = (i, j) => (pattern.startsWith("window") ? Math.abs(i - j) <= w : Math.floor(i / w) === Math.floor(j / w)) ||
      (pattern.endsWith("stride") && (i - j) % w === 0) || (pattern.endsWith("word") && (i === 0 || j === 0));
    return Array.from({ length: this.size }, (_, i) => Array.from({ length: this.size }, (_, j) => sees(i, j) && !(get("causal") && j > i)));
  },
  // What a position has heard of after one more layer: what those that it attends to had heard of.
  further: (mask, heard) => heard.map((own, i) => own.map((known, j) => known || mask[i].some((sees, k) => sees && heard[k][j]))),
  itself: (size) => Array.from({ length: size }, (_, i) => Array.from({ length: size }, (_, j) => i === j)),

  // Who has heard of whom after 0, 1, ... layers, until nothing new is heard.
  layers(get) {
    const mask = this.mask(get), found = [this.itself(this.size)];
    for (;;) {
      const next = this.further(mask, found.at(-1));
      if (next.every((row, i) => row.every((x, j) => x === found.at(-1)[i][j]))) return found;
      found.push(next);
    }
  },
  at: (layers, k) => layers[Math.min(k, layers.length - 1)],

  numbers(get) {
    const mask = this.mask(get), layers = this.layers(get), causal = get("causal"), n = this.size;
    const count = (row) => row.filter(Boolean).length, all = causal ? (n * (n + 1)) / 2 : n * n;
    return { pairs: sum(mask.map(count)), all_pairs: all,
      reached: Array.from({ length: get("layers") + 1 }, (_, k) => count(this.at(layers, k)[get("word") - 1])),
      layers_to_connect: sum(layers.at(-1).map(count)) === all ? layers.length - 1 : "never" };
  },

  text(n, get, open) {
    const layers = n.reached.length - 1, first = `${n.pairs.toLocaleString("en")} of ${n.all_pairs.toLocaleString("en")} pairs are scored in a layer. `;
    if (!open) return first;
    const all = n.layers_to_connect === "never" ? "No number of layers connects all words." : `All are connected after ${n.layers_to_connect} ${n.layers_to_connect === 1 ? "layer" : "layers"}.`;
    return `${first}After ${layers} ${layers === 1 ? "layer" : "layers"} word ${get("word")} can have heard of ${n.reached.at(-1) === 1 ? "itself alone" : `${n.reached.at(-1)} words, itself among them`}. ${all}`;
  },

  build(ui) {
    const pattern = ui.svg("The pattern as a grid: a row for each word that asks, a column for each word that may be attended");
    const heard = ui.svg("A line of squares for each layer: the words that the chosen word can have heard of");
    ui.add(
      ui.choice({ label: "pattern", options: this.patterns, trait: "pattern", read: () => ui.get("pattern"), write: (x) => ui.set("pattern", x) }),
      ui.slider({ label: "width w", trait: "width", min: 1, max: 8, step: 1, show: (x) => fmt(x, 0), glides: true }),
      ui.toggle({ label: "causal: look back alone", trait: "causal" }),
      ui.slider({ label: "layers", trait: "layers", min: 1, max: this.most, step: 1, show: (x) => fmt(x, 0), glides: true }),
      ui.slider({ label: "word that asks", trait: "word", min: 1, max: this.size, step: 1, show: (x) => fmt(x, 0), role: "query", glides: true }),
      h("div", { class: "sa-pair" }, pattern, heard));
    return (n, width) => {
      const side = width < 520 ? width : (width - 24) / 2;
      this.pattern(pattern, ui, side);
      this.heard(heard, ui, side);
    };
  },

  pattern(svg, ui, side) {
    const mask = this.mask(ui.get), cell = Math.min(side, 300) / this.size, row = ui.get("word") - 1;
    svg.paint([side, 24 + this.size * cell + 4],
      words(0, 14, "scored in one layer", { class: "sa-soft" }),
      s("g", { transform: "translate(0 24)" },
        s("rect", { x: 0, y: 0, width: this.size * cell, height: this.size * cell, class: "sa-frame" }),
        // Neighbours in a row are drawn as one.
        mask.map((sees, i) => this.runs(sees).map(([from, to]) =>
          s("rect", { x: from * cell + 0.5, y: i * cell + 0.5, width: (to - from) * cell - 1, height: cell - 1, fill: "currentColor", class: i === row ? "query" : "weights", style: "stroke:none" })))));
  },

  heard(svg, ui, side) {
    const layers = this.layers(ui.get), shown = ui.open() ? ui.get("layers") : 0, row = ui.get("word") - 1;
    const left = 22, cell = (side - left) / this.size, high = 15;
    const at = (k) => 24 + k * high;
    svg.paint([side, 24 + (this.most + 1) * high + 4],
      words(0, 14, "has heard of, after layer …", { class: "sa-soft" }),
      Array.from({ length: this.most + 1 }, (_, k) => [
        words(left - 6, at(k) + 12, String(k), { "text-anchor": "end", class: "sa-soft" }),
        s("rect", { x: left, y: at(k) + 2, width: this.size * cell, height: high - 4, class: "sa-frame" }),
        k <= shown && this.runs(this.at(layers, k)[row]).map(([from, to]) =>
          s("rect", { x: left + from * cell, y: at(k) + 2, width: (to - from) * cell, height: high - 4, fill: "currentColor", class: k ? "context" : "query", style: "stroke:none" }))]));
  },

  runs(flags) {
    const found = [];
    flags.forEach((flag, j) => {
      if (flag && found.at(-1)?.[1] === j) found.at(-1)[1] = j + 1;
      else if (flag) found.push([j, j + 1]);
    });
    return found;
  },
};
