// SPDX-License-Identifier: MIT
// Parts of a step's time, over the run and by worker (docs/tuning.md).
import { h, s } from "./dom.js";
import { createChart } from "./chart.js";
import { formatName, formatPercent, formatSeconds } from "./format.js";

const kParts = "parts.";
const kPhase = "exposed.";
const kMostShown = 7; // colours of a palette of eight; the rest shares one

const kTitles = { data: "waits for data", data_copy: "copies data", exchange: "sums gradients", optimizer: "waits for the optimizer",
  workers: "waits for workers", messages: "waits for messages", device: "waits for the device", tensors: "waits for tensors",
  tensor_send: "sends tensors", recorded: "recorded steps", coordinator: "waits for the coordinator" };

function titleOf(part) {
  return kTitles[part] ?? formatName(part);
}

/** For runs whose ticks have no parts: shares of several workers, which need not add up. */
function earlierParts(ticks, count) {
  const phases = Object.keys(ticks).filter((key) => key.startsWith(kPhase));
  const at = (key, i) => ticks[key]?.[i] ?? 0;
  const waits = phases.map((key) => ({ name: `waits for ${formatName(key.slice(kPhase.length))}`, values: [] }));
  const compute = { name: "computes", values: [] };
  const data = { name: "waits for data", values: [] };
  const checks = { name: "checks", values: [] };
  for (let i = 0; i < count; i += 1) {
    const exposed = at("exposed_percent", i);
    const seconds = phases.reduce((sum, key) => sum + at(key, i), 0);
    phases.forEach((key, p) => waits[p].values.push(seconds > 0 ? (exposed * at(key, i)) / seconds : 0));
    data.values.push(at("data_percent", i));
    checks.values.push(at("check_percent", i));
    compute.values.push(Math.max(0, 100 - exposed - at("data_percent", i) - at("check_percent", i)));
  }
  return [compute, data, ...waits, checks].filter((part) => part === compute || part.values.some((value) => value > 0));
}

/** Names of parts, the largest first; parts without their own colour are merged. */
function shownParts(seconds) {
  const names = Object.keys(seconds).filter((name) => name !== "other");
  names.sort((one, another) => seconds[another] - seconds[one]);
  return names.slice(0, kMostShown);
}

function sum(values) {
  return values.reduce((all, value) => all + (value ?? 0), 0);
}

/** Shares of the step, percent, by tick: [{name, values}], the largest first. */
export function stepParts(ticks) {
  const count = ticks.step?.length ?? 0;
  const keys = Object.keys(ticks).filter((key) => key.startsWith(kParts));
  if (keys.length === 0) {
    return earlierParts(ticks, count);
  }
  const seconds = Object.fromEntries(keys.map((key) => [key.slice(kParts.length), sum(ticks[key])]));
  const shown = shownParts(seconds);
  const all = Array.from({ length: count }, (_, i) => sum(keys.map((key) => ticks[key][i])));
  const share = (value, i) => (all[i] > 0 ? (100 * (value ?? 0)) / all[i] : null);
  const parts = shown.map((name) => ({ name: titleOf(name), values: ticks[kParts + name].map(share) }));
  const rest = all.map((whole, i) => (whole > 0 ? Math.max(0, 100 - sum(parts.map(({ values }) => values[i]))) : null));
  return [...parts, { name: "other", values: rest }];
}

/** The bar of one worker. */
function bar(rank, parts, shown) {
  const all = sum(Object.values(parts));
  const pieces = shown.map((name, index) => ({ name: titleOf(name), value: parts[name] ?? 0, color: `var(--series-${index + 1})` }));
  pieces.push({ name: "other", value: Math.max(0, all - sum(pieces.map(({ value }) => value))), color: "var(--series-8)" });
  const there = pieces.filter(({ value }) => value > 0);
  const said = there.map(({ name, value }) => `${name} ${formatPercent((100 * value) / all)}`).join(", ");
  let x = 0;
  const drawn = there.map(({ name, value, color }) => {
    const width = (100 * value) / all;
    x += width;
    return s("rect", { x: x - width, y: 0, width, height: 1, fill: color },
      s("title", {}, `${name} ${formatPercent(width)}, ${formatSeconds(value)} a step`));
  });
  return h("div", { class: "part-row" }, h("span", {}, `rank ${rank}`),
    s("svg", { class: "part-bar", viewBox: "0 0 100 1", preserveAspectRatio: "none", role: "img", "aria-label": `rank ${rank}: ${said}` },
      ...drawn), h("span", {}, formatSeconds(all)));
}

function barsOf(view) {
  const rows = view.rank_parts;
  if (!rows) {
    return [];
  }
  const shown = shownParts(Object.fromEntries(Object.entries(view.ticks).filter(([key]) => key.startsWith(kParts))
    .map(([key, values]) => [key.slice(kParts.length), sum(values)])));
  const count = Object.values(rows)[0]?.length ?? 0;
  return Array.from({ length: count }, (_, i) =>
    bar(i + 1, Object.fromEntries(Object.entries(rows).map(([name, values]) => [name, values[i]])), shown));
}

/** The advice for a faster step, or a note that there is none. */
function adviceOf(view) {
  const { computing, list } = view.advice ?? { computing: 0, list: [] };
  if (!(computing > 0)) {
    return []; // its ticks have no parts of a step
  }
  if (list.length === 0) {
    return [h("p", { class: "empty" }, `No advice: ${formatPercent(100 * computing)} of a step computes.`)];
  }
  return [h("ul", { class: "advice", "aria-label": "Advice" }, ...list.map((advice) => h("li", {},
    h("strong", {}, advice.rule), `: ${advice.evidence}. `, h("code", {}, advice.remedy),
    advice.gain > 1 ? ` about ${advice.gain.toFixed(2)} times as fast${advice.gain >= 19.995 ? " or more" : ""}` : "",
    advice.changes_numbers ? ", in a new job: other numbers" : "")))];
}

export function createStepParts() {
  const chart = createChart({ title: "Where a step's time goes", unit: "%, slowest worker",
    stack: true, height: 230, format: (value) => formatPercent(value), tick: (value) => `${value}` });
  const bars = h("div", { class: "part-rows" });
  const advice = h("div", {});
  const element = h("div", {}, chart.element, bars, advice);
  return {
    element,
    update(view, axis) {
      const x = view.ticks[axis.key] ?? [];
      chart.update({ x: axis, series: stepParts(view.ticks).map((part) => ({ ...part, x })) });
      bars.replaceChildren(...barsOf(view));
      advice.replaceChildren(...adviceOf(view));
    },
  };
}
