// Colours with a fixed meaning everywhere.
//
// Categories of GPU work have plain colours after Okabe and Ito; colors.test.mjs checks that colour-blind people can
// tell them apart. Idle time is hatched: one grey and direction per cause, so that no grey is taken for work, and the
// largest cause of the page has the accent. Every function answers for the theme that is shown; draw again when the
// state `theme` changes.
//
//   categoryColor('GEMM'), causeCss('data')         for elements
//   categoryColor('GEMM'), causePattern(c, 'data')  fillStyle of a canvas
//   partCss(part, kind), partFill(c, part, kind)    the same for rows of page_step_parts and of the bar
//   themeColor('--muted')                           a variable of style.css, for a canvas

export const THEME_COLORS = {
  light: {
    GEMM: '#0072b2', attention: '#56b4e9', convolution: '#004d80', normalisation: '#009e73', elementwise: '#7fc8a9',
    reduction: '#b884c4', optimizer: '#e69f00', other: '#8a8f98', communication: '#d55e00', copy: '#e3d200',
  },
  dark: {
    GEMM: '#4aa3df', attention: '#8fd0f5', convolution: '#2f78ad', normalisation: '#2fc398', elementwise: '#a3dcc4',
    reduction: '#cf9fcb', optimizer: '#f2b632', other: '#8a9099', communication: '#f08a3c', copy: '#e8da67',
  },
};
export const CATEGORIES = Object.keys(THEME_COLORS.light);

// Ground and line of hatched areas: two greys, and the accent of the largest cause.
const LIGHT_HATCHES = [['#eceef0', '#a9aeb6'], ['#d3d7dc', '#8f959e'], ['#f9d9d3', '#bf3b2b']];
const DARK_HATCHES = [['#2a2e34', '#59606a'], ['#3a3f47', '#727a85'], ['#4d211c', '#e0705f']];
const ACCENT = 2;

// Each cause has a grey and the angle of its lines in degrees; two angles: crossed lines.
const HATCHES = {
  launch: [0, 45], sync: [0, 135], data: [1, 45], cpu_op: [1, 135], python: [0, 90], untraced: [0, 0],
  wait: [1, 0, 45],
  alloc: [1, 90], module: [1, 0], copy: [0, 45, 135], profiler: [1, 45, 135], device_gap: [0, 0, 90],
  dependency: [1, 0, 90], device_wait: [0, 90, 45], collective: [1, 90, 45], unknown: [0, 0, 135], outside: [0],
};
// Those of the findings; `outside` is only of balance.js.
export const CAUSES = Object.keys(HATCHES).filter((cause) => cause !== 'outside');
const HATCH_GAP = 6;

let systemIsDark = null;
let largestCause = null;
const patterns = new Map();

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen === 'dark';
  systemIsDark = systemIsDark || matchMedia('(prefers-color-scheme: dark)');
  return systemIsDark.matches;
}

export function categoryColor(category) {
  const colors = isDark() ? THEME_COLORS.dark : THEME_COLORS.light;
  return Object.hasOwn(colors, category) ? colors[category] : colors.other;
}

// Which cause has the accent; main.js says so before anything is drawn, on pages of ranks the critical path does.
export function setLargestCause(cause) {
  largestCause = cause;
  patterns.clear();
}

// Of a front: the cause of most of the idle time; in a comparison, of its largest change. Null: none.
export function largestCauseOf({facts, answers}) {
  const bar = (facts.bar || []).map(({part, kind, ns}) => ({cause: part, kind, size: ns}));
  const changes = (answers.waterfalls?.[0]?.contributions || [])
    .map(({what, kind, delta_ms: ms}) => ({cause: what, kind, size: Math.abs(ms)}));
  const idle = [...bar, ...changes].filter(({kind}) => kind === 'idle');
  return idle.length ? idle.reduce((most, part) => (part.size > most.size ? part : most)).cause : null;
}

