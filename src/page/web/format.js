// Numbers as displayed: three significant digits with a unit. Full precision is for tooltips and copies.

export function significant(value) {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(Number(value.toPrecision(3))); // 9.999 has as many decimals as 10
  if (size === 0) return '0';
  if (size >= 1000) return thousands(Math.round(value));
  const digits = Math.max(0, 2 - Math.floor(Math.log10(size)));
  return value.toFixed(Math.min(digits, 6));
}

const numberFormat = new Intl.NumberFormat('en-US', {maximumFractionDigits: 3}); // toLocaleString is 20 times slower

// 1234567 gives 1,234,567.
export function thousands(value) {
  return Number.isFinite(value) ? numberFormat.format(value) : '–';
}

export function time(ns) {
  if (!Number.isFinite(ns)) return '–';
  const size = Math.abs(ns);
  if (size < 999.5) return `${Math.round(ns)} ns`;
  if (size < 999.5e3) return `${significant(ns / 1e3)} µs`;
  if (size < 999.5e6) return `${significant(ns / 1e6)} ms`;
  return `${significant(ns / 1e9)} s`;
}

// A share of a whole, both in the same unit.
export function percent(part, whole) {
  return whole > 0 && Number.isFinite(part) ? `${(100 * part / whole).toFixed(1)} %` : '–';
}

export function bytes(count) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  if (!Number.isFinite(count)) return '–';
  let unit = 0;
  while (Math.abs(count) >= 999.5 && unit < units.length - 1) {
    count /= 1000;
    unit++;
  }
  return `${significant(count)} ${units[unit]}`;
}

// A long name with its middle left out.
export function shorten(text, length) {
  if (text.length <= length) return text;
  const head = Math.ceil((length - 1) * 0.6);
  return `${text.slice(0, head)}…${text.slice(text.length - (length - 1 - head))}`;
}

// With a sign, and a real minus: signed(time, -1500) gives −1.50 µs. What is shown as nothing has no sign.
export function signed(format, value) {
  const text = format(Math.abs(value));
  return !Number.isFinite(value) || value === 0 ? text : `${value < 0 ? '−' : '+'}${text}`;
}

// A change in percent; of more than a factor of 100, the factor.
export function changeText(percents) {
  if (!Number.isFinite(percents)) return '–';
  if (percents >= 1e4) return `×${significant(percents / 100 + 1)}`;
  return `${signed((value) => value.toFixed(1), Number(percents.toFixed(1)))} %`;
}
