// What is known about an event, as text: for the tooltip, the details and screen readers.

import {CAUSES, CATEGORIES} from '../../colors.js';
import {element} from '../../dom.js';
import {shorten, thousands, time} from '../../format.js';
import {causeLabel, causeMeaning} from '../../names.js';
import {HOST_KINDS} from './data.js';

const EVENT_TITLE_LENGTH = 96;
const LONGEST_PATH = 200;
export const HOST_WORDS = {op: 'op', call: 'runtime call', python: 'Python function', annotation: 'annotation'};

// The short text that stands on an event.
export function eventLabel(data, lane, row) {
  if (lane.kind === 'thread') return data.host.text(data.hostNames[row]) || '';
  if (lane.kind === 'idle') return causeLabel(lane.table.get('cause', row));
  const kernel = data.gpu.get('kernel', row);
  if (kernel === null || !data.kernels) return '';
  return data.kernels.get('short', kernel) || data.kernels.get('name', kernel) || '';
}

function timeFact(label, ns) {
  return {label, text: time(ns), full: `${thousands(ns)} ns`};
}

// A place in time needs more digits than a duration.
function startFact(ns) {
  const fact = timeFact('start', ns);
  return Math.abs(ns) < 1e6 ? fact : {...fact, text: `${thousands(Math.round(ns / 1e3) / 1e3)} ms`};
}

// Steps, ops and modules above a call, the outermost first: [{kind, name}].
export function eventPath(data, call) {
  const {nodes, calls} = data;
  const path = [];
  let node = nodes && calls && call !== null ? calls.get('node', call) : null;
  while (node !== null && node >= 0 && node < nodes.rows && path.length < LONGEST_PATH) {
    path.push({kind: nodes.get('kind', node), name: nodes.get('name', node) || ''});
    const parent = nodes.get('parent', node);
    node = parent !== null && parent < node ? parent : null; // a parent comes before its children
  }
  return path.reverse();
}

function stepNameAt(data, start) {
  if (!data.hasNamedSteps) return null;
  const [from, to] = data.steps.within(start, start);
  for (let i = from; i < to; i++) {
    if (data.steps.start[i] <= start && start < data.steps.end[i]) return timelineStepName(data, data.steps.row[i]);
  }
  return null;
}

export function timelineStepName(data, row) {
  const steps = data.source.table('page_steps');
  const phase = steps.get('phase', row);
  const name = steps.get('name', row) ?? (data.hasNamedSteps ? `step ${row}` : 'all of the window');
  return `${name}${phase ? ` (${phase})` : ''}`;
}

// {title, full, facts: [{label, text, full}], path, kernel, call}. Facts without a text are left out.
export function describeEvent(data, event) {
  const {lane, track, index} = event;
  const row = track.row[index];
  const about = {stream: describeWork, thread: describeHost, idle: describeIdle}[lane.kind](data, event, row);
  const start = track.start[index];
  const common = [timeFact('duration', track.end[index] - start), startFact(start),
    {label: 'step', text: stepNameAt(data, start)}];
  return {path: [], kernel: null, call: null, ...about,
    facts: [...common, ...about.facts].filter((fact) => fact.text !== null && fact.text !== '')};
}

function describeWork(data, {lane, track, index}, row) {
  const [kernel, call] = [data.gpu.get('kernel', row), data.gpu.get('call', row)];
  const launch = data.gpu.get('launch', row);
  const of = (name) => (call === null || !data.calls ? null : data.calls.get(name, call));
  const facts = [
    {label: 'category', text: CATEGORIES[track.kind[index]]},
    {label: 'op', text: of('op')},
    {label: 'shapes', text: of('shapes')},
    {label: 'Python', text: of('python')},
    {label: 'launched by', text: of('runtime')},
    launch === null ? {text: null} : timeFact('launch to start', track.start[index] - launch),
    {label: 'stream', text: `${lane.group}, ${lane.label}`},
  ];
  const short = eventLabel(data, lane, row) || '(unnamed)';
  return {title: short, full: (kernel === null ? null : data.kernels.get('name', kernel)) || short, facts,
    path: eventPath(data, call), kernel, call};
}

function describeHost(data, {lane, track, index}, row) {
  const name = eventLabel(data, lane, row) || '(unnamed)';
  const facts = [
    {label: 'kind', text: HOST_WORDS[HOST_KINDS[track.kind[index]]]},
    {label: 'thread', text: `${lane.group}, ${lane.label}`},
  ];
  return {title: name, full: name, facts};
}

function describeIdle(data, {lane, track, index}, row) {
  const cause = lane.table.get('cause', row) || CAUSES[track.kind[index]];
  const facts = [{label: 'cause', text: causeMeaning(cause)}, {label: 'where', text: lane.table.get('site', row)}];
  return {title: `idle: ${causeLabel(cause)}`, full: `idle: ${causeLabel(cause)}`, facts};
}

export function eventFacts(facts, length = Infinity) {
  return element('dl', {class: 'facts'}, facts.map(({label, text, full}) => [
    element('dt', {}, label),
    element('dd', {title: full, class: label === 'op' || label === 'shapes' || label === 'Python' ? 'name' : null},
        shorten(text, length))]));
}

// The tooltip of an event; `more` other events are in the same pixels.
export function eventTip(data, event, more) {
  const about = describeEvent(data, event);
  return [
    element('div', {class: 'name strong'}, shorten(about.title, EVENT_TITLE_LENGTH)),
    eventFacts(about.facts, 160),
    more > 0 && element('div', {class: 'muted'}, `and ${thousands(more)} more here: zoom in`),
  ].filter(Boolean);
}

// For screen readers.
export function eventAnnouncement(data, event) {
  const about = describeEvent(data, event);
  const facts = about.facts.filter(({label}) => ['duration', 'start', 'op', 'stream', 'thread'].includes(label))
      .map(({label, text}) => `${label} ${shorten(text, 60)}`);
  return [shorten(about.title, EVENT_TITLE_LENGTH), ...facts].join(', ');
}

// A bin of page_bins.
export function binTip(lane, index) {
  const {bins} = lane;
  const [start, length] = [bins.start[index], bins.end[index] - bins.start[index]];
  return [
    element('div', {class: 'strong'}, `${lane.group}, ${lane.label}: a bin of time`),
    eventFacts([
      {label: 'busy', text: `${(100 * Math.min(1, bins.weight[index] / length)).toFixed(1)} %`},
      {label: 'mostly', text: CATEGORIES[bins.kind[index]]},
      startFact(start), timeFact('length', length)]),
  ];
}

export function stepTip(data, index) {
  const {steps} = data;
  return [element('div', {class: 'strong'}, timelineStepName(data, steps.row[index])),
    eventFacts([timeFact('duration', steps.end[index] - steps.start[index]), startFact(steps.start[index])]),
    element('div', {class: 'muted'}, 'click: choose this step as range')];
}
