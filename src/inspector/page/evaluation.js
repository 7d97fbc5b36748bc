// One evaluation: what was asked, what came of it, and the ways back to it.
import { code } from './code.js';
import { append, bytes, clock, duration, empty, h, long, plain, replace, section } from './dom.js';
import { errorView } from './error.js';
import { resource, tool } from './mcp.js';
import { session } from './store.js';
import { values } from './value.js';

const IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

// --- what cadre:show has shown ---

function cells(line) {
  return line
    .replace(/^\s*\||\|\s*$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

// Markdown tables become tables of text; all else stays as it was written.
function markdown(text) {
  const box = h('div.markdown');
  const lines = text.split('\n');
  let loose = [];
  const flush = () => {
    if (loose.join('').trim()) box.append(long(loose.join('\n')));
    loose = [];
  };
  for (let at = 0; at < lines.length; at++) {
    const isTable = lines[at].includes('|') && /^[\s|:-]*-[\s|:-]*$/.test(lines[at + 1] ?? '');
    if (!isTable) {
      loose.push(lines[at]);
      continue;
    }
    flush();
    const head = cells(lines[at]);
    const rows = [];
    for (at += 2; at < lines.length && lines[at].includes('|'); at++) rows.push(cells(lines[at]));
    at--;
    const shown = rows.slice(0, 500);
    box.append(
      h(
        'div.table-box',
        h(
          'table',
          h(
            'thead',
            h(
              'tr',
              head.map((cell) => h('th', cell)),
            ),
          ),
          h(
            'tbody',
            shown.map((row) =>
              h(
                'tr',
                row.map((cell) => h('td', cell)),
              ),
            ),
          ),
        ),
      ),
    );
    if (rows.length > shown.length)
      append(box, [h('p.dim', `${rows.length - shown.length} more rows`)]);
  }
  flush();
  return box;
}

function shownItem(item) {
  if (item.kind === 'image' && IMAGE_TYPES.has(item.mime_type))
    return h('img.shown', {
      src: `data:${item.mime_type};base64,${item.text}`,
      width: item.width,
      height: item.height,
      alt: `${item.mime_type}, ${item.width} × ${item.height}`,
    });
  if (item.kind === 'markdown') return markdown(item.text);
  if (item.kind === 'svg') return h('details', h('summary', 'SVG, as text'), long(item.text));
  return h('p.fault', `not shown: ${item.text}`);
}

// --- parts ---

function warnings(list) {
  return list.map((one) =>
    h(
      'div.warning',
      h('b', plain(one.category ?? one.type ?? 'WARNING')),
      ' ',
      one.line ? h('span.dim', `line ${one.line} `) : '',
      plain(one.message ?? ''),
    ),
  );
}

function outputs(of, result, row) {
  const parts = [];
  const omitted = result.omitted ?? {};
  for (const [name, title] of [
    ['earlier_output', 'Output before it'],
    ['stdout', 'Output'],
    ['stderr', 'Standard error'],
  ]) {
    if (!result[name]) continue;
    const box = section(title, long(result[name]));
    if (omitted[name])
      box.append(
        h('p.dim', `${omitted[name].toLocaleString('en')} characters are left out. `),
        readMore(of, row),
      );
    parts.push(box);
  }
  return parts;
}

// What was too long for the answer, by pages.
function readMore(of, row) {
  const box = h('div');
  let from = 1;
  const button = h('button', { type: 'button', onclick: read }, 'read all of it');
  async function read() {
    const answer = await tool('read-output', {
      session: of.name,
      output: row.number,
      from,
      lines: 1000,
    });
    box.append(long(answer.text));
    from += 1000;
    button.textContent = 'next 1,000 lines';
    if (!answer.ok) button.remove();
  }
  return h('div', button, box);
}

function rolledBack(rollback) {
  const lost = (rollback.lost ?? []).map((one) => one.number);
  return h(
    'p.fault',
    plain(
      `Its process is gone (${rollback.reason ?? rollback.cause ?? 'unknown'}). ` +
        `The session went back to evaluation ${rollback.snapshot}.`,
    ),
    lost.length > 0 && ` Lost with it: ${lost.join(', ')}.`,
  );
}

function body(of, row, record) {
  const detail = record.detail;
  const request = detail?.request ?? {};
  const result = detail?.result;
  const parts = [];
  const asked =
    request.code ??
    (request.op === 'invoke-restart' ? undefined : (request.path ?? request.system));
  const title =
    { 'load-file': 'File', 'load-system': 'System', 'invoke-restart': 'Restart' }[request.op] ??
    'Code';
  if (request.op === 'invoke-restart' && request.restart !== undefined)
    parts.push(section('Restart', code([request.restart, ...(request.values ?? [])].join(' '))));
  else if (asked !== undefined) parts.push(section(title, code(asked)));
  else if (row.code) parts.push(section(title, code(row.code)));
  if (!detail && row.outcome !== 'running')
    parts.push(h('p.dim', 'The details of this evaluation are not kept any more.'));
  if (result) {
    if (result.error) parts.push(errorView(of, result.error));
    if (result.rollback) parts.push(rolledBack(result.rollback));
    parts.push(...outputs(of, result, row));
    if (result.values?.length)
      parts.push(
        section(
          result.values.length === 1 ? 'Value' : 'Values',
          values(of.name, row.number, result.values),
        ),
      );
    else if (result.ok) parts.push(section('Value', h('p.dim', 'no values')));
    if (detail.shown) parts.push(section('Shown', detail.shown.map(shownItem)));
    if (result.warnings?.length) parts.push(section('Warnings', warnings(result.warnings)));
    if (result.notices?.length)
      parts.push(
        section(
          'Notices',
          result.notices.map((notice) => h('p', plain(notice))),
        ),
      );
  } else if (row.summary && row.outcome !== 'running')
    parts.push(section('Outcome', long(row.summary)));
  return parts;
}

function facts(of, row) {
  const numbers = [
    row.outcome,
    row.us === undefined ? '' : duration(row.us),
    row.by && `by ${row.by}`,
    clock(row.at),
    row.live && `${bytes(row.live)} live`,
    row.parent > 0 && `after ${row.parent}`,
    of.current === row.number && 'current state',
  ];
  return h(
    'p.facts',
    numbers.filter(Boolean).map((text) => h('span', plain(String(text)))),
  );
}

// --- the panel ---

export class EvaluationPanel {
  constructor(actions) {
    this.actions = actions;
    this.content = h('div.panel-body');
    this.head = h('header.panel-head');
    this.element = h(
      'aside.panel',
      { hidden: true, ariaLabel: 'evaluation' },
      this.head,
      this.content,
    );
  }

  get isOpen() {
    return !this.element.hidden;
  }

  close() {
    this.element.hidden = true;
    this.number = undefined;
  }

  async open(name, number) {
    const isNew = this.name !== name || this.number !== number;
    this.name = name;
    this.number = number;
    this.element.hidden = false;
    const of = session(name);
    const row = of.byNumber.get(number);
    if (!row) {
      replace(this.head, h('h2', `#${number}`), this.closer());
      replace(this.content, empty('This evaluation is not known.'));
      return;
    }
    this.drawHead(of, row);
    if (isNew) replace(this.content, h('p.dim', 'reading…'));
    let record;
    try {
      record = await resource(`cadre://sessions/${name}/evaluations/${number}`);
    } catch (error) {
      if (this.name === name && this.number === number)
        replace(this.content, h('p.fault', plain(error.message)));
      return;
    }
    if (this.name !== name || this.number !== number) return;
    const shown = of.byNumber.get(number) ?? row;
    of.frozen = new Set(record.frozen);
    replace(this.content, body(of, shown, record));
    this.live = undefined;
    if (shown.outcome === 'running') this.showOutput(of, record.output ?? '');
    if (isNew) this.element.scrollTop = 0;
  }

  // A running evaluation shows its output as it comes.
  showOutput(of, before) {
    const text =
      of.output.number === this.number && of.output.text.length > before.length
        ? of.output.text
        : before;
    this.live = { element: h('pre.text.live'), shown: text.length };
    append(this.live.element, [text]);
    this.content.append(section('Output so far', this.live.element));
    of.output = { number: this.number, text, dropped: of.output.dropped };
  }

  outputChanged(of) {
    if (!this.live || of.name !== this.name || of.output.number !== this.number) return;
    const fresh = of.output.text.slice(this.live.shown);
    this.live.shown = of.output.text.length;
    append(this.live.element, [fresh]);
    this.live.element.scrollTop = this.live.element.scrollHeight;
  }

  closer() {
    return h(
      'button.close',
      {
        type: 'button',
        title: 'Close (Escape)',
        ariaLabel: 'close',
        onclick: () => this.actions.close(),
      },
      '✕',
    );
  }

  drawHead(of, row) {
    const button = (label, key, run, disabled) =>
      h('button', { type: 'button', onclick: run, disabled, title: key && `key: ${key}` }, label);
    const isCurrent = of.current === row.number;
    const runs = row.outcome === 'running';
    replace(
      this.head,
      h(
        'div.panel-title',
        h(`span.state.${row.outcome}`),
        h('h2', `Evaluation ${row.number}`),
        this.closer(),
      ),
      facts(of, row),
      h(
        'div.actions',
        button(
          'Roll back to here',
          'r',
          () => this.actions.rollBack(row.number),
          isCurrent || runs,
        ),
        button('Fork from here', 'f', () => this.actions.fork(row.number), runs),
        button('Copy as Lisp', 'c', () => this.actions.copy(row.number)),
        runs && button('Interrupt', '', () => this.actions.interrupt(row.number)),
      ),
    );
  }
}
