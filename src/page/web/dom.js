// Elements. Text always goes in as a text node, so nothing from a trace is ever parsed as HTML.

const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';

function fill(node, properties, children) {
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key === 'style') Object.assign(node.style, value);
    else if (key === 'dataset') Object.assign(node.dataset, value);
    else node.setAttribute(key, value === true ? '' : String(value));
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(node, child);
    else node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

// element('p', {class: 'note', onclick: f}, 'text', element('b', {}, 'more')).
export function element(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

// The same for SVG.
export function svg(tag, properties, ...children) {
  return fill(document.createElementNS(SVG_NAMESPACE, tag), properties, children);
}

export function clear(node) {
  node.replaceChildren();
  return node;
}

// Takes a part out of the document that the page's HTML has for readers that run no program; null if there is none.
export function documentPart(name) {
  const part = [...document.querySelectorAll('#document [data-part]')].find((one) => one.dataset.part === name);
  part?.remove();
  return part || null;
}

// A sentence with *bold* words.
export function withBold(text) {
  return text.split('*').map((part, i) => (i % 2 ? element('b', {}, part) : part));
}

// Calls a function at most once per frame, however often it is asked for.
export function onceAFrame(action) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      action();
    });
  };
}
