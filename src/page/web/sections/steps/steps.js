// Steps: where the time of each went, of one trace or of two on one scale.

import {allHave, comparedSources, isComparison} from '../../compared.js';
import {StepBars} from './chart.js';
import {StepPairs} from './difference.js';

// The bar of the first screen shows one step; only its phase says more.
function hasSteps(source) {
  return source.has('page_steps') &&
    (source.table('page_steps').rows > 1 || source.table('page_steps').get('phase', 0) !== null);
}

// A trace without steps has one row without a name: its window, which is no step to compare.
function hasNames(source) {
  return source.table('page_steps').column('name').some((name) => name !== null);
}

function hasStepsToShow(page) {
  return allHave(page, 'page_steps') && comparedSources(page).some(hasSteps) &&
    (!isComparison(page) || comparedSources(page).every(hasNames));
}

export const stepsSection = {
  id: 'steps',
  title: 'Steps',
  print: false,
  needs: hasStepsToShow,
  build: (page, body) => (isComparison(page) ? new StepPairs(page, body) : new StepBars(page, body)),
};
