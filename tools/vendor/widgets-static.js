// Draws a notebook's stored widgets on a static page: no kernel, no network, no RequireJS.
//
// A page holds the widgets' state (one JSON script) and a placeholder script for each view.
// html-manager does the same with 2 MB of JupyterLab; sliders, links and anywidget need only this.
import * as base from "@jupyter-widgets/base";
import * as controls from "@jupyter-widgets/controls";
import { ManagerBase } from "@jupyter-widgets/base-manager";
import { Widget } from "@lumino/widgets";
import createAnyWidget from "anywidget";
import styles from "widget-styles";

const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
const VIEW = 'script[type="application/vnd.jupyter.widget-view+json"]';

const modules = {
  "@jupyter-widgets/base": base,
  "@jupyter-widgets/controls": controls,
  // One factory call: anywidget keeps its run times in a map that models and views share.
  anywidget: createAnyWidget(base),
};

class StaticManager extends ManagerBase {
  async loadClass(className, moduleName) {
    const found = modules[moduleName]?.[className];
    if (!found) throw new Error(`${moduleName} ${className} needs a running notebook`);
    return found;
  }
  // noUiSlider gives its handle no name; the slider's own description is one.
  async create_view(model, options) {
    const view = await super.create_view(model, options);
    view.displayed?.then(() =>
      view.el.querySelectorAll(".noUi-handle").forEach((handle) => {
        handle.setAttribute("aria-label", model.get("description") || "slider");
      }),
    );
    return view;
  }
  async _create_comm() {
    throw new Error("there is no kernel on this page");
  }
  async _get_comm_info() {
    return {};
  }
}

async function show(manager, script) {
  const { model_id: id } = JSON.parse(script.textContent);
  if (!manager.has_model(id)) return; // an output whose state was not stored
  const view = await manager.create_view(await manager.get_model(id));
  const host = document.createElement("div");
  host.className = "widget-subarea";
  script.before(host);
  Widget.attach(view.luminoWidget ?? view.pWidget, host);
}

async function start() {
  const states = [...document.querySelectorAll(STATE)];
  if (!states.length) return;
  const style = document.createElement("style");
  style.textContent = styles;
  document.head.prepend(style); // before the book's own style sheet, so that it can be overruled
  for (const script of states) {
    const manager = new StaticManager();
    await manager.set_state(JSON.parse(script.textContent));
    await Promise.all([...document.querySelectorAll(VIEW)].map((view) => show(manager, view)));
  }
  document.documentElement.dataset.widgets = "ready"; // what the browser tests wait for
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
