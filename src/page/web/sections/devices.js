// What each GPU of a trace with several did with its time, on one scale: findings and the first screen are about the
// busiest one only. In a comparison, each GPU of A and of B.

import {sortedTable, tipContent} from '../chart.js';
import {comparedSources, isComparison, SIDES} from '../compared.js';
import {element} from '../dom.js';
import {percent, time} from '../format.js';
import {legend} from '../legend.js';
import {batchLine, BATCH_PARTS, drawLines, exactMs} from './batch/batch.js';

const DEVICE_SHEET = 'gpu_timeline_by_device';
const TRACE_SHEET = 'gpu_timeline';
const DEVICES_MAX = 256;
const NOT_IDENTITY = ['type', 'time ms', 'percent'];

// One entry per GPU: {name, device, ns: of BATCH_PARTS, total, isJudged}. Sheets of rocprofv3 have kernels and copies,
// those of PyTorch what nothing hides; in both, the parts add up to the total. That is the time from the first to the
// last operation of any GPU: one that works only at the end is idle before.
export function readDevices(source) {
  const table = source.table(DEVICE_SHEET);
  const columns = table.columnNames.filter((name) => !NOT_IDENTITY.includes(name));
  const devices = new Map();
  for (let row = 0; row < table.rows; row++) {
    const name = columns.map((column) => deviceText(column, table.get(column, row))).filter(Boolean).join(', ');
    if (!devices.has(name)) devices.set(name, {name, device: table.get('device', row), types: new Map()});
    devices.get(name).types.set(table.get('type', row), (table.get('time ms', row) ?? 0) * 1e6);
  }
  const judged = judgedDevice(source);
  const spans = [...devices.values()].map(({types}) => types.get('total_time') ?? 0);
  const total = spans.reduce((most, span) => Math.max(most, span), traceTime(source));
  return [...devices.values()].filter((_, i) => spans[i] > 0).map(({name, device, types}) => {
    const ns = (...names) => types.get(names.find((one) => types.has(one))) ?? 0;
    const [busy, work] = [ns('busy_time'), ns('computation_time', 'kernel')];
    const communication = ns('exposed_comm_time');
    const copies = types.has('exposed_memcpy_time') ? ns('exposed_memcpy_time') : Math.max(0, busy - work);
    return {name, device, total, isJudged: judged === device && columns.length === 1,
      ns: [work, communication, copies, Math.max(0, total - work - communication - copies)]};
  });
}

// From the first GPU operation of the trace to the end of the last one, of any GPU; 0 if no sheet says so.
function traceTime(source) {
  const table = source.has(TRACE_SHEET) ? source.table(TRACE_SHEET) : null;
  let most = 0;
  for (let row = 0; table && row < table.rows; row++)
    if (table.get('type', row) === 'total_time') most = Math.max(most, (table.get('time ms', row) ?? 0) * 1e6);
  return most;
}

function deviceText(column, value) {
  if (value === null) return '';
  return column === 'device' ? `GPU ${value}` : column === 'hostname' ? String(value) : `${column} ${value}`;
}

function judgedDevice(source) {
  const lanes = source.table('page_lanes');
  const row = lanes ? lanes.find('judged', true) : -1;
  return row < 0 ? null : lanes.get('device', row);
}

function deviceLine({label, ns, total}, most) {
  const parts = BATCH_PARTS.map((part, i) => [part.label, `${time(ns[i])} · ${percent(ns[i], total)}`]);
  return batchLine({name: `${label}: ${percent(total - ns[3], total)} busy`, total, most,
    segments: BATCH_PARTS.map(({label: part, css}, i) => ({label: part, css: css(), ns: ns[i]})),
    text: `${label}: ${time(total)}; ${parts.map((part) => part.join(' ')).join(', ')}`,
    tip: () => tipContent(label, [...parts, ['total', time(total)]])});
}

// GPUs of both sides with the same name stand together.
function shownDevices(page) {
  const all = comparedSources(page).flatMap((source, side) => (source.has(DEVICE_SHEET) ?
    readDevices(source).map((one) => ({...one, side})) : []));
  const names = [...new Set(all.map(({name}) => name))];
  const sideOf = ({side}) => (isComparison(page) ? `${SIDES[side]}: ` : '');
  return all.map((one) => ({...one, label: `${sideOf(one)}${one.name}${one.isJudged ? ' (judged)' : ''}`}))
    .sort((one, other) => names.indexOf(one.name) - names.indexOf(other.name) || one.side - other.side);
}

function buildDevices(page, body) {
  const all = shownDevices(page);
  const shown = all.slice(0, DEVICES_MAX);
  const most = Math.max(...all.map(({total}) => total));
  const list = element('ul', {class: 'batch-lines device-lines', 'aria-label': 'time per GPU'});
  const names = element('div', {});
  drawLines(page, list, () => {
    names.replaceChildren(legend(BATCH_PARTS.map(({label, css}) => ({label, css: css()}))));
    return shown.map((device) => deviceLine(device, most));
  });
  const share = (part, total) => ({text: percent(part, total), title: exactMs(part).title, value: part / total});
  const table = sortedTable('Time per GPU', () => ({
    heads: ['GPU', 'busy ', ...BATCH_PARTS.map(({label}) => `${label} `), 'total '],
    rows: shown.map(({label, ns, total}) => [label, share(total - ns[3], total), ...ns.map((one) => share(one, total)),
      {...exactMs(total), value: total}])}));
  const judged = 'Findings, figures and causes of idle time are about the GPU that is marked as judged: the busiest. ';
  body.append(names, list, element('details', {class: 'alternative screen-only'},
    element('summary', {}, 'As a table'), element('div', {class: 'scroll'}, table.node)),
  element('p', {class: 'note'},
    'Shares are of the time from the first to the last operation of any GPU in the whole trace. ' +
    `${shown.some(({isJudged}) => isJudged) ? judged : ''}` +
    `${shown.length < all.length ? `Shown are the first ${shown.length} of ${all.length}.` : ''}`));
}

export const devicesSection = {
  id: 'devices',
  title: 'Each GPU',
  short: 'GPUs',
  needs: (page) => ['trace', 'compare'].includes(page.front.kind) && comparedSources(page).some((source) =>
    source.has(DEVICE_SHEET) && readDevices(source).length > 1),
  build: buildDevices,
};
