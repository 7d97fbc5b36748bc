// A frozen error: its condition, its restarts to try and then to adopt or discard, and its frames with
// their variables and a line to evaluate in them. Each try runs in a copy.
import { code, highlight } from './code.js';
import { append, clip, h, long, plain, replace, section } from './dom.js';
import { tool } from './mcp.js';
import { locals } from './value.js';

const WITH_VALUE = new Set(['USE-VALUE', 'STORE-VALUE']);

async function ask(name, args) {
  try {
    return await tool(name, args);
  } catch (error) {
    return { ok: false, text: error.message, data: {} };
  }
}

// --- restarts ---

function outcome(args, answer, box) {
  const failed = answer.data.error;
  const result = failed
    ? h('div', h('p.fault', plain(`${failed.type ?? failed.code}: ${failed.message}`)))
    : h(
        'div',
        answer.data.stdout && long(answer.data.stdout),
        (answer.data.values ?? []).map((text) =>
          h('pre.text.value-result', '⇒ ', clip(text, 4000)),
        ),
      );
  const adopt = h('button.primary', { type: 'button', onclick: keep }, 'Adopt');
  const discard = h('button', { type: 'button', onclick: () => replace(box) }, 'Discard');
  async function keep() {
    adopt.disabled = discard.disabled = true;
    const kept = await ask('invoke-restart', { ...args, adopt: true });
    replace(
      box,
      kept.ok
        ? h(
            'p.done',
            plain(
              `Adopted: this is evaluation ${kept.data.evaluation} now, and the session goes on from it.`,
            ),
          )
        : h('p.fault', plain(clip(kept.text, 2000))),
    );
  }
  replace(
    box,
    h(
      'div.try',
      h(
        'p.dim',
        failed ? 'Tried in a copy; it failed again:' : 'Tried in a copy; the session is unchanged:',
      ),
      result,
      h('div.actions', !failed && adopt, discard),
    ),
  );
}

function restarts(of, error) {
  const box = h('div.outcome');
  const form = h('div');
  async function attempt(restart, values) {
    const args = {
      session: of.name,
      error: error.id,
      restart: restart.name || String(restart.number),
    };
    if (values) args.values = values;
    replace(box, h('p.dim', `trying ${args.restart}…`));
    outcome(args, await ask('invoke-restart', args), box);
  }
  function choose(restart) {
    replace(form);
    if (!WITH_VALUE.has(restart.name)) {
      attempt(restart);
      return;
    }
    const input = h('input', {
      type: 'text',
      placeholder: 'a Lisp form, e.g. 42',
      ariaLabel: 'value',
      spellcheck: false,
      autocapitalize: 'off',
    });
    const go = (event) => {
      event.preventDefault();
      if (input.value.trim()) attempt(restart, [input.value]);
    };
    replace(
      form,
      h(
        'form.inline',
        { onsubmit: go },
        h('label', `${restart.name} with`),
        input,
        h('button.primary', 'Try'),
      ),
    );
    input.focus();
  }
  const buttons = (error.restarts ?? []).map((restart) =>
    h(
      'button.restart',
      { type: 'button', title: restart.description, onclick: () => choose(restart) },
      h('b', plain(restart.name || `restart ${restart.number}`)),
      h('span', plain(clip(restart.description ?? '', 140))),
    ),
  );
  return section('Restarts', h('div.restarts', buttons), form, box);
}

// --- frames ---

function evalLine(of, error, frame) {
  const input = h('input', {
    type: 'text',
    placeholder: 'evaluate in this frame, with its variables',
    ariaLabel: `evaluate in frame ${frame}`,
    spellcheck: false,
    autocapitalize: 'off',
  });
  const box = h('div');
  async function run(event) {
    event.preventDefault();
    if (!input.value.trim()) return;
    const answer = await ask('eval-in-frame', {
      session: of.name,
      error: error.id,
      frame,
      code: input.value,
    });
    const failed = answer.data.error;
    const line = failed
      ? h('p.fault', plain(`${failed.type ?? failed.code}: ${failed.message}`))
      : answer.ok
        ? h(
            'pre.text.value-result',
            answer.data.stdout ?? '',
            '⇒ ',
            clip((answer.data.values ?? []).join('\n⇒ '), 4000),
          )
        : h('p.fault', plain(clip(answer.text, 1000)));
    box.prepend(h('div.frame-answer', h('code.dim', clip(input.value, 200)), line));
    input.value = '';
  }
  return h('div', h('form.inline', { onsubmit: run }, input, h('button', 'Eval')), box);
}

async function fillFrame(of, error, frame, box) {
  replace(box, h('p.dim', 'reading…'));
  const answer = await ask('inspect', { session: of.name, error: error.id, frame: frame.number });
  const source = answer.data.source ?? frame.source;
  replace(box, source && code(source));
  if (!answer.ok) {
    append(box, [h('p.fault', plain(clip(answer.text, 600)))]);
    return;
  }
  const list = answer.data.locals ?? [];
  append(
    box,
    list.length
      ? [locals(of.name, error.id, frame.number, list)]
      : [h('p.dim', 'no variables are known here')],
  );
  if (answer.data.unavailable?.length)
    append(box, [h('p.dim', `not available: ${answer.data.unavailable.join(', ')}`)]);
  box.append(evalLine(of, error, frame.number));
}

// Errors thaw: what the evaluation's record says is of the time when it ended.
function isFrozen(of, error) {
  return error.frozen && of.frozen.has(error.id);
}

function frames(of, error) {
  const list = (error.frames ?? []).map((frame) => {
    const box = h('div.frame-body', { hidden: true });
    let isRead = false;
    const head = h(
      'button.frame-head',
      { type: 'button', ariaExpanded: 'false', onclick: open },
      h('span.twist'),
      h('span.number', String(frame.number)),
      h(
        'code',
        highlight(clip(`(${[frame.function, ...(frame.arguments ?? [])].join(' ')})`, 400)),
      ),
    );
    function open() {
      box.hidden = !box.hidden;
      head.ariaExpanded = String(!box.hidden);
      if (isRead || box.hidden) return;
      isRead = true;
      if (isFrozen(of, error)) fillFrame(of, error, frame, box);
      else
        append(box, [
          frame.source
            ? code(frame.source)
            : h('p.dim', 'The error is not frozen: its variables are gone.'),
        ]);
    }
    return h('div.frame', {}, head, box);
  });
  const more = (error.depth ?? 0) - list.length;
  return section('Frames', list, more > 0 && h('p.dim', `${more} more frames`));
}

export function errorView(of, error) {
  return h(
    'div.error-view',
    h(
      'section.condition',
      h(
        'h3',
        plain(error.type ?? error.code ?? 'ERROR'),
        isFrozen(of, error) && h('span.badge.frozen', 'frozen'),
      ),
      long(error.message ?? ''),
      error.line && h('p.dim', `form ${error.form}, line ${error.line}, column ${error.column}`),
    ),
    isFrozen(of, error) && restarts(of, error),
    error.frames?.length > 0 && frames(of, error),
    error.runtime_log && section('Runtime', long(error.runtime_log)),
  );
}
