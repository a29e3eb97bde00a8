const OFFSETS = { "previous place": -1, "same place": 0, "next place": 1 };
const SCORES = [...Object.keys(OFFSETS), "end of sentence", "gold links", "entropy"];
const KINDS = { source: "English to English", target: "French to French", cross: "French to English" };
const figure = {
  name: "HeadsExplorer",
  jumps: ["order", "layer", "head", "row", "column"],

  maps(get) {
    return get("sentences")[get("sentence")].weights[get("kind")].flat().map((map) => map.map((row) => row.map((w) => w / 100)));
  },

  numbers(get) {
    const maps = this.maps(get), one = get("sentences")[get("sentence")], heads = one.weights.source[0].length;
    const scores = maps.map((map) => Number(this.score(map, get("kind"), get("score"), one.links).toFixed(9)));
    const order = scores.map((_, i) => i).sort((a, b) => scores[b] - scores[a] || a - b);
    const chosen = order[get("rank")], map = maps[chosen];
    const row = Math.min(get("row"), map.length - 1), column = Math.min(get("column"), map[0].length - 1);
    const scored = scores[chosen] < 0 ? {} : { scores, score_of_this_head: scores[chosen] }; // none has a score, or all
    return { ...scored, order, layer: Math.floor(chosen / heads) + 1, head: (chosen % heads) + 1,
      row, column, weight: map[row][column], map };
  },

  score(map, kind, name, links) {
    const rows = map.length, columns = map[0].length, mean = (xs) => (xs.length ? sum(xs) / xs.length : -1);
    if (name === "entropy") return mean(map.flatMap((row, t) => {
      const n = kind === "target" ? Math.min(t + 1, columns) : columns;
      return n > 1 ? [entropy(row) / Math.log(n)] : [];
    }));
    if (name === "gold links") {
      if (kind !== "cross") return -1;
      const linked = [...new Set(links.map(([, t]) => t))];
      return mean(linked.map((t) => (links.some(([i, u]) => u === t && i === argmax(map[t].slice(0, -1))) ? 1 : 0)));
    }
    if (name === "end of sentence") return kind === "target" ? -1 : mean(map.map((row) => row[columns - 1]));
    const by = OFFSETS[name];
    if (kind === "target" && by > 0) return -1;
    return mean(Array.from({ length: rows }, (_, t) => t).filter((t) => t + by >= 0 && t + by < columns).map((t) => map[t][t + by]));
  },

  // What the decoder reads stands beside its own rows and columns.
  names(get, { source, target } = get("sentences")[get("sentence")], kind = get("kind")) {
    const read = ["<bos>", ...target.slice(0, -1)];
    return { source: [source, source], target: [read, read], cross: [source, target] }[kind];
  },

  text(n, get, open) {
    const [columns, rows] = this.names(get), name = `Head ${n.head} of layer ${n.layer}`;
    const look = ` In the row of “${rows[n.row]}” it gives “${columns[n.column]}” a weight of ${fmt(n.weight)}.`;
    if (!open) return `${name}.${look}`;
    if (n.score_of_this_head === undefined) return `${name}. ${get("score") === "gold links" ? "Gold links join the two languages; this map has none." : "No word may look there: what comes later is hidden from it."}${look}`;
    const said = { "gold links": "share of words whose largest weight is on a gold link", entropy: "entropy, as a share of the largest possible", "end of sentence": "mean weight on the end of the sentence" };
    return `${name}: ${said[get("score")] ?? `mean weight on the ${get("score")}`} ${fmt(n.score_of_this_head)}, number ${get("rank") + 1} of ${n.order.length}.${look}`;
  },

  build(ui) {
    const { get } = ui, count = this.maps(get).length;
    const small = ui.svg("The maps of all heads, in the order of the score");
    small.addEventListener("click", (event) => {
      const place = event.target.closest("[data-rank]");
      if (place) ui.set("rank", Number(place.dataset.rank));
    });
    const large = mapOfCells(ui, "The map of the chosen head", (row, column) => { ui.model.set("row", row); ui.set("column", column); });
    // The tallest of the maps keeps its room below the others, so that no height jumps.
    const height = (columns, rows, width) => {
      large.cells(rows.map(() => columns.map(() => 0)), columns, rows, 0, 0, width);
      return Number(large.getAttribute("height"));
    };
    const tallest = (width) => ui.memo("tallest", [width], () => Math.max(...get("sentences").flatMap((one) =>
      Object.keys(KINDS).map((kind) => height(...this.names(get, one, kind), width)))));
    const last = (pick) => Math.max(...get("sentences").map(pick)) - 1;
    ui.add(
      get("sentences").length > 1 && ui.choice({ label: "sentence", options: get("sentences").map((_, i) => i + 1), trait: "sentence", read: () => get("sentence") + 1, write: (n) => ui.set("sentence", n - 1) }),
      ui.choice({ label: "who looks at whom", options: Object.values(KINDS), trait: "kind", read: () => KINDS[get("kind")], write: (label) => ui.set("kind", Object.keys(KINDS).find((kind) => KINDS[kind] === label)) }),
      ui.choice({ label: "order heads by", options: SCORES, trait: "score", read: () => get("score"), write: (score) => ui.set("score", score) }),
      small,
      ui.slider({ label: "head, in this order", trait: "rank", min: 0, max: count - 1, step: 1, show: (x) => String(x + 1), glides: true }),
      large,
      ui.slider({ label: "row", trait: "row", min: 0, max: last((one) => Math.max(one.source.length, one.target.length)), step: 1, show: (x) => this.names(get)[1][x] ?? this.names(get)[1].at(-1), glides: true }),
      ui.slider({ label: "column", trait: "column", min: 0, max: last((one) => Math.max(one.source.length, one.target.length)), step: 1, show: (x) => this.names(get)[0][x] ?? this.names(get)[0].at(-1), glides: true }));
    return (n, width) => {
      this.overview(small, n, get, ui.open(), width);
      const [columns, rows] = this.names(get), wide = Math.min(width, 420), room = tallest(wide);
      large.cells(n.map, columns, rows, n.row, n.column, wide);
      large.setAttribute("viewBox", `0 0 ${wide} ${room}`);
      large.setAttribute("height", room);
    };
  },

  overview(svg, n, get, open, width) {
    const maps = this.maps(get), heads = get("sentences")[0].weights.source[0].length, across = 4;
    const gap = 10, box = Math.min(110, (Math.min(width, 560) - gap * (across - 1)) / across), label = 20, tall = box + label + 8;
    const order = open ? n.order : n.order.map((_, i) => i).sort((a, b) => a - b), now = (n.layer - 1) * heads + n.head - 1;
    svg.paint([across * (box + gap) - gap, Math.ceil(order.length / across) * tall],
      order.map((which, place) => {
        const map = maps[which], x = (place % across) * (box + gap), y = Math.floor(place / across) * tall + label;
        const side = Math.min(box / map[0].length, box / map.length), score = open && n.scores ? `  ${fmt(n.scores[which])}` : "";
        return s("g", { "data-rank": n.order.indexOf(which), style: "cursor: pointer" },
          s("rect", { x, y: y - label, width: box, height: box + label, fill: "transparent", "stroke-width": 0, "pointer-events": "all" }),
          words(x, y - 6, `${Math.floor(which / heads) + 1}·${(which % heads) + 1}${score}`, { "font-size": 12, "font-weight": which === now ? 700 : 400 }),
          s("g", {}, map.map((row, t) => row.map((w, i) => w > 0.02 && weightCell(w, x + i * side, y + t * side, side)))),
          s("rect", { x, y, width: side * map[0].length, height: side * map.length, class: which === now ? "sa-cursor" : "sa-frame" }));
      }));
  },
};
