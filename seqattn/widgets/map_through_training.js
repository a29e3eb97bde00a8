const figure = {
  name: "MapThroughTraining",
  jumps: ["updates", "row", "column"],

  numbers(get) {
    const row = get("row"), column = get("column"), map = get("maps")[get("step")], weights = map[row];
    return { updates: get("updates")[get("step")], row, column, map, weight: weights[column],
      largest: get("source")[argmax(weights)], entropy: entropy(weights), cell_through_training: get("maps").map((map) => map[row][column]) };
  },

  text(n, get) {
    const source = get("source")[n.column], share = n.map[n.row][n.column], top = argmax(n.map[n.row]);
    return `After ${short(n.updates)} updates, to write “${get("target")[n.row]}”, the model gives “${source}” a weight of ${fmt(share)}` +
      `${n.column === top ? ", the largest of the row" : `; the largest of the row is on ${source === n.largest ? "the other " : ""}“${n.largest}”`}. The row is as spread out as ${fmt(Math.exp(n.entropy), 1)} equal weights.`;
  },

  build(ui) {
    const source = ui.get("source"), target = ui.get("target"), updates = ui.get("updates");
    const map = mapOfCells(ui, "Attention weights: a row for each target word, a column for each source word; the darker, the larger", (row, column) => {
      if (row === ui.get("row") && column === ui.get("column")) return;
      ui.model.set("row", row);
      ui.set("column", column);
    });
    const course = ui.svg("The weight of the chosen cell through the training");
    const name = (words) => (i) => `${i + 1} ${words[i]}`;
    ui.add(
      ui.slider({ label: "updates of training", trait: "step", min: 0, max: updates.length - 1, step: 1, show: (i) => short(updates[i]), glides: true }),
      map,
      ui.slider({ label: "target word (row)", trait: "row", min: 0, max: target.length - 1, step: 1, show: name(target), glides: true }),
      ui.slider({ label: "source word (column)", trait: "column", min: 0, max: source.length - 1, step: 1, show: name(source), glides: true }),
      course);
    return (n, width) => { map.cells(n.map, source, target, n.row, n.column, width); this.course(course, n, ui, width); };
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
