// Pointer, wheel, touch and keys on a view of the timeline.

import {tooltip} from '../../tooltip.js';
import {binTip, eventTip, stepTip} from './describe.js';

const CLICK_PIXELS = 4;
const EDGE_PIXELS = 5;
const SCROLLING_MS = 300;
const WHEEL_PAUSE_MS = 150;
const WHEEL_ZOOM = 0.0018;
const PINCH_ZOOM = 0.01;
const KEY_ZOOM = 0.7;
const KEY_PAN = 0.15;
const KEY_SCROLL_PIXELS = 30;

let lastPageScroll = -Infinity; // when the wheel last scrolled the page

export class TimelineInput {
  constructor(view, focusSearch) {
    this.view = view;
    this.control = view.control;
    this.focusSearch = focusSearch;
    this.drag = null;
    this.touches = new Map();
    this.pause = null;
    const canvas = view.upper;
    canvas.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
    canvas.addEventListener('pointerdown', (event) => this.down(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', (event) => this.up(event));
    canvas.addEventListener('pointercancel', (event) => this.cancel(event));
    canvas.addEventListener('pointerleave', () => this.leave());
    canvas.addEventListener('dblclick', () => this.control.selected && this.control.fit());
    canvas.addEventListener('keydown', (event) => this.key(event));
    // The middle button moves the view, so it must not start the browser's own scrolling.
    canvas.addEventListener('mousedown', (event) => event.button === 1 && event.preventDefault());
    canvas.addEventListener('auxclick', (event) => event.preventDefault());
  }

  // ---- wheel ----

  wheel(event) {
    const isPage = !event.ctrlKey && performance.now() - lastPageScroll < SCROLLING_MS;
    if (isPage) return; // the page is being scrolled and has come below the pointer
    event.preventDefault();
    event.stopPropagation();
    const unit = [1, KEY_SCROLL_PIXELS, this.view.cssWidth][event.deltaMode] || 1;
    const [x, y] = [event.deltaX * unit, event.deltaY * unit];
    if (event.altKey) this.view.scrollBy(y);
    else if (event.shiftKey || Math.abs(x) > Math.abs(y)) this.control.pan((x || y) / this.view.cssWidth);
    else {
      const speed = event.ctrlKey ? PINCH_ZOOM : WHEEL_ZOOM;
      const factor = Math.exp(Math.max(-1, Math.min(1, y * speed)));
      this.control.zoom(factor, this.view.timeAt(event.clientX));
    }
    this.hoverSoon(event.clientX, event.clientY);
  }

  // What is below the pointer changes with every turn of the wheel: only where it ends is worth a tooltip.
  hoverSoon(clientX, clientY) {
    tooltip.hide();
    this.view.hovered = null;
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.hover(clientX, clientY), WHEEL_PAUSE_MS);
  }

  // ---- pointer ----

  edgeAt(clientX) {
    const range = this.control.state.getRange('range');
    const slack = EDGE_PIXELS * this.view.nsPerPixel();
    const at = this.view.timeAt(clientX);
    return range ? range.findIndex((edge) => Math.abs(edge - at) <= slack) : -1;
  }

  down(event) {
    if (event.pointerType === 'touch') {
      this.touches.set(event.pointerId, event.clientX);
      if (this.touches.size > 1) {
        this.startPinch();
        return;
      }
    } else if (event.button > 1) {
      return;
    }
    this.view.upper.setPointerCapture(event.pointerId);
    const edge = this.edgeAt(event.clientX);
    const isPan = event.button === 1 || event.shiftKey || event.pointerType === 'touch';
    this.drag = {x: event.clientX, y: event.clientY, at: this.view.timeAt(event.clientX), view: this.control.view,
      scroll: this.view.scroll, kind: isPan ? 'pan' : edge >= 0 ? 'edge' : 'brush', edge, hasMoved: false};
  }

  move(event) {
    if (this.touches.has(event.pointerId)) this.touches.set(event.pointerId, event.clientX);
    if (this.pinch) this.movePinch();
    else if (this.drag) this.moveDrag(event);
    else this.hover(event.clientX, event.clientY);
  }

  moveDrag(event) {
    const {drag, control, view} = this;
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!drag.hasMoved && Math.hypot(dx, dy) < CLICK_PIXELS) return;
    drag.hasMoved = true;
    tooltip.hide();
    if (drag.kind === 'pan') {
      const by = dx / view.cssWidth * (drag.view[1] - drag.view[0]);
      control.setView([drag.view[0] - by, drag.view[1] - by]);
      if (event.pointerType !== 'touch') view.scrollTo(drag.scroll - dy);
      view.upper.style.cursor = 'grabbing';
      return;
    }
    const at = view.timeAt(Math.min(Math.max(event.clientX, view.stage.getBoundingClientRect().left),
        view.stage.getBoundingClientRect().right));
    const fixed = drag.kind === 'edge' ? control.state.getRange('range')[1 - drag.edge] : drag.at;
    control.brush = [Math.min(fixed, at), Math.max(fixed, at)];
    control.redrawMarks();
  }

  up(event) {
    this.touches.delete(event.pointerId);
    this.pinch = null;
    const {drag, control} = this;
    this.drag = null;
    this.view.upper.style.cursor = '';
    if (!drag) return;
    if (!drag.hasMoved) {
      if (event.button === 0) this.click(event);
    } else if (control.brush) control.setRange(control.brush);
  }

