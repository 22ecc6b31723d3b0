// Whether the kernel can answer: a strip that says so, so that a dead or busy kernel never looks like a live answer.

const DEAD = new Set(["dead", "terminating", "restarting", "autorestarting"]);
const LOOK = 200; // ms between two looks
const GREY = 400; // ms of waiting after which what is shown counts as old
const SILENT = 10000; // ms without an answer from a kernel that has nothing to do

class Kernel {
  /** Where the page is not JupyterLab's no kernel is known, and waiting alone is told. `lost` is called once it is gone. */
  constructor(model, root, lost) {
    Object.assign(this, { model, root, lost, gone: false, known: false, asked: null, idle: null, busy: null });
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

  get status() { return this.model.widget_manager?.kernel?.status; }

  /** A question goes out; false where that is impossible. */
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

  /** Something came: whoever speaks is there. True where it was thought gone. */
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
    const now = performance.now(), { status } = this;
    this.known ||= status !== undefined;
    // one that was shut down is taken away from the page
    if (DEAD.has(status) || (this.known && status === undefined)) this.lose();
    this.busy = status === "busy" ? this.busy ?? now : null;
    this.idle = this.asked !== null && status === "idle" ? this.idle ?? now : null;
    if (this.idle !== null && now - this.idle > SILENT) this.lose();
    const waited = Math.max(this.asked === null ? 0 : now - this.asked, this.busy === null ? 0 : now - this.busy);
    const state = this.gone ? "gone" : waited > GREY ? "busy" : "ready";
    const told = { gone: "kernel gone: rerun the cell", busy: `kernel busy for ${Math.max(1, Math.round(waited / 1000))} s`, ready: "kernel ready" }[state];
    if (this.strip.textContent !== told) this.strip.textContent = told;
    this.strip.dataset.state = state;
    this.root.classList.toggle("wbx-stale", this.gone || (this.asked !== null && now - this.asked > GREY));
  }
}
