// SPDX-License-Identifier: MIT
// A page that is served beside a job: its document, then what comes by Server-Sent Events. A lost
// connection is said, and comes back by itself.
import { formatTime } from "./format.js";

const kRefetchAfter = 15000; // milliseconds between documents, at least
const kSilence = 20000;      // without a word for so long, the connection counts as lost
const kRetry = 3000;
const kLogLines = 200;

/** A tick as stats.jsonl has it, behind the columns that are there. */
export function appendTick(ticks, tick) {
  const count = ticks.step?.length ?? 0;
  if (count && tick.step <= ticks.step[count - 1]) {
    return; // the document has it already
  }
  const values = { ...tick };
  for (const [phase, waits] of Object.entries(tick.exposed ?? {})) {
    values[`exposed.${phase}`] = waits.seconds;
  }
  for (const [key, value] of Object.entries(values)) {
    if (typeof value === "number" && !(key in ticks)) {
      ticks[key] = new Array(count).fill(null);
    }
  }
  for (const [key, column] of Object.entries(ticks)) {
    column.push(typeof values[key] === "number" ? values[key] : null);
  }
}

async function fetchDocument() {
  const answer = await fetch("api/run.json", { cache: "no-cache" });
  if (!answer.ok) {
    throw new Error(`the host answers ${answer.status}`);
  }
  return answer.json();
}

/** Calls `show(view)` whenever there is something new, `say(text, kind)` of the connection. */
export function follow(show, say) {
  let view = null;
  let fetchedAt = 0;
  let fetching = null;
  let pending = null;
  let source = null;
  let lastWord = Date.now();
  let lostAt = null;
  let hasEnded = false;

  async function refetch() {
    clearTimeout(pending);
    pending = null;
    fetchedAt = Date.now();
    try {
      fetching ??= fetchDocument();
      const live = view?.live;
      view = await fetching;
      view.live ??= live;
      show(view);
    } finally {
      fetching = null;
    }
  }

  function refetchSoon() {
    pending ??= setTimeout(() => refetch().catch(() => lose()), Math.max(0, fetchedAt + kRefetchAfter - Date.now()));
  }

  function lose() {
    if (hasEnded) {
      say("The job has ended; this page stays as it is.", "ended");
    } else {
      lostAt ??= Date.now() / 1000; // later tries are of the same loss
      say(`Connection lost ${formatTime(lostAt)}. Trying again…`, "lost");
    }
  }

  function listen(type, take) {
    source.addEventListener(type, (event) => {
      lastWord = Date.now();
      if (view) {
        take(JSON.parse(event.data));
        show(view);
      }
    });
  }

  function connect() {
    source?.close();
    source = new EventSource("api/events");
    source.onopen = () => {
      lastWord = Date.now();
      lostAt = null;
      say("Live", "live");
      refetch().catch(lose);
    };
    source.onerror = () => {
      lose();
      if (source.readyState === EventSource.CLOSED) { // refused, which a browser does not try again
        setTimeout(connect, kRetry);
      }
    };
    listen("status", (status) => {
      const before = view.live;
      view.live = status;
      hasEnded = status.phase === "ended";
      if (before?.checkpoint?.step !== status.checkpoint?.step || before?.pictures !== status.pictures ||
          before?.phase !== status.phase) {
        refetchSoon();
      }
    });
    listen("tick", (tick) => {
      appendTick(view.ticks, tick);
      Object.assign(view.progress, { step: tick.step, kimg: tick.kimg, seconds: tick.seconds_total, unix: tick.unix_seconds,
        images_per_second: tick.images_per_second });
      refetchSoon();
    });
    listen("line", (line) => {
      view.log = [...view.log, line.text].slice(-kLogLines);
    });
    source.addEventListener("reload", () => refetch().catch(lose));
    source.addEventListener("end", () => {
      hasEnded = true;
      source.close();
      lose();
    });
  }

  setInterval(() => {
    if (Date.now() - lastWord > kSilence && !hasEnded) {
      lastWord = Date.now();
      lose();
      connect();
    }
  }, kRetry);
  say("Connecting…", "connecting");
  connect();
}
