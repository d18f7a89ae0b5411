// SPDX-License-Identifier: MIT
// Table of the ranks: host, device, micro-batches; of a live job also their speed and memory.
import { h, panel, table } from "./dom.js";
import { formatBytes, formatCount, formatSeconds } from "./format.js";

function microbatches(range) {
  const [begin, end] = Array.isArray(range) ? range : [range?.begin, range?.end];
  if (begin === undefined || end === undefined || begin >= end) {
    return "–";
  }
  return end - begin === 1 ? `${begin}` : `${begin}–${end - 1}`;
}

function workerState(worker) {
  if (worker.is_straggler) {
    return h("span", { class: "tag bad" }, "straggler");
  }
  const isWell = ["joined", "ready"].includes(worker.state);
  return h("span", { class: isWell ? "tag good" : "tag" }, worker.state ?? "–");
}

function memoryOf(worker) {
  const resident = formatBytes(worker.resident_bytes);
  return worker.reserved_bytes > 0 ?
    h("span", { title: `allocated ${formatBytes(worker.allocated_bytes)} of ${formatBytes(worker.reserved_bytes)}, at most ${formatBytes(worker.peak_bytes)}` },
      resident) : resident;
}

const kPlaced = [{ title: "Rank", right: true }, { title: "Role" }, { title: "Host" }, { title: "Device" },
  { title: "Micro-batches", right: true }, { title: "Process", right: true }];
const kFares = [{ title: "State" }, { title: "Steps", right: true }, { title: "Works", right: true }, { title: "Waits", right: true },
  { title: "Data", right: true }, { title: "Memory", right: true }];

function rowOf(rank, live) {
  const placed = [formatCount(rank.rank), rank.networks || (rank.role ?? "worker"), rank.host || "–", rank.device || "–",
    microbatches(rank.microbatches), String(rank.pid ?? "–")];
  if (!live) {
    return placed;
  }
  const worker = live.find((one) => one.rank === rank.rank);
  return [...placed, ...(worker ? [workerState(worker), formatCount(worker.steps_done), formatSeconds(worker.work_seconds_per_step),
    formatSeconds(worker.wait_seconds_per_step), formatSeconds(worker.data_seconds_per_step), memoryOf(worker)] :
    ["", "", "", "", "", ""])];
}

export function createWorkers() {
  const { element, body } = panel("workers", "Workers");
  return {
    elements: [element],
    update(view) {
      const live = view.live?.workers?.length ? view.live.workers : null;
      const ranks = view.workers.length ? view.workers : (live ?? []);
      element.hidden = ranks.length === 0;
      element.classList.toggle("live", live !== null);
      body.replaceChildren(table("Workers", live ? [...kPlaced, ...kFares] : kPlaced, ranks.map((rank) => rowOf(rank, live))),
        live ? h("p", { class: "note" }, "Seconds are of a step, over the last tick.") : "");
    },
  };
}
