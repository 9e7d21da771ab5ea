// "Memory and copies", of one trace or of two.

import {categoryColor} from '../../colors.js';
import {allHave, comparedSources, isComparison} from '../../compared.js';
import {buildMemoryPairs} from './difference.js';
import {buildMemoryAndCopies} from './single.js';

const MEMORY_TABLES = ['page_copies', 'page_memory'];

export const memorySection = {
  id: 'memory',
  title: 'Memory and copies',
  print: false,
  needs: (page) => allHave(page, 'page_facts') &&
    comparedSources(page).some((source) => MEMORY_TABLES.some((name) => source.has(name))),
  build: (page, body) => {
    const paint = () => body.style.setProperty('--copy', categoryColor('copy'));
    paint();
    page.state.on(['theme'], paint);
    if (isComparison(page)) buildMemoryPairs(page, body);
    else buildMemoryAndCopies(page, body);
  },
};
