// SPDX-License-Identifier: MIT
// The checkpoints that are there: how old, how large, how good.
import { h, panel, table } from "./dom.js";
import { formatBytes, formatCount, formatDuration, formatKimg, formatNumber } from "./format.js";

function marksOfCheckpoint(one) {
  const tags = [];
  if (one.status !== "complete") {
    tags.push(h("span", { class: "tag bad", title: one.damage }, "damaged"));
  }
  if (one.is_best) {
    tags.push(h("span", { class: "tag good" }, "best"));
  }
  if (one.is_pinned) {
    tags.push(h("span", { class: "tag" }, "pinned"));
  }
  return tags.length ? h("span", {}, ...tags) : "";
}

export function createCheckpoints() {
  const { element, body } = panel("checkpoints", "Checkpoints");
  return {
    elements: [element],
    update(view) {
      element.hidden = view.checkpoints.length === 0;
      // A running run's ages count until now, an ended run's until its end.
      const until = view.live ? Date.now() / 1000 : view.progress.unix;
      const rows = view.checkpoints.map((one) => {
        const age = one.created && until ? until - Date.parse(one.created) / 1000 : null;
        return [formatCount(one.step), formatKimg(one.kimg), age === null ? "–" : formatDuration(Math.max(0, age)),
          formatBytes(one.bytes), formatCount(one.files), one.score === undefined ? "–" : `${formatNumber(one.score)} ${one.metric}`, marksOfCheckpoint(one)];
      });
      body.replaceChildren(table("Checkpoints", [{ title: "Step", right: true }, { title: "Images", right: true },
        { title: view.live ? "Age" : "Before the end", right: true }, { title: "Size", right: true }, { title: "Files", right: true },
        { title: "Score", right: true }, { title: "" }], rows));
    },
  };
}
