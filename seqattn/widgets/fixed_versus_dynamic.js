const figure = {
  name: "FixedVersusDynamic",

  // Which words of the text belong to its longest common subsequence with the reference.
  common(text, reference) {
    const out = text.split(/\s+/).filter(Boolean), ref = reference.split(/\s+/).filter(Boolean);
    const best = Array.from({ length: out.length + 1 }, () => new Array(ref.length + 1).fill(0));
    for (let i = out.length - 1; i >= 0; i--)
      for (let j = ref.length - 1; j >= 0; j--)
        best[i][j] = out[i] === ref[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
    const fits = [];
    for (let i = 0, j = 0; i < out.length; i++) {
      while (j < ref.length && out[i] !== ref[j] && best[i][j + 1] === best[i][j]) j++;
      fits.push(j < ref.length && out[i] === ref[j]);
      if (fits[i]) j++;
    }
    return { out, fits, wrong: out.length - best[0][0], missing: ref.length - best[0][0] };
  },

  numbers(get) {
    const at = get("index"), fixed = get("fixed")[at], attention = get("attention")[at], example = get("examples")[at];
    const numbers = { length: get("lengths")[at], fixed, attention, gap: attention - fixed };
    if (example) for (const model of ["fixed", "attention"]) {
      const { wrong, missing } = this.common(example[model], example.reference);
      numbers[`${model}_wrong_words`] = wrong;
      numbers[`${model}_missing_words`] = missing;
    }
    return numbers;
  },

  text(n) {
    return `At ${short(n.length)} words: fixed vector ${fmt(n.fixed, 1)}, attention ${fmt(n.attention, 1)}, ` +
      `${fmt(Math.abs(n.gap), 1)} points ${n.gap < 0 ? "in favour of the fixed vector" : "in favour of attention"}.`;
  },

  build(ui) {
    const lengths = ui.get("lengths");
    let back = (x) => x;
    const plot = ui.svg("Quality of both models against sentence length", (x) => {
      const gaps = lengths.map((length) => Math.abs(length - back(x)));
      ui.set("index", gaps.indexOf(Math.min(...gaps)));
    });
    const texts = h("dl", { class: "sa-texts" });
    ui.add(plot,
      ui.slider({ label: "sentence length (words)", trait: "index", min: 0, max: lengths.length - 1, step: 1, show: (i) => short(lengths[i]) }),
      ui.get("examples").length > 0 && texts,
      ui.get("note") && h("p", { class: "sa-caption" }, ui.get("note")));
    return (n, width) => {
      back = this.curves(plot, n, ui.get, width);
      const example = ui.get("examples")[ui.get("index")];
      if (example) texts.replaceChildren(
        ...this.entry("source", example.source), ...this.entry("reference", example.reference),
        ...this.entry("fixed vector", this.marked(example.fixed, example.reference), "warm"),
        ...this.entry("attention", this.marked(example.attention, example.reference), "main"));
    };
  },

  entry: (label, content, kind = "") => [h("dt", { class: kind }, label), h("dd", {}, content)],
  marked(text, reference) {
    const { out, fits, missing } = this.common(text, reference);
    return [out.map((word, i) => [i ? " " : "", fits[i] ? word : h("mark", {}, word)]),
      missing ? h("span", { class: "soft" }, ` (${missing} ${missing === 1 ? "word" : "words"} missing)`) : ""];
  },

  curves(plot, n, get, width) {
    const lengths = get("lengths"), low = Math.min(0, ...lengths), high = lengths.at(-1) * 1.02, right = width - 86;
    const top = Math.max(100 * (Math.max(...get("attention"), ...get("fixed")) > 1.5) || 1);
    const { group, sx, sy } = axes({ x: [low, high], y: [0, top], box: [38, 30, right, 210], xticks: ticks(low, high, 6), yticks: ticks(0, top, 4),
      xlabel: "sentence length (words)", ylabel: get("ylabel") });
    const curve = (name, kind) => {
      const values = get(name), spread = get(`${name}_spread`), at = (i, shift) => [sx(lengths[i]), sy(clamp(values[i] + shift * (spread[i] ?? 0), 0, top))];
      const indices = lengths.map((_, i) => i);
      return [
        spread.length > 0 && s("polygon", { points: [...indices.map((i) => at(i, 1)), ...indices.map((i) => at(i, -1)).reverse()].join(" "), fill: "currentColor", "fill-opacity": 0.18, class: kind, "stroke-width": 0 }),
        line(indices.map((i) => at(i, 0)), { class: kind, "stroke-width": 2.5, "stroke-linejoin": "round" }),
        s("circle", { cx: sx(n.length), cy: sy(n[name]), r: 5.5, fill: "currentColor", class: kind })];
    };
    const ends = [sy(get("fixed").at(-1)), sy(get("attention").at(-1))];
    if (Math.abs(ends[0] - ends[1]) < 16) { ends[0] += 10; ends[1] -= 10; }
    plot.paint([width, 248], group,
      get("trained_to") > 0 && [
        s("line", { x1: sx(get("trained_to")), x2: sx(get("trained_to")), y1: 30, y2: 210, stroke: "currentColor", class: "soft", "stroke-dasharray": "2 4" }),
        words(sx(get("trained_to")) + 5, 204, "longest in training", { class: "sa-soft" })],
      s("line", { x1: sx(n.length), x2: sx(n.length), y1: 30, y2: 210, stroke: "currentColor" }),
      curve("fixed", "warm"), curve("attention", "main"),
      words(right + 10, ends[0] + 4, "fixed vector", { class: "warm" }), words(right + 10, ends[1] + 4, "attention", { class: "main" }));
    return (px) => low + ((px - 38) / (right - 38)) * (high - low);
  },
};
