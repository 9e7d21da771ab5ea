// Draws the bars of the steps on a canvas, in device pixels: hatches and edges are sharp then.

import {fitText} from '../../chart.js';
import {partFill, themeColor} from '../../colors.js';
import {time} from '../../format.js';

export const STEP_RULER = 10;

// One accent, dark and light: phases are told apart without a third set of colours.
export function phaseColor(phase) {
  return themeColor({prefill: '--text', mixed: '--muted', decode: '--line-strong'}[phase] || '--line');
}

// `view` has area, barWidth, gap, y (scale of ns), limit (ns), parts, isPartOff(i), isGroupOff(group).
export function drawSteps(context, scale, groups, view) {
  context.setTransform(1, 0, 0, 1, 0, 0);
  const fills = view.parts.map(({part, kind}) => partFill(context, part, kind));
  groups.forEach((group, i) => {
    const left = Math.round((view.area.left + i * view.barWidth) * scale);
    const right = Math.round((view.area.left + (i + 1) * view.barWidth - view.gap) * scale);
    drawBar(context, scale, group, {...view, left, width: Math.max(1, right - left), fills});
  });
  context.globalAlpha = 1;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  drawMarks(context, groups, view);
}

function drawBar(context, scale, group, {left, width, fills, y, limit, isPartOff, isGroupOff}) {
  const isOff = isGroupOff(group);
  const isCut = group.ns > limit;
  let [sum, bottom] = [0, Math.round(y(0) * scale)];
  for (let part = 0; part < fills.length; part++) {
    sum += group.parts[part] * (isCut ? limit / group.ns : 1);
    const top = Math.round(y(Math.min(sum, limit)) * scale);
    if (top >= bottom) continue;
    context.globalAlpha = (isOff ? 0.35 : 1) * (isPartOff(part) ? 0.2 : 1);
    context.fillStyle = fills[part];
    context.fillRect(left, top, width, bottom - top);
    bottom = top;
  }
  if (isCut) drawBreak(context, left, width, Math.round((y(limit) + 8) * scale), scale);
}

// A gap near the top: the bar is longer than it is drawn; its parts are drawn in proportion.
function drawBreak(context, left, width, top, scale) {
  context.globalAlpha = 1;
  context.fillStyle = themeColor('--paper');
  context.beginPath();
  context.moveTo(left - 1, top + 4 * scale);
  context.lineTo(left + width + 1, top);
  context.lineTo(left + width + 1, top + 3 * scale);
  context.lineTo(left - 1, top + 7 * scale);
  context.fill();
}

// Triangles above outliers, and the times of bars that are cut off.
function drawMarks(context, groups, {area, barWidth, gap, y, limit, outliers}) {
  const [color, text] = [themeColor('--bad'), themeColor('--text')];
  context.font = `12px ${getComputedStyle(context.canvas).fontFamily}`;
  context.textAlign = 'center';
  context.textBaseline = 'bottom';
  let free = area.left;
  groups.forEach((group, i) => {
    const middle = area.left + i * barWidth + (barWidth - gap) / 2;
    const top = y(Math.min(group.ns, limit));
    if (group.outlier >= 0) {
      const down = outliers[group.outlier] > 0 ? 1 : -1;
      context.fillStyle = color;
      context.beginPath();
      context.moveTo(middle - 4, top - 6 - 3 * down);
      context.lineTo(middle + 4, top - 6 - 3 * down);
      context.lineTo(middle, top - 6 + 4 * down);
      context.fill();
    }
    if (group.ns <= limit) return;
    const label = fitText(context, time(group.ns), 80);
    const half = context.measureText(label).width / 2;
    if (middle - half < free) return;
    free = middle + half + 4;
    context.fillStyle = text;
    context.fillText(label, middle, top - 11);
  });
}

// A line of colours above the bars: in which phase the steps are. Neighbours of one phase become one piece; bars of
// several steps are divided by how many are in each phase.
export function drawPhases(context, groups, steps, phases, {area, barWidth, gap, top}) {
  const shares = groups.map(({first, last}) => phases.map((phase) => {
    let count = 0;
    for (let i = first; i <= last; i++) count += steps[i].phase === phase ? 1 : 0;
    return count / (last - first + 1);
  }));
  const colors = phases.map(phaseColor);
  let first = 0;
  for (let i = 1; i <= groups.length; i++) {
    if (i < groups.length && shares[i].every((share, at) => share === shares[first][at])) continue;
    let y = top;
    shares[first].forEach((share, at) => {
      context.fillStyle = colors[at];
      context.fillRect(area.left + first * barWidth, y, (i - first) * barWidth - gap, share * STEP_RULER);
      y += share * STEP_RULER;
    });
    first = i;
  }
}
