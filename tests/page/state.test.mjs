// The state in the URL's hash.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {State} from '../../src/page/web/state.js';

test('an anchor and values', () => {
  const state = new State('#kernels&range=0-5000&kernels.sort=-ns');
  assert.deepEqual([state.anchor, state.get('range'), state.get('kernels.sort'), state.get('nothing')],
      ['kernels', '0-5000', '-ns', null]);
});

test('an empty hash', () => {
  const state = new State('');
  assert.deepEqual([state.anchor, state.hash(), state.get('')], ['', '', null]);
});

test('a hash comes back, with any characters', () => {
  const state = new State('');
  state.set({'kernels.filter': 'name:a&b=c #%</script> µs', range: '1-2'});
  const other = new State(state.hash());
  assert.equal(other.get('kernels.filter'), 'name:a&b=c #%</script> µs');
  assert.equal(other.get('range'), '1-2');
  assert.equal(other.hash(), state.hash());
  assert.ok(!state.hash().includes('<') && !state.hash().includes(' '));
});

test('a damaged escape is taken as it is', () => {
  assert.equal(new State('#search=100%').get('search'), '100%');
});

test('ranges', () => {
  const range = (text) => new State(`#range=${text}`).getRange('range');
  assert.deepEqual(range('0-5000'), [0, 5000]);
  assert.deepEqual(range('1.5-2.25'), [1.5, 2.25]);
  for (const text of ['', '5', '5-', '5-5', '7-5', 'a-b', '1-2-3']) assert.equal(range(text), null, text);
});

test('numbers', () => {
  const number = (text) => new State(`#finding=${text}`).getNumber('finding');
  assert.deepEqual([number('3'), number('-1.5'), number(''), number('x'), number('1e999')], [3, -1.5, null, null, null]);
  assert.equal(new State('').getNumber('finding'), null);
});

test('listeners hear of their keys, once per change', () => {
  const state = new State('#a=1');
  const heard = [];
  state.on(['a', 'b'], () => heard.push('ab'));
  state.on(['c'], () => heard.push('c'));
  state.set({a: 2, b: 3});
  assert.deepEqual(heard, ['ab']);
  state.set({a: 2});
  assert.deepEqual(heard, ['ab']);
  state.set({c: 'x'});
  assert.deepEqual(heard, ['ab', 'c']);
});

test('null removes a value', () => {
  const state = new State('#a=1&b=2');
  state.set({a: null});
  assert.deepEqual([state.get('a'), state.hash()], [null, '#b=2']);
});

test('going back tells listeners what changed', () => {
  const state = new State('#a=1&b=2');
  const heard = [];
  for (const key of ['a', 'b', 'c']) state.on([key], () => heard.push(key));
  state.replace('#b=2&c=3');
  assert.deepEqual(heard.sort(), ['a', 'c']);
});
