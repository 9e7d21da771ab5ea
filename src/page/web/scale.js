// Scales, ticks and labels of charts: from values to pixels and back. Nothing here needs a document.

// Maps [low, high] of the values to [from, to] of the pixels. A domain of no length maps to the middle.
export function linearScale([low, high], [from, to]) {
  const span = high - low;
  const scale = (value) => (span ? from + (value - low) / span * (to - from) : (from + to) / 2);
  scale.invert = (pixel) => (to === from ? low : low + (pixel - from) / (to - from) * span);
  return scale;
}

// The same for logarithms; both ends of the domain are positive.
export function logScale([low, high], pixels) {
  const linear = linearScale([Math.log10(low), Math.log10(high)], pixels);
  const scale = (value) => linear(Math.log10(value));
  scale.invert = (pixel) => 10 ** linear.invert(pixel);
  return scale;
}

// The smallest of 1, 2, 5, 10, 20, 50, ... that is at least this large.
export function niceStep(size) {
  if (!(size > 0) || !Number.isFinite(size)) return 1;
  const power = 10 ** Math.floor(Math.log10(size));
  for (const factor of [1, 2, 5]) {
    if (factor * power >= size * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

// Round values from low to high, about `count` of them.
export function linearTicks(low, high, count) {
  if (!Number.isFinite(low) || !Number.isFinite(high) || !(high > low)) return [];
  const step = niceStep((high - low) / Math.max(1, count));
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(i * step + 0);
  return ticks;
}

// The largest value of an axis that begins at 0: the next round value, so that the highest mark has a tick above it.
export function niceMaximum(value, count) {
  if (!(value > 0) || !Number.isFinite(value)) return 1;
  const step = niceStep(value / Math.max(1, count));
  return Math.ceil(value / step - 1e-9) * step;
}

// Powers of ten from low to high, at most `count`: every second or third if there are more. Between few of them there
// are also 2 and 5.
export function logTicks(low, high, count) {
  if (!(low > 0) || !Number.isFinite(high) || !(high >= low)) return [];
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  const stride = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, count)));
  const factors = (last - first + 1) * 3 <= count && last - first < 3 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = Math.floor(first / stride) * stride - stride; power <= last; power += stride) {
    for (const factor of factors) ticks.push(Number(`${factor}e${power}`));
  }
  return ticks.filter((tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9));
}

// A domain around all positive values, with room of a factor on both sides; null if there are none.
export function logDomain(values, room) {
  let low = Infinity;
  let high = 0;
  for (const value of values) {
    if (!(value > 0) || !Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return high > 0 ? [low / room, high * room] : null;
}

export const TIME_UNITS = [[1, 'ns'], [1e3, 'µs'], [1e6, 'ms'], [1e9, 's']];
export const BYTE_UNITS = [[1, 'B'], [1e3, 'kB'], [1e6, 'MB'], [1e9, 'GB'], [1e12, 'TB']];

// Ticks with labels in one unit and with no more digits than they need: [{value, label}].
export function unitTicks(low, high, count, units) {
  const values = linearTicks(low, high, count);
  const largest = Math.max(Math.abs(low), Math.abs(high));
  const [size, name] = units.findLast((unit) => largest >= unit[0]) || units[0];
  const step = values.length > 1 ? (values[1] - values[0]) / size : 1;
  const digits = Math.min(6, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return values.map((value) => ({value, label: `${plainNumber(value / size, digits)} ${name}`}));
}

function plainNumber(value, digits) {
  return value.toLocaleString('en-US', {minimumFractionDigits: digits, maximumFractionDigits: digits});
}

// A tick of a logarithmic axis: 0.001, 1,000, and 10⁶ where digits would be too many.
export function powerLabel(value) {
  const power = Math.floor(Math.log10(value) + 1e-9);
  if (power >= -3 && power <= 5) return value.toLocaleString('en-US', {maximumFractionDigits: 6});
  const digits = {'-': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹'};
  const factor = Math.round(value / 10 ** power);
  return `${factor === 1 ? '' : `${factor}·`}10${[...String(power)].map((digit) => digits[digit]).join('')}`;
}

// Boxes {x, y, width, height} of labels that stay in the area {left, top, right, bottom} and overlap neither each other
// nor the boxes that are there already. Each label has several places, best first; one without a free place gets null.
export function freePlaces(labels, area, boxes) {
  const taken = [...boxes];
  const isFree = (box) => box.x >= area.left && box.x + box.width <= area.right && box.y >= area.top &&
    box.y + box.height <= area.bottom && !taken.some((other) => box.x < other.x + other.width &&
    other.x < box.x + box.width && box.y < other.y + other.height && other.y < box.y + box.height);
  return labels.map(({width, height, places}) => {
    const free = places.map(([x, y]) => ({x, y, width, height})).find(isFree);
    if (!free) return null;
    taken.push(free);
    return free;
  });
}

// The value below which a share of the sorted values lies, between neighbours by distance.
export function quantile(sorted, share) {
  if (!sorted.length) return NaN;
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}
