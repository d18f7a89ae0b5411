// SPDX-License-Identifier: MIT
// Builds the page from the document inside this file, or from the host that serves it.
import { createCheckpoints } from "./checkpoints.js";
import { createComparison } from "./compare.js";
import { createCurves } from "./curves.js";
import { createEvents, createLog } from "./events.js";
import { createHeader, createOverview } from "./overview.js";
import { createPictures } from "./pictures.js";
import { createStepParts } from "./step_parts.js";
import { createTimeline } from "./timeline.js";
import { createWorkers } from "./workers.js";
import { follow } from "./live.js";
import { formatTime } from "./format.js";

const kSections = [["overview", "Overview"], ["pictures", "Pictures"], ["curves", "Curves"], ["checkpoints", "Checkpoints"],
  ["more-curves", "Networks"], ["timeline", "Timeline"], ["workers", "Workers"], ["events", "Events"], ["log", "Log"]];

function createRunPage() {
  const header = createHeader(kSections);
  const overview = createOverview();
  const curves = createCurves([createStepParts()]);
  const parts = [createPictures(), curves, createCheckpoints(), createTimeline(), createWorkers(), createEvents(), createLog()];
  const top = document.getElementById("top");
  const main = document.getElementById("main");
  let isShown = false;

  function update(view) {
    if (!isShown) {
      top.append(...header.elements);
      main.replaceChildren(overview.element, ...parts.flatMap(({ elements }) => elements));
      document.getElementById("checkpoints").after(curves.more);
      isShown = true;
    }
    document.title = `${view.run.name} · Gangway`;
    overview.update(view);
    parts.forEach((part) => part.update(view));
    header.update(view);
  }
  return { update, say: header.showLink };
}

function begin() {
  const inside = document.getElementById("document");
  if (!inside) {
    const page = createRunPage();
    follow(page.update, (text, kind) => {
      page.say(text, kind);
      const loading = document.getElementById("loading");
      if (loading && kind === "lost") {
        loading.textContent = text;
      }
    });
    return;
  }
  const content = JSON.parse(inside.textContent);
  if (content.runs) {
    createComparison(content);
    return;
  }
  const page = createRunPage();
  page.update(content);
  page.say(`Report of ${formatTime(content.made_unix)}`, "report");
}

begin();
