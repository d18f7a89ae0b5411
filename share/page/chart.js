// SPDX-License-Identifier: MIT
// A chart of lines, or of areas on one another: axes with units, a legend that is also the readout of
// the place under the pointer or the arrow keys. Drawn as SVG, again whenever its width changes.
import { h, s, toggle } from "./dom.js";
import { formatNumber } from "./format.js";
import { logTicks, makeScale, nearestIndex, niceTicks, smoothed } from "./chart_scale.js";

const kMargin = { left: 54, right: 12, top: 10, bottom: 30 };
const kNumColors = 8;

function seriesColor(index) {
  return `var(--series-${(index % kNumColors) + 1})`;
}

function isThere(value) {
  return value !== null && value !== undefined && Number.isFinite(value);
}

/** Lowest and highest drawn value, with a little room above and below. */
function domain(lists, { isLog, isStack, fromZero }) {
  let low = Infinity;
  let high = -Infinity;
  for (const list of lists) {
    for (const value of list) {
      if (isThere(value) && (!isLog || value > 0)) {
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
  }
  if (low > high) {
    return isLog ? [1, 10] : [0, 1];
  }
  if (isLog) {
    return low === high ? [low / 2, high * 2] : [low / 1.1, high * 1.1];
  }
  if (isStack || fromZero) {
    return [Math.min(0, low), Math.max(high, 1e-9) * (isStack ? 1 : 1.1)];
  }
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
}

function linePath(xs, values, xScale, yScale, breaks, isLog) {
  let path = "";
  let isDown = false;
  for (let i = 0; i < values.length; i += 1) {
    if (!isThere(values[i]) || (isLog && values[i] <= 0)) {
      isDown = isDown && !breaks;
      continue;
    }
    path += `${isDown ? "L" : "M"}${xScale(xs[i]).toFixed(1)} ${yScale(values[i]).toFixed(1)}`;
    isDown = true;
  }
  return path;
}

function areaPath(xs, lower, upper, xScale, yScale) {
  const top = upper.map((value, i) => `${xScale(xs[i]).toFixed(1)} ${yScale(value).toFixed(1)}`);
  const bottom = lower.map((value, i) => `${xScale(xs[i]).toFixed(1)} ${yScale(value).toFixed(1)}`).reverse();
  return top.length ? `M${top.join("L")}L${bottom.join("L")}Z` : "";
}

/**
 * createChart({title, unit, format, stack, log, dots}).update({x: {label, format}, series: [{name, x, values,
 * breaks}], marks: [{x, text}]})
 */
export function createChart(options) {
  const format = options.format ?? formatNumber;
  const state = { data: { x: { label: "", format: formatNumber }, series: [], marks: [] }, hidden: new Set(),
    isLog: options.log ?? false, weight: 0, cursor: null, width: 0, scales: null };
  const height = options.height ?? 230;

  const readout = h("span", { class: "chart-at" });
  const legend = h("div", { class: "legend" });
  const drawing = s("svg", { height, "aria-hidden": "true", focusable: "false" });
  const plot = h("div", { class: "plot", tabindex: 0, role: "slider", "aria-label": `${options.title}: place in the run`,
    "aria-valuemin": 0, "aria-valuemax": 0, "aria-valuenow": 0, "aria-valuetext": "nothing yet" }, drawing);
  const logButton = options.stack ? null : toggle("log", state.isLog, (now) => {
    state.isLog = now;
    draw();
  }, `${options.title}: logarithmic axis`);
  const element = h("figure", { class: "chart" },
    h("figcaption", {}, h("span", { class: "chart-title" }, options.title),
      options.unit ? h("span", { class: "chart-unit" }, options.unit) : null, readout, logButton),
    legend, plot);

  const shown = () => state.data.series.filter((series) => !state.hidden.has(series.name));

  /** Values as they are drawn: smoothed, and on one another where the chart is a stack. */
  function drawn() {
    let below = null;
    return shown().map((series) => {
      const values = smoothed(series.values, state.weight);
      if (!options.stack) {
        return { series, values };
      }
      const lower = below ?? values.map(() => 0);
      const upper = values.map((value, i) => lower[i] + (isThere(value) ? value : 0));
      below = upper;
      return { series, values, lower, upper };
    });
  }

  function drawAxes(xScale, yScale, xs, ys) {
    const right = state.width - kMargin.right;
    const bottom = height - kMargin.bottom;
    const group = s("g", { class: "axes" });
    for (const tick of ys) {
      const y = Math.round(yScale(tick)) + 0.5;
      group.append(s("line", { x1: kMargin.left, x2: right, y1: y, y2: y }),
        s("text", { x: kMargin.left - 7, y: y + 4, class: "y" }, (options.tick ?? format)(tick)));
    }
    for (const tick of xs) {
      group.append(s("text", { x: xScale(tick), y: bottom + 15, class: "x" }, state.data.x.format(tick)));
    }
    group.append(s("text", { x: right, y: height - 2, class: "label" }, state.data.x.label));
    return group;
  }

  function drawSeries(lists, xScale, yScale) {
    const group = s("g", { class: "lines", "clip-path": null });
    for (const { series, values, lower, upper } of lists) {
      const color = seriesColor(series.color);
      if (upper) {
        group.append(s("path", { d: areaPath(series.x, lower, upper, xScale, yScale), fill: color, class: "area" }));
        continue;
      }
      if (state.weight) {
        group.append(s("path", { d: linePath(series.x, series.values, xScale, yScale, series.breaks, state.isLog),
          stroke: color, class: "line raw" }));
      }
      group.append(s("path", { d: linePath(series.x, values, xScale, yScale, series.breaks, state.isLog), stroke: color,
        class: "line", "stroke-dasharray": series.dash ?? null }));
      if (options.dots || values.length < 3) {
        values.forEach((value, i) => isThere(value) && (!state.isLog || value > 0) && group.append(
          s("circle", { cx: xScale(series.x[i]), cy: yScale(value), r: 3, fill: color })));
      }
    }
    return group;
  }

  function drawMarks(xScale) {
    return s("g", { class: "marks" }, ...state.data.marks.map(({ x, text }) =>
      s("line", { x1: xScale(x), x2: xScale(x), y1: kMargin.top, y2: height - kMargin.bottom },
        s("title", {}, text))));
  }

  function draw() {
    if (state.width < 80) {
      return;
    }
    drawing.setAttribute("width", state.width);
    drawing.setAttribute("viewBox", `0 0 ${state.width} ${height}`);
    const lists = drawn();
    const all = state.data.series.flatMap((series) => [series.x[0], series.x.at(-1)]).filter(isThere);
    const [first, last] = all.length ? [Math.min(...all), Math.max(...all)] : [0, 1];
    const [low, high] = domain(lists.map(({ upper, values, series }) => upper ?? (state.weight ? series.values : values)),
      { isLog: state.isLog, isStack: options.stack, fromZero: options.fromZero });
    const xScale = makeScale(first, last > first ? last : first + 1, kMargin.left, state.width - kMargin.right, false);
    const yScale = makeScale(low, high, height - kMargin.bottom, kMargin.top, state.isLog);
    state.scales = { xScale, yScale };
    const xs = niceTicks(first, last > first ? last : first + 1, Math.max(3, Math.floor(state.width / 90)));
    const ys = state.isLog ? logTicks(low, high) : niceTicks(low, high, Math.max(3, Math.round(height / 52)));
    drawing.replaceChildren(drawAxes(xScale, yScale, xs, ys), drawSeries(lists, xScale, yScale), drawMarks(xScale));
    showCursor();
  }

  /** The series whose places the arrow keys walk along. */
  function longest() {
    return shown().reduce((best, series) => (best === null || series.x.length > best.x.length ? series : best), null);
  }

  function showCursor() {
    drawing.querySelector(".cursor")?.remove();
    const along = longest();
    const at = state.cursor;
    const isSet = at !== null && along !== null && along.x.length > 0;
    readout.textContent = isSet ? `${state.data.x.format(at)} ${state.data.x.label}` : "";
    const spoken = [];
    for (const button of legend.children) {
      const series = state.data.series.find(({ name }) => name === button.dataset.series);
      const index = isSet ? nearestIndex(series.x, at) : lastThere(series.values);
      const value = index >= 0 ? smoothed(series.values, state.weight)[index] : null;
      button.lastChild.textContent = format(value);
      spoken.push(`${series.name} ${format(value)}`);
    }
    if (along && along.x.length) {
      const index = isSet ? nearestIndex(along.x, at) : along.x.length - 1;
      plot.setAttribute("aria-valuemax", along.x.length - 1);
      plot.setAttribute("aria-valuenow", index);
      plot.setAttribute("aria-valuetext", `${state.data.x.format(along.x[index])} ${state.data.x.label}: ${spoken.join(", ")}`);
    }
    if (isSet && state.scales) {
      drawCursor(at);
    }
  }

  function drawCursor(at) {
    const { xScale, yScale } = state.scales;
    const x = xScale(at);
    const group = s("g", { class: "cursor" }, s("line", { x1: x, x2: x, y1: kMargin.top, y2: height - kMargin.bottom }));
    for (const { series, values, upper } of drawn()) {
      const index = nearestIndex(series.x, at);
      const value = (upper ?? values)[index];
      if (isThere(value) && (!state.isLog || value > 0)) {
        group.append(s("circle", { cx: xScale(series.x[index]), cy: yScale(value), r: 3.5, fill: seriesColor(series.color) }));
      }
    }
    drawing.append(group);
  }

  function moveTo(x) {
    state.cursor = x;
    showCursor();
  }

  function moveBy(steps) {
    const along = longest();
    if (along && along.x.length) {
      const from = state.cursor === null ? along.x.length - 1 : nearestIndex(along.x, state.cursor);
      moveTo(along.x[Math.max(0, Math.min(along.x.length - 1, from + steps))]);
    }
  }

  plot.addEventListener("pointermove", (event) => {
    const along = longest();
    if (state.scales && along && along.x.length) {
      const wanted = state.scales.xScale.invert(event.clientX - plot.getBoundingClientRect().left);
      moveTo(along.x[nearestIndex(along.x, wanted)]);
    }
  });
  plot.addEventListener("pointerleave", () => moveTo(null));
  plot.addEventListener("blur", () => moveTo(null));
  plot.addEventListener("keydown", (event) => {
    const far = Math.max(1, Math.round((longest()?.x.length ?? 0) / 10));
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -far, PageUp: far,
      Home: -Infinity, End: Infinity }[event.key];
    if (steps !== undefined) {
      event.preventDefault();
      moveBy(steps);
    }
  });
  new ResizeObserver(([entry]) => {
    state.width = Math.floor(entry.contentRect.width);
    draw();
  }).observe(plot);

  function showLegend() {
    const wanted = state.data.series.map(({ name }) => name).join("\n");
    if (legend.dataset.series === wanted) {
      return;
    }
    legend.dataset.series = wanted;
    legend.replaceChildren(...state.data.series.map((series) => {
      const button = toggle("", true, (now) => {
        state.hidden[now ? "delete" : "add"](series.name);
        draw();
      });
      button.classList.add("legend-entry");
      button.dataset.series = series.name;
      const swatch = `swatch color-${(series.color % kNumColors) + 1}${series.dash ? " dashed" : ""}`;
      button.append(h("span", { class: swatch, "aria-hidden": "true" }),
        h("span", {}, series.name), h("span", { class: "value" }, ""));
      return button;
    }));
  }

  return {
    element,
    update(data) {
      data.series.forEach((series, i) => { series.color ??= i; });
      state.data = { marks: [], ...data };
      element.hidden = !data.series.some((series) => series.values.some(isThere));
      showLegend();
      draw();
      showCursor();
    },
    smooth(weight) {
      state.weight = options.stack || options.dots ? 0 : weight;
      draw();
    },
  };
}

function lastThere(values) {
  for (let i = values.length - 1; i >= 0; i -= 1) {
    if (isThere(values[i])) {
      return i;
    }
  }
  return -1;
}
