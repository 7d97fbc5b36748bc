// Elements and text. Text from sessions becomes text nodes, never markup; what would change how a
// reader sees it (control characters, marks that turn the direction of writing) is spelled out.

// h("div.row", {onclick}, child, ...): children are nodes, texts, arrays of them, or nothing.
export function h(selector, ...rest) {
  const [tag, ...classes] = selector.split('.');
  const element = document.createElement(tag || 'div');
  if (classes.length) element.className = classes.join(' ');
  let children = rest;
  const first = rest[0];
  if (first && typeof first === 'object' && !(first instanceof Node) && !Array.isArray(first)) {
    for (const [name, value] of Object.entries(first)) setAttribute(element, name, value);
    children = rest.slice(1);
  }
  append(element, children);
  return element;
}

function setAttribute(element, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
  else if (name in element && name !== 'list') element[name] = value;
  else element.setAttribute(name, value);
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : plain(String(child)));
  }
  return element;
}

export function replace(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

const SVG = 'http://www.w3.org/2000/svg';

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return append(element, children);
}

// --- text ---

const ODD =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const ODD_AT_ALL = new RegExp(ODD.source);

function name(character) {
  return `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}

// A text node, or a fragment in which odd characters are marked.
export function plain(text) {
  if (!ODD_AT_ALL.test(text)) return document.createTextNode(text);
  const fragment = document.createDocumentFragment();
  let at = 0;
  for (const match of text.matchAll(ODD)) {
    if (match.index > at) fragment.append(text.slice(at, match.index));
    const mark = document.createElement('span');
    mark.className = 'odd';
    mark.textContent = name(match[0]);
    fragment.append(mark);
    at = match.index + match[0].length;
  }
  fragment.append(text.slice(at));
  return fragment;
}

const SHOWN = 20000;

// Long text, of which more is shown on demand: laying out millions of characters at once would stop
// the page. `render` makes nodes of a piece.
export function long(text, render = plain) {
  const box = h('pre.text');
  let shown = 0;
  const more = h('button.more', { type: 'button', onclick: () => grow(200000) });
  function grow(count) {
    const piece = text.slice(shown, shown + count);
    shown += piece.length;
    more.remove();
    box.append(render(piece));
    const left = text.length - shown;
    if (left <= 0) return;
    more.textContent = `show more (${left.toLocaleString('en')} characters)`;
    box.append(more);
  }
  grow(SHOWN);
  return box;
}

export function clip(text, length) {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

// --- numbers ---

export function duration(us) {
  if (us === undefined || us === null) return '';
  if (us < 1000) return `${us} µs`;
  if (us < 10000) return `${(us / 1000).toFixed(1)} ms`;
  if (us < 1000000) return `${Math.round(us / 1000)} ms`;
  if (us < 60000000) return `${(us / 1000000).toFixed(us < 10000000 ? 2 : 1)} s`;
  return `${Math.floor(us / 60000000)} min ${Math.round((us % 60000000) / 1000000)} s`;
}

export function bytes(count) {
  if (!count) return '';
  if (count < 1024) return `${count} B`;
  if (count < 1048576) return `${Math.round(count / 1024)} KB`;
  const mb = count / 1048576;
  return mb < 1024 ? `${mb.toFixed(mb < 10 ? 1 : 0)} MB` : `${(mb / 1024).toFixed(1)} GB`;
}

export function count(number, thing) {
  return `${number.toLocaleString('en')} ${thing}${number === 1 ? '' : 's'}`;
}

export function clock(ms) {
  return new Date(ms).toLocaleTimeString('en-GB');
}

// --- small parts ---

export function empty(title, ...how) {
  return h('div.empty', h('p.empty-title', title), ...how.map((line) => h('p', line)));
}

export function section(title, ...content) {
  return h('section.part', h('h3', title), ...content);
}

let toastTimer;

// A line at the bottom; `action` is [label, function].
export function toast(text, action) {
  document.querySelector('.toast')?.remove();
  const button = action && h('button', { type: 'button', onclick: action[1] }, action[0]);
  const box = h('div.toast', { role: 'status' }, h('span', clip(text, 300)), button);
  document.body.append(box);
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => box.remove(), 7000);
}
