// The page's one tooltip. It is next to the pointer, or below what has the keyboard's focus, and stays in the window.
//
//   tooltip.show('text or element', event.clientX, event.clientY);  tooltip.hide();
//   tooltip.attach(element, () => content);    the same for pointer and keyboard

import {clear, element} from './dom.js';

const TOOLTIP_DISTANCE = 14;
const TOOLTIP_LENGTH = 2000;
let tooltipNode = null;

function tooltipBox() {
  if (!tooltipNode) {
    tooltipNode = element('div', {class: 'tooltip', role: 'tooltip', id: 'tooltip', hidden: true});
    document.body.append(tooltipNode);
    addEventListener('scroll', () => tooltip.hide(), {passive: true});
    addEventListener('keydown', (event) => event.key === 'Escape' && tooltip.hide());
  }
  return tooltipNode;
}

// Where one edge goes: after the pointer, or before it if there is more room.
function placeInWindow(at, size, room) {
  const after = at + TOOLTIP_DISTANCE;
  if (after + size <= room) return after;
  const before = at - TOOLTIP_DISTANCE - size;
  return before >= 0 ? before : Math.max(0, room - size);
}

export const tooltip = {
  // Content is a string, a node, or an array of them. The place is that of the pointer in the window.
  show(content, x, y) {
    const box = tooltipBox();
    clear(box).append(...[content].flat(Infinity).map((part) => (
      part instanceof Node ? part : String(part).slice(0, TOOLTIP_LENGTH))));
    box.hidden = false;
    const {width, height} = box.getBoundingClientRect();
    const left = placeInWindow(x, width, document.documentElement.clientWidth);
    const top = placeInWindow(y, height, innerHeight);
    box.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  },

  // The same at a place in a node.
  showIn(node, content, x, y) {
    const box = node.getBoundingClientRect();
    this.show(content, box.left + x, box.top + y);
  },

  hide() {
    if (tooltipNode) tooltipNode.hidden = true;
  },

  // Shows what the function says about each move of the pointer on the element (null: nothing).
  follow(node, makeContent) {
    node.addEventListener('pointermove', (event) => {
      const content = makeContent(event);
      if (content) this.show(content, event.clientX, event.clientY);
      else this.hide();
    });
    node.addEventListener('pointerleave', () => this.hide());
  },

  // The same also while the focus is on the element.
  attach(node, makeContent) {
    const showAt = (x, y) => {
      const content = makeContent();
      if (content) this.show(content, x, y);
      else this.hide();
    };
    this.follow(node, () => makeContent());
    node.addEventListener('focus', () => {
      if (!node.matches(':focus-visible')) return;
      const box = node.getBoundingClientRect();
      showAt(box.left + Math.min(box.width / 2, 40), box.bottom - TOOLTIP_DISTANCE / 2);
    });
    node.addEventListener('blur', () => this.hide());
  },
};
