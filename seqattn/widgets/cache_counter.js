const figure = {
  name: "CacheCounter",
  sizes: [64, 128, 256, 512, 1024],

  numbers(get) {
    const T = get("words"), L = get("layers"), d = get("size"), kv = (d * get("groups")) / 8;
    const word = 2 * d * d + 2 * d * kv + 8 * d * d;
    // Sums of t and of t squared in closed form; PyTorch adds the steps one by one.
    const kept = (n) => L * (n * word + d * n * (n + 1));
    const anew = (n) => L * ((word * n * (n + 1)) / 2 + (d * n * (n + 1) * (2 * n + 1)) / 3);
    const half = Math.max(1, Math.floor(T / 2));
    return { with_cache: kept(T), without_cache: anew(T), times: anew(T) / kept(T),
      with_cache_by_words: [kept(half), kept(T)], without_cache_by_words: [anew(half), anew(T)],
      kept_numbers: 2 * L * T * kv, kept_kilobytes: (2 * L * T * kv * 2) / 1000 };
  },

  // A count with a word for its size, since few read 10⁹ at a glance.
  count(x) {
    const [size, name] = x >= 1e12 ? [1e12, " trillion"] : x >= 1e9 ? [1e9, " billion"] : x >= 1e6 ? [1e6, " million"] : x >= 1e3 ? [1e3, " thousand"] : [1, ""];
    return `${short(Number((x / size).toPrecision(3)))}${name}`;
  },

  text(n, get, open) {
    const T = get("words"), start = `${T} ${T === 1 ? "word" : "words"}: ${this.count(n.without_cache)} multiplications without the cache`;
    if (!open) return `${start}.`;
    return `${start}, ${this.count(n.with_cache)} with it: ${T === 1 ? "as many" : `${short(Number(n.times.toPrecision(3)))} times fewer`}. ` +
      `The cache keeps ${this.count(n.kept_numbers)} numbers for one sentence, ${short(Number(n.kept_kilobytes.toPrecision(3)))} kB at two bytes each.`;
  },

  build(ui) {
    const plot = ui.svg("Multiplications of the whole sentence by its length, with the cache and without; both axes logarithmic");
    ui.add(plot,
      ui.slider({ label: "words, T", trait: "words", min: 1, max: 400, step: 1, show: (x) => fmt(x, 0) }),
      ui.slider({ label: "layers, L", trait: "layers", min: 1, max: 12, step: 1, show: (x) => fmt(x, 0) }),
      ui.choice({ label: "size of the states, d", options: this.sizes, trait: "size", read: () => ui.get("size"), write: (x) => ui.set("size", x) }),
      ui.choice({ label: "heads with keys and values of their own, of 8", options: [8, 4, 2, 1], trait: "groups", read: () => ui.get("groups"), write: (x) => ui.set("groups", x) }));
    return (n, width) => this.curves(plot, n, ui, width);
  },

  curves(plot, n, ui, width) {
    const T = ui.get("words"), at = (words) => this.numbers((name) => (name === "words" ? words : ui.get(name)));
    const lengths = [1, 2, 5, 10, 20, 50, 100, 200, 400], found = lengths.map(at);
    const low = Math.floor(Math.log10(found[0].with_cache)), high = Math.ceil(Math.log10(found.at(-1).without_cache));
    const powers = Array.from({ length: high - low + 1 }, (_, i) => low + i);
    const { group, sx, sy } = axes({ x: [0, Math.log10(400)], y: [low, high], box: [46, 32, width - 14, 210],
      xticks: [1, 10, 100, 400].map((v) => [Math.log10(v), String(v)]), yticks: powers.map((p) => [p, powerOfTen(p)]), xlabel: "words written", ylabel: "multiplications, all steps together" });
    const path = (name) => lengths.map((words, i) => [sx(Math.log10(words)), sy(Math.log10(found[i][name]))]);
    const dots = (name, kind) => s("circle", { cx: sx(Math.log10(T)), cy: sy(Math.log10(n[name])), r: 5, fill: "currentColor", "stroke-width": 0, class: kind });
    const mid = Math.log10(12);
    plot.paint([width, 252], group,
      line(path("without_cache"), { class: "soft", "stroke-width": 2, "stroke-dasharray": "6 4" }), dots("without_cache", "soft"),
      words(sx(mid), sy(Math.log10(at(12).without_cache)) - 14, "without", { "text-anchor": "end" }),
      ui.open() && [line(path("with_cache"), { class: "keys", "stroke-width": 2.2 }), dots("with_cache", "keys"),
        words(sx(mid), sy(Math.log10(at(12).with_cache)) + 24, "with the cache", { class: "keys" })]);
  },
};
