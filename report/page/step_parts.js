// SPDX-License-Identifier: MIT
// Where a step's time goes: compute, and what it waits for, as shares on one another.
import { createChart } from "./chart.js";
import { formatPercent } from "./format.js";

const kPhase = "exposed.";

/** Shares of the step, percent, by tick: [{name, values}], compute first. */
export function stepParts(ticks) {
  const count = ticks.step?.length ?? 0;
  const phases = Object.keys(ticks).filter((key) => key.startsWith(kPhase));
  const at = (key, i) => ticks[key]?.[i] ?? 0;
  const waits = phases.map((key) => ({ name: `waits for ${key.slice(kPhase.length).replaceAll("_", " ")}`, values: [] }));
  const lone = { name: "waits for communication", values: [] };
  const data = { name: "waits for data", values: [] };
  const checks = { name: "checks", values: [] };
  const compute = { name: "computes", values: [] };
  for (let i = 0; i < count; i += 1) {
    const exposed = at("exposed_percent", i);
    const seconds = phases.reduce((sum, key) => sum + at(key, i), 0);
    phases.forEach((key, p) => waits[p].values.push(seconds > 0 ? (exposed * at(key, i)) / seconds : 0));
    lone.values.push(seconds > 0 ? 0 : exposed);
    data.values.push(at("data_percent", i));
    checks.values.push(at("check_percent", i));
    compute.values.push(Math.max(0, 100 - exposed - at("data_percent", i) - at("check_percent", i)));
  }
  const all = [compute, data, ...waits, lone, checks];
  return all.filter((part) => part === compute || part.values.some((value) => value > 0));
}

export function createStepParts() {
  const chart = createChart({ title: "Where a step's time goes", unit: "% of the step, worst worker", stack: true, height: 230,
    format: (value) => formatPercent(value), tick: (value) => `${value}` });
  return {
    element: chart.element,
    update(view, axis) {
      const x = view.ticks[axis.key] ?? [];
      chart.update({ x: axis, series: stepParts(view.ticks).map((part) => ({ ...part, x })) });
    },
  };
}
