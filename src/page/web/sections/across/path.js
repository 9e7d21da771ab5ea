// The critical path of a run of several ranks, read from the sheets: its segments by step, its time by kind, and its
// ops with the slack of all other ops. Times are in ns.

const MS_IN_NS = 1e6;
const PATH_STEPS = 12; // bars that are drawn
const PATH_KINDS = ['compute', 'communication', 'host', 'data', 'idle'];

// The text of a row of the sheet overview, or null.
export function overviewText(source, name) {
  const overview = source.table('overview');
  const row = overview ? overview.find('name', name) : -1;
  return row < 0 ? null : overview.get('text', row);
}

// Its number, or null.
export function overviewNumber(source, name) {
  const overview = source.table('overview');
  const row = overview ? overview.find('name', name) : -1;
  return row < 0 ? null : overview.get('value', row);
}

// What times and amounts are divided by.
export function perOf(source) {
  return overviewText(source, 'per') === 'trace' ? 'trace' : 'step';
}

// A text of the sheets as a sentence.
export function asSentence(text) {
  return text ? `${text[0].toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}` : '';
}

// What segments and rows of the sheets have in common.
function pathKey(rank, kind, op) {
  return `${rank} ${kind} ${op}`;
}

// Segments in order of time, by step: [{number, from, to, segments: [{row, rank, from, to, key}]}]. Runs without marked
// steps are one step whose number is null.
export function readPathSteps(sheet) {
  const [step, rank, from, to] = ['step', 'rank', 'from_ms', 'to_ms'].map((name) => sheet.column(name));
  const [kind, op] = ['kind', 'op'].map((name) => sheet.column(name));
  const steps = [];
  for (let row = 0; row < sheet.rows; row++) {
    if (!(to[row] >= from[row])) continue;
    const number = Number.isNaN(step[row]) ? null : step[row];
    if (!steps.length || steps.at(-1).number !== number) steps.push({number, from: from[row] * MS_IN_NS, segments: []});
    const last = steps.at(-1);
    last.to = to[row] * MS_IN_NS;
    last.segments.push({row, rank: rank[row], kind: kind[row], from: from[row] * MS_IN_NS, to: last.to,
      key: pathKey(rank[row], kind[row], op[row])});
  }
  return steps;
}

// Of many steps the longest ones, in order of time.
export function longestSteps(steps, most = PATH_STEPS) {
  if (steps.length <= most) return steps;
  const length = (i) => steps[i].to - steps[i].from;
  const order = steps.map((_, i) => i).sort((a, b) => length(b) - length(a) || a - b);
  return order.slice(0, most).sort((a, b) => a - b).map((i) => steps[i]);
}

// Neighbours on one rank: [{rank, from, to}].
export function rankStretches(segments) {
  const found = [];
  for (const {rank, from, to} of segments) {
    if (found.length && found.at(-1).rank === rank) found.at(-1).to = to;
    else found.push({rank, from, to});
  }
  return found;
}

// Time of each kind per step, the usual kinds first: [{kind, ns}].
export function pathKinds(sheet) {
  const sums = new Map(PATH_KINDS.map((kind) => [kind, 0]));
  const ms = sheet.column('ms');
  sheet.column('kind').forEach((kind, row) => sums.set(kind, (sums.get(kind) ?? 0) + (ms[row] || 0) * MS_IN_NS));
  return [...sums].map(([kind, ns]) => ({kind, ns})).filter(({ns}) => ns > 0);
}

// The segment at a time of a step, or null.
export function segmentAt(segments, at) {
  let [low, high] = [0, segments.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (segments[middle].from <= at) low = middle;
    else high = middle - 1;
  }
  const found = segments[low];
  return found && at >= found.from && at <= found.to ? found : null;
}

// One entry per rank and op: those on the path in the order of the sheet, then all others of the sheet slack, those
// with the least slack first. {key, rank, node, kind, op, ns, share, longer, slack, chains}; NaN: not known.
export function readPathOps(path, slack) {
  const number = (sheet, name, row) => (sheet.column(name)[row] ?? NaN) * MS_IN_NS;
  const entryOf = (sheet, row) => {
    const [rank, node, kind, op] = ['rank', 'node', 'kind', 'op'].map((name) => sheet.get(name, row));
    return {key: pathKey(rank, kind, op), rank, node, kind, op, ns: 0, share: 0, longer: NaN, slack: NaN, chains: NaN};
  };
  const entries = Array.from({length: path.rows}, (_, row) => ({...entryOf(path, row), ns: number(path, 'ms', row),
    share: path.column('share_pct')[row] / 100, longer: number(path, 'longer_ms', row)}));
  const places = new Map(entries.map((entry, i) => [entry.key, i]));
  const others = [];
  for (let row = 0; slack && row < slack.rows; row++) {
    const entry = entryOf(slack, row);
    const place = places.get(entry.key);
    const target = place === undefined ? entry : entries[place];
    target.slack = number(slack, 'slack_ms', row);
    target.chains = number(slack, 'ms', row);
    if (place === undefined) others.push(entry);
  }
  const least = ({slack: ns}) => (Number.isNaN(ns) ? Infinity : ns);
  others.sort((a, b) => (least(a) === least(b) ? b.chains - a.chains : least(a) - least(b)));
  return [...entries, ...others];
}
