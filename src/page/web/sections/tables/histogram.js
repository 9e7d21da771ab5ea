// The durations of a kernel as a small bar chart on a logarithmic scale.

import {element, svg} from '../../dom.js';
import {thousands, time} from '../../format.js';

const [HISTOGRAM_WIDTH, HISTOGRAM_HEIGHT, HISTOGRAM_BASE] = [360, 96, 78];
const BUCKETS_MIN = 12;

// The first bucket is that of the shortest duration (src/schema/page.h).
function bucketsOf(counts, shortest) {
  const first = Math.floor(4 * Math.log2(Math.max(1, shortest)));
  return counts.map((count, i) => ({count, begin: 2 ** ((first + i) / 4), end: 2 ** ((first + i + 1) / 4)}));
}

function histogramBar({count, begin, end}, i, width, largest) {
  const height = count ? Math.max(1, (HISTOGRAM_BASE - 4) * count / largest) : 0;
  return svg('g', {}, svg('title', {}, `${thousands(count)} from ${time(begin)} to ${time(end)}`),
    svg('rect', {x: i * width, y: 0, width, height: HISTOGRAM_BASE, class: 'histogram-room'}),
    svg('rect', {x: i * width + 0.5, y: HISTOGRAM_BASE - height, width: Math.max(1, width - 1), height,
      class: 'histogram-bar'}));
}

// Null without counts.
export function histogramOf(counts, shortest, longest) {
  if (!counts?.length || !(shortest >= 0)) return null;
  const buckets = bucketsOf(counts, shortest);
  const largest = Math.max(...counts);
  const width = HISTOGRAM_WIDTH / Math.max(buckets.length, BUCKETS_MIN);
  const most = buckets.reduce((one, other) => (other.count > one.count ? other : one));
  const label = `durations from ${time(shortest)} to ${time(longest)}, most of them between ${time(most.begin)} and ` +
    time(most.end);
  const at = (place, text, anchor) => svg('text', {x: place, y: HISTOGRAM_HEIGHT - 4, 'text-anchor': anchor}, text);
  const right = buckets.length * width;
  const middle = buckets[Math.floor(buckets.length / 2)];
  return element('figure', {class: 'histogram'},
    svg('svg', {viewBox: `0 0 ${HISTOGRAM_WIDTH} ${HISTOGRAM_HEIGHT}`, width: HISTOGRAM_WIDTH,
      height: HISTOGRAM_HEIGHT, role: 'img', 'aria-label': label},
    buckets.map((bucket, i) => histogramBar(bucket, i, width, largest)),
    svg('line', {x1: 0, x2: right, y1: HISTOGRAM_BASE, y2: HISTOGRAM_BASE, class: 'histogram-axis'}),
    at(0, time(buckets[0].begin), 'start'), right > 150 && at(right / 2, time(middle.begin), 'middle'),
    at(Math.max(right, 130), time(buckets.at(-1).end), 'end')),
    element('figcaption', {class: 'note'}, `${label} (logarithmic scale, whole trace)`));
}