function hatchOf(cause) {
  const [shade, ...angles] = Object.hasOwn(HATCHES, cause) ? HATCHES[cause] : HATCHES.unknown;
  const [ground, line] = (isDark() ? DARK_HATCHES : LIGHT_HATCHES)[cause === largestCause ? ACCENT : shade];
  return {ground, line, angles};
}

// One plain colour for a cause, where a hatch would be too fine to see.
export function causeColor(cause) {
  const {ground, line} = hatchOf(cause);
  return cause === largestCause ? line : mixColors(ground, line, 0.5);
}

// The value of `background` of an element: tiles, because long repeating gradients become uneven.
export function causeCss(cause) {
  const {ground, line, angles} = hatchOf(cause);
  const slanted = `${line} 0 6%, transparent 6% 44%, ${line} 44% 56%, transparent 56% 94%, ${line} 94%`;
  const straight = `${line} 1px, transparent 1px`;
  const lines = angles.map((angle) => (
    `linear-gradient(${angle % 90 ? angle + 90 : angle}deg, ${angle % 90 ? slanted : straight}) ` +
    `0 0 / ${HATCH_GAP}px ${HATCH_GAP}px`));
  return [...lines, ground].join(', ');
}

// A tile of HATCH_GAP pixels that continues at its edges.
function hatchTile(cause, scale) {
  const {ground, line, angles} = hatchOf(cause);
  const size = HATCH_GAP * scale;
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = size;
  const context = canvas.getContext('2d');
  context.fillStyle = ground;
  context.fillRect(0, 0, size, size);
  context.strokeStyle = line;
  context.lineWidth = scale;
  context.beginPath();
  for (const angle of angles) addHatchLine(context, angle, size, scale);
  context.stroke();
  return canvas;
}

// The lines at 45 degrees also cross the corners, where the neighbour's line ends.
function addHatchLine(context, angle, size, scale) {
  if (angle % 90 === 0) {
    context.moveTo(angle ? scale / 2 : 0, angle ? 0 : scale / 2);
    context.lineTo(angle ? scale / 2 : size, angle ? size : scale / 2);
    return;
  }
  const [from, to] = angle === 45 ? [2 * size, -size] : [-size, 2 * size];
  for (const shift of [-size, 0, size]) {
    context.moveTo(shift - size, from);
    context.lineTo(shift + 2 * size, to);
  }
}

// The fillStyle for a canvas whose context is in device pixels. `scale` is its pixels per CSS pixel: an integer.
export function causePattern(context, cause, scale = Math.max(1, Math.round(devicePixelRatio))) {
  const key = `${isDark()} ${scale} ${cause}`;
  if (!patterns.has(key)) patterns.set(key, context.createPattern(hatchTile(cause, scale), 'repeat'));
  return patterns.get(key);
}

// Rows with part and kind, as in page_step_parts: idle time has causes as parts, all else has categories.
export function partCss(part, kind) {
  return kind === 'idle' ? causeCss(part) : categoryColor(part);
}

export function partFill(context, part, kind) {
  return kind === 'idle' ? causePattern(context, part) : categoryColor(part);
}

// The value of a variable of style.css as a colour that a canvas understands.
export function themeColor(variable) {
  const probe = document.createElement('span');
  probe.style.color = `var(${variable})`;
  document.documentElement.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}

// Red, green and blue of '#rrggbb' or 'rgb(r, g, b)'.
function channels(color) {
  if (color.startsWith('rgb')) return color.match(/[\d.]+/g).slice(0, 3).map(Number);
  return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
}

// A share of the first colour on top of the second.
export function mixColors(color, under, share) {
  const below = channels(under);
  const mixed = channels(color).map((value, i) => Math.round(value * share + below[i] * (1 - share)));
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

function luminance(color) {
  const [red, green, blue] = channels(color).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

// How well two colours (#rrggbb) can be told apart: from 1 to 21, as WCAG defines it.
export function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

// The colour for text on a plain colour: black or white, always at least 4.5:1.
export function inkOn(color) {
  return contrast(color, '#000000') >= contrast(color, '#ffffff') ? '#000000' : '#ffffff';
}
