// SPDX-License-Identifier: MIT
// A page that a job serves: loads the document, then updates it by Server-Sent Events. The page says
// when the connection is lost, and reconnects by itself, also to a run that ended and is resumed.
import { formatTime } from "./format.js";

const kRefetchAfter = 15000; // milliseconds between documents, at least
const kSilence = 20000;      // without a word for so long, the connection counts as lost
const kLook = 3000;          // milliseconds between looks at the silence
const kFirstRetry = 500;     // each is twice as long after the one before
const kLastRetry = 15000;
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
  let retry = kFirstRetry;
  let retrying = null;

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
      say("Run ended. This page goes on when the run is resumed.", "ended");
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

  function connectLater() {
    source.close();
    retrying ??= setTimeout(connect, retry);
    retry = Math.min(2 * retry, kLastRetry);
  }

  function connect() {
    clearTimeout(retrying);
    retrying = null;
    source?.close();
    source = new EventSource("api/events");
    source.onopen = () => {
      lastWord = Date.now();
      lostAt = null;
      hasEnded = false;
      retry = kFirstRetry;
      say("Live", "live");
      refetch().catch(lose);
    };
    source.onerror = () => {
      lose();
      connectLater();
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
      lose();
      connectLater();
    });
  }

  setInterval(() => {
    if (Date.now() - lastWord > kSilence && retrying === null) {
      lastWord = Date.now();
      lose();
      connect();
    }
  }, kLook);
  for (const [target, event] of [[document, "visibilitychange"], [window, "online"]]) {
    target.addEventListener(event, () => {
      if (retrying !== null && !document.hidden) { // the page is in view: at once
        retry = kFirstRetry;
        connect();
      }
    });
  }
  say("Connecting…", "connecting");
  connect();
}
