// Where the boxes of the flame graph are: one row per level, the width of a box is its time.
//
// A chain of modules or functions of which each has only the next one below it becomes one box, so that deep call paths
// stay readable. Neighbours that are too narrow to be seen become one box without a name.

import {FLAME_ALL} from './tree.js';

const FLAME_LEVELS = 120;

// Gives {boxes, levels, isCut: there are deeper levels}. A box has items (a chain, top first; none: narrow neighbours),
// level, from and to (shares of the width), parent (index of a box, or -1), count (of items) and ns. Boxes are in order
// of level, then from left to right.
export function layoutFlame(tree, root, isOrdered, narrowest) {
  const boxes = [];
  const total = tree.ns[root];
  if (!(total > 0)) return {boxes, levels: 0, isCut: false};
  boxes.push({items: chainOf(tree, root), level: 0, from: 0, to: 1, parent: -1, count: 1, ns: total});
  let isCut = false;
  for (let at = 0; at < boxes.length; at++) {
    const box = boxes[at];
    if (!box.items.length || tree.isLeaf(box.items.at(-1))) continue;
    if (box.level + 1 >= FLAME_LEVELS) isCut = true;
    else addBoxesBelow(tree, boxes, at, tree.children(box.items.at(-1), isOrdered), total, narrowest);
  }
  return {boxes, levels: boxes.at(-1).level + 1, isCut};
}

// The item and what is below it as long as there is only one way down. Ops and kernels keep their own boxes.
function chainOf(tree, item) {
  const chain = [item];
  if (item === FLAME_ALL) return chain;
  for (let at = item; isChained(tree, at);) {
    const first = tree.childStarts[at];
    if (tree.childStarts[at + 1] !== first + 1 || !isChained(tree, tree.childList[first])) break;
    at = tree.childList[first];
    chain.push(at);
  }
  return chain;
}

function isChained(tree, item) {
  return !tree.isLeaf(item) && tree.kind(item) !== 'op';
}

function addBoxesBelow(tree, boxes, parent, children, total, narrowest) {
  const level = boxes[parent].level + 1;
  let at = boxes[parent].from;
  let narrow = null;
  for (const child of children) {
    const ns = tree.ns[child];
    const to = at + ns / total;
    if (to - at >= narrowest) {
      narrow = null;
      boxes.push({items: chainOf(tree, child), level, from: at, to, parent, count: 1, ns});
    } else if (narrow) {
      narrow.to = to;
      narrow.ns += ns;
      narrow.count++;
    } else {
      narrow = {items: [], level, from: at, to, parent, count: 1, ns};
      boxes.push(narrow);
    }
    at = to;
  }
}

// The boxes of a level: [first, after the last].
function boxesOfLevel(boxes, level) {
  const firstOf = (wanted) => {
    let [low, high] = [0, boxes.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (boxes[middle].level < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return [firstOf(level), firstOf(level + 1)];
}

// The box at a level and a share of the width, or -1.
export function flameBoxAt(boxes, level, share) {
  let [low, high] = boxesOfLevel(boxes, level);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (boxes[middle].to <= share) low = middle + 1;
    else if (boxes[middle].from > share) high = middle;
    else return middle;
  }
  return -1;
}

// The box that an arrow key leads to; the same if there is none.
export function flameNeighbour(boxes, at, key) {
  const box = boxes[at];
  if (!box) return boxes.length ? 0 : -1;
  if (key === 'ArrowUp') return box.parent >= 0 ? box.parent : at;
  if (key === 'ArrowLeft' || key === 'ArrowRight') {
    const next = at + (key === 'ArrowLeft' ? -1 : 1);
    return boxes[next] && boxes[next].level === box.level ? next : at;
  }
  const [low, high] = boxesOfLevel(boxes, box.level + 1);
  for (let next = low; key === 'ArrowDown' && next < high; next++) {
    if (boxes[next].parent === at) return next;
  }
  return at;
}
