// SPDX-License-Identifier: MIT
// Light, dark or the system's theme. Remembers the choice if the browser allows it.
import { h } from "./dom.js";

const kThemeKey = "gangway-theme";
const kThemes = ["auto", "light", "dark"];

function rememberedTheme() {
  try {
    const value = localStorage.getItem(kThemeKey);
    return kThemes.includes(value) ? value : "auto";
  } catch {
    return "auto";
  }
}

function applyTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(kThemeKey, theme);
  } catch {
    // A page opened as a file may not store the choice: the next load takes the system's theme.
  }
}

export function createThemeButton() {
  const label = h("span", {});
  const show = () => {
    const theme = document.documentElement.dataset.theme;
    label.textContent = { auto: "Auto", light: "Light", dark: "Dark" }[theme];
    button.setAttribute("aria-label", `Colours: ${label.textContent}. Press for the next.`);
  };
  const button = h("button", { type: "button", class: "theme", onclick: () => {
    const theme = document.documentElement.dataset.theme;
    applyTheme(kThemes[(kThemes.indexOf(theme) + 1) % kThemes.length]);
    show();
  } }, h("span", { class: "theme-mark", "aria-hidden": "true" }), label);
  applyTheme(rememberedTheme());
  show();
  return button;
}
