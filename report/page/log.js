// SPDX-License-Identifier: MIT
// The end of the coordinator's log.
import { h, panel } from "./dom.js";

export function createLog() {
  const text = h("pre", { class: "log", tabindex: 0, role: "region", "aria-label": "Last lines of the coordinator's log" });
  const { element, body } = panel("log", "Log", { wide: true, note: "logs/rank-0000.log, its last lines" });
  body.append(text);
  return {
    elements: [element],
    update(view) {
      element.hidden = view.log.length === 0;
      const isAtEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 8 || text.textContent === "";
      const now = view.log.join("\n");
      if (now !== text.textContent) {
        text.textContent = now;
        if (isAtEnd) {
          text.scrollTop = text.scrollHeight;
        }
      }
    },
  };
}
