const figure = {
  name: "Unrolled",

  labels: { none: "no attention", bahdanau: "Bahdanau", luong: "Luong", "luong, no feeding": "Luong without input feeding", transformer: "Transformer" },
  phases: { encode: "Encode", decode: "Decode", train: "Training step" },
  steps: { none: ["update", "say"], bahdanau: ["ask", "weigh", "mix", "update", "say"], luong: ["update", "ask", "weigh", "mix", "combine", "say"], transformer: ["embed", "look back", "ask", "weigh", "mix", "combine", "say"] },

  // What an event is called, and by whom the formula is read: h, s and c with their numbers in place.
  at(get, order = get("order"), phase = get("phase"), event = get("event")) {
    const run = get("runs")[order], kind = order.split(",")[0], data = (phase === "train" && run.train) || run.decode, length = get("words").length;
    const events = phase === "train" ? ["feed", "run", "loss", "gradient", "step"].map((name) => [0, name])
      : phase === "encode" && kind === "transformer" ? ["embed", "look around", "combine"].map((name) => [0, name])
        : phase === "encode" ? [...get("words").map((_, i) => [i + 1, "read"]), ...(run.bidirectional ? [[0, "back"]] : []), [0, "bridge"]]
          : data.words.flatMap((_, t) => this.steps[kind].map((name) => [t + 1, name]));
    const i = Math.min(event, events.length - 1), [t, name] = events[i];
    return { order, kind, phase, run, data, events, i, t, name, S: length, T: data.words.length, feeds: order === "luong", asker: kind === "bahdanau" ? t - 1 : t };
  },

  numbers(get) {
    const { kind, phase, name, t, data, S } = this.at(get), shown = { phase, event: name, step: t };
    if (phase === "encode" && kind === "transformer") return { ...shown, states: { embed: data.embedded, "look around": data.looked, combine: data.states }[name], weights: data.around };
    if (phase === "encode") {
      const at = name === "read" ? t : name === "back" ? 1 : S;
      return { ...shown, state: data.states[at - 1], first_decoder_state: data.decoder_states[0] };
    }
    if (phase === "train") return { ...shown, losses: data.losses, loss: sum(data.losses) / data.losses.length, loss_after: data.loss_after,
      gradients_of_embeddings: data.pull, gradients_of_decoder_states: data.pull_decoder };
    Object.assign(shown, kind === "transformer" ? { input: data.inputs[t - 1], weights_back: data.back[t - 1].slice(0, t), state: data.decoder_states[t - 1], output: data.features[t - 1] }
      : { state_before: data.decoder_states[t - 1], state: data.decoder_states[t] });
    if (data.scores.length) {
      const scores = data.scores[t - 1], weights = softmax(scores);
      Object.assign(shown, { scores, weights, context: weightedSum(weights, data.values ?? data.states) });
    }
    const likely = data.likely[t - 1];
    return { ...shown, likely: likely.map(([word]) => word), probabilities: likely.map(([, p]) => p) };
  },

  // The event as a formula, with its indices in place.
  formula({ name, t, kind, run, asker, feeds, S }) {
    if (kind === "transformer" && name in this.atOnce) return this.atOnce[name](t, S);
    const s = `s${low(t)}`, before = `s${low(t - 1)}`, y = `E y${low(t - 1)}`, c = kind === "none" ? "c" : `c${low(t)}`;
    const summary = run.bidirectional ? `[→h${low(S)}; ←h₁]` : `h${low(S)}`;
    return {
      read: `${run.bidirectional ? "→" : ""}h${low(t)} = GRU(${run.bidirectional ? "→" : ""}h${low(t - 1)}, E x${low(t)})`,
      back: "hᵢ = [→hᵢ; ←hᵢ]",
      bridge: kind === "none" ? `c = ${summary},   s₀ = tanh(W c + b)` : `s₀ = tanh(W ${summary} + b)`,
      ask: kind === "luong" ? `e${low(t)}ᵢ = s${low(asker)}ᵀ W hᵢ` : `e${low(t)}ᵢ = vᵀ tanh(W_q s${low(asker)} + W_k hᵢ)`,
      weigh: `α${low(t)}ᵢ = exp(e${low(t)}ᵢ) / Σⱼ exp(e${low(t)}ⱼ)`,
      mix: `${c} = Σᵢ α${low(t)}ᵢ hᵢ`,
      update: kind === "luong" ? `${s} = GRU(${before}, ${feeds ? `[${y}; s̃${low(t - 1)}]` : y})` : `${s} = GRU(${before}, [${y}; ${c}])`,
      combine: `s̃${low(t)} = tanh(W_c [${c}; ${s}])`,
      say: kind === "luong" ? `p(y${low(t)}) = softmax(W_o s̃${low(t)})` : `p(y${low(t)}) = softmax(W_o g(${s}, ${c}, ${y}))`,
      feed: "inputs: <bos>, y₁, y₂, …",
      run: "p(yₜ | y₁, …, yₜ₋₁, x) for every t",
      loss: "L = −(1/T) Σₜ log p(yₜ | y₁, …, yₜ₋₁, x)",
      gradient: "∂L/∂θ, back along every arrow",
      step: "θ ← θ − η ∂L/∂θ",
    }[name];
  },

  // With one kind of subscript: W_o has one that Unicode has no sign for.
  set: (formula) => rich(formula).flat().map((part) => (typeof part !== "string" ? part
    : part.split(/([₀-₉₋ᵢⱼₜ]+)/).map((piece, k) => (k % 2 ? h("sub", {}, [...piece].map((sign) => "0123456789−ijt"["₀₁₂₃₄₅₆₇₈₉₋ᵢⱼₜ".indexOf(sign)]).join("")) : piece)))),

  // Where the Transformer's formulas differ; t is 0 in the encoder.
  atOnce: {
    embed: (t, S) => (t ? `u${low(t)} = √d E y${low(t - 1)} + p${low(t)}` : `aᵢ = √d E xᵢ + pᵢ,   i = 1, …, ${S}`),
    "look around": () => "zᵢ = aᵢ + W_O Σⱼ αᵢⱼ W_V âⱼ,   â = norm(a)",
    "look back": (t) => `s${low(t)} = u${low(t)} + W_O Σⱼ α${low(t)}ⱼ W_V ûⱼ,   j ≤ ${t},   û = norm(u)`,
    ask: (t) => `e${low(t)}ᵢ = (W_Q ŝ${low(t)})ᵀ W_K hᵢ / √d,   ŝ = norm(s)`,
    mix: (t) => `c${low(t)} = Σᵢ α${low(t)}ᵢ W_V hᵢ`,
    combine: (t) => (t ? `m = s${low(t)} + W_O c${low(t)},   r${low(t)} = m + f(norm(m))` : "hᵢ = norm(zᵢ + f(norm(zᵢ)))"),
    say: (t) => `p(y${low(t)}) = softmax(W_o norm(r${low(t)}))`,
  },

  text(n, get) { return this.sentence(this.at(get), get); },

  sentence(m, get) {
    const { name, t, kind, data, run, events, i, S, T, asker, feeds, phase } = m, xs = get("words");
    const last = t > 1 ? `“${data.words[t - 2]}”` : "the start symbol", weights = data.scores.length && t && phase === "decode" ? softmax(data.scores[t - 1]) : [];
    const top = argmax(weights), likely = phase === "decode" ? data.likely[t - 1] : [];
    const fed = ["<bos>", ...data.words], back = phase === "decode" && kind === "transformer" ? data.back[t - 1] : [], around = data.around?.flat() ?? [], one = argmax(around);
    const said = (kind === "transformer" && {
      embed: t ? `The newest word, ${last}, is put in: its vector plus that of position ${t}. No state comes from the step before.`
        : "All words are put in at once: the vector of each plus that of its position. None knows of another yet.",
      "look around": `Each word asks all, itself among them, and adds what it finds. “${xs[Math.floor(one / S)]}” gives the largest weight, ${fmt(around[one] ?? 0)}, to “${xs[one % S]}”.`,
      "look back": t === 1 ? "Self-attention: the start symbol is alone so far, and looks at itself." : `Self-attention: u${low(t)} asks u₁ to u${low(t)}, all put in so far, itself among them. The largest weight is ${fmt(Math.max(...back))}, on “${fed[argmax(back)]}”. What it finds is added.`,
      ask: `The sum s${low(t)} is the query; it knows ${t === 1 ? "the start symbol" : "all words written so far"}. It is compared with every key: one score each.`,
      mix: `The context c${low(t)} is the sum of the values, each times its weight: ${weights[top] > 0.5 ? "mostly" : "most of all"} “${xs[top]}”.`,
      combine: t ? `The context is added to s${low(t)}, and a feed-forward network adds what it makes of the sum: r${low(t)}.`
        : `A feed-forward network works on each word by itself. Of each hᵢ a key and a value are made, once for all steps.`,
      run: "All positions at once, since all words are known. The mask keeps each from the words after it.",
    }[name]) || {
      read: `The encoder reads “${xs[t - 1]}”. State h${low(t)} sums up ${t === 1 ? "this word" : `the words up to here: it is made of h${low(t - 1)} and the word`}.`,
      back: `A second network reads from right to left. Each hᵢ gets its other half, so it knows both sides of its word.`,
      bridge: kind === "none" ? `The last state alone crosses over: it is the context c. It makes the first decoder state, and every step will read it.`
        : `The encoder's end makes the first decoder state s₀. All ${S} states stay, to be looked at.`,
      ask: `${asker === t ? "The new" : "The old"} state s${low(asker)} is the query${asker === t ? `: it has read ${last}` : `, before ${last} is read`}. It is compared with every key hᵢ: one score each.`,
      weigh: `Softmax turns the scores into weights, which sum to 1. The largest is ${weights.length ? fmt(weights[top]) : ""}, on “${xs[top]}”.`,
      mix: `The context c${low(t)} is the sum of the values hᵢ, each times its weight: ${weights[top] > 0.5 ? "mostly" : "most of all"} “${xs[top]}”.`,
      update: `The state moves on: s${low(t)} is made of s${low(t - 1)}, of ${last}${kind === "luong" ? (feeds ? ` and of s̃${low(t - 1)}, what the step before concluded (input feeding)` : " and of nothing else") : ` and of the context ${kind === "none" ? "c, the same at every step" : `c${low(t)}`}`}.`,
      combine: `Context and state together give the attentional vector s̃${low(t)}.`,
      say: `A probability for every word of the vocabulary. The decoder writes the most probable: “${likely[0]?.[0]}”, ${fmt(likely[0]?.[1] ?? 0)}.`,
      feed: `Teacher forcing: each step is fed the reference's word, whatever the decoder would have written.`,
      run: kind === "luong" && !feeds ? `All states first, then every step looks at the source at once.` : `The decoder runs, step after step${kind === "none" ? "" : ", each with its own look at the source"}.`,
      loss: `At each position the loss is −log p of the reference's word. Their mean is ${fmt(sum(data.losses) / T, 3)} nats.`,
      gradient: `The gradient goes back along the arrows. The numbers are its length at each decoder state and at each source word's embedding.`,
      step: `Every weight takes a small step against its gradient. The loss of this pair goes from ${[sum(data.losses) / T, data.loss_after].map((loss, _, both) => fmt(loss, fmt(both[0], 3) === fmt(both[1], 3) ? 4 : 3)).join(" to ")}.`,
    }[name];
    const place = phase === "decode" ? `Step ${t} of ${T}, event ${this.steps[kind].indexOf(name) + 1} of ${this.steps[kind].length}` : `Event ${i + 1} of ${events.length}`;
    return `${place}, ${name}: ${said}`;
  },

  build(ui) {
    const { get, set } = ui, go = (phase, event) => { ui.model.set("phase", phase); ui.model.set("event", event); ui.model.save_changes(); };
    const move = (by) => {
      const m = this.at(get), phases = get("phases"), to = m.i + by, where = phases.indexOf(m.phase);
      if (to >= 0 && to < m.events.length) set("event", to);
      else if (by > 0 && phases[where + 1]) go(phases[where + 1], 0);
      else if (by < 0 && where > 0) go(phases[where - 1], this.at(get, m.order, phases[where - 1], 1e9).i);
    };
    const whole = () => {
      const m = this.at(get), next = m.events.findIndex(([t], j) => j > m.i && t !== m.t);
      if (next > 0) set("event", next); else move(m.events.length);
    };
    const byName = (names, labels) => (read, write) => ({ options: names.map((x) => labels[x]), read: () => labels[read()], write: (label) => write(names.find((x) => labels[x] === label)) });
    const one = (names, labels, label, trait, write) => names.length > 1 && ui.choice({ label, trait, ...byName(names, labels)(() => get(trait), write) });
    // Its name says the word that stands on it first, and then what a sign says to the eye.
    const button = (sign, label, more, act) => h("button", { type: "button", "aria-label": `${label} ${more}`, onclick: act },
      sign === "◀" ? `${sign} ${label}` : `${label} ${sign}`);
    const input = range({ read: () => get("event"), write: (event) => set("event", event), min: 0, step: 1, "aria-label": "event", oninput: () => ui.jump(() => set("event", Number(input.value))) });
    const formula = h("p", { class: "sa-formula" }), probe = h("p", { class: "sa-probe", "aria-hidden": "true" });
    const svg = ui.svg("Encoder, attention and decoder, unrolled in time");
    const roles = [["query", "query"], ["keys", "key"], ["values", "value"], ["scores", "score"], ["weights", "weight"], ["context", "context"]];
    const legend = h("p", { class: "sa-roles" }, roles.map(([role, name]) => h("span", {}, s("svg", { width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true" }, mark(role, 0, 0)), name)));
    const attends = get("orders").some((order) => order !== "none");
    ui.add(
      one(get("orders"), this.labels, "order of events", "order", (x) => {
        // The same step in the other order, not the same event: there are not as many.
        const { phase, t } = this.at(get), same = this.at(get, x, phase, 0).events.findIndex((event) => event[0] === t);
        if (phase === "decode") ui.model.set("event", Math.max(0, same));
        set("order", x);
      }),
      one(get("phases"), this.phases, "phase", "phase", (x) => go(x, 0)),
      h("div", { class: "sa-events", onkeydown: (event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (by && event.target !== input) { move(by); event.preventDefault(); }
      } }, button("◀", "Back", "one event", () => move(-1)), button("▶", "Next", "event", () => move(1)), button("▶▶", "Step", "to the next step", whole), input),
      formula, svg, attends && legend, probe);
    let fitted = 0;
    return (n, width) => {
      const m = this.at(get);
      input.max = m.events.length - 1;
      input.value = m.i;
      input.style.setProperty("--at", `${(100 * m.i) / Math.max(1, m.events.length - 1)}%`);
      input.setAttribute("aria-valuetext", `${m.i + 1} of ${m.events.length}, ${m.t ? `step ${m.t}, ` : ""}${m.name}`);
      formula.replaceChildren(...[this.set(this.formula(m))].flat(3));
      this.paint(svg, m, n, get, width);
      if (fitted !== width && probe.isConnected) { fitted = width; this.fit(probe, formula, get); }
    };
  },

  // Keep room for the longest sentence and formula, so that nothing jumps from one event to the next.
  fit(probe, formula, get) {
    const tallest = (texts, kind) => {
      probe.classList.toggle("sa-formula", kind === "formula");
      return Math.max(...[...new Set(texts)].map((text) => { probe.replaceChildren(...[kind === "formula" ? this.set(text) : rich(text)].flat(3)); return probe.offsetHeight; }));
    };
    const moments = get("orders").flatMap((order) => get("phases").flatMap((phase) => {
      const { events } = this.at(get, order, phase, 0);
      return events.map((_, i) => this.at(get, order, phase, i));
    }));
    formula.style.minHeight = `${tallest(moments.map((m) => this.formula(m)), "formula")}px`;
    probe.closest(".sa-fig").querySelector(".sa-text").style.minHeight = `${tallest(moments.map((m) => this.sentence(m, get)))}px`;
    probe.textContent = "";
  },

  paint(svg, m, n, get, width) {
    const wide = Math.min(width, 660), height = Math.max(...get("orders").map((order) => this.rows(get, order).height));
    svg.paint([wide, height], this[m.kind === "transformer" ? "paintAtOnce" : "paintInTime"](m, n, get, wide, this.rows(get, m.order)));
  },

  // Where the rows stand, from above: words, s̃, s, c, scores and weights, h, source words. A Transformer
  // has r in the place of s̃, u between it and s, and a below h.
  rows(get, order) {
    const kinds = get("orders").map((name) => name.split(",")[0]), tall = kinds.includes("luong"), attends = kinds.some((k) => k !== "none");
    const atOnce = order === "transformer", cell = atOnce ? 4 : 6, V = cell * get("runs")[order].decode.states[0].length;
    const yWord = 66, yF = 84, yU = yF + V + 38, yS = atOnce ? yU + V + 56 : tall ? yF + V + 44 : 98, yC = yS + V + 38, yE = yC + V + (attends ? 66 : 38), yH = yE + (attends ? 62 : 0);
    const yA = yH + V + 58, yX = (atOnce ? yA : yH) + V + 52;
    return { cell, V, tall, yWord, yF, yU, yS, yC, yE, yH, yA, yX, height: yX + 6 };
  },

  // How things are drawn at this event.
  kit(m, n, get, wide, { cell, V, yE }) {
    const { phase, name, t, data, S, T, i, kind } = m, lit = get("lit"), train = phase === "train";
    const homeward = train && i === 3, order = this.steps[kind], here = order.indexOf(name);
    // On the left a Transformer's rows have their names, below <bos>.
    const atOnce = kind === "transformer", bos = Math.max(wide / (T + 1), atOnce && 62), left = atOnce && bos;
    // What this event is about as a whole, in whichever chapter it is told.
    const told = (train && { feed: ["decoder", "output"], run: ["attention", "decoder", "output"], loss: ["output"] }[name]) || [];
    const past = (event) => train ? i > 0 : phase === "decode" && here >= order.indexOf(event);
    const link = (x0, y0, x1, y1, now, cls = "", extra = {}) => (now || !homeward) && arrow(x0, y0, x1, y1, { class: `${now ? `sa-flow ${cls}` : "sa-past"}`, ...extra });
    // The way back, along the same arrows; into states and words as thick as the gradient is long there.
    const strongest = Math.max(...data.pull_decoder, ...data.pull);
    return {
      train, homeward, past, link, dashed: { "stroke-dasharray": "4 3" },
      X: (j) => left + ((wide - left) * (j - 0.5)) / S, Y: (j) => (j ? bos + ((wide - bos) * (j - 0.5)) / T : bos / 2),
      // An outline round a block.
      block: (y, end) => s("rect", { x: bos, y, width: wide - bos - 1, height: end - y, rx: 8, fill: "none", class: "sa-past" }),
      pale: (part) => ({ class: lit.length && ![...lit, ...told].includes(part) && !(train && i > 2) ? "sa-unlit" : "" }),
      home: (x0, y0, x1, y1, g = 0) => link(x0, y0, x1, y1, true, "sa-loss", { style: `stroke-width:${0.8 + (5 * g) / strongest}` }),
      // A state: a column of cells, darker for larger numbers; empty as long as it is not computed.
      state: (x, y, values, label, { role, now } = {}) => {
        const top = Math.max(...data.states.flat().map(Math.abs), 1);
        return s("g", { class: `sa-state ${role || ""} ${now ? "sa-hot" : ""}` },
          s("rect", { x: x - 9, y: y - 2, width: 18, height: V + 4, rx: 4, class: values ? "sa-box" : "sa-box sa-empty" }),
          values?.map((v, d) => s("rect", { x: x - 6, y: y + d * cell, width: 12, height: cell, class: "sa-cell", "fill-opacity": 0.06 + 0.47 * (1 + clamp(v / top, -1, 1)) })),
          role && mark(role, x - (label ? 14 : 0), y + V + 14),
          mid(x, y + V + 18, label, "sa-name"));
      },
      // A score and a weight for each source word.
      weighed: (x, j) => [
        past("ask") && s("g", { class: `scores ${["ask", "weigh"].includes(name) ? "sa-lit" : ""}` }, mark("scores", x - 22, yE - 7), mid(x + 4, yE - 3, fmt(n.scores[j], 1), "sa-name")),
        past("weigh") && s("g", { class: `weights ${["weigh", "mix"].includes(name) ? "sa-lit" : ""}` },
          s("rect", { x: x - 20, y: yE + 36 - 34 * n.weights[j], width: 8, height: 34 * n.weights[j], class: "sa-fill" }),
          s("line", { x1: x - 22, x2: x - 10, y1: yE + 36, y2: yE + 36, stroke: "currentColor" }),
          mid(x + 8, yE + 24, fmt(n.weights[j]), "sa-name"))],
      // A line as thick as a weight.
      strand: (x0, y0, x1, y1, w, cls) => s("line", { x1: x0, y1: y0, x2: x1, y2: y1, class: cls, style: `stroke-width:${0.4 + 5 * w};stroke-opacity:${0.15 + 0.6 * w}` }),
      losses: (Y) => train && i > 1 && [
        data.losses.map((x, k) => s("g", { class: "sa-loss" },
          s("rect", { x: Y(k + 1) - 5, y: 48 - Math.max(1, Math.min(30, (30 * x) / Math.max(...data.losses))), width: 10, height: Math.max(1, Math.min(30, (30 * x) / Math.max(...data.losses))), class: "sa-fill" }),
          mid(Y(k + 1), 12, fmt(x)))),
        mid(Y(0), 12, "−log p", "sa-soft")],
    };
  },

  paintInTime(m, n, get, wide, rows) {
    const { kind, phase, name, t, data, run, S, T, asker, feeds, i } = m, xs = get("words"), { V, tall, yWord, yF, yS, yC, yE, yH, yX } = rows;
    const { train, homeward, past, link, dashed, X, Y, pale, home, state, weighed, strand, losses } = this.kit(m, n, get, wide, rows);
    const has = (j) => phase !== "encode" || name !== "read" || j <= t;
    const half = (values, j) => !has(j) ? null : run.bidirectional && name === "read" ? values.slice(0, values.length / 2) : values;
    const roleOfH = name === "ask" ? "keys" : name === "mix" ? "values" : undefined;
    const c0 = wide / 2;

    const encoder = s("g", pale("encoder"),
      xs.map((word, j) => [
        mid(X(j + 1), yX, word, name === "read" && t === j + 1 ? "sa-strong" : ""),
        link(X(j + 1), yX - 14, X(j + 1), yH + V + 22, name === "read" && t === j + 1),
        j > 0 && link(X(j) + 11, yH + V / 3, X(j + 1) - 11, yH + V / 3, name === "read" && t === j + 1),
        j > 0 && run.bidirectional && link(X(j + 1) - 11, yH + (2 * V) / 3, X(j) + 11, yH + (2 * V) / 3, name === "back"),
        state(X(j + 1), yH, half(data.states[j], j + 1), `h${low(j + 1)}`, { role: roleOfH, now: roleOfH || name === "back" || (name === "read" && t === j + 1) || (name === "bridge" && (j + 1 === S || (run.bidirectional && j === 0))) })]));

    const crossed = phase !== "encode" || name === "bridge";
    const bridge = s("g", pale("bridge"),
      kind === "none" && [
        link(X(S), yH - 4, c0 + 12, yC + V - 4, name === "bridge"),
        state(c0, yC, crossed ? data.states[S - 1] : null, "c", { role: crossed && "context", now: name === "bridge" || name === "update" || name === "say" })],
      name === "bridge" && link(kind === "none" ? c0 - 12 : X(S), kind === "none" ? yC + 6 : yH - 4, Y(0) + 10, yS + V + 2, true));

    const attention = kind !== "none" && s("g", pale("attention"),
      phase === "decode" && xs.map((_, j) => {
        const x = X(j + 1), w = n.weights[j];
        return [
          name === "ask" && link(Y(asker), yS + V + 22, x, yE - 18, true, "query"),
          past("mix") && link(x, yH - 6, Y(t), yC + V + 22, name === "mix", "values", { style: `stroke-width:${0.6 + 7 * w}` })];
      }),
      phase === "decode" && xs.map((_, j) => weighed(X(j + 1), j)),  // numbers lie on the arrows
      train && i > 0 && data.scores.map((row, step) => softmax(row).map((w, j) => strand(X(j + 1), yH - 6, Y(step + 1), yC + V + 22, w, i === 3 ? "sa-loss" : "weights"))),
      data.words.map((_, j) => {
        const step = j + 1, known = train ? i > 0 : phase === "decode" && (step < t || (step === t && past("mix")));
        return state(Y(step), yC, known ? weightedSum(softmax(data.scores[j]), data.states) : null, `c${low(step)}`,
          { role: known && (step === t || train) ? "context" : undefined, now: step === t && ["mix", "update", "combine", "say"].includes(name) && !(kind === "luong" && name !== "mix" && name !== "combine") });
      }));

    const knownS = (j) => train ? i > 0 || j === 0 : j === 0 ? crossed : phase === "decode" && (j < t || (j === t && past("update")));
    const decoder = s("g", pale("decoder"),
      [-1, ...data.words.keys()].map((k) => {
        const j = k + 1, now = j === t && phase === "decode";
        const asks = name === "ask" && asker === j;
        return [
          j > 0 && link(Y(j - 1) + 11, yS + V / 2, Y(j) - 11, yS + V / 2, (now && name === "update") || name === "run"),
          j > 0 && link(Y(j - 1) + 8, yWord + 5, Y(j) - 8, yS - 4, (now && name === "update") || name === "feed", "", dashed),
          j > 0 && kind !== "luong" && (kind === "none" ? now || (train && i === 1) : true) && link(kind === "none" ? c0 : Y(j), yC - 4, Y(j), yS + V + 22, now && name === "update", "context"),
          j > 1 && feeds && link(Y(j - 1) + 10, yF + V - 4, Y(j) - 6, yS - 4, now && name === "update"),
          state(Y(j), yS, knownS(j) ? data.decoder_states[j] : null, `s${low(j)}`, { role: asks ? "query" : undefined, now: asks || (now && ["update", "say", "combine"].includes(name)) || (j === t - 1 && name === "update") || (name === "bridge" && j === 0) })];
      }));

    const reads = (j) => phase === "decode" && j === t - 1 && (name === "update" || (name === "say" && kind !== "luong"));
    const spoken = (j) => train || (phase === "decode" && (j < t || (j === t && name === "say")));
    const output = s("g", pale("output"),
      mid(Y(0), yWord, "<bos>", "sa-soft"),
      data.words.map((word, k) => {
        const j = k + 1, now = j === t && phase === "decode", says = now && name === "say";
        const from = kind === "luong" ? yF - 4 : yS - 4, known = train ? i > 0 : phase === "decode" && (j < t || (now && past("combine")));
        return [
          tall && kind === "luong" && [
            state(Y(j), yF, known ? data.features[k] : null, `s̃${low(j)}`, { now: (now && (name === "combine" || says)) || (feeds && name === "update" && j === t - 1) }),
            link(Y(j), yS - 4, Y(j), yF + V + 22, now && name === "combine"),
            now && name === "combine" && bow(Y(j), yC + 4, yF + V - 6, "context")],
          link(Y(j), from, Y(j), yWord + 5, says),
          says && kind !== "luong" && link(Y(k) + 20, yWord - 5, Y(j) - 20, yWord - 5, true, "", dashed),
          says && kind === "none" && link(c0, yC - 4, Y(j) + 9, yWord + 6, true, "context"),
          says && kind === "bahdanau" && bow(Y(j), yC + 4, yWord + 4, "context"),
          spoken(j) && mid(Y(j), yWord, word, says ? "sa-strong" : reads(j) ? "sa-lit" : "")];
      }),
      name === "say" && this.candidates(data.likely[t - 1], clamp(Y(t), 62, wide - 62)),
      losses(Y));

    const back = homeward && s("g", {},
      data.pull_decoder.map((g, j) => [
        j > 0 && home(Y(j), yWord + 6, Y(j), (kind === "luong" ? yF : yS) - 3),
        j > 0 && kind === "luong" && home(Y(j), yF + V + 22, Y(j), yS - 3),
        j > 0 && j < T && feeds && home(Y(j + 1) - 6, yS - 4, Y(j) + 10, yF + V - 4),
        j < T && home(Y(j + 1) - 11, yS + V / 2, Y(j) + 11, yS + V / 2, g),
        j > 0 && kind !== "luong" && home(Y(j), yS + V + 22, kind === "none" ? c0 : Y(j), yC - 4),
        j > 0 && kind === "luong" && bow(Y(j), yF + V - 2, yC + 4, "sa-loss"),
        words(Y(j) + 5, yS - 6, fmt(g, 3), { class: "sa-loss" })]),
      home(kind === "none" ? c0 + 12 : Y(0), kind === "none" ? yC + V : yS + V + 22, X(S), yH - 4),
      data.pull.map((g, j) => [
        j > 0 && home(X(j + 1) - 11, yH + V / 3, X(j) + 11, yH + V / 3),
        j > 0 && run.bidirectional && home(X(j) + 11, yH + (2 * V) / 3, X(j + 1) - 11, yH + (2 * V) / 3),
        home(X(j + 1), yH + V + 22, X(j + 1), yX - 13, g),
        words(X(j + 1) + 7, yX - 18, fmt(g, 3), { class: "sa-loss" })]));

    return [encoder, attention, bridge, decoder, output, back];
  },

  paintAtOnce(m, n, get, wide, rows) {
    const { phase, name, t, data, i } = m, xs = get("words"), { V, yWord, yF, yU, yS, yC, yE, yH, yA, yX } = rows;
    const { train, homeward, past, link, dashed, X, Y, block, pale, home, state, weighed, strand, losses } = this.kit(m, n, get, wide, rows);
    const encoding = phase === "encode", looks = encoding && name === "look around", done = !encoding || name === "combine";
    const roleOfH = phase === "decode" && (name === "ask" ? "keys" : name === "mix" ? "values" : undefined);
    const called = (y, ...lines) => lines.map((line, k) => words(0, y + 13 + 15 * k, line, { class: "sa-soft" }));
    const after = ["after self-", "attention"];
    const encoder = s("g", pale("encoder"),
      block(yH - 8, yA + V + 24), called(yH, ...(looks ? after : ["encoder", "output"])), called(yA, "encoder", "input"),
      xs.map((word, j) => [
        mid(X(j + 1), yX, word, encoding && name === "embed" ? "sa-strong" : ""),
        link(X(j + 1), yX - 14, X(j + 1), yA + V + 22, encoding && name === "embed"),
        // Each looks at all, or what came of it stands above.
        looks ? xs.map((_, k) => strand(X(k + 1), yA - 4, X(j + 1), yH + V + 22, data.around[j][k], "weights sa-flow")) : link(X(j + 1), yA - 4, X(j + 1), yH + V + 22, encoding && name === "combine"),
        state(X(j + 1), yA, data.embedded[j], `a${low(j + 1)}`, { now: encoding && name !== "combine", role: looks ? "keys" : undefined }),
        state(X(j + 1), yH, looks ? data.looked[j] : done ? data.states[j] : null, `${looks ? "z" : "h"}${low(j + 1)}`, { now: roleOfH || (encoding && name !== "embed"), role: roleOfH })]));

    const known = (j, event) => train ? i > 0 : phase === "decode" && (j < t || (j === t && past(event)));
    const attention = s("g", pale("attention"),
      phase === "decode" && xs.map((_, j) => [
        name === "ask" && link(Y(t), yS + V + 22, X(j + 1), yE - 18, true, "query"),
        past("mix") && link(X(j + 1), yH - 6, Y(t), yC + V + 22, name === "mix", "values", { style: `stroke-width:${0.6 + 7 * n.weights[j]}` })]),
      phase === "decode" && xs.map((_, j) => weighed(X(j + 1), j)),
      train && i > 0 && data.scores.map((row, k) => softmax(row).map((w, j) => strand(X(j + 1), yH - 6, Y(k + 1), yC + V + 22, w, homeward ? "sa-loss" : "weights"))),
      data.words.map((_, k) => state(Y(k + 1), yC, known(k + 1, "mix") ? weightedSum(softmax(data.scores[k]), data.values) : null, `c${low(k + 1)}`,
        { role: known(k + 1, "mix") && (k + 1 === t || train) ? "context" : undefined, now: k + 1 === t && (name === "mix" || name === "combine") })));

    const decoder = s("g", pale("decoder"),
      block(yF - 8, yE + 44), called(yF, "decoder", "output"), called(yU, "decoder", "input"), called(yS, ...after), called(yC, "context"),
      data.words.map((_, k) => {
        const j = k + 1, now = phase === "decode" && j === t, back = now && name === "look back";
        return [
          link(Y(k) + 8, yWord + 5, Y(j) - 8, yU - 4, (now && name === "embed") || name === "feed", "", dashed),
          // Of what was put in before, as thick as the weight; itself last.
          (back || name === "run" || homeward) && data.back[k].slice(0, j).map((w, from) => strand(Y(from + 1), yU + V + 22, Y(j), yS - 4, w, homeward ? "sa-loss" : "weights sa-flow")),
          !back && name !== "run" && link(Y(j), yU + V + 22, Y(j), yS - 4, false),
          state(Y(j), yU, known(j, "embed") ? data.inputs[k] : null, `u${low(j)}`, { now: (now && name === "embed") || (name === "look back" && j <= t), role: name === "look back" && j <= t ? (j === t ? "query" : "keys") : undefined }),
          state(Y(j), yS, known(j, "look back") ? data.decoder_states[k] : null, `s${low(j)}`, { now: now && ["look back", "ask", "combine"].includes(name), role: now && name === "ask" ? "query" : undefined })];
      }));

    const output = s("g", pale("output"),
      mid(Y(0), yWord, "<bos>", "sa-soft"),
      data.words.map((word, k) => {
        const j = k + 1, now = phase === "decode" && j === t, says = now && name === "say", joins = now && name === "combine";
        return [
          state(Y(j), yF, known(j, "combine") ? data.features[k] : null, `r${low(j)}`, { now: joins || says }),
          joins && [bow(Y(j), yC + 4, yF + V - 6, "context"), bow(Y(j), yS + 4, yF + V - 6, "", -1)],
          link(Y(j), yF - 4, Y(j), yWord + 5, says),
          (train || known(j, "say")) && mid(Y(j), yWord, word, says ? "sa-strong" : name === "embed" && j === t - 1 ? "sa-lit" : "")];
      }),
      name === "say" && this.candidates(data.likely[t - 1], clamp(Y(t), 62, wide - 62)),
      losses(Y));

    const back = homeward && s("g", {},
      data.pull_decoder.map((g, k) => [
        home(Y(k + 1), yWord + 6, Y(k + 1), yF - 3),
        bow(Y(k + 1), yF + V - 2, yC + 4, "sa-loss"), bow(Y(k + 1), yF + V - 2, yS + 4, "sa-loss", -1),
        words(Y(k + 1) + 12, yS + V / 2, fmt(g, 3), { class: "sa-loss sa-name" })]),
      data.pull.map((g, j) => [
        xs.map((_, k) => strand(X(k + 1), yA - 4, X(j + 1), yH + V + 22, data.around[j][k], "sa-loss")),
        home(X(j + 1), yA + V + 22, X(j + 1), yX - 13, g),
        words(X(j + 1) + 7, yX - 18, fmt(g, 3), { class: "sa-loss" })]));

    return [encoder, attention, decoder, output, back];
  },

  // The most probable words, above the column of the word that is written.
  candidates: (likely, x) => s("g", { class: "sa-lit" }, likely.map(([word, p], k) => [
    words(x - 14, 12 + 17 * k, word, { "text-anchor": "end" }),
    s("rect", { x: x - 9, y: 3 + 17 * k, width: Math.max(1, 34 * p), height: 10, class: "sa-fill" }),
    words(x + 29, 12 + 17 * k, fmt(p))])),
};

const mid = (x, y, text, cls = "") => words(x, y, text, { "text-anchor": "middle", class: cls });
const low = (n) => String(n).replace(/\d/g, (d) => "₀₁₂₃₄₅₆₇₈₉"[d]);
// An arrow, up or down, that goes round what stands in between: on the right, or with -1 on the left.
const bow = (x, y0, y1, cls, side = 1) => {
  const at = (by) => x + side * by, out = y1 < y0 ? -20 : 20;
  return s("g", { class: `sa-flow ${cls}` },
    s("path", { d: `M${at(11)} ${y0} C${at(34)} ${y0 + out} ${at(34)} ${y1 - out} ${at(6)} ${y1 + 3}`, fill: "none" }),
    s("polygon", { points: y1 < y0 ? `${at(3)},${y1} ${at(14)},${y1 + 2} ${at(8)},${y1 + 10}` : `${at(3)},${y1 + 6} ${at(14)},${y1 + 4} ${at(8)},${y1 - 5}`, fill: "currentColor", stroke: "none" }));
};
// One shape for each role.
const mark = (role, x, y) => s("polygon", { class: `sa-mark ${role}`, points: {
  query: [[0, -5], [5, 4], [-5, 4]], values: [[-4, -4], [4, -4], [4, 4], [-4, 4]], scores: [[0, -6], [5, 0], [0, 6], [-5, 0]], weights: [[-2, -6], [2, -6], [2, 6], [-2, 6]],
  keys: Array.from({ length: 12 }, (_, k) => [4.6 * Math.cos((k * Math.PI) / 6), 4.6 * Math.sin((k * Math.PI) / 6)]),
  context: Array.from({ length: 6 }, (_, k) => [5.5 * Math.cos((k * Math.PI) / 3), 5.5 * Math.sin((k * Math.PI) / 3)]),
}[role].map(([a, b]) => [x + a, y + b].join()).join(" ") });
