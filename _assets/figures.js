// Mounts the live figures of a page: each one's script is fetched when the reader comes near it.
// The page holds a place for each figure with the state that the notebook stored.

// Plain scripts, no modules: browsers refuse modules to pages that were opened from a file.
(function () {
const here = document.currentScript.src.replace(/[^/]*$/, "");

// What a figure asks of its model in a notebook, without a kernel behind it.
class Model {
  constructor(state) {
    this.state = state;
    this.watchers = new Map();
  }
  get(name) {
    return this.state[name];
  }
  set(name, value) {
    this.state[name] = value;
    this.fire(`change:${name}`);
    this.fire("change");
  }
  save_changes() {}
  on(event, watcher) {
    if (!this.watchers.has(event)) this.watchers.set(event, new Set());
    this.watchers.get(event).add(watcher);
  }
  off(event, watcher) {
    this.watchers.get(event)?.delete(watcher);
  }
  fire(event) {
    for (const watcher of this.watchers.get(event) ?? []) watcher();
  }
}

const fetched = {};
// All are asked for at once, and run in the order in which they were asked for.
const script = (name) => (fetched[name] ??= new Promise((done, failed) => {
  document.head.append(Object.assign(document.createElement("script"), {
    async: false, src: `${here}figures/${name}.js`, onload: done, onerror: () => failed(new Error(`no figures/${name}.js`)),
  }));
}));

// The one at a chapter's head waits until the reader opens it.
const folded = ".where:not([open]) .sa-place";
const places = [...document.querySelectorAll(".sa-place")].filter((place) => !place.matches(folded));
for (const name of new Set(["core", ...places.map((place) => place.dataset.figure)])) script(name);
let left = places.length;

async function mount(place) {
  if (place.dataset.mounted) return;
  place.dataset.mounted = "yes";
  const state = JSON.parse(place.querySelector("script").textContent);
  await Promise.all([script("core"), script(place.dataset.figure)]);
  const el = document.createElement("div");
  place.append(el);
  window.seqattn.kinds[place.dataset.figure]({ model: new Model(state), el });
  if (!--left) document.documentElement.dataset.widgets = "ready";
}

const near = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) if (isIntersecting) mount(target);
}, { rootMargin: "100% 0%" });
places.forEach((place) => near.observe(place));
// The rest once the page is at rest, so that links into it and searches find them drawn.
const idle = window.requestIdleCallback ?? ((then) => setTimeout(then, 500));
for (const place of document.querySelectorAll(folded)) place.closest(".where").addEventListener("toggle", () => { left++; mount(place); }, { once: true });
addEventListener("load", () => idle(() => places.forEach(mount)));
})();
