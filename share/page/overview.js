// SPDX-License-Identifier: MIT
// The head of the page and its first band: run, state, progress and speed.
import { h } from "./dom.js";
import { createThemeButton } from "./theme.js";
import { formatCount, formatDuration, formatKimg, formatNumber, formatPercent, formatTime } from "./format.js";

const kStateText = { running: "running", finished: "finished", stopped: "stopped", failed: "failed", interrupted: "interrupted",
  unknown: "not known", starting: "starting", training: "training", pausing: "pausing", paused: "paused", stopping: "stopping",
  ended: "ended" };

/** The run's state: from the live job, or else from the run directory. */
export function stateOf(view) {
  const phase = view.live?.phase;
  return phase && phase !== "ended" ? phase : view.run.state;
}

export function createHeader(sections) {
  const name = h("h1", {});
  const state = h("span", { class: "state" });
  const link = h("p", { class: "link", role: "status" });
  const element = h("div", { class: "bar" },
    h("p", { class: "brand" }, "Gangway"), name, state, link, h("div", { class: "bar-end" }, createThemeButton()));
  const nav = h("nav", { "aria-label": "Parts of this page" }, h("ul", {},
    ...sections.map(([id, title]) => h("li", { "data-for": id }, h("a", { href: `#${id}` }, title)))));
  return {
    elements: [element, nav],
    update(view) {
      name.textContent = view.run.name;
      const now = stateOf(view);
      state.textContent = kStateText[now] ?? now;
      state.dataset.state = now;
      for (const item of nav.querySelectorAll("li")) {
        item.hidden = document.getElementById(item.dataset.for)?.hidden ?? true;
      }
    },
    showLink(text, kind) {
      if (link.textContent !== text) { // a screen reader says it once
        link.textContent = text;
      }
      link.dataset.kind = kind;
    },
  };
}

function tile(label) {
  const value = h("dd", { class: "tile-value" });
  const below = h("dd", { class: "tile-below" });
  return { element: h("div", { class: "tile" }, h("dt", {}, label), value, below),
    set(main, more = "") {
      value.textContent = main;
      below.textContent = more;
    } };
}

function lastOf(column) {
  return column?.findLast((value) => value !== null) ?? null;
}

function meanOfLast(column, count) {
  const values = (column ?? []).filter((value) => value !== null).slice(-count);
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
}

function lossesText(view) {
  const fromLive = view.live?.losses?.map(({ network, loss }) => [network, loss]);
  const fromTicks = Object.entries(view.ticks).filter(([key]) => key.endsWith("_loss"))
    .map(([key, column]) => [key.slice(0, -5), column.at(-1)]);
  return (fromLive?.length ? fromLive : fromTicks);
}

