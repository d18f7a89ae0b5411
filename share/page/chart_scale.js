// SPDX-License-Identifier: MIT
// Axes of a chart: from values to pixels, and where an axis has its numbers. Pure.

/** Steps of 1, 2 or 5 times a power of ten, about `count` of them between `low` and `high`. */
export function niceTicks(low, high, count) {
  const span = high - low;
  if (!(span > 0)) {
    return [low];
  }
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
}

/** Powers of ten; where there are fewer than two, 1, 2 and 5 of each. */
export function logTicks(low, high) {
  const inside = (factors) => {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
      for (const factor of factors) {
        const tick = factor * 10 ** power;
        if (tick >= low * 0.999 && tick <= high * 1.001) {
          ticks.push(Number(tick.toPrecision(12)));
        }
      }
    }
    return ticks;
  };
  const powers = inside([1]);
  if (powers.length >= 2) {
    return powers.length > 7 ? powers.filter((_, i) => i % Math.ceil(powers.length / 6) === 0) : powers;
  }
  const finer = inside([1, 2, 5]);
  return finer.length >= 2 ? finer : niceTicks(low, high, 4);
}

/** A function from a value to a pixel, and back as `.invert`. */
export function makeScale(low, high, from, to, isLog) {
  const forward = isLog ? Math.log10 : (value) => value;
  const back = isLog ? (value) => 10 ** value : (value) => value;
  const begin = forward(low);
  const span = forward(high) - begin || 1;
  const scale = (value) => from + ((forward(value) - begin) / span) * (to - from);
  scale.invert = (pixel) => back(begin + ((pixel - from) / (to - from)) * span);
  return scale;
}

/** Index of the value of an ascending list that is nearest; -1 of an empty one. */
export function nearestIndex(list, value) {
  let low = 0;
  let high = list.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low > 0 && Math.abs(list[low - 1] - value) <= Math.abs(list[low] - value) ? low - 1 : Math.min(low, list.length - 1);
}

/** Exponential average without a bias at its start; missing values stay missing. */
export function smoothed(values, weight) {
  if (!weight) {
    return values;
  }
  let mean = 0;
  let share = 0;
  return values.map((value) => {
    if (value === null || value === undefined) {
      return value;
    }
    mean = mean * weight + value * (1 - weight);
    share = share * weight + (1 - weight);
    return mean / share;
  });
}
