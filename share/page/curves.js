// SPDX-License-Identifier: MIT
// Charts of the ticks' columns over the run: which chart shows which columns.
import { choice, h, panel } from "./dom.js";
import { createChart } from "./chart.js";
import { formatDuration, formatName, formatNumber, formatPercent } from "./format.js";

/** Events that are marked on every chart. */
const kMarked = new Set(["resume", "rollback", "plateau", "early-stop", "branch", "control"]);

/** What x is: thousand images, or hours of training. */
export const kAxes = {
  kimg: { key: "kimg", scale: 1, label: "kimg", format: (value) => formatNumber(value, 4) },
  hours: { key: "seconds_total", scale: 1, label: "of training", format: (value) => formatDuration(value) },
};

/** Charts of the ticks; charts without columns are hidden. `ends`: endings of column names. */
export const kCharts = [
  { id: "losses", title: "Losses", ends: ["_loss"], breaks: true, main: true, height: 300 },
  { id: "speed", title: "Speed", unit: "images/s", names: ["images_per_second"], main: true },
  { title: "Logits", ends: ["_real_logit", "_fake_logit"] },
  { title: "Accuracy of discriminators", ends: ["_accuracy", "_real_share"] },
  { title: "Gradient norm", ends: ["_gradient_norm"], log: true },
  { title: "Update over weights", ends: ["_update_ratio"], log: true },
  { title: "Weight norm", ends: ["_weight_norm"] },
  { title: "Learning rate", ends: ["_lr"] },
  { title: "Augmentation strength", ends: ["_augment_strength"] },
  { title: "Loss scale", ends: ["_loss_scale"], log: true },
  { title: "Memory of all workers", unit: "GiB", names: ["resident_gib", "allocated_gib", "reserved_gib"], fromZero: true },
  { title: "Sent to other workers", unit: "MiB/step", names: ["sent_mib_per_step"], fromZero: true, unlessZero: true },
  { title: "Snapshots", unit: "% of time", names: ["snapshot_percent"], format: (value) => formatPercent(value, 2),
    fromZero: true, unlessZero: true },
];

/** [{name, values}] of the columns that a chart shows; without their common end. */
export function columnsOf(chart, ticks) {
  const found = [];
  for (const [key, values] of Object.entries(ticks)) {
    const end = chart.ends?.find((one) => key.endsWith(one));
    if (chart.names?.includes(key) || end) {
      const isAlone = chart.ends?.length === 1 && end;
      found.push({ key, name: formatName(isAlone ? key.slice(0, -end.length) : key), values, breaks: chart.breaks });
    }
  }
  return chart.unlessZero ? found.filter(({ values }) => values.some((value) => value)) : found;
}

/** Marks of events on a chart. */
function marksOf(view, axis) {
  const x = view.ticks[axis.key] ?? [];
  const steps = view.ticks.step ?? [];
  return view.events.filter(({ kind, step }) => kMarked.has(kind) && step !== null).map(({ kind, step, text }) => {
    const index = steps.findIndex((one) => one >= step);
    return { x: x[index < 0 ? x.length - 1 : index], text: `${kind}: ${text}` };
  }).filter(({ x: at }) => at !== undefined && at !== null);
}

export function chartData(view, columns, axis) {
  const x = view.ticks[axis.key] ?? [];
  return { x: axis, marks: marksOf(view, axis), series: columns.map((column) => ({ ...column, x })) };
}

export function createCurves(more = []) {
  let axis = kAxes.kimg;
  let view = null;
  const charts = kCharts.map((chart) => ({ chart, drawn: createChart(chart) }));
  const scores = new Map(); // by metric
  const scorePlace = h("div", { class: "charts", id: "scores" });
  const controls = [
    choice("axis", "Along", [{ value: "kimg", text: "Images" }, { value: "hours", text: "Time" }], "kimg", (value) => {
      axis = kAxes[value];
      update(view);
    }),
    choice("smooth", "Smoothing", [{ value: "0", text: "Off" }, { value: "0.8", text: "Some" }, { value: "0.95", text: "Much" }], "0",
      (value) => charts.forEach(({ drawn }) => drawn.smooth(Number(value)))),
  ];
  const main = panel("curves", "Losses, scores and speed", { tools: controls, wide: true });
  const rest = panel("more-curves", "Networks and resources", { wide: true });
  const grid = h("div", { class: "charts main-charts" });
  const small = h("div", { class: "charts" });
  main.body.append(grid, scorePlace);
  rest.body.append(small);
  for (const { chart, drawn } of charts) {
    (chart.main ? grid : small).append(drawn.element);
  }
  for (const one of more) {
    grid.append(one.element);
  }

  function updateScores() {
    for (const { metric, points } of view.scores) {
      if (!scores.has(metric)) {
        const drawn = createChart({ title: metric, dots: true });
        scores.set(metric, drawn);
        scorePlace.append(drawn.element);
      }
      scores.get(metric).update({ x: kAxes.kimg, marks: [],
        series: [{ name: metric, x: points.map(({ kimg }) => kimg), values: points.map(({ value }) => value), color: 4 }] });
    }
  }

  function update(now) {
    view = now;
    for (const { chart, drawn } of charts) {
      drawn.update(chartData(view, columnsOf(chart, view.ticks), axis));
    }
    more.forEach((one) => one.update(view, axis));
    updateScores();
    rest.element.hidden = !charts.some(({ chart, drawn }) => !chart.main && !drawn.element.hidden);
    main.element.hidden = false;
  }
  return { elements: [main.element], more: rest.element, update };
}
