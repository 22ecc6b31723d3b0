// Texts from the data reach the page through textContent and attributes alone, never as markup.
const LABELS = [["1", "valid"], ["2", "invalid"], ["3", "unsure"]];

function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "text") node.textContent = value;
    else if (name === "click") node.addEventListener("click", value);
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function build(send) {
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
  };
  const button = (text, title, message) => make("button", { type: "button", title, text, click: () => send(message) });
  parts.choices = LABELS.map(([key, label]) => button(`${key} ${label}`, `key ${key}`, { do: "label", label }));
  const moves = [
    button("U undo", "key U", { do: "undo" }),
    button("\u2190", "previous candidate (left arrow)", { do: "move", by: -1 }),
    button("\u2192", "next candidate (right arrow)", { do: "move", by: 1 }),
    button("N next unlabelled", "key N: next candidate without a label", { do: "open" }),
  ];
  moves[1].setAttribute("aria-label", "previous candidate");
  moves[2].setAttribute("aria-label", "next candidate");
  // JupyterLab's own shortcuts would take the keys 1, 2 and 3 for headings.
  parts.root = make(
    "section",
    { class: "wb-audit", tabindex: "0", "data-testid": "audit", "data-lm-suppress-shortcuts": "true",
      "aria-label": "Label candidates: 1 valid, 2 invalid, 3 unsure, U undo, arrow keys move, N next unlabelled" },
    make("header", {}, parts.count, parts.tally, parts.bar),
    make("div", { class: "wb-audit-body" },
      parts.image,
      make("div", { class: "wb-audit-text" },
        make("h4", { text: "Does this caption describe this image?" }), parts.caption, parts.label,
        make("h5", { text: "The image\u2019s own captions" }), parts.own),
      make("aside", {}, make("h5", { text: "The caption\u2019s own image" }), parts.ownImage, parts.facts)),
    make("footer", {}, ...parts.choices, ...moves, parts.status),
  );
  return parts;
}

function show(parts, view) {
  const { counts } = view, done = view.total - counts.open;
  parts.count.textContent = `Candidate ${view.at + 1} of ${view.total}`;
  parts.tally.textContent =
    `${view.annotator}: ${counts.valid} valid \u00b7 ${counts.invalid} invalid \u00b7 ${counts.unsure} unsure \u00b7 ${counts.open} unlabelled`;
  parts.bar.max = view.total;
  parts.bar.value = done;
  parts.image.src = view.image;
  parts.image.alt = `candidate image ${view.image_id}`;
  parts.caption.textContent = view.caption;
  parts.label.textContent = view.label ? `labelled ${view.label}` : "no label yet";
  parts.ownImage.src = view.own_image;
  parts.own.replaceChildren(...view.own_captions.map((text) => make("li", { text })));
  parts.facts.replaceChildren(...view.facts.flatMap(([name, value]) => [make("dt", { text: name }), make("dd", { text: value })]));
  parts.status.textContent = view.status;
  parts.choices.forEach((node, number) => node.setAttribute("aria-pressed", String(LABELS[number][1] === view.label)));
}

function render({ model, el }) {
  // The position on the screen goes with every message: a key that comes twice never labels a candidate unseen.
  const send = (message) => model.send({ ...message, at: model.get("view").at });
  const parts = build(send);
  const update = () => show(parts, model.get("view"));
  const keys = {
    u: { do: "undo" }, n: { do: "open" }, arrowleft: { do: "move", by: -1 }, arrowright: { do: "move", by: 1 },
    ...Object.fromEntries(LABELS.map(([key, label]) => [key, { do: "label", label }])),
  };
  parts.root.addEventListener("keydown", (event) => {
    const message = keys[event.key.toLowerCase()];
    if (!message || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    event.preventDefault();
    event.stopPropagation();
    send(message);
  });
  model.on("change:view", update);
  update();
  el.append(parts.root);
  return () => model.off("change:view", update);
}

export default { render };
