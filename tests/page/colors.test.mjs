// Colours: contrast of text in both themes, and whether colour-blind people can tell the categories apart. Contrast and
// simulation are computed here from their definitions.

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {CATEGORIES, CAUSES, causeColor, causeCss, contrast, inkOn, largestCauseOf, setLargestCause} from '../../src/page/web/colors.js';
import {THEME_COLORS} from '../../src/page/web/colors.js';
import {causeLabel, causeMeaning, partKey, partLabel, readPartKey} from '../../src/page/web/names.js';
import {ROOT, WEB} from './helpers.mjs';

// The pairs light-dark(LIGHT, DARK) of style.css: {paper: {light: '#fffefc', dark: '#14161a'}, ...}.
function variables() {
  const style = readFileSync(join(WEB, 'style.css'), 'utf8');
  const found = [...style.matchAll(/^ {2}--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);$/gm)];
  return Object.fromEntries(found.map(([, name, light, dark]) => [name, {light, dark}]));
}

function linear(color) {
  return [1, 3, 5].map((at) => {
    const share = parseInt(color.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
}

function ratio(one, other) {
  const [a, b] = [one, other].map((color) => {
    const [red, green, blue] = linear(color);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  });
  return Math.max(a, b) / Math.min(a, b);
}

// Machado, Oliveira and Fernandes 2009: complete lack of one kind of cones.
const VISIONS = {
  normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

function lab(color, vision) {
  const light = linear(color);
  const [r, g, b] = vision.map((row) => Math.min(1, Math.max(0, row[0] * light[0] + row[1] * light[1] + row[2] * light[2])));
  const xyz = [(0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b,
    (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089];
  const [x, y, z] = xyz.map((value) => (value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

test('contrast as WCAG defines it', () => {
  assert.equal(contrast('#000000', '#ffffff'), 21);
  assert.ok(Math.abs(contrast('#777777', '#ffffff') - 4.478) < 0.001); // the value that WCAG examples give
  assert.ok(Math.abs(contrast('#0072b2', '#56b4e9') - ratio('#0072b2', '#56b4e9')) < 1e-9);
});

test('text has a contrast of 4.5 on every ground', () => {
  const colors = variables();
  for (const theme of ['light', 'dark']) {
    for (const text of ['text', 'muted', 'accent', 'good', 'warn', 'bad']) {
      for (const ground of ['paper', 'surface', 'raised', 'accent-soft']) {
        const found = ratio(colors[text][theme], colors[ground][theme]);
        assert.ok(found >= 4.5, `${text} on ${ground}, ${theme}: ${found}`);
      }
    }
    for (const [text, ground] of [['good', 'good-soft'], ['warn', 'warn-soft'], ['bad', 'bad-soft'], ['on-accent', 'accent'],
      ['text', 'bad-soft']]) {
      assert.ok(ratio(colors[text][theme], colors[ground][theme]) >= 4.5, `${text} on ${ground}, ${theme}`);
    }
    assert.ok(ratio(colors['line-strong'][theme], colors.paper[theme]) >= 3, `outline of controls, ${theme}`);
  }
});

test('text on categories has a contrast of 4.5', () => {
  for (const colors of Object.values(THEME_COLORS)) {
    for (const color of Object.values(colors)) assert.ok(ratio(color, inkOn(color)) >= 4.5, color);
  }
});

test('categories are told apart, also without one kind of cones', () => {
  for (const [theme, colors] of Object.entries(THEME_COLORS)) {
    assert.deepEqual(Object.keys(colors), CATEGORIES);
    for (const [vision, matrix] of Object.entries(VISIONS)) {
      for (const one of CATEGORIES) {
        for (const other of CATEGORIES.slice(CATEGORIES.indexOf(one) + 1)) {
          const distance = Math.hypot(...lab(colors[one], matrix).map((value, i) => value - lab(colors[other], matrix)[i]));
          assert.ok(distance >= 10, `${one} and ${other}, ${theme}, ${vision}: ${distance.toFixed(1)}`);
        }
      }
    }
  }
});

test('causes have the names of the findings and hatches of their own; the largest one has the accent', () => {
  const table = readFileSync(join(ROOT, 'docs/findings.md'), 'utf8').split('## Causes of idle time')[1].split('\n## ')[0];
  const names = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  assert.deepEqual([...CAUSES].sort(), names.sort());
  for (const theme of ['light', 'dark']) {
    globalThis.document = {documentElement: {dataset: {theme}}};
    setLargestCause('data');
    assert.equal(new Set(CAUSES.map(causeCss)).size, CAUSES.length);
    const [accent, plain] = [causeColor('data'), causeColor('launch')];
    setLargestCause('launch');
    assert.notEqual(causeColor('data'), accent);
    assert.equal(causeColor('launch'), accent);
    assert.notEqual(plain, accent);
    for (const cause of CAUSES.filter((one) => one !== 'launch')) {
      const channels = [1, 3, 5].map((at) => parseInt(causeColor(cause).slice(at, at + 2), 16));
      assert.ok(Math.max(...channels) - Math.min(...channels) <= 20, `${cause} is grey, not ${causeColor(cause)}`);
    }
  }
  delete globalThis.document;
});

test('every cause has a name and a meaning for people', () => {
  assert.equal(new Set(CAUSES.map(causeLabel)).size, CAUSES.length);
  for (const cause of CAUSES) assert.ok(causeMeaning(cause), cause);
  assert.deepEqual([causeLabel('__proto__'), causeMeaning('constructor')], ['__proto__', '']);
});

test('a part has one name and one key', () => {
  assert.deepEqual([partLabel('data', 'idle'), partLabel('GEMM', 'computation'), partLabel('copy', 'exposed_copy'),
    partLabel('communication', 'exposed_communication'), partLabel('copy', 'category'), partLabel('copy', 'idle')],
  ['idle: data loading', 'GEMM', 'exposed copies and memsets', 'exposed communication', 'copy', 'idle: copy call']);
  assert.deepEqual([partKey('copy', 'idle'), partKey('copy', 'exposed_copy')], ['idle:copy', 'copy']);
  assert.deepEqual([readPartKey('idle:copy'), readPartKey('copy')], [{part: 'copy', kind: 'idle'}, {part: 'copy', kind: 'category'}]);
});

test('the accent is that of the largest cause, or of the one that changed most', () => {
  const bar = [{part: 'GEMM', kind: 'computation', ns: 90}, {part: 'sync', kind: 'idle', ns: 5}, {part: 'data', kind: 'idle', ns: 7}];
  assert.equal(largestCauseOf({facts: {bar}, answers: {}}), 'data');
  const contributions = [{kind: 'slower', what: 'aten::mm', delta_ms: 9}, {kind: 'idle', what: 'data', delta_ms: 2}, {kind: 'idle', what: 'sync', delta_ms: -3}];
  assert.equal(largestCauseOf({facts: {}, answers: {waterfalls: [{contributions}]}}), 'sync');
  assert.equal(largestCauseOf({facts: {}, answers: {}}), null);
});
