// The workspace: its sessions with their memory over time, and what other workspaces there are.
import { bytes, count, empty, h, plain, replace } from './dom.js';
import { memoryPlot } from './plot.js';
import { store } from './store.js';

const NAMES = { down: 'not started', idle: 'live', resting: 'hibernating', snapshotting: 'live' };

export function stateName(of) {
  if (of.state === 'down' && of.rows.length > 0) return 'hibernated';
  return NAMES[of.state] ?? of.state;
}

export function workspaceName(path) {
  return path.split('/').pop() || path || 'workspace';
}

export function workspaceAddress(path) {
  return `#workspace=${encodeURIComponent(path)}`;
}

export function isLive(workspace) {
  return workspace.sessions.some((one) => stateClass(one.state) !== 'down');
}

export function stateClass(state) {
  if (state === 'idle' || state === 'snapshotting') return 'live';
  return state === 'down' || state === 'resting' ? 'down' : 'running';
}

function perMinute(of) {
  const since = Date.now() - 60000;
  let count = 0;
  for (let at = of.rows.length - 1; at >= 0 && of.rows[at].at >= since; at--) count++;
  return count;
}

function fact(name, text) {
  return text ? [h('dt', name), h('dd', plain(String(text)))] : [];
}

function card(of, open) {
  const info = of.info;
  return h(
    'article.card',
    { onclick: (event) => event.target.closest('button') || open(of.name) },
    h(
      'header',
      h(`span.light.${stateClass(of.state)}`),
      h('h2', h('button.link', { type: 'button', onclick: () => open(of.name) }, of.name)),
      h('span.dim', stateName(of)),
    ),
    memoryPlot(of.samples, { height: 96, caption: true }),
    h(
      'dl.info',
      fact(
        'evaluations',
        `${of.rows.length.toLocaleString('en')}, ${perMinute(of).toLocaleString('en')} in the last minute`,
      ),
      fact('current state', of.current > 0 && `after evaluation ${of.current}`),
      fact('snapshots', of.snapshots.size),
      fact('frozen errors', [...of.frozen].join(', ')),
      fact('live data', bytes(info.live_bytes)),
      fact('package', info.package_label),
      fact('threads', (info.threads ?? []).join(', ')),
      fact('systems', (info.systems ?? []).slice(0, 12).join(', ')),
      fact('queued', info.queued),
      fact('SBCL', info.sbcl),
      fact(
        'limits',
        info.limits &&
          `${info.limits.timeout} s, ${info.limits['max-memory'].toLocaleString('en')} MB`,
      ),
    ),
  );
}

function link(workspace) {
  const live = workspace.sessions.filter((one) => stateClass(one.state) !== 'down').length;
  return h(
    'a.other',
    { href: workspaceAddress(workspace.path) },
    h(`span.light.${live ? 'live' : 'down'}`),
    h('b', plain(workspaceName(workspace.path))),
    h('span.dim', plain(workspace.path)),
    h(
      'span.other-count',
      workspace.sessions.length > 0 && count(workspace.sessions.length, 'session'),
      live > 0 && `, ${live} live`,
    ),
  );
}

export class Overview {
  constructor(on) {
    this.on = on;
    this.element = h('div.overview');
  }

  show() {
    const cards = [...store.sessions.values()].map((of) => card(of, this.on.open));
    replace(
      this.element,
      h(
        'header.overview-head',
        h('h1', plain(workspaceName(store.workspace))),
        h('p.dim', plain(store.workspace)),
      ),
      cards.length
        ? h('div.cards', cards)
        : empty('No sessions yet.', 'An agent that connects makes the first one, main.'),
      store.workspaces.length > 0 &&
        h('section.others', h('h2', 'Other workspaces'), store.workspaces.map(link)),
    );
  }
}
