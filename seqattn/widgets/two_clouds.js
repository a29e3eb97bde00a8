const ESTIMATES = 150, FACTOR = 48271, MODULUS = 2 ** 31 - 1, FIRST = 12345;
// Three directions in the plane, at equal angles: lengths and angles of gradients are kept.
const AXES = [90, 210, 330].map((turn) => [Math.cos((turn * Math.PI) / 180), Math.sin((turn * Math.PI) / 180)].map((x) => x * Math.sqrt(2 / 3)));
const flat = (g) => [0, 1].map((d) => sum(g.map((x, i) => x * AXES[i][d])));
const figure = {
  name: "TwoClouds",
  jumps: ["draws"],

  slopes: (weights) => weights.map((_, i) => weights.map((w, j) => (i === j) - w)),
  drawn(weights, n) {
    let state = FIRST;
    return Array.from({ length: ESTIMATES }, () => {
      const counts = [0, 0, 0];
      for (let k = 0; k < n; k++) {
        state = (state * FACTOR) % MODULUS;
        const u = state / MODULUS;
        counts[u < weights[0] ? 0 : u < weights[0] + weights[1] ? 1 : 2]++;
      }
      return counts;
    });
  },
  // One estimate for each row of counts.
  cloud: (counts, slopes, rewards, b, n) => counts.map((row) => slopes[0].map((_, j) => sum(row.map((c, i) => (c / n) * (rewards[i] - b) * slopes[i][j])))),

  numbers(get) {
    const weights = softmax(get("scores")), rewards = get("rewards").map((r) => r + get("shift")), n = 2 ** get("draws");
    const slopes = this.slopes(weights), sizes = slopes.map((row) => dot(row, row)), expected = dot(weights, rewards);
    const baseline = get("baseline") === "best" ? sum(weights.map((w, i) => w * sizes[i] * rewards[i])) / dot(weights, sizes) : expected;
    const gradient = weights.map((w, i) => w * (rewards[i] - expected)), counts = this.drawn(weights, n);
    const noise = (b) => Math.sqrt(Math.max(0, sum(weights.map((w, i) => w * (rewards[i] - b) ** 2 * sizes[i])) - dot(gradient, gradient)) / n);
    const mean = (b) => { const all = this.cloud(counts, slopes, rewards, b, n); return gradient.map((_, j) => sum(all.map((g) => g[j])) / ESTIMATES); };
    return { weights, rewards, expected_reward: expected, baseline, draws: n, gradient,
      noise_without: noise(0), mean_without: mean(0), noise_with: noise(baseline), mean_with: mean(baseline) };
  },

  text(n) {
    const size = Math.hypot(...n.gradient), draws = n.draws === 1 ? "one draw" : `${n.draws} draws`;
    const times = (noise) => (size > 1e-9 ? `${short(noise / size)} times as long as the gradient` : `${short(noise)} long, and the gradient is zero`);
    return `The gradient by the three scores is ${fmtVector(n.gradient)}. With ${draws} for each estimate the noise is ${times(n.noise_without)} ` +
      `without a baseline, and ${size > 1e-9 ? `${short(n.noise_with / size)} times` : short(n.noise_with)} with the baseline ${fmt(n.baseline)}.`;
  },

  build(ui) {
    const labels = ui.get("labels");
    const clouds = ["without a baseline", "with a baseline"].map((name) => ui.svg(`Estimates ${name}, as points around the true gradient`));
    ui.add(
      labels.map((label, i) => ui.slider({ label: `reward for “${label}”`, trait: "rewards", at: i, min: -4, max: 4, show: (x) => fmt(x, 1) })),
      ui.slider({ label: "added to all rewards", trait: "shift", min: 0, max: 10, step: 0.5, show: (x) => fmt(x, 1) }),
      ui.slider({ label: "draws in an estimate", trait: "draws", min: 0, max: 6, step: 1, show: (p) => String(2 ** p), glides: true }),
      ui.choice({ label: "baseline", options: ["mean reward", "best"], trait: "baseline", read: () => ui.get("baseline"), write: (kind) => ui.set("baseline", kind) }),
      h("div", { class: "sa-pair" }, clouds));
    return (n, width) => {
      const counts = ui.memo("drawn", [...n.weights, n.draws], () => this.drawn(n.weights, n.draws));
      const size = width > 520 ? (width - 24) / 2 : Math.min(width, 300);
      this.paint(clouds[0], n, counts, 0, "no baseline", labels, size);
      this.paint(clouds[1], n, counts, n.baseline, `baseline ${fmt(n.baseline)}`, labels, size);
    };
  },

  paint(plot, n, counts, b, title, labels, size) {
    const slopes = this.slopes(n.weights), tip = flat(n.gradient), o = size / 2, top = 24;
    // Equal estimates lie on one another: their point is larger.
    const points = new Map();
    for (const row of counts) points.set(row.join(), { row, many: (points.get(row.join())?.many ?? 0) + 1 });
    const all = [...points.values()].map(({ row, many }) => ({ at: flat(this.cloud([row], slopes, n.rewards, b, n.draws)[0]), many }));
    const far = Math.max(...all.map(({ at }) => Math.hypot(...at)), Math.hypot(...tip), 0.05);
    // Each cloud fills its own frame, and says how long a step is.
    const reach = 1.3 * far, sx = scale(-reach, reach, 0, size), sy = scale(-reach, reach, top + size, top);
    const [step] = ticks(0, reach, 3)[1];
    plot.paint([size, size + top + 26],
      words(0, 14, title, { "font-weight": 700 }),
      s("rect", { x: 0.5, y: top + 0.5, width: size - 1, height: size - 1, class: "sa-frame" }),
      AXES.map(([x, y], i) => {
        const end = [sx(x * reach), sy(y * reach)];
        return [s("line", { x1: o, y1: top + o, x2: end[0], y2: end[1], class: "soft pale", "stroke-dasharray": "2 4" }),
          words(end[0], end[1] + (i ? 15 : -6), labels[i], { "text-anchor": "middle", class: "sa-soft sa-name" })];
      }),
      all.map(({ at: [x, y], many }) => s("circle", { cx: sx(x), cy: sy(y), r: 1.6 + 1.3 * Math.sqrt(many), fill: "currentColor", "fill-opacity": 0.35, class: "scores" })),
      arrow(o, top + o, sx(tip[0]), sy(tip[1]), { stroke: "currentColor", "stroke-width": 3 }),
      s("line", { x1: 8, x2: 8 + sx(step) - o, y1: size + top + 10, y2: size + top + 10, stroke: "currentColor", "stroke-width": 2 }),
      words(14 + sx(step) - o, size + top + 14, `${step}`, { class: "sa-soft" }));
  },
};
