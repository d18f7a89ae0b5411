// SPDX-License-Identifier: MIT
// Compares several runs: differences of their jobs, curves in one chart, speeds, and pictures of the
// same moment.
import { choice, h, panel, table } from "./dom.js";
import { createChart } from "./chart.js";
import { createHeader } from "./overview.js";
import { columnsOf, kAxes, kCharts } from "./curves.js";
import { formatCount, formatDuration, formatKimg, formatNumber, formatPercent, formatTime } from "./format.js";
import { nearestIndex } from "./chart_scale.js";
import { pictureSource } from "./pictures.js";

const kComparedSections = [["summary", "Summary"], ["differences", "Jobs"], ["curves", "Curves"], ["pictures", "Pictures"]];

function meanOf(column) {
  const values = (column ?? []).filter((value) => value !== null);
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
}

function summaryTable(runs) {
  const speed = runs.map((run) => meanOf(run.ticks.images_per_second));
  const rows = [
    ["State", ...runs.map(({ run }) => run.state)],
    ["Images", ...runs.map(({ progress }) => formatKimg(progress.kimg))],
    ["Steps", ...runs.map(({ progress }) => formatCount(progress.step))],
    ["Time", ...runs.map(({ progress }) => formatDuration(progress.seconds))],
    ["Workers", ...runs.map(({ workers }) => formatCount(workers.filter(({ role }) => role === "worker").length))],
    ["Images/s, mean", ...speed.map((value) => formatNumber(value))],
    ["Speed to the first", ...speed.map((value) => (value && speed[0] ? `${formatNumber(value / speed[0], 3)} ×` : "–"))],
    ["Waits for communication", ...runs.map(({ ticks }) => formatPercent(meanOf(ticks.exposed_percent)))],
    ["Waits for data", ...runs.map(({ ticks }) => formatPercent(meanOf(ticks.data_percent)))],
  ];
  for (const metric of new Set(runs.flatMap(({ scores }) => scores.map((one) => one.metric)))) {
    const last = ({ scores }) => scores.find((one) => one.metric === metric)?.points.at(-1)?.value;
    rows.push([`${metric}, last`, ...runs.map((run) => formatNumber(last(run)))]);
  }
  return table("Summary", [{ title: "" }, ...runs.map(({ run }) => ({ title: run.name, right: true }))], rows);
}

function differenceTable(runs, differences) {
  if (!differences.length) {
    return h("p", { class: "empty" }, "Their jobs are the same, key for key.");
  }
  return table("How the jobs differ", [{ title: "Key" }, ...runs.map(({ run }) => ({ title: run.name }))],
    differences.map(({ key, values }) => [key, ...values.map((value) => value ?? "–")]));
}

/** One chart of several runs: a colour a run, one dash pattern a column. */
function comparedSeries(runs, chart, axis) {
  const dashes = [null, "5 3", "2 3", "8 3 2 3"];
  return runs.flatMap((run, r) => columnsOf(chart, run.ticks).map((column, c, { length }) => ({ ...column,
    x: run.ticks[axis.key] ?? [], name: length > 1 ? `${run.run.name} ${column.name}` : run.run.name, color: r,
    dash: dashes[c % dashes.length] })));
}

function createComparedCurves(runs) {
  let axis = kAxes.kimg;
  const charts = kCharts.map((chart) => ({ chart, drawn: createChart(chart) }));
  const metrics = [...new Set(runs.flatMap(({ scores }) => scores.map(({ metric }) => metric)))];
  const scores = metrics.map((metric) => ({ metric, drawn: createChart({ title: metric, dots: true }) }));
  const update = () => {
    charts.forEach(({ chart, drawn }) => drawn.update({ x: axis, series: comparedSeries(runs, chart, axis) }));
    scores.forEach(({ metric, drawn }) => drawn.update({ x: kAxes.kimg, series: runs.map((run, r) => {
      const points = run.scores.find((one) => one.metric === metric)?.points ?? [];
      return { name: run.run.name, x: points.map(({ kimg }) => kimg), values: points.map(({ value }) => value), color: r };
    }) }));
  };
  const tools = [
    choice("axis", "Along", [{ value: "kimg", text: "Images" }, { value: "hours", text: "Time" }], "kimg", (value) => {
      axis = kAxes[value];
      update();
    }),
    choice("smooth", "Smoothing", [{ value: "0", text: "Off" }, { value: "0.8", text: "Some" }, { value: "0.95", text: "Much" }], "0",
      (value) => charts.forEach(({ drawn }) => drawn.smooth(Number(value)))),
  ];
  const { element, body } = panel("curves", "Curves over each other", { wide: true, tools });
  body.append(h("div", { class: "charts" }, ...[...charts.slice(0, 1), ...scores, ...charts.slice(1)].map(({ drawn }) => drawn.element)));
  return { element, update };
}

function createComparedPictures(runs) {
  const lists = runs.map(({ pictures }) => pictures.filter(({ kind }) => kind === "fakes"));
  const moments = [...new Set(lists.flat().map(({ kimg }) => kimg))].sort((one, other) => one - other);
  const images = runs.map(({ run }) => ({ image: h("img", { class: "picture", alt: "" }), label: h("figcaption", {}), name: run.name }));
  const said = h("p", { class: "picture-label" });
  const slider = h("input", { type: "range", min: 0, max: Math.max(0, moments.length - 1), "aria-label": "Moment of the runs",
    oninput: () => go(Number(slider.value)) });
  const { element, body } = panel("pictures", "Pictures at the same moment", { wide: true });
  body.append(h("div", { class: "side-by-side" }, ...images.map(({ image, label }) => h("figure", {}, image, label))), said,
    h("div", { class: "picture-controls" }, slider));
  element.hidden = moments.length === 0;

  function go(index) {
    const kimg = moments[index];
    slider.value = index;
    slider.setAttribute("aria-valuetext", `${formatKimg(kimg)} images`);
    said.textContent = `${formatKimg(kimg)} images`;
    images.forEach(({ image, label, name }, r) => {
      const picture = lists[r][nearestIndex(lists[r].map((one) => one.kimg), kimg)];
      image.hidden = !picture;
      if (picture) {
        image.src = pictureSource(picture);
        image.alt = `Pictures of ${name} after ${formatKimg(picture.kimg)} images`;
      }
      label.textContent = picture ? `${name} · ${formatKimg(picture.kimg)}` : `${name} · none`;
    });
  }
  if (moments.length) {
    go(moments.length - 1);
  }
  return { element };
}

/** content: {runs: [documents], differences: [{key, values}]} */
export function createComparison({ runs, differences, made_unix: made }) {
  const header = createHeader(kComparedSections);
  const summary = panel("summary", "Summary");
  const jobs = panel("differences", "How the jobs differ");
  const curves = createComparedCurves(runs);
  summary.body.append(summaryTable(runs));
  jobs.body.append(differenceTable(runs, differences));
  document.getElementById("top").append(...header.elements);
  document.getElementById("main").replaceChildren(summary.element, jobs.element, curves.element, createComparedPictures(runs).element);
  curves.update();
  header.update({ run: { name: runs.map(({ run }) => run.name).join(" · "), state: "compared" } });
  header.showLink(`Report of ${formatTime(made)}`, "report");
}
