// Values, into which one can look: each part is inspected when it is opened.
import { append, clip, h, plain, replace } from './dom.js';
import { tool } from './mcp.js';

const PAGE = 50;

function step(object, name) {
  return object.type?.startsWith('HASH-TABLE') ? ['key', name] : [name];
}

// `ask` is what inspect is asked: {value} or {frame, error}, with a session.
function part(ask, path, label, text) {
  const body = h('div.parts', { hidden: true });
  const toggle = h(
    'button.value-line',
    { type: 'button', ariaExpanded: 'false', onclick: open },
    h('span.twist'),
    label && h('span.value-name', clip(label, 120)),
    h('span.value-text', clip(text, 400)),
  );
  let isRead = false;
  async function open() {
    body.hidden = !body.hidden;
    toggle.ariaExpanded = String(!body.hidden);
    if (!isRead) {
      isRead = true;
      isRead = await fill(body, ask, path, 0);
    }
  }
  return h('div.value', toggle, body);
}

async function fill(body, ask, path, from) {
  if (from === 0) replace(body, h('p.dim', 'reading…'));
  let answer;
  try {
    const place = path.length ? { path } : {};
    answer = await tool('inspect', { ...ask, ...place, ...(from ? { from } : {}) });
  } catch (error) {
    answer = { ok: false, text: error.message };
  }
  const object = answer.data?.object;
  if (!answer.ok || !object) {
    replace(body, h('p.fault', clip(answer.text, 600)));
    return false;
  }
  if (from === 0) {
    const size = object.count === undefined ? '' : `, ${object.count.toLocaleString('en')} parts`;
    replace(body, h('p.value-type', plain(`${object.type}${size}`)));
    if (object.value?.length > 400) append(body, [h('pre.text', clip(object.value, 20000))]);
  }
  const parts = object.parts ?? [];
  for (const one of parts)
    body.append(part(ask, [...path, ...step(object, one.name)], one.name, one.value ?? ''));
  if (parts.length === 0 && from === 0) append(body, [h('p.dim', 'It has no parts.')]);
  const next = from + parts.length;
  if (parts.length >= PAGE && (object.count === undefined || next < object.count)) {
    const more = h('button.more', {
      type: 'button',
      onclick: () => {
        more.remove();
        fill(body, ask, path, next);
      },
    });
    more.textContent = 'show more parts';
    body.append(more);
  }
  return true;
}

export function values(session, number, texts) {
  return texts.map((text, index) => {
    const value = texts.length > 1 ? `$${number}.${index + 1}` : `$${number}`;
    return part({ session, value }, [], '', text);
  });
}

export function locals(session, error, frame, list) {
  return list.map((one) =>
    part({ session, error, frame }, [one.name], one.name, one.value ?? 'not available'),
  );
}
