const END = "<eos>", WIDEST = 4;

const figure = {
  name: "BeamTree",
  jumps: ["width", "alpha", "probabilities", "log_p", "scores"],

  row: (get, words) => get("table")[words.join(" ")] ?? [[END, 1]],

  // The search, step by step: what it holds, and the beginnings that it looked at and let go.
  search(get, width) {
    let beams = [{ words: [], log_p: 0, done: false }];
    const steps = [];
    while (beams.some((beam) => !beam.done)) {
      const ended = beams.filter((beam) => beam.done);
      const seen = beams.filter((beam) => !beam.done).flatMap(({ words, log_p }) =>
        this.row(get, words).filter(([, p]) => p > 0)
          .map(([word, p]) => ({ words: [...words, word], log_p: log_p + Math.log(p), done: word === END })));
      const order = [...seen].sort((a, b) => b.log_p - a.log_p), room = width - ended.length;
      beams = [...ended, ...order.slice(0, room)];
      steps.push({ held: beams, dropped: order.slice(room) });
    }
    return steps;
  },

  numbers(get) {
    const width = get("width"), alpha = get("alpha"), steps = this.search(get, width);
    const score = ({ words, log_p }) => log_p / ((5 + words.length) / 6) ** alpha;
    const found = [...steps.at(-1).held].sort((a, b) => score(b) - score(a));
    return { width, alpha, held: steps.map(({ held }) => held.map(({ words }) => words.join(" "))),
      found: found.map(({ words }) => words.slice(0, -1).join(" ")), probabilities: found.map(({ log_p }) => Math.exp(log_p)),
      log_p: found.map(({ log_p }) => log_p), scores: found.map(score) };
  },

  text(n, get) {
    const dropped = sum(this.search(get, n.width).map((step) => step.dropped.length));
    return `With a width of ${n.width} the search drops ${dropped} of the beginnings that the figure knows. It ends with “${n.found[0]}”: ` +
      `p = ${fmt(n.probabilities[0], 3)}, log p = ${fmt(n.log_p[0], 3)}, score at α = ${fmt(n.alpha)}: ${fmt(n.scores[0], 3)}.`.replaceAll(" = ", "\u00a0=\u00a0");
  },

  // Every beginning that a search of any width looked at, and what became of it in this one. So the
  // tree keeps its shape and place, and a wider beam is seen to reach what a narrower one did not.
  tree(get, width) {
    const fate = new Map(), drawn = new Set();
    for (let other = 1; other <= WIDEST; other++) this.search(get, other).forEach(({ held, dropped }, t) => {
      held.concat(dropped.slice(0, 1)).forEach(({ words }) => drawn.add(words.join(" ")));
      if (other !== width) return;
      held.forEach(({ words }) => fate.set(words.join(" "), { kept: true }));
      dropped.forEach(({ words }) => fate.set(words.join(" "), { fell: t + 1 }));
    });
    const grow = (words) => (words.at(-1) === END ? [] : this.row(get, words)).map(([word, p]) => {
      const name = [...words, word].join(" ");
      return (this.small(get) || drawn.has(name)) && { name, word, p, depth: words.length + 1, ...fate.get(name), children: grow([...words, word]) };
    }).filter(Boolean);
    return grow([]);
  },

  // A table of a few lines is drawn whole; of a model's, what the search looked at.
  small: (get) => Object.keys(get("table")).length <= 12,

  // The word, its probability, and the step at which it fell.
  label({ word, p, fell }) {
    const chance = p < 0.005 ? "<.01" : p > 0.995 && p < 1 ? ">.99" : fmt(p).replace(/^0/, "");
    return [word === END ? "end" : word, chance, fell ? `✗ ${fell}` : ""].join(" ").trim();
  },

  // Lines from above to below: a beginning on the line of its likeliest continuation, the others as
  // close beneath as their columns have room. Returns how many lines there are.
  place(nodes, free = []) {
    for (const node of nodes) {
      const { depth, children } = node, least = free[depth] ?? 0;
      this.place(children, free);
      node.y = children[0]?.y ?? least;
      if (node.y < least) this.lower(node, least - node.y, free);
      free[depth] = node.y + 1;
    }
    return Math.max(...free.filter(Number.isFinite));
  },
  lower(node, by, free) {
    node.y += by;
    for (const child of node.children) {
      this.lower(child, by, free);
      free[child.depth] = child.y + 1;
    }
  },

  build(ui) {
    const { get } = ui, all = (nodes) => nodes.flatMap((node) => [node, ...all(node.children)]);
    // A column is as wide as its longest label at any width, so that nothing moves.
    const trees = Array.from({ length: WIDEST }, (_, i) => this.tree(get, i + 1)), labels = trees.flatMap(all);
    const lines = this.place(trees[0]), depth = Math.max(...labels.map((node) => node.depth));
    const need = Array.from({ length: depth }, (_, d) => Math.max(40, ...labels.filter((node) => node.depth === d + 1).map((node) => 22 + 7.4 * this.label(node).length)));
    // A line of the table is as high as its longest sentence at any width.
    const found = Array.from({ length: WIDEST }, (_, i) => this.search(get, i + 1).at(-1).held.map(({ words }) => words.slice(0, -1).join(" "))).flat();
    const longest = found.reduce((a, b) => (b.length > a.length ? b : a));
    const ended = (sentence) => h("div", { class: "sa-stack" }, h("span", {}, sentence), h("span", { class: "sa-room", "aria-hidden": "true" }, longest));
    const svg = ui.svg("The beginnings as a tree, from left to right");
    const body = h("tbody"), head = (label) => h("th", { scope: "col" }, label);
    ui.add(
      ui.slider({ label: "width of the beam", trait: "width", min: 1, max: WIDEST, step: 1, show: (x) => fmt(x, 0), glides: true }),
      ui.slider({ label: "length penalty α", trait: "alpha", min: 0, max: 2, step: 0.05 }),
      h("div", { class: "sa-scroll", tabindex: "0", role: "group", "aria-label": "Tree of beginnings" }, svg),
      h("p", { class: "sa-roles" }, "Bold: the sentence found. Solid: kept. ✗ 2: dropped at step 2. Dotted: not looked at."),
      h("table", { class: "sa-ended" }, h("thead", {}, h("tr", {}, [head("ended"), head("p"), head("log p"), head("score")])), body));
    return (n, width) => {
      const tree = this.tree(get, get("width")), row = 28, foot = 6;
      this.place(tree);
      // What room is left is shared out.
      const more = clamp((width - sum(need)) / depth, 0, 60), x = (d) => sum(need.slice(0, d)) + d * more;
      const wide = Math.max(width, Math.ceil(x(depth))), y = (node) => 22 + row * node.y;
      const best = `${n.found[0]} ${END}`;
      const draw = (node, from) => {
        const won = `${best} `.startsWith(`${node.name} `), left = x(node.depth - 1), to = y(node);
        const kind = won ? "sa-won" : node.kept ? "sa-kept" : node.fell ? "sa-fell" : "sa-untried";
        return s("g", { class: kind },
          s("path", { d: `M${left},${from} C${left + 8},${from} ${left},${to} ${left + 12},${to} H${x(node.depth)}`, fill: "none" }),
          words(left + 13, to - 4, this.label(node)),
          node.children.map((child) => draw(child, to)));
      };
      const root = tree[0].y;
      svg.style.width = svg.style.minWidth = `${wide}px`;
      svg.paint([wide, 22 + row * (lines - 1) + foot], tree.map((node) => draw(node, 22 + row * root)));
      body.replaceChildren(...Array.from({ length: WIDEST }, (_, i) => h("tr", { class: i ? "" : "sa-first" },
        n.found[i] === undefined ? [h("td", {}, ended("")), h("td"), h("td"), h("td")]
          : [h("th", { scope: "row" }, ended(n.found[i] || "(nothing)")), ...[n.probabilities, n.log_p, n.scores].map((values) => h("td", {}, fmt(values[i], 3)))])));
    };
  },
};
