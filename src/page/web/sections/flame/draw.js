// Draws the boxes of the flame graph.

import {fitText} from '../../chart.js';
import {categoryColor, inkOn, mixColors, themeColor} from '../../colors.js';
import {FLAME_ALL} from './tree.js';

export const FLAME_ROW = 20;

// How strong the colour of its category is: what is closer to the GPU stands out.
const SHARES = {kernel: 1, op: 0.6, category: 0.6};
const SHARE_ABOVE = 0.22;
const SHARE_UNCHOSEN = 0.1;

// The names of a chain, outermost first.
export function flameBoxName(tree, box) {
  if (!box.items.length) return `${box.count} more`;
  return box.items.map((item) => tree.shortName(item)).join(' › ');
}

// Boxes by category; how strong the colour is depends on the kind.
export class FlameColors {
  constructor() {
    this.paper = themeColor('--paper');
    this.neutral = themeColor('--muted');
    this.mark = themeColor('--text');
    this.fills = new Map();
  }

  // Background and text of a box: a share of a colour on the paper.
  fill(color, share) {
    const key = `${color} ${share}`;
    if (!this.fills.has(key)) {
      const mixed = mixColors(color, this.paper, share);
      this.fills.set(key, {color: mixed, ink: inkOn(mixed)});
    }
    return this.fills.get(key);
  }

  of(tree, box, match) {
    const item = box.items.at(-1);
    if (item === undefined) return this.fill(this.neutral, match ? SHARE_UNCHOSEN : 0.3);
    if (match && !(match.ns[item] > 0)) return this.fill(this.neutral, SHARE_UNCHOSEN);
    return this.ofItem(tree, item);
  }

  ofItem(tree, item) {
    if (item === FLAME_ALL) return this.fill(this.neutral, 0.16);
    return this.fill(categoryColor(tree.category(item)), SHARES[tree.kind(item)] || SHARE_ABOVE);
  }
}

// Boxes by how B differs from A: what takes longer, what takes less, and the rest. A width that changed altogether has
// the full colour, so that the coloured area shows the amount.
export class ChangeColors extends FlameColors {
  constructor() {
    super();
    [this.adds, this.saves] = [themeColor('--adds'), themeColor('--saves')];
  }

  ofItem(tree, item) {
    const [a, b] = tree.sides.map((ns) => ns[item]);
    const share = changeShare(a, b);
    return share ? this.fill(b > a ? this.adds : this.saves, share) : this.fill(this.neutral, 0.13);
  }
}

// How strong the colour of a change is, in steps; 0: less than 1 %.
export function changeShare(a, b) {
  const change = Math.abs(b - a) / Math.max(a, b);
  return change >= 0.01 ? Math.round(10 * (0.12 + 0.88 * change ** 0.6)) / 10 : 0;
}

// `match` (matchFlame) or null; `kernel`: the selected row of page_kernels, or null; `focused`: index of a box or -1;
// `colors`: FlameColors; `amountOf(box)`: a text for the right end of a box that has room, or null.
export function drawFlame(context, width, tree, boxes, {match, kernel, focused, colors, amountOf}) {
  context.font = `12px ${getComputedStyle(context.canvas).fontFamily}`;
  context.textBaseline = 'middle';
  context.direction = 'ltr';
  for (const box of boxes) {
    const x = box.from * width;
    const size = Math.max((box.to - box.from) * width, 0.5);
    const y = box.level * FLAME_ROW;
    const {color, ink} = colors.of(tree, box, match);
    context.fillStyle = color;
    context.fillRect(x, y, size > 3 ? size - 1 : size, FLAME_ROW - 1);
    if (box.items.length && size > 24) {
      context.fillStyle = ink;
      const room = size - 11 - drawAmount(context, amountOf?.(box), x + size - 6, y + FLAME_ROW / 2, size / 2);
      context.fillText(fitText(context, flameBoxName(tree, box), room), x + 5, y + FLAME_ROW / 2);
    }
  }
  outlineBoxes(context, width, boxes, colors.mark, (box) => box.items.some((item) =>
    (match && match.named[item]) || (kernel !== null && tree.kernel(item) === kernel)), 1);
  outlineBoxes(context, width, boxes, themeColor('--accent'), (box) => box === boxes[focused], 2);
}

// Returns the width that is taken: 0 if there is no text or no room.
function drawAmount(context, text, right, y, room) {
  const width = text ? context.measureText(text).width : 0;
  if (!width || width > room) return 0;
  context.textAlign = 'right';
  context.fillText(text, right, y);
  context.textAlign = 'left';
  return width + 8;
}

function outlineBoxes(context, width, boxes, color, isWanted, line) {
  context.strokeStyle = color;
  context.lineWidth = line;
  for (const box of boxes) {
    const size = (box.to - box.from) * width;
    if (size < 3 || !isWanted(box)) continue;
    context.strokeRect(box.from * width + line / 2, box.level * FLAME_ROW + line / 2, size - 1 - line,
      FLAME_ROW - 1 - line);
  }
}
