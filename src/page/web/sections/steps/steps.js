// Steps: where the time of each went, of one trace or of two on one scale.

import {allHave, comparedSources, isComparison} from '../../compared.js';
import {StepBars} from './chart.js';
import {StepPairs} from './difference.js';

// The bar of the first screen shows one step; only its phase says more.
function hasSteps(source) {
  return source.has('page_steps') &&
    (source.table('page_steps').rows > 1 || source.table('page_steps').get('phase', 0) !== null);
}

export const stepsSection = {
  id: 'steps',
  title: 'Steps',
  print: false,
  needs: (page) => allHave(page, 'page_steps') && comparedSources(page).some(hasSteps),
  build: (page, body) => (isComparison(page) ? new StepPairs(page, body) : new StepBars(page, body)),
};
