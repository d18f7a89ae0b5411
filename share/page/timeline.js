// SPDX-License-Identifier: MIT
// One step of a traced run: a row per thread of each worker, and the longest operations.
import { h, panel, s, table } from "./dom.js";
import { formatCount, formatNumber, formatPercent } from "./format.js";
import { niceTicks } from "./chart_scale.js";

const kRow = 18; // pixels
const kNameWidth = 148;

/** The colour of a stretch. */
function spanClass(name, category) {
  if (/^(await|wait)/.test(name)) {
    return "wait";
  }
  if (category === "messages" || category === "message") {
    return "message";
  }
  if (category === "exchange") {
    return { travel: "travel", update: "update", "sum and update": "update", agree: "wait" }[name] ?? "exchange";
  }
  return name.startsWith("forward") ? "forward" : name.startsWith("backward") ? "backward" : category === "lane" ? "lane" : "other";
}

const kLegend = [["forward", "forward"], ["backward", "backward"], ["wait", "waits"], ["lane", "lane"], ["exchange", "exchange"],
  ["travel", "travels"], ["update", "update"], ["other", "other"]];

function timeText(microseconds) {
  return microseconds >= 1000 ? `${formatNumber(microseconds / 1000, 3)} ms` : `${formatNumber(microseconds, 3)} µs`;
}

/** The costliest operations of compute rows: [{name, count, total, share}]. */
function longestParts(timeline) {
  const parts = new Map();
  let ranks = 0;
  for (const { rows } of timeline.ranks) {
    const compute = rows.find(({ name }) => name === "compute");
    ranks += compute ? 1 : 0;
    for (const [, length, name] of compute?.spans ?? []) {
      const kind = name.replace(/ (pass|micro-batch|repeat|bucket|stage) \d+/g, "");
      const part = parts.get(kind) ?? { name: kind, count: 0, total: 0 };
      part.count += 1;
      part.total += length;
      parts.set(kind, part);
    }
  }
  return [...parts.values()].map((part) => ({ ...part, share: (part.total / (timeline.microseconds * Math.max(1, ranks))) * 100 }))
    .sort((one, other) => other.total - one.total).slice(0, 12);
}

/** The number of the stretch of `row` that is nearest in time to `stretch`. */
function nearestIn(row, stretch) {
  const middle = (it) => it.begin + it.length / 2;
  const distances = row.map((it) => Math.abs(middle(it) - middle(stretch)));
  return distances.indexOf(Math.min(...distances));
}

