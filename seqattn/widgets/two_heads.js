const figure = {
  name: "TwoHeads",

  numbers(get) {
    const states = get("states"), q = get("query");
    const whole = softmax(states.map((state) => dot(q, state) / Math.SQRT2));
    const [first, second] = [0, 1].map((d) => softmax(states.map((state) => q[d] * state[d])));
    const point = [first, second].map((weights, d) => sum(weights.map((w, i) => w * states[i][d])));
    // As an average of the three states the point would need these weights.
    const [a, b, c] = states, minus = (x, y) => [x[0] - y[0], x[1] - y[1]], cross = (x, y) => x[0] * y[1] - x[1] * y[0];
    const u = minus(b, a), v = minus(c, a), p = minus(point, a), area = cross(u, v);
    const needed = [cross(p, v) / area, cross(u, p) / area];
    needed.unshift(1 - needed[0] - needed[1]);
    return { weights_of_one_head: whole, weights_of_head_1: first, weights_of_head_2: second,
      one_head: weightedSum(whole, states), two_heads: point, one_average_would_need: needed,
      two_heads_lie: Math.min(...needed) < -1e-9 ? "outside" : "inside" };
  },

  text(n, get, open) {
    const one = `One head returns ${fmtVector(n.one_head)}, inside the triangle. `;
    if (!open) return one;
    const low = argmax(n.one_average_would_need.map((w) => -w)), needed = short(n.one_average_would_need[low]);
    return `${one}Two heads return ${fmtVector(n.two_heads)}, ${n.two_heads_lie} the triangle: ` +
      (n.two_heads_lie === "outside" ? `one average could get there only with a weight of ${needed} on “${get("words")[low]}”.` : "some single average gives the same point.");
  },

  build(ui) {
    const names = ui.get("words"), parts = ["weights_of_one_head", "weights_of_head_1", "weights_of_head_2"];
    const plot = ui.svg("Three states and their triangle, the context of one head inside it, the point of two heads, and a box around the triangle");
    const cells = names.map(() => parts.map(() => [bar(), h("span", { class: "sa-num" })]));
    const grid = "display: grid; grid-template-columns: 2.4rem repeat(3, minmax(0, 1fr)); gap: 0.5rem 0.8rem; align-items: center; margin: 0.3rem 0";
    const table = h("div", { style: grid },
      ["", "one head", "head 1", "head 2"].map((name) => h("span", { class: "sa-num", style: "text-align: left" }, name)),
      names.map((name, i) => [h("span", {}, name), cells[i].map((pair) => h("div", {}, pair))]));
    ui.add(h("div", { class: "sa-side" }, plot, table),
      [0, 1].map((d) => ui.slider({ label: `query, number ${d + 1}`, trait: "query", at: d, min: -6, max: 6, step: 0.1, show: (x) => fmt(x, 1), role: "query" })));
    return (n, width) => {
      names.forEach((_, i) => parts.forEach((part, k) => {
        const shown = !k || ui.open(), w = n[part][i], top = Math.max(...n[part]);
        cells[i][k][0].set(shown ? w : 0, top - w < 0.005 ? "weights" : "weights pale");
        cells[i][k][1].textContent = shown ? fmt(w) : "\u00a0"; // keeps its line
      }));
      this.sketch(plot, n, ui, names, Math.min(width, 320));
    };
  },

  sketch(plot, n, ui, names, size) {
    const states = ui.get("states"), reach = 1.25 * Math.max(...states.flat().map(Math.abs));
    const { group, sx, sy } = plane(size, reach), px = ([x, y]) => [sx(x), sy(y)];
    const side = (d, pick) => pick(...states.map((state) => state[d]));
    const [left, top] = px([side(0, Math.min), side(1, Math.max)]), [right, bottom] = px([side(0, Math.max), side(1, Math.min)]);
    const one = px(n.one_head), two = px(n.two_heads);
    plot.paint([size, size], group,
      s("polygon", { points: states.map((state) => px(state).join()).join(" "), fill: "currentColor", "fill-opacity": 0.12, class: "values", "stroke-width": 1 }),
      ui.open() && s("rect", { x: left, y: top, width: right - left, height: bottom - top, fill: "none", class: "values", "stroke-width": 1.2, "stroke-dasharray": "5 4" }),
      states.map((state, i) => [
        s("circle", { cx: px(state)[0], cy: px(state)[1], r: 4, fill: "currentColor", class: "values", "stroke-width": 0 }),
        nameAt(names[i], ...px(state), size / 2, size, { class: "sa-name" })]),
      s("circle", { cx: one[0], cy: one[1], r: 6, fill: "currentColor", "stroke-width": 0, class: "context" }),
      words(one[0] - 10, one[1] + 5, "1", { class: "context", "font-weight": 700, "text-anchor": "end" }),
      ui.open() && [
        s("rect", { x: two[0] - 6, y: two[1] - 6, width: 12, height: 12, fill: "currentColor", "stroke-width": 0, class: "context" }),
        words(two[0] + 11, two[1] + 5, "2", { class: "context", "font-weight": 700 })]);
  },
};
