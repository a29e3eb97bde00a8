// Small repairs to the theme's markup, for screen readers, keyboards and print, and to what browsers refuse a page
// that was opened from a file. Nothing here is needed to read.
(function () {
  // The theme's own script asks Bootstrap for tooltips; the browser's do.
  window.bootstrap = { Tooltip: class {
    constructor(element, { title } = {}) { if (title) element.title = title; }
    show() {} hide() {} enable() {} disable() {} dispose() {} update() {}
  } };

  const each = (selector, change) => document.querySelectorAll(selector).forEach(change);
  const WIDE = ".bd-article .formula, .bd-article pre, .bd-article .pst-scrollable-table-container, .bd-article .cell_output .text_html";

  function repair() {
    // The sidebar's logo and search stand outside every landmark.
    each(".bd-sidebar-primary", (sidebar) => {
      if (!sidebar.hasAttribute("role")) {
        sidebar.setAttribute("role", "navigation");
        sidebar.setAttribute("aria-label", "Book");
      }
    });
    each("[data-bs-title]:not([title])", (button) => { button.title = button.dataset.bsTitle; });
    // A list must hold list items.
    each('.citation-list[role="list"] > .citation', (entry) => entry.setAttribute("role", "listitem"));
    // The name of a button must contain the words that stand on it: they are its name where there are any.
    each(".search-button, .search-button-field", (button) => {
      if (button.textContent.trim()) button.removeAttribute("aria-label");
    });
    each(WIDE, mark);
    sayColours();
  }

  // The button for light and dark says which it is.
  function sayColours() {
    const { mode } = document.documentElement.dataset, name = `Colours: ${mode === "auto" ? "as the system has them" : mode}`;
    each(".theme-switch-button", (button) => { button.setAttribute("aria-label", name); button.title = name; });
  }
  new MutationObserver(sayColours).observe(document.documentElement, { attributeFilter: ["data-mode"] });

  // What scrolls sideways must show it and be reachable with the keyboard.
  function mark(box) {
    if (box.matches(".formula")) fit(box);
    const wide = box.scrollWidth > box.clientWidth + 1;
    box.classList.toggle("scrolls", wide);
    if (wide) box.tabIndex = 0; // a theme's script says -1 where it was not wide before
  }
  // A formula that is a little too long for its line is set a little smaller: it need not scroll.
  let fitted = new WeakMap();
  function fit(box) {
    const math = box.querySelector("math");
    if (!math || fitted.get(box) === box.clientWidth) return;
    fitted.set(box, box.clientWidth);
    math.style.fontSize = "";
    const over = box.scrollWidth / box.clientWidth;
    if (over > 1 && over < 1.16) math.style.fontSize = `${parseFloat(getComputedStyle(math).fontSize) * 0.99 / over}px`;
  }
  const sizes = new ResizeObserver((changed) => changed.forEach(({ target }) => mark(target)));

  // A button that copies code, without prompts or outputs.
  each(".cell_input pre, .highlight-bash pre, .highlight-python pre, .highlight-console pre", (pre) => {
    const button = Object.assign(document.createElement("button"), { className: "copybtn", type: "button", textContent: "Copy" });
    button.setAttribute("aria-label", "Copy this code");
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(pre.innerText.trimEnd());
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    pre.parentElement.append(button);
  });

  // A page that was opened from a file may run scripts but read no other file. So its search shows no excerpts;
  // and a notebook, which the browser would show instead of saving it, comes once more as a script (tools/book_ext.py).
  if (location.protocol === "file:") {
    DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
    addEventListener("click", (event) => {
      const link = event.target.closest?.("a[download]");
      if (!link) return;
      event.preventDefault();
      const script = Object.assign(document.createElement("script"), {
        src: `${link.href}.js`, onload: () => script.remove(), onerror: () => { location = link.href; },
      });
      window.saveNotebook = (name, text) => {
        const href = URL.createObjectURL(new Blob([text], { type: "application/x-ipynb+json" }));
        Object.assign(document.createElement("a"), { href, download: name }).click();
        setTimeout(() => URL.revokeObjectURL(href), 60000);
      };
      document.head.append(script);
    });
  }

  // Paper unfolds nothing: open what is folded, and fold it again; but a chapter's head has its picture.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open], .where)")];
    opened.forEach((fold) => { fold.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((fold) => { fold.open = false; }));
  // A note about a formula closes as a menu does.
  addEventListener("click", ({ target }) => each("details.provenance[open]", (note) => {
    if (!note.contains(target)) note.open = false;
  }));
  addEventListener("keydown", ({ key }) => {
    if (key === "Escape") each("details.provenance[open]", (note) => { note.open = false; });
  });
  // Back to the top: shown while the reader scrolls up, and never over what a finger might want.
  const overControls = (button) => {
    const { left, right, top, bottom } = button.getBoundingClientRect();
    return [left, right - 1].some((x) => [top, (top + bottom) / 2, bottom - 1].some((y) =>
      document.elementsFromPoint(x, y).some((below) => below !== button && below.closest(".sa-fig, .sa-ask, summary, table"))));
  };
  const first = document.querySelector(".bd-article section > section");
  let before = 0;
  addEventListener("scroll", () => {
    const button = document.getElementById("pst-back-to-top");
    if (button) {
      button.style.display = scrollY < before && scrollY > 600 ? "block" : "none";
      if (button.style.display === "block" && overControls(button)) button.style.display = "none";
    }
    // The theme marks a section in the contents when its heading comes, and lets the mark stand above the first.
    if (scrollY < before && first?.getBoundingClientRect().top > innerHeight * 0.3)
      each(".bd-sidebar-secondary .active", (marked) => { marked.classList.remove("active"); marked.removeAttribute("aria-current"); });
    before = scrollY;
  }, { passive: true });
  addEventListener("click", ({ target }) => {
    if (target.closest?.("#pst-back-to-top")) scrollTo(0, 0);
  });
  each(WIDE, (box) => sizes.observe(box));
  // A face that comes late, as that of a formula in a fold just opened may, changes how wide things are.
  document.fonts.addEventListener("loadingdone", () => {
    fitted = new WeakMap();
    repair();
  });
  repair();
  addEventListener("load", repair);
  addEventListener("resize", repair);
})();