export function createOverview() {
  const bar = h("div", { class: "progress", role: "progressbar", "aria-label": "Progress", "aria-valuemin": 0, "aria-valuemax": 100 },
    h("div", { class: "progress-done" }));
  const progress = h("p", { class: "progress-text" });
  const problem = h("div", { class: "problem", hidden: true, role: "group", "aria-label": "How the run ended" });
  const tiles = { time: tile("Time"), speed: tile("Speed"), waits: tile("Compute waits"), losses: tile("Losses"), score: tile("Score"),
    saved: tile("Last checkpoint"), memory: tile("Memory"), workers: tile("Workers") };
  const job = h("p", { class: "job-line" });
  const element = h("section", { id: "overview", class: "overview", "aria-label": "Overview" },
    job, problem, h("div", { class: "progress-line" }, bar, progress),
    h("dl", { class: "tiles" }, ...Object.values(tiles).map((one) => one.element)));

  function updateProgress(view) {
    const kimg = view.live?.kimg ?? view.progress.kimg ?? 0;
    const total = view.live?.total_kimg ?? view.job.kimg;
    const percent = total > 0 ? Math.min(100, (kimg / total) * 100) : 0;
    bar.firstChild.style.width = `${percent}%`;
    bar.setAttribute("aria-valuenow", percent.toFixed(1));
    bar.setAttribute("aria-valuetext", `${formatKimg(kimg)} of ${formatKimg(total)} images`);
    const step = view.live?.step ?? view.progress.step;
    progress.replaceChildren(h("strong", {}, `${percent.toFixed(1)} %`),
      ` ${formatKimg(kimg)} of ${formatKimg(total)} images · ` +
      `step ${formatCount(step)} of ${formatCount(view.live?.total_steps ?? view.job.total_steps)}`);
  }

  function updateTime(view) {
    const left = view.live ? view.live.seconds_left : view.progress.seconds_to_go;
    const now = stateOf(view);
    const isGoing = ["running", "training", "starting"].includes(now);
    tiles.time.set(formatDuration(view.progress.seconds),
      left !== null && left !== undefined && isGoing ? `${formatDuration(left)} to go` :
        view.live?.pause ? `paused by ${view.live.pause.by}` : `last tick ${formatTime(view.progress.unix)}`);
  }

  function updateTiles(view) {
    const ticks = view.ticks;
    const speed = view.live?.images_per_second || view.progress.images_per_second;
    tiles.speed.set(`${formatNumber(speed)} img/s`, `${formatNumber(meanOfLast(ticks.seconds_per_kimg, 10), 3)} s a thousand`);
    tiles.waits.set(formatPercent(meanOfLast(ticks.exposed_percent, 10)),
      `for communication; ${formatPercent(meanOfLast(ticks.data_percent, 10))} for data`);
    const losses = lossesText(view);
    tiles.losses.set(losses.slice(0, 2).map(([, loss]) => formatNumber(loss, 3)).join(" · ") || "–",
      losses.slice(0, 2).map(([network]) => network).join(" · "));
    const best = view.scores.map(({ metric, points }) => ({ metric, last: points.at(-1) })).filter(({ last }) => last)[0];
    tiles.score.element.hidden = !best;
    if (best) {
      tiles.score.set(formatNumber(best.last.value), `${best.metric} at ${formatKimg(best.last.kimg)}`);
    }
    const saved = view.checkpoints[0];
    const age = view.live?.checkpoint?.age_kimg ?? (saved && view.progress.kimg !== null ? view.progress.kimg - saved.kimg : null);
    const ago = age > 0 ? `${formatKimg(age)} images ago` : "has the newest state";
    tiles.saved.set(saved ? `step ${formatCount(saved.step)}` : "none", saved && age !== null ? ago : "");
    const reserved = lastOf(ticks.reserved_gib);
    tiles.memory.set(`${formatNumber(lastOf(ticks.resident_gib), 3)} GiB`, reserved > 0 ?
      `all workers; allocated ${formatNumber(lastOf(ticks.allocated_gib), 3)} of ${formatNumber(reserved, 3)}` : "all workers");
    const workers = view.workers.filter(({ role }) => role === "worker");
    const hosts = new Set(workers.map(({ host }) => host)).size;
    tiles.workers.set(formatCount(workers.length), hosts === 1 ? "on one host" : `on ${hosts} hosts`);
  }

  function updateProblem(view) {
    const { reason, error, exit_code: code } = view.run;
    const isBad = ["failed", "interrupted"].includes(view.run.state) && !(view.live && view.live.phase !== "ended");
    problem.hidden = !(isBad || (view.run.state === "stopped" && !view.live));
    problem.dataset.kind = isBad ? "failed" : "stopped";
    problem.replaceChildren(...[h("p", {}, h("strong", {}, code === undefined ? "It was ended without a last word" : `Exit code ${code}`),
      reason ? `: ${reason}` : ""),
      error?.log_file ? h("p", { class: "mono" }, `rank ${error.rank} on ${error.host}, after step ${error.step}; ` +
        error.log_file) : null,
      error?.resume_command ? h("p", {}, "To resume: ", h("code", {}, error.resume_command)) : null].filter(Boolean));
  }

  return {
    element,
    update(view) {
      const keys = view.job.keys;
      const family = ["own", "torchscript"].includes(keys["model.family"]) ? "own networks" : keys["model.family"];  // the family that is none
      job.textContent = [family, keys["model.resolution"] ? `${keys["model.resolution"]} px` : null, keys["data.source"],
        keys["training.batch"] ? `batch ${keys["training.batch"]} in ${keys["training.microbatches"]}` : null,
        keys["training.seed"] ? `seed ${keys["training.seed"]}` : null,
        view.run.incarnation > 1 ? `start ${view.run.incarnation} of this run` : null].filter(Boolean).join(" · ");
      updateProgress(view);
      updateTime(view);
      updateTiles(view);
      updateProblem(view);
    },
  };
}
