const figure = {
  name: "MapReader",
  jumps: ["shift", "threshold", "links", "row", "column"],

  numbers(get) {
    const shift = get("shift"), way = get("way"), merged = get("merge"), at = get("threshold");
    const threshold = get("thresholds")[at], { map, rows, columns } = this.shown(get);
    const found = this.links(map, way, threshold);
    const links = unique(found.map(([i, t]) => [columns[i], rows[t]]));
    const sure = get("sure"), possible = unique([...sure, ...get("possible")]);
    const right = count(links, sure), allowed = count(links, possible);
    const word = [get("source_words")[get("column")], get("target_words")[get("row")]];
    const row = merged ? word[1] : get("row"), column = merged ? word[0] : get("column");
    const linked = has(links, word) ? "linked" : "not linked";
    const gold = has(sure, word) ? "sure" : has(possible, word) ? "possible" : "no";
    const tested = get("rates")[way]?.[at][shift + 2]; // undefined where the figure has no test sentences
    return { shift, way, threshold, map, links, found: links.length, right, allowed, sure: sure.length,
      aer: 1 - (right + allowed) / (links.length + sure.length), ...(tested === undefined ? {} : { aer_test: tested }),
      row, column, weight: map[row][column], verdict: `${linked}, ${gold} gold link` };
  },

  // The map as it is drawn: merged or not, its rows moved; and which words its rows and columns are.
  shown(get) {
    let map = get("weights"), rows = get("target_words"), columns = get("source_words");
    if (get("merge")) {
      const words = (numbers) => [...new Set(numbers)];
      const pieces = (numbers, word) => numbers.flatMap((other, i) => (other === word ? [i] : []));
      // Columns are summed and rows averaged; rounded, so that what is equal stays equal.
      map = words(rows).map((t) => words(columns).map((i) => {
        const of = pieces(rows, t), to = pieces(columns, i);
        return Math.round((1e9 * sum(of.map((r) => sum(to.map((c) => map[r][c]))))) / of.length) / 1e9;
      }));
      rows = words(rows);
      columns = words(columns);
    }
    const empty = map[0].map(() => 0), shift = get("shift");
    return { map: map.map((_, t) => map[t - shift] ?? empty), rows, columns };
  },

  // As seqattn.evaluation.alignment_links: last row and column are the end of the sentence.
  links(map, way, threshold) {
    const T = map.length - 1, S = map[0].length - 1;
    const largest = (weights) => (Math.max(...weights) > 0 ? argmax(weights) : -1);
    const rows = [], columns = [];
    map.slice(0, T).forEach((weights, t) => weights.slice(0, S).forEach((w, i) => {
      const first = i === largest(weights), above = threshold > 0 && w > threshold;
      if (threshold > 0 && way === "rows" ? above : first || above) rows.push([i, t]);
    }));
    for (let i = 0; i < S; i++) {
      const t = largest(map.slice(0, T).map((weights) => weights[i]));
      if (t >= 0) columns.push([i, t]);
    }
    if (way !== "grow-diag") return inOrder(way === "rows" ? rows : columns);
    // What both say; then neighbours that one of them says, while they link a word without a link.
    const links = rows.filter((link) => has(columns, link)), either = unique([...rows, ...columns]);
    for (let added = true; added;) {
      added = false;
      for (const [i, t] of either.filter((link) => !has(links, link))) {
        const near = links.some(([a, b]) => Math.abs(i - a) <= 1 && Math.abs(t - b) <= 1);
        if (near && (!links.some(([a]) => a === i) || !links.some(([, b]) => b === t))) { links.push([i, t]); added = true; }
      }
    }
    return inOrder(links);
  },

  names(get, side) {
    const pieces = get(side), numbers = get(`${side}_words`);
    if (!get("merge")) return pieces;
    return [...new Set(numbers)].map((word) => pieces.filter((_, i) => numbers[i] === word).join("").replace(/^▁/, ""));
  },

  text(n, get) {
    const [source, target] = ["source", "target"].map((side) => this.names(get, side));
    const way = n.way === "grow-diag" ? "Both (grow-diag)" : n.way === "rows" ? "The rows" : "The columns";
    const moved = n.shift ? `, shifted ${n.shift > 0 ? "down" : "up"} by ${Math.abs(n.shift)},` : "";
    const more = n.allowed - n.right, wrong = n.found - n.allowed;
    const gold = { linked: ["right: a sure link", "allowed: a possible link", "wrong: no gold link"], "not linked": ["a sure link that is missed", "no loss: the link is only possible", "right: there is none"] };
    const [linked, kind] = n.verdict.split(", "), judged = gold[linked][["sure", "possible", "no"].indexOf(kind.split(" ")[0])];
    return `${way}${moved} give ${n.right} of ${n.sure} sure links, ${more} possible and ${wrong} wrong. Error rate of this sentence ${fmt(n.aer)}` +
      `${n.aer_test === undefined ? "" : `, of the test sentences ${fmt(n.aer_test)}`}. “${target[n.row]}” and “${source[n.column]}”: weight ${fmt(n.weight)}, ${linked}, ${judged}.`;
  },

  build(ui) {
    const get = ui.get, pieces = ["source", "target"].map(get), thresholds = get("thresholds");
    const first = (side, word) => (get("merge") ? get(`${side}_words`).indexOf(word) : word);
    const map = mapOfCells(ui, "Attention weights with gold links as boxes and the links that were read as marks", (t, i) => {
      const row = first("target", t), column = first("source", i);
      if (row === get("row") && column === get("column")) return;
      ui.model.set("row", row);
      ui.set("column", column);
    });
    const bars = [bar(), bar()], rates = [h("span", { class: "sa-num" }), h("span", { class: "sa-num" })];
    const name = (words) => (i) => `${i + 1} ${words[i]}`;
    const wholes = ["source", "target"].every((side) => new Set(get(`${side}_words`)).size === get(side).length);
    const tested = Object.keys(get("rates")).length > 0;
    const rate = (label, k) => h("div", { class: "sa-two" }, h("span", {}, label), bars[k], rates[k]);
    ui.add(
      ui.slider({ label: "rows shifted by", trait: "shift", min: -2, max: 2, step: 1, show: (x) => `${x > 0 ? "+" : ""}${fmt(x, 0)}`, glides: true }),
      ui.choice({ label: "links from", options: ["rows", "columns", "grow-diag"], trait: "way" }),
      ui.slider({ label: "all weights above", trait: "threshold", min: 0, max: thresholds.length - 1, step: 1, show: (k) => (thresholds[k] ? fmt(thresholds[k]) : "none"), glides: true }),
      !wholes && ui.toggle({ label: "merge the pieces of words", trait: "merge" }),
      map,
      h("p", { class: "sa-roles", "aria-hidden": "true" }, h("span", {}, "□ sure link"), h("span", {}, "⬚ possible link"), h("span", {}, "● read, sure or possible"), h("span", {}, "✕ read, wrong")),
      h("p", { class: "sa-heads" }, "alignment error rate"),
      rate("here", 0), tested && rate("test set", 1),
      ui.slider({ label: "target (row)", trait: "row", min: 0, max: pieces[1].length - 1, step: 1, show: name(pieces[1]), glides: true }),
      ui.slider({ label: "source (column)", trait: "column", min: 0, max: pieces[0].length - 1, step: 1, show: name(pieces[0]), glides: true }));
    // The map of pieces keeps its room below that of words, which has fewer rows.
    const tallest = (width) => ui.memo("tallest", [width], () => {
      map.cells(get("weights"), ...pieces, 0, 0, width);
      return Number(map.getAttribute("height"));
    });
    return (n, width) => {
      const room = tallest(width);
      [n.aer, n.aer_test ?? 0].forEach((rate, k) => { bars[k].set(Math.max(0, rate), "weights"); rates[k].textContent = fmt(rate); });
      const { rows, columns } = this.shown(get), now = figure.numbers(get), sure = get("sure"), possible = get("possible");
      const marks = this.links(now.map, now.way, now.threshold);
      map.cells(n.map, this.names(get, "source"), this.names(get, "target"), n.row, n.column, width, (t, i, x, y, side) => {
        const word = [columns[i], rows[t]], gold = has(sure, word) ? "sure" : has(possible, word) ? "possible" : "";
        return [
          gold && s("rect", { x: x + 2, y: y + 2, width: side - 4, height: side - 4, class: `sa-gold ${gold}` }),
          has(marks, [i, t]) && (gold
            ? s("circle", { cx: x + side / 2, cy: y + side / 2, r: Math.min(5, side / 4), class: "sa-read" })
            : s("path", { d: `M${x + side / 2 - 5} ${y + side / 2 - 5}l10 10m0 -10l-10 10`, class: "sa-read wrong" }))];
      });
      map.setAttribute("viewBox", `0 0 ${width} ${room}`);
      map.setAttribute("height", room);
    };
  },
};

const has = (links, [i, t]) => links.some(([a, b]) => a === i && b === t);
const inOrder = (links) => [...links].sort(([a, b], [c, d]) => a - c || b - d);
const unique = (links) => inOrder(links).filter(([i, t], k, all) => !k || all[k - 1][0] !== i || all[k - 1][1] !== t);
const count = (links, gold) => links.filter((link) => has(gold, link)).length;
