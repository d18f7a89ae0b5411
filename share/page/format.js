// SPDX-License-Identifier: MIT
// Formats numbers, times and sizes for readers.

const kThousands = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const kNone = "–";

/** 12,345.6: as many digits as `significant` asks for, thousands separated. */
export function formatNumber(value, significant = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) {
    return kNone;
  }
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e9)) {
    return value.toExponential(Math.max(0, significant - 2)).replace("e+", "e");
  }
  const digits = size === 0 ? 0 : Math.max(0, significant - 1 - Math.floor(Math.log10(size)));
  return new Intl.NumberFormat("en", { maximumFractionDigits: Math.min(6, digits) }).format(value);
}

export function formatCount(value) {
  return value === null || value === undefined ? kNone : kThousands.format(value);
}

export function formatPercent(value, digits = 1) {
  return value === null || value === undefined ? kNone : `${value.toFixed(digits)} %`;
}

/** kimg as images: "0.4 k", "25 k", "12.3 M" images. */
export function formatKimg(kimg) {
  if (kimg === null || kimg === undefined) {
    return kNone;
  }
  return kimg >= 10000 ? `${formatNumber(kimg / 1000)} M` : `${formatNumber(kimg)} k`;
}

/** "47 s", "1 min 02 s", "3 h 07 min", "2 d 04 h". */
export function formatDuration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) {
    return kNone;
  }
  const total = Math.max(0, Math.round(seconds));
  const two = (value) => String(value).padStart(2, "0");
  if (total < 60) {
    return seconds > 0 && seconds < 10 ? `${seconds.toFixed(1)} s` : `${total} s`;
  }
  if (total < 3600) {
    return `${Math.floor(total / 60)} min ${two(total % 60)} s`;
  }
  if (total < 86400) {
    return `${Math.floor(total / 3600)} h ${two(Math.floor((total % 3600) / 60))} min`;
  }
  return `${Math.floor(total / 86400)} d ${two(Math.floor((total % 86400) / 3600))} h`;
}

export function formatSeconds(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) {
    return kNone;
  }
  return seconds < 1 ? `${formatNumber(seconds * 1000, 3)} ms` : `${formatNumber(seconds, 3)} s`;
}

export function formatBytes(bytes) {
  if (bytes === null || bytes === undefined) {
    return kNone;
  }
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${formatNumber(value, 3)} ${units[unit]}`;
}

/** Date and time of this browser's zone, to the second. */
export function formatTime(unix) {
  if (unix === null || unix === undefined) {
    return kNone;
  }
  const time = new Date(unix * 1000);
  const two = (value) => String(value).padStart(2, "0");
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ` +
    `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

/** "generator_gradient_norm" as "generator gradient norm". */
export function formatName(name) {
  return name.replaceAll("_", " ");
}
