// SPDX-License-Identifier: MIT
// Events of the run, newest first, and the end of its log.
import { choice, h, panel, table } from "./dom.js";
import { formatCount, formatTime } from "./format.js";

const kFirst = 60; // rows before more are asked for
const kGroups = {
  all: { text: "All", has: (kind) => kind !== "picture" },
  trouble: { text: "Trouble", has: (kind) => ["warning", "rollback", "plateau", "early-stop", "failure"].includes(kind) },
  saves: { text: "Checkpoints", has: (kind) => kind === "checkpoint" },
  scores: { text: "Scores", has: (kind) => kind === "score" },
};
const kBad = new Set(["warning", "rollback", "failure"]);

export function createEvents() {
  let group = "all";
  let isWhole = false;
  let view = null;
  const place = h("div", {});
  const more = h("button", { type: "button", onclick: () => {
    isWhole = true;
    update(view);
  } });
  const { element, body } = panel("events", "Events", { tools: [choice("events", "Show",
    Object.entries(kGroups).map(([value, { text }]) => ({ value, text })), "all", (value) => {
      group = value;
      isWhole = false;
      update(view);
    })] });
  body.append(place, more);

  /** Sorts events without a time (decisions) by their step. */
  function inOrder(events) {
    const timeOfStep = (step) => events.find((event) => event.unix !== null && (event.step ?? -1) >= step)?.unix ?? Infinity;
    return events.map((event, i) => ({ event, i, at: event.unix ?? timeOfStep(event.step) }))
      .sort((one, other) => other.at - one.at || other.i - one.i).map(({ event }) => event);
  }

  function update(now) {
    view = now;
    element.hidden = view.events.length === 0;
    const chosen = inOrder(view.events).filter(({ kind }) => kGroups[group].has(kind));
    const rows = (isWhole ? chosen : chosen.slice(0, kFirst)).map(({ unix, step, kind, text }) => [formatTime(unix),
      h("span", { class: kBad.has(kind) ? "tag bad" : "tag" }, kind), formatCount(step), text]);
    place.replaceChildren(rows.length ? table("Events", [{ title: "Time" }, { title: "Kind" }, { title: "Step", right: true },
      { title: "What" }], rows) : h("p", { class: "empty" }, "None of these."));
    more.hidden = isWhole || chosen.length <= kFirst;
    more.textContent = `Show all ${formatCount(chosen.length)}`;
  }
  return { elements: [element], update };
}

/** The end of the coordinator's log. */
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
