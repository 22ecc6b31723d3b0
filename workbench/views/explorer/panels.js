// The panels next to the answers, which packages bring: their frames, what they set, and which are open.

import { h, PANELS } from "./parts.js";

/** @import { PanelScript, Term } from "./types.d.ts" */
/** @import { View } from "./explorer.js" */

/**
 * What stands in the place of a panel that does not work.
 * @param {string} name
 * @param {unknown} error
 * @returns {PanelScript}
 */
const broken = (name, error) => ({
  box: h("p", { class: "wbx-trouble" }, `The panel ${name} does not work: ${error}`),
  draw() {},
});

export class Panels {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    /** @type {Set<string>} */
    this.open = new Set();
    /** @type {Map<string, PanelScript>} */
    this.byName = new Map(view.config.panels.map(({ name }) => [name, this.make(name)]));
    this.boxes = view.config.panels.map(({ name, title }) => this.frame(name, title));
  }

  /** @param {string} name */
  make(name) {
    try {
      return new PANELS[name](this.view);
    } catch (error) {
      return broken(name, error);
    }
  }

  /**
   * @param {string} name
   * @param {string} title
   */
  frame(name, title) {
    const { view } = this;
    const ontoggle = () => {
      if (frame.open) this.open.add(name);
      else this.open.delete(name);
      view.fit();
      view.exchange.ask();
    };
    /** @type {HTMLDetailsElement} */
    const frame = h(
      "details",
      { class: "wbx-panel", "data-testid": name, name: `${view.name}-panel`, ontoggle },
      h("summary", {}, title),
      h("div", { class: "wbx-panel-body" }, this.byName.get(name)?.box),
    );
    return frame;
  }

  draw() {
    const { drawn } = this.view;
    for (const name of this.open) {
      const panel = this.byName.get(name);
      const data = drawn.panels[name];
      if (!panel || !data) continue;
      try {
        panel.draw(data, drawn);
      } catch (error) {
        panel.box.replaceChildren(broken(name, error).box);
      }
    }
  }

  /**
   * What panels set for a question: by default those that are open.
   * @param {Term[]} terms
   */
  applied(terms) {
    const applies = (/** @type {string} */ name, /** @type {PanelScript} */ panel) =>
      panel.applies ? panel.applies(terms, this.open.has(name)) : this.open.has(name);
    const settings = [...this.byName].filter(([name, panel]) => panel.settings && applies(name, panel));
    return Object.fromEntries(settings.map(([name, panel]) => [name, panel.settings?.()]));
  }

  /** What every panel has set, so that it can be kept with a question. */
  settings() {
    const settings = [...this.byName].filter(([, panel]) => panel.settings);
    return Object.fromEntries(settings.map(([name, panel]) => [name, structuredClone(panel.settings?.())]));
  }

  /** The sentence is another one. */
  forget() {
    this.byName.forEach(panel => panel.forget?.());
  }

  /**
   * @param {Record<string, unknown>} settings
   * @param {string[]} open
   */
  restore(settings, open) {
    for (const [name, panel] of this.byName) if (name in settings) panel.restore?.(structuredClone(settings[name]));
    this.open = new Set(open.filter(name => this.byName.has(name)));
    for (const frame of this.boxes) frame.toggleAttribute("open", this.open.has(frame.dataset.testid ?? ""));
  }
}
