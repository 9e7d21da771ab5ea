// The time axis: what part of the trace is shown (a view, [begin, end] in ns), and its ticks. Nothing here needs a
// document.

const NS_PER_1000_PIXELS = 20; // the closest zoom

const AXIS_UNITS = [[1, 'ns'], [1e3, 'µs'], [1e6, 'ms'], [1e9, 's']];

// The view as one that can be shown: not closer than the limit, not longer than `whole`, and inside it.
export function clampView([begin, end], whole, pixels) {
  const full = whole[1] - whole[0];
  const least = Math.min(full, NS_PER_1000_PIXELS * Math.max(1, pixels) / 1000);
  if (!(end > begin)) [begin, end] = Number.isFinite(begin) ? [begin, begin + least] : whole;
  let span = end - begin;
  if (span >= full) return [whole[0], whole[1]];
  if (span < least) {
    begin -= (least - span) / 2;
    span = least;
  }
  begin = Math.min(Math.max(begin, whole[0]), whole[1] - span);
  return [begin, begin + span];
}

// The view `factor` times as long (below 1: closer); the time `center` stays where it is.
export function zoomView([begin, end], factor, center) {
  return [center - (center - begin) * factor, center + (end - center) * factor];
}

// The view moved by a share of its length.
export function panView([begin, end], share) {
  const by = (end - begin) * share;
  return [begin + by, end + by];
}

// A view that shows the range with a margin on both sides.
export function viewAround([begin, end], margin = 0.08) {
  const by = Math.max((end - begin) * margin, 1);
  return [begin - by, end + by];
}

// The smallest of 1, 2, 5, 10, 20, ... ns that is at least `ns`; no finer than a nanosecond.
export function tickStep(ns) {
  let step = 1;
  for (let i = 0; step < ns * (1 - 1e-9); i++) step *= i % 3 === 1 ? 2.5 : 2;
  return step;
}

function axisUnit(ns) {
  let unit = AXIS_UNITS[0];
  for (const one of AXIS_UNITS) {
    if (ns >= one[0]) unit = one;
  }
  return unit;
}

function unitDigits(step, unit) {
  return Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
}

const axisFormats = []; // by digits: making one takes longer than using it

function axisLabel(ns, [size, name], digits) {
  axisFormats[digits] ||=
      new Intl.NumberFormat('en-US', {minimumFractionDigits: digits, maximumFractionDigits: digits});
  return `${axisFormats[digits].format(ns / size + 0)} ${name}`; // + 0: no "-0"
}

// Ticks of a view: {base, step, ticks: [{at, label}]}. Where labels would need many digits they count from `base`, a
// time with a label of its own ("77.123 ms", then "+410 ns"); else base is null. `origin` is the time that is called 0.
export function timeTicks([begin, end], pixels, origin = 0, spacing = 110) {
  const step = tickStep((end - begin) / Math.max(1, pixels / spacing));
  const first = Math.ceil((begin - origin) / step - 1e-9);
  const last = Math.floor((end - origin) / step + 1e-9);
  const far = Math.max(Math.abs(first), Math.abs(last)) * step;
  const unit = axisUnit(far);
  const usesBase = unitDigits(step, unit[0]) > 3;
  const base = usesBase ? Math.floor(first * step / (1000 * step)) * 1000 * step : 0;
  const tickUnit = usesBase ? axisUnit(Math.max(step, last * step - base)) : unit;
  const digits = unitDigits(step, tickUnit[0]);
  const ticks = [];
  for (let i = first; i <= last && ticks.length < 1000; i++) {
    const label = axisLabel(i * step - base, tickUnit, digits);
    ticks.push({at: origin + i * step, label: usesBase ? `+${label}` : label});
  }
  const baseLabel = usesBase ? axisLabel(base, unit, unitDigits(1000 * step, unit[0])) : null;
  return {base: usesBase ? {at: origin + base, label: baseLabel} : null, step, ticks};
}
