// Small repairs to the theme's markup, for screen readers and keyboards. Nothing here is needed to read.
(function () {
  const each = (selector, change) => document.querySelectorAll(selector).forEach(change);

  function repair() {
    // The sidebar's logo and search stand outside every landmark.
    each(".bd-sidebar-primary", (sidebar) => {
      if (!sidebar.hasAttribute("role")) {
        sidebar.setAttribute("role", "navigation");
        sidebar.setAttribute("aria-label", "Book");
      }
    });
    // A list must hold list items.
    each('.citation-list[role="list"] > .citation', (entry) => entry.setAttribute("role", "listitem"));
    // The name of a button must contain the words that stand on it.
    each(".search-button, .search-button-field", (button) => {
      const words = button.innerText.trim().replace(/\s+/g, " ");
      if (words) button.setAttribute("aria-label", words);
    });
    // What scrolls sideways must be reachable with the keyboard.
    each(".bd-article div.math, .bd-article pre, .bd-article .pst-scrollable-table-container", (box) => {
      if (box.scrollWidth > box.clientWidth && !box.hasAttribute("tabindex")) box.tabIndex = 0;
    });
  }

  window.addEventListener("load", repair);
  window.addEventListener("resize", repair);
})();
