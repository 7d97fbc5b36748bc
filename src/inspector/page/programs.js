// Runs of programs: source, what came of it, and the calls of tools over time, parallel ones side by
// side.
import { code, highlight } from './code.js';
import { append, clip, clock, duration, empty, h, long, plain, replace, section } from './dom.js';
import { resource } from './mcp.js';
import { changed, store } from './store.js';

function pretty(json) {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

// --- the waterfall ---

// The ledger has all calls in the order of the program, and says which failures it caught. Calls that were
// answered from the cache, or in the program's own process, have no place in time.
function mark(calls, ledger) {
  const rest = [...calls];
  const take = (entry) => {
    const at = entry.cached ? -1 : rest.findIndex((call) => call.name === entry.name);
    return at < 0 ? undefined : rest.splice(at, 1)[0];
  };
  const known = (ledger ?? []).map((entry) => ({
    name: entry.name,
    isInside: true,
    cached: entry.cached,
    ok: entry.error === null,
    duration_ms: entry.duration_ms,
    arguments: JSON.stringify(entry.args),
    result: entry.error ?? JSON.stringify(entry.result),
    ...seen(take(entry)),
    caught: entry.caught === true,
  }));
  return [...known, ...rest];
}

function seen(call) {
  return call ? { ...call, isInside: false } : {};
}

function callRow(call, total) {
  const body = h('div.call-body', { hidden: true });
  const end = call.ended_us ?? total;
  const hasEnded = call.isInside || call.ended_us !== undefined;
  const bar = h(`span.bar.${!hasEnded ? 'running' : call.ok ? 'ok' : 'failed'}`);
  bar.style.left = `${((call.started_us ?? 0) / total) * 100}%`;
  bar.style.width = `max(3px, ${((end - (call.started_us ?? 0)) / total) * 100}%)`;
  const head = h(
    'button.call',
    { type: 'button', ariaExpanded: 'false', onclick: open },
    h(
      'span.call-name',
      plain(clip(call.name, 60)),
      !call.ok &&
        hasEnded &&
        h(call.caught ? 'span.tag' : 'span.tag.bad', call.caught ? 'caught' : 'failed'),
      call.cached && h('span.tag', 'cached'),
    ),
    call.isInside ? h('span.untimed', 'inside the program') : h('span.track', bar),
    h(
      'span.time',
      call.isInside
        ? duration(call.duration_ms * 1000)
        : hasEnded
          ? duration(call.ended_us - call.started_us)
          : 'running',
    ),
  );
  function open() {
    body.hidden = !body.hidden;
    head.ariaExpanded = String(!body.hidden);
    if (body.childElementCount) return;
    append(body, [
      h('h4', 'arguments'),
      code(pretty(call.arguments ?? '')),
      call.result !== undefined && [
        h('h4', call.ok ? 'result' : 'error'),
        call.ok ? code(pretty(call.result)) : long(call.result),
      ],
    ]);
  }
  return h('div.call-box', head, body);
}

function waterfall(run) {
  const calls = mark(run.calls ?? [], run.step?.tool_calls);
  if (calls.length === 0) return h('p.dim', 'It called no tools.');
  const total = Math.max(
    run.us ?? 0,
    ...calls.map((call) => call.ended_us ?? call.started_us ?? 0),
    1,
  );
  const ticks = [0, 0.25, 0.5, 0.75].map((part) => h('span', duration(Math.round(total * part))));
  return h(
    'div.waterfall',
    h('div.scale', h('span'), h('span.ticks', ticks), h('span.time', duration(total))),
    calls.map((call) => callRow(call, total)),
    run.dropped_calls > 0 && h('p.dim', `${run.dropped_calls} more calls are not shown`),
  );
}

// --- a run ---

function failure(fail) {
  const details = fail.details ?? {};
  const place = details.line ? ` (line ${details.line}, column ${details.column})` : '';
  return h('p.fault', plain(`${details.kind ?? fail.reason}: ${fail.message}${place}`));
}

function parts(run) {
  const step = run.step;
  const list = [section('Source', code(run.source ?? ''))];
  if (step?.fail) list.push(section('Failed', failure(step.fail)));
  else if (step) list.push(section('Returned', code(step.printed ?? JSON.stringify(step.return))));
  list.push(section('Calls of tools', waterfall(run)));
  if (step?.prints?.length) list.push(section('Printed', long(step.prints.join('\n'))));
  if (step?.warnings?.length)
    list.push(
      section(
        'Warnings',
        step.warnings.map((text) => h('div.warning', plain(text))),
      ),
    );
  if (step?.memory && Object.keys(step.memory).length)
    list.push(section('Memory', code(JSON.stringify(step.memory, null, 2))));
  if (step?.usage)
    list.push(
      section(
        'Usage',
        h(
          'p.facts',
          h('span', `${step.usage.duration_ms} ms`),
          h('span', `${step.usage.steps.toLocaleString('en')} steps`),
          h('span', `${step.usage.memory_bytes.toLocaleString('en')} bytes`),
        ),
      ),
    );
  if (step?.is_cut) list.push(h('p.dim', 'The Step is too long to be kept.'));
  return list;
}

export class ProgramsView {
  constructor(on) {
    this.on = on;
    this.list = h('div.run-list');
    this.detail = h('div.run-detail');
    this.element = h('div.programs', this.list, this.detail);
  }

  show(id) {
    this.id = id;
    this.element.classList.toggle('has-detail', id !== undefined);
    this.drawList();
    this.drawDetail();
  }

  update(topics) {
    if (topics.has('programs')) this.drawList();
    if (this.id !== undefined && topics.has(`call:${this.id}`)) this.drawDetail();
  }

  runs() {
    return [...store.programs.values()].sort((a, b) => b.id - a.id);
  }

  drawList() {
    const runs = this.runs();
    if (runs.length === 0) {
      replace(
        this.list,
        empty(
          'No program has run yet.',
          'An agent runs one with run-program; each appears here with its calls of tools.',
        ),
      );
      return;
    }
    replace(
      this.list,
      runs
        .slice(0, 200)
        .map((run) =>
          h(
            run.id === this.id ? 'button.run.selected' : 'button.run',
            { type: 'button', onclick: () => this.on.open(run.id) },
            h(`span.state.${run.outcome}`),
            h('span.number', String(run.id)),
            h('code', highlight(clip((run.code ?? '').replace(/\s+/g, ' '), 120))),
            h(
              'span.by',
              plain(
                `${run.by ?? ''}${run.call_count ? ` · ${run.call_count} ${run.call_count === 1 ? 'call' : 'calls'}` : ''}`,
              ),
            ),
            h('span.time', run.us === undefined ? 'running' : duration(run.us)),
          ),
        ),
    );
  }

  async drawDetail() {
    const id = this.id;
    if (id === undefined) {
      replace(
        this.detail,
        this.runs().length ? empty('Choose a run.', 'j and k move, Enter opens.') : undefined,
      );
      return;
    }
    if (this.isReading) {
      this.isStale = true;
      return;
    }
    this.isReading = true;
    try {
      const run = await resource(`cadre://programs/${id}`);
      if (this.id === id)
        replace(
          this.detail,
          h(
            'header.panel-head',
            h(
              'div.panel-title',
              h(`span.state.${run.outcome}`),
              h('h2', `Program ${run.id}`),
              h(
                'button.close',
                { type: 'button', ariaLabel: 'close', onclick: () => this.on.open(undefined) },
                '✕',
              ),
            ),
            h(
              'p.facts',
              [
                run.outcome,
                run.us === undefined ? 'running' : duration(run.us),
                run.by && `by ${run.by}`,
                clock(run.at),
              ]
                .filter(Boolean)
                .map((text) => h('span', plain(text))),
            ),
          ),
          h('div.panel-body', parts(run)),
        );
    } catch (error) {
      replace(this.detail, h('p.fault', plain(error.message)));
    }
    this.isReading = false;
    if (!this.isStale) return;
    this.isStale = false;
    changed(`call:${this.id}`);
  }

  move(step) {
    const runs = this.runs();
    const index = runs.findIndex((run) => run.id === this.id);
    const next = runs[Math.min(runs.length - 1, Math.max(0, index < 0 ? 0 : index + step))];
    if (next) this.on.open(next.id);
  }
}
