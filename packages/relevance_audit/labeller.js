// The labelling tool: one candidate at a time, its captions, and the keys that label it.
// Texts from the data reach the page through textContent and attributes alone, never as markup.

/**
 * What the kernel shows (labeller.py).
 * @typedef {{
 *   at: number, total: number, annotator: string, label: string, caption: string, image: string, image_id: string,
 *   own_image: string, own_captions: string[], facts: [string, string][], status: string,
 *   counts: { valid: number, invalid: number, unsure: number, open: number },
 * }} Shown
 */
/** @typedef {{ do: string, label?: string, by?: number }} Message */
/**
 * What anywidget gives to a view.
 * @typedef {{
 *   get(name: string): any, send(message: unknown): void,
 *   on(name: string, listener: () => void): void, off(name: string, listener: () => void): void,
 * }} Model
 */

const LABELS = [
  ["1", "valid"],
  ["2", "invalid"],
  ["3", "unsure"],
];

/**
 * An element with attributes and children.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string>} attributes
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** @param {(message: Message) => void} send */
function build(send) {
  /** @type {(text: string, title: string, message: Message) => HTMLButtonElement} */
  const button = (text, title, message) => {
    const node = make("button", { type: "button", title }, text);
    node.addEventListener("click", () => send(message));
    return node;
  };
  const parts = {
    count: make("strong", { "data-testid": "audit-count" }),
    tally: make("span", { "data-testid": "audit-tally" }),
    bar: make("progress", { "aria-label": "labelled candidates" }),
    image: make("img", { class: "wb-audit-image" }),
    caption: make("blockquote", { "data-testid": "audit-caption" }),
    label: make("span", { class: "wb-audit-label", "data-testid": "audit-label" }),
    own: make("ul"),
    ownImage: make("img", { alt: "the image that the caption was written for" }),
    facts: make("dl"),
    status: make("span", { role: "status", "data-testid": "audit-status" }),
    choices: LABELS.map(([key, label]) => button(`${key} ${label}`, `key ${key}`, { do: "label", label })),
  };
  const moves = [
    button("U undo", "key U", { do: "undo" }),
    button("\u2190", "previous candidate (left arrow)", { do: "move", by: -1 }),
    button("\u2192", "next candidate (right arrow)", { do: "move", by: 1 }),
    button("N next unlabelled", "key N: next candidate without a label", { do: "open" }),
  ];
  moves[1].setAttribute("aria-label", "previous candidate");
  moves[2].setAttribute("aria-label", "next candidate");
  const root = make(
    "section",
    {
      class: "wb-audit",
      tabindex: "0",
      "data-testid": "audit",
      // JupyterLab's own shortcuts would take the keys 1, 2 and 3 for headings.
      "data-lm-suppress-shortcuts": "true",
      "aria-label": "Label candidates: 1 valid, 2 invalid, 3 unsure, U undo, arrow keys move, N next unlabelled",
    },
    make("header", {}, parts.count, parts.tally, parts.bar),
    make(
      "div",
      { class: "wb-audit-body" },
      parts.image,
      make(
        "div",
        { class: "wb-audit-text" },
        make("h4", {}, "Does this caption describe this image?"),
        parts.caption,
        parts.label,
        make("h5", {}, "The image\u2019s own captions"),
        parts.own,
      ),
      make("aside", {}, make("h5", {}, "The caption\u2019s own image"), parts.ownImage, parts.facts),
    ),
    make("footer", {}, ...parts.choices, ...moves, parts.status),
  );
  return { ...parts, root };
}

/**
 * @param {ReturnType<typeof build>} parts
 * @param {Shown} view
 */
function show(parts, view) {
  const { valid, invalid, unsure, open } = view.counts;
  const tally = [`${valid} valid`, `${invalid} invalid`, `${unsure} unsure`, `${open} unlabelled`];
  parts.count.textContent = `Candidate ${view.at + 1} of ${view.total}`;
  parts.tally.textContent = `${view.annotator}: ${tally.join(" \u00b7 ")}`;
  parts.bar.max = view.total;
  parts.bar.value = view.total - open;
  parts.image.src = view.image;
  parts.image.alt = `candidate image ${view.image_id}`;
  parts.caption.textContent = view.caption;
  parts.label.textContent = view.label ? `labelled ${view.label}` : "no label yet";
  parts.ownImage.src = view.own_image;
  parts.own.replaceChildren(...view.own_captions.map(text => make("li", {}, text)));
  parts.facts.replaceChildren(...view.facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  parts.status.textContent = view.status;
  parts.choices.forEach((node, number) => {
    node.setAttribute("aria-pressed", String(LABELS[number][1] === view.label));
  });
}

/** @param {{ model: Model, el: HTMLElement }} widget */
function render({ model, el }) {
  // The position on the screen goes with every message: a key that comes twice never labels a candidate unseen.
  const parts = build(message => model.send({ ...message, at: model.get("view").at }));
  const update = () => show(parts, model.get("view"));
  /** @type {Record<string, Message>} */
  const keys = {
    u: { do: "undo" },
    n: { do: "open" },
    arrowleft: { do: "move", by: -1 },
    arrowright: { do: "move", by: 1 },
    ...Object.fromEntries(LABELS.map(([key, label]) => [key, { do: "label", label }])),
  };
  parts.root.addEventListener("keydown", event => {
    const message = keys[event.key.toLowerCase()];
    if (!message || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    event.preventDefault();
    event.stopPropagation();
    model.send({ ...message, at: model.get("view").at });
  });
  model.on("change:view", update);
  update();
  el.append(parts.root);
  return () => model.off("change:view", update);
}

export default { render };
