// SPDX-License-Identifier: MIT
// The generator's pictures over the run, under a slider, and its sounds; real examples beside them on request.
import { h, panel, toggle } from "./dom.js";
import { formatCount, formatKimg } from "./format.js";

const kPlayDelay = 450; // milliseconds a picture

/** URL of a picture: inside this file, or at the host that serves the page. */
export function pictureSource(picture) {
  return picture.data ?? `pictures/${encodeURIComponent(picture.file)}`;
}

/** URL of a picture's sounds; null: there are none, or this file lacks them. */
function soundSource(picture) {
  if (!picture.sound) {
    return null;
  }
  return picture.sound_data ?? (picture.data ? null : `pictures/${encodeURIComponent(picture.sound)}`);
}

export function createPictures() {
  let pictures = [];
  let reals = null;
  let index = 0;
  let timer = null;
  let showsReals = false;
  const image = h("img", { class: "picture", alt: "" });
  const label = h("p", { class: "picture-label" });
  const sound = h("audio", { class: "picture-sound", controls: true, preload: "none", hidden: true });
  const left = h("p", { class: "note" });
  const slider = h("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Moment of the run", oninput: () => {
    stop();
    go(Number(slider.value));
  } });
  const back = h("button", { type: "button", "aria-label": "Picture before", onclick: () => { stop(); go(index - 1); } }, "‹");
  const forth = h("button", { type: "button", "aria-label": "Next picture", onclick: () => { stop(); go(index + 1); } }, "›");
  const play = h("button", { type: "button", onclick: () => (timer ? stop() : start()) }, "Play");
  const real = toggle("Real examples", false, (now) => {
    showsReals = now;
    show();
  });
  const { element, body } = panel("pictures", "Pictures", { tools: [real] });
  body.append(h("div", { class: "picture-frame" }, image), label, sound,
    h("div", { class: "picture-controls" }, back, slider, forth, play), left);

  function show() {
    const picture = showsReals && reals ? reals : pictures[index];
    if (!picture) {
      return;
    }
    const source = pictureSource(picture);
    if (image.getAttribute("src") !== source) {
      image.src = source;
    }
    const heard = soundSource(picture);
    if (heard !== sound.getAttribute("src")) {
      heard ? sound.setAttribute("src", heard) : sound.removeAttribute("src");
      sound.load();
    }
    sound.hidden = heard === null;
    sound.setAttribute("aria-label", `Sounds after ${formatKimg(picture.kimg)} images`);
    image.width = picture.width;
    image.height = picture.height;
    image.alt = picture.kind === "reals" ? "Real examples" : `Generated pictures after ${formatKimg(picture.kimg)} images`;
    label.textContent = picture.kind === "reals" ? "Real examples, for comparison" :
      `${formatKimg(picture.kimg)} images · step ${formatCount(picture.step)}`;
    slider.value = index;
    slider.setAttribute("aria-valuetext", `${formatKimg(pictures[index]?.kimg)} images`);
    back.disabled = index === 0;
    forth.disabled = index >= pictures.length - 1;
  }

  function go(to) {
    index = Math.max(0, Math.min(pictures.length - 1, to));
    show();
  }

  function start() {
    go(index >= pictures.length - 1 ? 0 : index);
    play.textContent = "Stop";
    timer = setInterval(() => (index >= pictures.length - 1 ? stop() : go(index + 1)), kPlayDelay);
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }

  return {
    elements: [element],
    update(view) {
      const isAtEnd = index >= pictures.length - 1;
      pictures = view.pictures.filter(({ kind }) => kind === "fakes");
      reals = view.pictures.find(({ kind }) => kind === "reals") ?? null;
      element.hidden = pictures.length === 0;
      real.hidden = reals === null;
      slider.max = Math.max(0, pictures.length - 1);
      left.textContent = view.pictures_left_out ?
        `${formatCount(view.pictures_left_out)} of the run's pictures are left out here, evenly; the run directory has all.` : "";
      go(isAtEnd ? pictures.length - 1 : index);
    },
  };
}
