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

class FlameColors {
  constructor() {
    this.paper = themeColor('--paper');
    this.neutral = themeColor('--muted');
    this.mark = themeColor('--text');
    this.fills = new Map();
  }

  // Background and text of a box, by category (null: none of them) and share.
  fill(category, share) {
    const key = `${category} ${share}`;
    if (!this.fills.has(key)) {
      const color = mixColors(category ? categoryColor(category) : this.neutral, this.paper, share);
      this.fills.set(key, {color, ink: inkOn(color)});
    }
    return this.fills.get(key);
  }
}

function fillOf(colors, tree, box, match) {
  const item = box.items.at(-1);
  if (item === undefined) return colors.fill(null, match ? SHARE_UNCHOSEN : 0.3);
  const isChosen = !match || match.ns[item] > 0;
  if (item === FLAME_ALL) return colors.fill(null, isChosen ? 0.16 : SHARE_UNCHOSEN);
  if (!isChosen) return colors.fill(null, SHARE_UNCHOSEN);
  return colors.fill(tree.category(item), SHARES[tree.kind(item)] || SHARE_ABOVE);
}

// `match` (matchFlame) or null; `kernel`: the selected row of page_kernels, or null; `focused`: index of a box or -1.
export function drawFlame(context, width, tree, boxes, {match, kernel, focused}) {
  const colors = new FlameColors();
  context.font = `12px ${getComputedStyle(context.canvas).fontFamily}`;
  context.textBaseline = 'middle';
  context.direction = 'ltr';
  for (const box of boxes) {
    const x = box.from * width;
    const size = Math.max((box.to - box.from) * width, 0.5);
    const y = box.level * FLAME_ROW;
    const {color, ink} = fillOf(colors, tree, box, match);
    context.fillStyle = color;
    context.fillRect(x, y, size > 3 ? size - 1 : size, FLAME_ROW - 1);
    if (box.items.length && size > 24) {
      context.fillStyle = ink;
      context.fillText(fitText(context, flameBoxName(tree, box), size - 11), x + 5, y + FLAME_ROW / 2);
    }
  }
  outlineBoxes(context, width, boxes, colors.mark, (box) => box.items.some((item) =>
    (match && match.named[item]) || (kernel !== null && tree.kernel(item) === kernel)), 1);
  outlineBoxes(context, width, boxes, themeColor('--accent'), (box) => box === boxes[focused], 2);
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
