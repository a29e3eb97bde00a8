const STEP = 20;
const figure = {
  name: "EditCost",
  jumps: ["right", "counted"],

  numbers(get) {
    const edit = get("edit"), share = get("share"), size = get("sizes")[edit], place = share / STEP;
    const [written, wanted, ...counts] = get("sums")[edit][place], right = counts.slice(0, 4), counted = counts.slice(4);
    const edited = Math.floor(share * size / 100 + 0.5), brevity = Math.min(1, Math.exp(1 - wanted / written));
    let half = 1;
    const logs = right.map((c, n) => Math.log((c || (half /= 2)) / counted[n]));
    const bleu = counted.includes(0) || !right.some(Boolean) ? 0 : 100 * brevity * Math.exp(sum(logs) / 4);
    return { bleu, chrf: get("chrf")[edit][place], exact: 100 * (size - edited) / size, right, counted, brevity };
  },

  text(n, get, open) {
    const size = get("sizes")[get("edit")];
    if (!open) return `${size} sentences that this edit can change.`;
    return `${get("share")}% of ${size} sentences edited: BLEU ${fmt(n.bleu, 1)}, chrF ${fmt(n.chrf, 1)}, exact matches ${fmt(n.exact, 0)}%. ` +
      `Right n-grams: ${n.right.map((c, i) => `${c} of ${n.counted[i]}`).join(", ")}; brevity penalty ${fmt(n.brevity)}.`;
  },

  build(ui) {
    const before = h("span", {}), after = h("span", {});
    const row = (label) => {
      const drawn = bar(), shown = h("span", { class: "sa-num" });
      return { node: h("div", { class: "sa-two" }, h("span", {}, label), drawn, shown), set(x, text) { drawn.set(x); shown.textContent = text; } };
    };
    // What the longest edit says keeps its room, so that no height jumps.
    const { get } = ui, names = get("names"), rooms = names.map((name) => {
      const [one, other] = get("examples")[name];
      return h("p", { class: "sa-room", "aria-hidden": "true" }, `as: ${one}`, h("br"), `becomes: ${other}`);
    });
    const said = names.flatMap((edit) => Array.from({ length: 100 / STEP + 1 }, (_, i) => {
      const there = (name) => ({ edit, share: i * STEP })[name] ?? get(name);
      return this.text(this.numbers(there), there, true);
    }));
    const scores = ["BLEU", "chrF", "exact"].map(row), parts = [1, 2, 3, 4].map((k) => row(`p${"₁₂₃₄"[k - 1]}`));
    ui.add(
      ui.choice({ label: "edit", options: ui.get("names"), trait: "edit", read: () => ui.get("edit"), write: (name) => ui.set("edit", name) }),
      ui.slider({ label: "share of sentences edited, %", trait: "share", min: 0, max: 100, step: STEP, show: String }),
      h("div", { class: "sa-stack" }, h("p", { class: "sa-soft" }, "as: ", before, h("br"), "becomes: ", after), rooms),
      h("div", {}, scores.map((r) => r.node), parts.map((r) => r.node)));
    return (n) => {
      keepRoom(after, said);
      const [one, other] = ui.get("examples")[ui.get("edit")];
      before.textContent = one; after.textContent = other;
      [n.bleu, n.chrf, n.exact].forEach((x, i) => scores[i].set(x / 100, fmt(x, 1)));
      n.right.forEach((c, i) => parts[i].set(n.counted[i] ? c / n.counted[i] : 0, fmt(n.counted[i] ? c / n.counted[i] : 0)));
    };
  },
};

// The longest of these sentences keeps its room below the drawing that `inside` belongs to.
function keepRoom(inside, sentences) {
  const room = inside.closest(".sa-fig").querySelector(".sa-text + .sa-room");
  const longest = sentences.reduce((a, b) => (b.length > a.length ? b : a)) + "\u2007".repeat(6);
  if (longest.length > room.textContent.length) room.textContent = longest;
}
