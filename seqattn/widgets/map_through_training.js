const figure = {
  name: "MapThroughTraining",
  jumps: ["updates", "row", "column"],

  numbers(get) {
    const row = get("row"), column = get("column"), map = get("maps")[get("step")], weights = map[row];
    return { updates: get("updates")[get("step")], row, column, map, weight: weights[column],
      largest: get("source")[argmax(weights)], entropy: entropy(weights), cell_through_training: get("maps").map((map) => map[row][column]) };
  },

  text(n, get) {
    const source = get("source")[n.column], share = n.map[n.row][n.column];
    return `After ${short(n.updates)} updates, to write “${get("target")[n.row]}”, the model gives “${source}” a weight of ${fmt(share)}` +
      `${source === n.largest ? ", the largest of the row" : `; the largest of the row is on “${n.largest}”`}. The row is as spread out as ${fmt(Math.exp(n.entropy), 1)} equal weights.`;
  },

  build(ui) {
    const source = ui.get("source"), target = ui.get("target"), updates = ui.get("updates");
    // A mouse reads by passing over a cell, a finger by touching it.
    const pick = (event) => {
      const cell = event.target.closest("[data-cell]");
      if (!cell || (event.type === "pointermove" && event.pointerType === "touch")) return;
      const [row, column] = cell.dataset.cell.split(",").map(Number);
      if (row === ui.get("row") && column === ui.get("column")) return;
      ui.model.set("row", row);
      ui.set("column", column);
    };
    const map = ui.svg("Attention weights: a row for each target word, a column for each source word; the darker, the larger");
    for (const event of ["pointermove", "click"]) map.addEventListener(event, pick);
    const course = ui.svg("The weight of the chosen cell through the training");
    const name = (words) => (i) => `${i + 1} ${words[i]}`;
    ui.add(
      ui.slider({ label: "updates of training", trait: "step", min: 0, max: updates.length - 1, step: 1, show: (i) => short(updates[i]), glides: true }),
      map,
      ui.slider({ label: "target word (row)", trait: "row", min: 0, max: target.length - 1, step: 1, show: name(target), glides: true }),
      ui.slider({ label: "source word (column)", trait: "column", min: 0, max: source.length - 1, step: 1, show: name(source), glides: true }),
      course);
    return (n, width) => { this.cells(map, n, ui, width); this.course(course, n, ui, width); };
  },

  cells(plot, n, ui, width) {
    const source = ui.get("source"), target = ui.get("target"), wide = (words) => 7.4 * Math.max(...words.map((word) => word.length));
    const left = Math.min(width * 0.3, wide(target) + 10), over = Math.min(110, wide(source) * 0.87 + 16);
    // The last word's name leans out to the right.
    const side = Math.min(44, (width - left - Math.min(40, wide(source.slice(-1)) * 0.5)) / source.length), x = (i) => left + i * side, y = (t) => over + t * side;
    const chosen = (on) => ({ "font-weight": on ? 700 : 400 });
    plot.paint([width, over + target.length * side + 4],
      source.map((word, i) => words(0, 0, word, { transform: `translate(${x(i + 0.5) + 4} ${over - 7}) rotate(-60)`, ...chosen(i === n.column) })),
      target.map((word, t) => words(left - 6, y(t + 0.5) + 4, word, { "text-anchor": "end", ...chosen(t === n.row) })),
      s("g", { class: "weights" }, n.map.map((row, t) => row.map((w, i) =>
        s("rect", { x: x(i), y: y(t), width: side, height: side, fill: "currentColor", "fill-opacity": Number(w.toFixed(3)), "stroke-width": 0, "data-cell": `${t},${i}`, "pointer-events": "all" })))),
      s("rect", { x: left, y: over, width: source.length * side, height: target.length * side, class: "sa-frame" }),
      s("rect", { x: x(n.column), y: y(n.row), width: side, height: side, class: "sa-cursor", "pointer-events": "none" }));
  },

  course(plot, n, ui, width) {
    const updates = ui.get("updates");
    const { group, sx, sy } = axes({ x: [Math.min(0, updates[0]), updates.at(-1)], y: [0, 1], box: [38, 28, width - 14, 108], xticks: ticks(0, updates.at(-1), width < 480 ? 3 : 6),
      yticks: [0, 0.5, 1].map((v) => [v, String(v)]), xlabel: "updates of training", ylabel: "weight of this cell" });
    const at = sx(n.updates);
    plot.paint([width, 146], group,
      line(updates.map((step, i) => [sx(step), sy(n.cell_through_training[i])]), { class: "weights", "stroke-width": 2.5, "stroke-linejoin": "round" }),
      s("line", { x1: at, x2: at, y1: 28, y2: 108, stroke: "currentColor" }),
      s("circle", { cx: at, cy: sy(n.weight), r: 5, fill: "currentColor", class: "weights sa-ring" }));
  },
};
