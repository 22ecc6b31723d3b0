// Whether the kernel can answer: a strip that says so, so that a dead or busy kernel never looks like a live answer.

import { h } from "./parts.js";

/** @import { Model } from "./types.d.ts" */

export const DEAD = new Set(["dead", "terminating", "restarting", "autorestarting"]);
export const LOOK = 200; // ms between two looks
export const GREY = 400; // ms of waiting after which what is shown counts as old
export const SILENT = 10000; // ms without an answer from a kernel that has nothing to do

export class Kernel {
  /**
   * Where the page is not JupyterLab's no kernel is known, and waiting alone is told. `lost` is called once it is gone.
   * @param {Model} model
   * @param {HTMLElement} root
   * @param {() => void} lost
   */
  constructor(model, root, lost) {
    this.model = model;
    this.root = root;
    this.lost = lost;
    this.gone = false;
    this.known = false;
    /** @type {number | null} */
    this.asked = null;
    /** @type {number | null} */
    this.idle = null;
    /** @type {number | null} */
    this.busy = null;
    this.strip = h("span", { class: "wbx-kernel", "data-testid": "kernel" });
    this.onLive = () => this.lose();
    model.on("comm_live_update", this.onLive); // a restarted kernel knows this widget no more
    this.timer = setInterval(() => this.look(), LOOK);
    this.look();
  }

  close() {
    clearInterval(this.timer);
    this.model.off("comm_live_update", this.onLive);
  }

  get status() {
    return this.model.widget_manager?.kernel?.status;
  }

  /**
   * A question goes out; false where that is impossible.
   * @param {unknown} message
   * @param {ArrayBuffer[]} buffers
   */
  send(message, buffers) {
    try {
      this.model.send(message, undefined, buffers);
      return true;
    } catch {
      this.lose();
      return false;
    }
  }

  wait() {
    this.asked ??= performance.now();
    this.idle = null;
  }

  /**
   * Something came: whoever speaks is there. True where it was thought gone.
   * @param {boolean} answered
   */
  heard(answered) {
    const { gone } = this;
    this.gone = false;
    if (answered) this.asked = null;
    this.look();
    return gone;
  }

  lose() {
    if (this.gone) return;
    this.gone = true;
    this.asked = null;
    this.look();
    this.lost();
  }

  look() {
    const now = performance.now(),
      { status } = this;
    this.known ||= status !== undefined;
    // one that was shut down is taken away from the page
    if ((status && DEAD.has(status)) || (this.known && status === undefined)) this.lose();
    this.busy = status === "busy" ? (this.busy ?? now) : null;
    this.idle = this.asked !== null && status === "idle" ? (this.idle ?? now) : null;
    if (this.idle !== null && now - this.idle > SILENT) this.lose();
    const waited = Math.max(this.asked === null ? 0 : now - this.asked, this.busy === null ? 0 : now - this.busy);
    const state = this.gone ? "gone" : waited > GREY ? "busy" : "ready";
    const told = {
      gone: "kernel gone: rerun the cell",
      busy: `kernel busy for ${Math.max(1, Math.round(waited / 1000))} s`,
      ready: "kernel ready",
    }[state];
    if (this.strip.textContent !== told) this.strip.textContent = told;
    this.strip.dataset.state = state;
    this.root.classList.toggle("wbx-stale", this.gone || (this.asked !== null && now - this.asked > GREY));
  }
}
