// SPDX-License-Identifier: MIT
// Short calls that make elements. Text is always set as text: a run's words never become markup.

const kSvg = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else if (value === true) {
      element.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** h("p", {class: "note"}, "text", element) */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(kSvg, tag), attributes, children);
}

/** A section of the page with its heading; `tools` stand beside the heading. */
export function panel(id, title, { tools = [], wide = false, note = "" } = {}) {
  const body = h("div", { class: "panel-body" });
  const heading = h("h2", { id: `${id}-title` }, title);
  const element = h("section", { id, class: wide ? "panel wide" : "panel", "aria-labelledby": `${id}-title` },
    h("div", { class: "panel-head" }, heading, note ? h("p", { class: "note" }, note) : null,
      tools.length ? h("div", { class: "tools" }, ...tools) : null), body);
  return { element, body };
}

/**
 * A table that scrolls sideways inside itself. columns: [{title, right}]; rows: arrays of text or
 * elements; the first cell of each names its row.
 */
export function table(caption, columns, rows) {
  const align = (column) => (column.right ? "right" : null);
  return h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": `${caption}, a table` },
    h("table", {}, h("caption", { class: "visually-hidden" }, caption),
      h("thead", {}, h("tr", {}, ...columns.map((column) => h("th", { scope: "col", class: align(column) }, column.title)))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell, i) =>
        h(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, class: align(columns[i]) }, cell)))))));
}

/** A button that is on or off. */
export function toggle(text, pressed, change, label = null) {
  const button = h("button", { type: "button", class: "toggle", "aria-pressed": String(pressed), "aria-label": label,
    onclick: () => {
      const now = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(now));
      change(now);
    } }, text);
  return button;
}

/** One of several: radio buttons that look like one control. */
export function choice(name, label, options, chosen, change) {
  return h("fieldset", { class: "choice" }, h("legend", {}, label), ...options.map(({ value, text }) =>
    h("label", {}, h("input", { type: "radio", name, value, checked: value === chosen, onchange: () => change(value) }),
      h("span", {}, text))));
}
