// The panel below the canvas: everything about the selected event, as text that can be copied.

import {clear, element} from '../../dom.js';
import {copyButton} from '../../output.js';
import {eventAnnouncement, describeEvent, eventFacts} from './describe.js';

export class TimelineDetails {
  constructor(control) {
    this.control = control;
    this.node = element('div', {class: 'timeline-details'});
    this.live = element('div', {class: 'visually-hidden', 'aria-live': 'polite'});
  }

  show() {
    const {selected} = this.control;
    clear(this.node);
    this.node.hidden = !selected;
    this.live.textContent = selected ? eventAnnouncement(selected.view.data, selected.event) : '';
    if (!selected) return;
    const about = describeEvent(selected.view.data, selected.event);
    this.node.append(
        element('div', {class: 'row spread'},
            element('h3', {class: 'name'}, about.full), element('div', {class: 'row'}, this.buttons(about))),
        element('div', {class: 'columns'},
            eventFacts(about.facts), about.path.length > 0 && this.path(about.path)));
  }

  buttons(about) {
    const {control} = this;
    const button = (label, action, title) =>
      element('button', {type: 'button', class: 'button', title, onclick: action}, label);
    return [
      button('‹ previous', () => control.step(-1), 'the event before it on this lane (,)'),
      button('next ›', () => control.step(1), 'the event after it on this lane (.)'),
      button('show', () => control.fit(), 'zoom to this event (F)'),
      control.launch() && button('show launch', () => control.showLaunch(), 'zoom to this event and its launch (L)'),
      about.kernel !== null &&
        button('all of this kernel', () => this.choose('kernel', about.kernel), 'highlight every event of this kernel'),
      about.call !== null &&
        button('all of this call', () => this.choose('call', about.call), 'highlight all that this call launched'),
      copyButton('copy', () => eventText(about)),
      button('close', () => control.select(control.selected.view, null), 'Esc'),
    ];
  }

  // Chosen again: no longer.
  choose(key, row) {
    const {state} = this.control;
    state.set({kernel: null, call: null, [key]: state.getNumber(key) === row ? null : row});
  }

  path(path) {
    const items = path.map(({kind, name}) => element('li', {},
        element('span', {class: 'muted'}, `${kind ?? ''} `), element('span', {class: 'name'}, name)));
    return element('div', {}, element('div', {class: 'muted'}, 'called from'),
        element('ol', {class: 'timeline-path'}, items));
  }
}

// The same as plain text.
export function eventText(about) {
  const facts = about.facts.map(({label, text, full}) => `${label}: ${text}${full ? ` (${full})` : ''}`);
  const path = about.path.map(({kind, name}) => `  ${kind ?? ''} ${name}`);
  return [about.full, ...facts, ...(path.length ? ['called from:', ...path] : [])].join('\n');
}
