// What src/page/web/README.md demands of all modules, so that they can be joined and nothing in a name becomes HTML.

import assert from 'node:assert/strict';
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {dirname, join, normalize, relative} from 'node:path';
import {test} from 'node:test';
import {WEB} from './helpers.mjs';

function filesBelow(folder) {
  return readdirSync(folder, {withFileTypes: true}).flatMap((entry) =>
    (entry.isDirectory() ? filesBelow(join(folder, entry.name)) : [relative(WEB, join(folder, entry.name))])).sort();
}

const read = (file) => readFileSync(join(WEB, file), 'utf8');
const files = filesBelow(WEB);
const modules = files.filter((file) => file.endsWith('.js'));

// A module after all that it imports, as cmake/Page.cmake joins them; `above`: the modules that lead to it.
function inOrder(file, above = [], done = new Set()) {
  assert.ok(!above.includes(file), `modules import each other: ${[...above, file].join(', ')}`);
  if (done.has(file)) return [];
  const others = [...read(file).matchAll(/^import .* from '(.*)';$/gm)].map(([, path]) => normalize(join(dirname(file), path)));
  const order = others.flatMap((other) => inOrder(other, [...above, file], done));
  done.add(file);
  return [...order, file];
}
const listed = inOrder('main.js');

// The lines of all modules with a pattern, as messages.
function linesWith(pattern, names = modules) {
  return names.flatMap((file) => read(file).split('\n').flatMap((line, i) =>
    (pattern.test(line) ? [`${file}:${i + 1}: ${line.trim()}`] : [])));
}

test('main.js leads to every module', () => {
  assert.deepEqual([...listed].sort(), modules);
});

test('imports are one line and come from modules', () => {
  assert.deepEqual(linesWith(/^\s*import\b(?!.* from '.*';$)/), []);
  for (const file of listed) {
    for (const [line, path] of read(file).matchAll(/^import .* from '(.*)';$/gm)) {
      assert.ok(path.startsWith('.') && path.endsWith('.js'), `${file}: ${line}`);
      const wanted = normalize(join(dirname(file), path));
      assert.ok(existsSync(join(WEB, wanted)), `${file}: ${wanted} does not exist`);
    }
  }
});

test('imports name what the other module exports, and everything imported is used', () => {
  for (const file of listed) {
    const text = read(file);
    for (const [, names, path] of text.matchAll(/^import \{(.*)\} from '(.*)';$/gm)) {
      const other = read(normalize(join(dirname(file), path)));
      for (const name of names.split(',').map((one) => one.trim())) {
        assert.match(name, /^\w+$/, `${file}: renamed imports do not survive joining`);
        assert.match(other, new RegExp(`^export (async )?(const|let|class|function\\*?) ${name}\\b`, 'm'), `${file}: ${name} of ${path}`);
        assert.ok(text.replace(/^import .*$/gm, '').match(new RegExp(`\\b${name}\\b`)), `${file}: ${name} is not used`);
      }
    }
  }
});

test('exports begin a declaration', () => {
  assert.deepEqual(linesWith(/^\s*export\b(?! (async )?(const|let|class|function)\b)/), []);
  assert.deepEqual(linesWith(/\bimport\s*\(|\bimport\.meta\b/), []);
});

test('names at the top level are unique among all modules', () => {
  const owners = new Map();
  for (const file of listed) {
    const text = read(file);
    const names = [...text.matchAll(/^(?:export )?(?:async )?(?:const|let|var|class|function\*?) (\w+|\{.*?\}|\[.*?\])/gm)].flatMap(([, name]) => name.match(/\w+/g));
    for (const name of names) {
      assert.ok(!owners.has(name), `${name} is declared in ${owners.get(name)} and ${file}`);
      owners.set(name, file);
    }
  }
});

test('nothing is parsed as HTML or run as a program', () => {
  assert.deepEqual(linesWith(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|DOMParser|createContextualFragment|setHTML|javascript:/), []);
  assert.deepEqual(linesWith(/setAttribute\(\s*['"`]on|\.on(click|error|load|input|key\w+|mouse\w+|pointer\w+|wheel)\s*=/,
      modules.filter((file) => file !== 'pack.js')), []); // a worker's onerror
  assert.deepEqual(linesWith(/set(Timeout|Interval)\(\s*['"`]/), []);
});

test('nothing refers to the network', () => {
  const allowed = /http:\/\/www\.w3\.org\/2000\/svg/g;
  for (const file of files.filter((one) => /\.(js|css|html)$/.test(one))) {
    assert.doesNotMatch(read(file).replace(allowed, ''), /https?:|\/\/[a-z0-9-]+\.[a-z]/i, file);
  }
  assert.deepEqual(linesWith(/\bfetch\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts/), []);
  assert.deepEqual(linesWith(/@import|url\((?!['"]?(data:|#))/, files.filter((file) => file.endsWith('.css'))), []);
});

test('program and style do not end their elements', () => {
  for (const file of files.filter((one) => /\.(js|css)$/.test(one))) assert.doesNotMatch(read(file), /<\/|<!--|\r/, file);
});

test('the frame has no program of its own', () => {
  const frame = read('page.html');
  assert.doesNotMatch(frame, /\son\w+=|\sstyle=/);
  assert.deepEqual([...frame.matchAll(/@([A-Z]+)@/g)].map(([, name]) => name).sort(), ['CSP', 'DOCUMENT', 'FRONT', 'PACKS', 'PROGRAM', 'STYLE', 'TITLE']);
});

test('modules open with what they do', () => {
  for (const file of modules) assert.match(read(file), /^\/\/ \S/, file);
});
