const figure = {
  name: "BarsBySlider",

  numbers(get) {
    const values = get("series")[get("choice")];
    return { setting: get("settings")[get("choice")], values, total: sum(values),
      first_over_last: values.at(-1) ? values[0] / values.at(-1) : null };
  },

  text(n, get) {
    const names = this.names(get, n.values), top = argmax(n.values), low = n.values.indexOf(Math.min(...n.values));
    const label = get("slider_label");
    return `${label.charAt(0).toUpperCase()}${label.slice(1)}: ${n.setting}. Largest ${short(n.values[top])} (at ${names[top]}), smallest ${short(n.values[low])} (at ${names[low]}); ` +
      `the first is ${n.first_over_last === null ? "not comparable with" : `${short(n.first_over_last)} of`} the last.`;
  },

  names: (get, values) => (get("labels").length ? get("labels") : values.map((_, i) => String(i + 1))),

  build(ui) {
    const plot = ui.svg(ui.get("ylabel") || ui.get("title")), settings = ui.get("settings");
    ui.add(plot,
      ui.slider({ label: ui.get("slider_label"), trait: "choice", min: 0, max: settings.length - 1, step: 1, show: (i) => String(settings[i]) }),
      ui.toggle({ label: "logarithmic axis", read: () => ui.get("log"), write: (on) => ui.set("log", on) }));
    return (n, width) => this.bars(plot, n, ui.get, width);
  },

  bars(plot, n, get, width) {
    const all = get("series").flat(), log = get("log") && Math.min(...all) >= 0, longest = Math.max(...get("series").map((row) => row.length));
    const positive = all.filter((v) => v > 0);
    const high = log ? Math.ceil(Math.log10(Math.max(...positive)) - 1e-9) : Math.max(0, ...all);
    const low = log ? Math.min(high - 1, Math.floor(Math.log10(Math.min(...positive)) + 1e-9)) : Math.min(0, ...all);
    const every = Math.ceil((high - low) / 5);
    const yticks = log ? Array.from({ length: high - low + 1 }, (_, i) => high - i).filter((p) => (high - p) % every === 0).map((p) => [p, powerOfTen(p)]) : ticks(low, high, 4);
    const names = this.names(get, n.values), slot = (width - 54) / longest;
    const skip = [1, 2, 5, 10, 20, 50].find((k) => k * slot > 9 * Math.max(...names.map((name) => name.length)) + 4) ?? 100;
    const xticks = names.slice(0, longest).map((name, i) => [i + 0.5, name]).filter((_, i) => (i + 1) % skip === 0 || (i === 0 && skip < 3));
    const { group, sx, sy } = axes({ x: [0, longest], y: [low, high], box: [48, 30, width - 6, 210], xticks, yticks, xlabel: get("xlabel"), ylabel: get("ylabel") });
    const y = (v) => sy(log ? (v > 0 ? Math.max(low, Math.log10(v)) : low) : v), zero = sy(log ? low : 0);
    plot.paint([width, 250], group, n.values.map((v, i) => s("rect", { x: sx(i) + slot * 0.12, width: slot * 0.76,
      y: Math.min(y(v), zero), height: Math.abs(y(v) - zero), fill: "currentColor", class: "main", "stroke-width": 0 })));
  },
};