  cancel(event) {
    this.touches.delete(event.pointerId);
    this.drag = null;
    this.pinch = null;
    this.control.brush = null;
    this.control.redrawMarks();
  }

  leave() {
    if (this.drag) return;
    clearTimeout(this.pause);
    tooltip.hide();
    this.view.hovered = null;
    this.control.cursor = null;
    this.control.redrawMarks();
  }

  click(event) {
    const hit = this.view.hit(event.clientX, event.clientY);
    if (hit && hit.step !== undefined) {
      const {steps} = this.view.data;
      this.control.setRange([steps.start[hit.step], steps.end[hit.step]].map((at) => at - this.view.offset));
      return;
    }
    this.control.select(this.view, hit && hit.event ? hit.event : null);
  }

  hover(clientX, clientY) {
    const {view, control} = this;
    clearTimeout(this.pause);
    const hit = view.hit(clientX, clientY);
    view.hovered = hit && hit.event ? hit.event : null;
    control.cursor = view.timeAt(clientX);
    view.upper.style.cursor = this.edgeAt(clientX) >= 0 ? 'ew-resize' : '';
    control.redrawMarks();
    const tip = this.tipOf(hit);
    if (tip) tooltip.show(tip, clientX, clientY);
    else tooltip.hide();
  }

  tipOf(hit) {
    const {data} = this.view;
    if (!hit) return null;
    if (hit.event) return eventTip(data, hit.event, hit.more);
    if (hit.step !== undefined) return stepTip(data, hit.step);
    return binTip(hit.lane, hit.bin);
  }

  // ---- touch ----

  startPinch() {
    const places = [...this.touches.values()].slice(0, 2);
    this.drag = null;
    this.pinch = {times: places.map((x) => this.view.timeAt(x))};
  }

  // The two times stay below the two fingers.
  movePinch() {
    const box = this.view.stage.getBoundingClientRect();
    const [a, b] = [...this.touches.values()].map((x) => (x - box.left) / box.width);
    const [first, second] = this.pinch.times;
    if (b === undefined || Math.abs(a - b) < 1e-3) return;
    const span = (second - first) / (b - a);
    if (span > 0) this.control.setView([first - a * span, first + (1 - a) * span]);
  }

  // ---- keys ----

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = this.keyAction(event.key.length === 1 ? event.key.toLowerCase() : event.key, event.shiftKey);
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  keyAction(key, isShifted) {
    const {control, view} = this;
    const hasSelection = control.selected && !isShifted;
    switch (key) {
    case 'w': case '+': case '=': return () => control.zoom(KEY_ZOOM);
    case 's': case '-': return () => control.zoom(1 / KEY_ZOOM);
    case 'a': return () => control.pan(-KEY_PAN);
    case 'd': return () => control.pan(KEY_PAN);
    case 'ArrowLeft': return () => (hasSelection ? control.step(-1) : control.pan(-KEY_PAN));
    case 'ArrowRight': return () => (hasSelection ? control.step(1) : control.pan(KEY_PAN));
    case 'ArrowUp': return () => (hasSelection ? control.stepAcross(-1) : view.scrollBy(-KEY_SCROLL_PIXELS));
    case 'ArrowDown': return () => (hasSelection ? control.stepAcross(1) : view.scrollBy(KEY_SCROLL_PIXELS));
    case 'PageUp': return () => view.scrollBy(-300);
    case 'PageDown': return () => view.scrollBy(300);
    case ',': return () => control.step(-1);
    case '.': return () => control.step(1);
    case 'f': return () => control.fit();
    case 'l': return () => control.showLaunch();
    case '0': return () => control.showWhole();
    case 'n': return () => control.stepMatch(isShifted ? -1 : 1);
    case '/': return this.focusSearch;
    case 'Escape': return () => {
      tooltip.hide();
      control.brush = null;
      this.drag = null;
      control.clear();
    };
    default: return null;
    }
  }
}

// A wheel that scrolls the page goes on doing so when the timeline comes below the pointer.
export function watchPageScroll() {
  addEventListener('wheel', (event) => {
    const isOnTimeline = event.target instanceof Element && event.target.closest('.timeline-upper') !== null;
    if (!isOnTimeline || performance.now() - lastPageScroll < SCROLLING_MS) lastPageScroll = performance.now();
  }, {passive: true, capture: true});
}

export const TIMELINE_KEYS = [
  {key: 'W S', text: 'zoom in and out; also + and -'},
  {key: 'A D', text: 'move left and right; also ← and →'},
  {key: 'F', text: 'show the selected event, the range, or everything'},
  {key: 'L', text: 'show the selected event together with its launch'},
  {key: '0', text: 'show the whole trace'},
  {key: ', .', text: 'previous and next event on the lane; also ← and → once an event is selected'},
  {key: '↑ ↓', text: 'event on the lane above or below; without a selection: scroll'},
  {key: '/', text: 'search; Enter selects the next match'},
  {key: 'N', text: 'next highlighted event; with Shift the previous one'},
  {key: 'Esc', text: 'clear the selection, then the range, then what is highlighted'},
];
