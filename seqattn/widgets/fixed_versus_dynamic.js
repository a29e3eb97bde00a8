const figure = {
  name: "FixedVersusDynamic",

  // A text laid against its reference by their longest common subsequence: words that fit, that do
  // not, and, where they are missing, those of the reference.
  compared(text, reference) {
    const out = text.split(/\s+/).filter(Boolean), ref = reference.split(/\s+/).filter(Boolean);
    const best = Array.from({ length: out.length + 1 }, () => new Array(ref.length + 1).fill(0));
    for (let i = out.length - 1; i >= 0; i--)
      for (let j = ref.length - 1; j >= 0; j--)
        best[i][j] = out[i] === ref[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
    const words = [];
    for (let i = 0, j = 0; i < out.length || j < ref.length;) {
      if (i < out.length && out[i] === ref[j]) words.push([out[i++], "fits"]), j++;
      else if (i < out.length && (j === ref.length || best[i + 1][j] >= best[i][j + 1])) words.push([out[i++], "wrong"]);
      else words.push([ref[j++], "missing"]);
    }
    return words;
  },

  numbers(get) {
    const at = get("index"), fixed = get("fixed")[at], attention = get("attention")[at], example = get("examples")[at];
    const numbers = { length: get("lengths")[at], fixed, attention, gap: attention - fixed };
    if (example) for (const model of ["fixed", "attention"]) {
      const found = this.compared(example[model], example.reference);
      for (const kind of ["wrong", "missing"]) numbers[`${model}_${kind}_words`] = found.filter((word) => word[1] === kind).length;
    }
    return numbers;
  },

  text(n, get, open) {
    if (!open) return "The curves, and what both models wrote, appear with your answer.";
    return `At ${short(n.length)} words: fixed vector ${fmt(n.fixed, 1)}, attention ${fmt(n.attention, 1)}, ` +
      `${fmt(Math.abs(n.gap), 1)} points ${n.gap < 0 ? "in favour of the fixed vector" : "in favour of attention"}.`;
  },

  build(ui) {
    const lengths = ui.get("lengths");
    let back = (x) => x;
    const plot = ui.svg("Quality of both models against sentence length", (x) => {
      const gaps = lengths.map((length) => Math.abs(length - back(x)));
      ui.set("index", gaps.indexOf(Math.min(...gaps)));
    }, "index");
    // All lie in one place and one is seen, so that the place is always as high as the highest.
    const texts = ui.get("examples").map((example) => h("dl", { class: "sa-texts" },
      this.entry("source", example.source), this.entry("reference", example.reference),
      this.entry("fixed vector", this.marked(example.fixed, example.reference), "soft"),
      this.entry("attention", this.marked(example.attention, example.reference), "weights")));
    ui.add(plot,
      ui.slider({ label: "sentence length (words)", trait: "index", min: 0, max: lengths.length - 1, step: 1, show: (i) => short(lengths[i]), glides: true }),
      texts.length > 0 && [h("div", { class: "sa-stack" }, texts),
        h("ul", { class: "sa-heads sa-told" },
          h("li", {}, h("mark", {}, "word"), " does not fit the reference"), h("li", {}, h("del", {}, "word"), " of the reference is missing there"))],
      ui.get("note") && h("p", { class: "sa-caption" }, ui.get("note")));
    return (n, width) => {
      back = this.curves(plot, n, ui, width);
      texts.forEach((text, i) => text.classList.toggle("sa-room", i !== ui.get("index")));
    };
  },

  entry: (label, content, kind = "") => [h("dt", { class: kind }, label), h("dd", { class: kind && "sa-told" }, content)],
  marked: (text, reference) => figure.compared(text, reference).map(([word, kind], i) =>
    [i ? " " : "", kind === "fits" ? word : h(kind === "wrong" ? "mark" : "del", {}, word)]),

  curves(plot, n, { get, open }, width) {
    const lengths = get("lengths"), low = Math.min(0, ...lengths), high = lengths.at(-1) * 1.02, right = width - 86;
    const top = Math.max(...get("attention"), ...get("fixed")) > 1.5 ? 100 : 1;
    const { group, sx, sy } = axes({ x: [low, high], y: [0, top], box: [38, 30, right, 210], xticks: ticks(low, high, 6), yticks: ticks(0, top, 4),
      xlabel: "sentence length (words)", ylabel: get("ylabel") });
    const curve = (name, kind) => {
      const values = get(name), spread = get(`${name}_spread`), at = (i, shift) => [sx(lengths[i]), sy(clamp(values[i] + shift * (spread[i] ?? 0), 0, top))];
      const indices = lengths.map((_, i) => i);
      return [
        spread.length > 0 && s("polygon", { points: [...indices.map((i) => at(i, 1)), ...indices.map((i) => at(i, -1)).reverse()].join(" "), fill: "currentColor", "fill-opacity": 0.18, class: kind, "stroke-width": 0 }),
        line(indices.map((i) => at(i, 0)), { class: kind, "stroke-width": 2.5, "stroke-linejoin": "round" })];
    };
    const ends = [sy(get("fixed").at(-1)), sy(get("attention").at(-1))];
    if (Math.abs(ends[0] - ends[1]) < 16) { ends[0] += 10; ends[1] -= 10; }
    const mark = get("trained_to") > 0 && sx(get("trained_to"));
    plot.paint([width, 254], group,
      mark && s("line", { x1: mark, x2: mark, y1: 10, y2: 210, stroke: "currentColor", class: "soft", "stroke-dasharray": "2 4" }),
      open() && s("line", { x1: sx(n.length), x2: sx(n.length), y1: 30, y2: 210, stroke: "currentColor" }),
      open() ? [
        s("g", { class: "sa-sweep" }, curve("fixed", "soft"), curve("attention", "weights")),
        s("circle", { cx: sx(n.length), cy: sy(n.fixed), r: 5.5, fill: "currentColor", class: "soft sa-ring" }),
        s("circle", { cx: sx(n.length), cy: sy(n.attention), r: 5.5, fill: "currentColor", class: "weights sa-ring" }),
        words(right + 10, ends[0] + 4, "fixed vector", { class: "sa-soft" }), words(right + 10, ends[1] + 4, "attention", { class: "weights" })] :
        // Between two lines of the grid, and beside the dotted one.
        words(Math.max(((mark || 38) + right) / 2, (mark || 38) + 80), sy(0.625 * top) + 4, "appears with your answer", { "text-anchor": "middle", class: "sa-later" }),
      mark && words(mark + 5, 17, "longest in training", { class: "sa-soft" }));
    return (px) => low + ((px - 38) / (right - 38)) * (high - low);
  },
};
