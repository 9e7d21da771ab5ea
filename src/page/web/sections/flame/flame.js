// "Where the time goes": the flame graph of one trace, or of what changed between two.

import {allHave, isComparison} from '../../compared.js';
import {DifferenceFlame} from './difference.js';
import {FlameGraph} from './graph.js';

export const flameSection = {
  id: 'flame',
  title: 'Where the time goes',
  print: false,
  wide: true,
  needs: (page) => allHave(page, 'page_sums', 'page_kernels'),
  build: (page, body) => (isComparison(page) ? new DifferenceFlame(page, body) : new FlameGraph(page, body)),
};