/** Where a key leads from place `at` ({row, stretch}, or null) in rows of stretches; null: the key is not one of these. */
function placeBehind(at, key, rows) {
  if (!["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(key) || rows.length === 0) {
    return null;
  }
  if (!at) {
    return { row: 0, stretch: 0 };
  }
  const row = rows[at.row];
  if (key === "ArrowUp" || key === "ArrowDown") {
    const next = Math.max(0, Math.min(rows.length - 1, at.row + (key === "ArrowUp" ? -1 : 1)));
    return next === at.row ? at : { row: next, stretch: nearestIn(rows[next], row[at.stretch]) };
  }
  const stretch = { ArrowLeft: at.stretch - 1, ArrowRight: at.stretch + 1, Home: 0, End: row.length - 1 }[key];
  return { row: at.row, stretch: Math.max(0, Math.min(row.length - 1, stretch)) };
}

export function createTimeline() {
  let zoom = 1;
  let timeline = null;
  let drawnOf = "";
  let rows = []; // drawn stretches: {begin, length, mark}
  let at = null; // the stretch that the keyboard has chosen: {row, stretch}
  const scroll = h("div", { class: "timeline-scroll", tabindex: 0, role: "region", "aria-label": "Timeline of a step; arrow keys go from stretch to stretch" });
  const told = h("p", { class: "note timeline-told", "aria-live": "off" });
  const note = h("p", { class: "note" });
  const parts = h("div", {});
  const zoomBy = (factor) => h("button", { type: "button", "aria-label": factor > 1 ? "Wider" : "Narrower", onclick: () => {
    zoom = Math.max(1, Math.min(32, zoom * factor));
    draw();
  } }, factor > 1 ? "+" : "−");
  const { element, body } = panel("timeline", "A step, side by side", { wide: true, tools: [zoomBy(0.5), zoomBy(2)] });
  body.append(note, h("ul", { class: "timeline-legend" }, ...kLegend.map(([name, text]) =>
    h("li", {}, h("span", { class: `swatch span-${name}`, "aria-hidden": "true" }), text))), scroll, told, parts);

  function drawRank({ name, rank, rows: of }, width, perMicrosecond) {
    const height = of.length * kRow + 4;
    const drawing = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", focusable: "false" });
    of.forEach((row, r) => {
      drawing.append(s("text", { x: 0, y: r * kRow + 13, class: "row-name" }, row.name));
      const drawn = [];
      for (const [begin, length, what, category] of row.spans) {
        const span = s("rect", { x: (kNameWidth + begin * perMicrosecond).toFixed(2), y: r * kRow + 2, height: kRow - 4,
          width: Math.max(0.6, length * perMicrosecond).toFixed(2), class: `span-${spanClass(what, category)}` });
        span.dataset.told = `${row.name}: ${what}, ${timeText(length)}, from ${timeText(begin)}`;
        drawing.append(span);
        drawn.push({ begin, length, mark: span });
      }
      if (drawn.length > 0) {
        rows.push(drawn);
      }
    });
    return [h("h3", {}, name || `rank ${rank}`), drawing];
  }

  function draw() {
    const room = Math.floor(scroll.clientWidth || 800);
    const width = Math.max(360, room - 4) * zoom;
    const perMicrosecond = (width - kNameWidth - 8) / timeline.microseconds;
    const ticks = niceTicks(0, timeline.microseconds, Math.max(3, Math.floor(width / 140)));
    const axis = s("svg", { width, height: 18, "aria-hidden": "true", focusable: "false" }, ...ticks.map((tick) =>
      s("text", { x: kNameWidth + tick * perMicrosecond, y: 13, class: "x" }, timeText(tick))));
    rows = [];
    scroll.replaceChildren(axis, ...timeline.ranks.flatMap((rank) => drawRank(rank, width, perMicrosecond)));
    rows[at?.row]?.[at.stretch]?.mark.classList.add("chosen");
  }

  /** Shows a stretch's name and times; a screen reader says them after a key press. */
  function choose(place) {
    rows[at?.row]?.[at.stretch]?.mark.classList.remove("chosen");
    at = place;
    const { mark } = rows[at.row][at.stretch];
    mark.classList.add("chosen");
    mark.scrollIntoView({ block: "nearest", inline: "nearest" });
    told.setAttribute("aria-live", "polite");
    told.textContent = mark.dataset.told;
  }

  scroll.addEventListener("keydown", (event) => {
    const place = event.altKey || event.ctrlKey || event.metaKey ? null : placeBehind(at, event.key, rows);
    if (place) {
      event.preventDefault();
      choose(place);
    }
  });

  scroll.addEventListener("pointermove", (event) => {
    if (event.target.dataset?.told) {
      told.setAttribute("aria-live", "off");
      told.textContent = event.target.dataset.told;
    }
  });
  new ResizeObserver(() => timeline && draw()).observe(element);

  return {
    elements: [element],
    update(view) {
      element.hidden = !view.timeline;
      const now = JSON.stringify([view.timeline?.step, view.timeline?.microseconds]);
      if (!view.timeline || now === drawnOf) {
        return;
      }
      drawnOf = now;
      timeline = view.timeline;
      at = null;
      note.textContent = `Step ${formatCount(timeline.step)}, ${timeText(timeline.microseconds)}, as it was traced ` +
        "(gangway run --trace).";
      told.textContent = "Point at a stretch to see what it is, or go there with the arrow keys.";
      draw();
      parts.replaceChildren(table("What compute spent most on", [{ title: "Compute spent most on" }, { title: "Times", right: true },
        { title: "In all", right: true }, { title: "Of the step", right: true }], longestParts(timeline).map((part) => [part.name,
        formatCount(part.count), timeText(part.total), formatPercent(part.share)])));
    },
  };
}
