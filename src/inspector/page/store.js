// What the page knows: sessions with their evaluations, and runs of programs. Read from the server's
// resources once, then kept up to date by events.
import { resource } from './mcp.js';

const SAMPLES = 600;
const OUTPUT_KEPT = 200000;

export const store = {
  workspace: '',
  workspaces: [], // the others: {path, sessions}
  version: '',
  sessions: new Map(),
  programs: new Map(),
  isLoaded: false,
};

const listeners = new Set();
let changes = new Set();
let scheduled = false;

// fn(set of topics): "sessions", "workspaces", "rows:NAME", "output:NAME", "memory", "programs", "call:ID"
export function onChange(fn) {
  listeners.add(fn);
  return () => listeners.delete(fn);
}

export function changed(topic) {
  changes.add(topic);
  if (scheduled) return;
  scheduled = true;
  // Not only by frames, which a hidden page does not get.
  const run = () => {
    if (!scheduled) return;
    scheduled = false;
    const topics = changes;
    changes = new Set();
    for (const fn of listeners) fn(topics);
  };
  requestAnimationFrame(run);
  setTimeout(run, 60);
}

export function session(name) {
  let found = store.sessions.get(name);
  if (!found) {
    found = {
      name,
      state: 'down',
      info: {},
      rows: [],
      byNumber: new Map(),
      current: 0,
      total: 0,
      samples: [],
      snapshots: new Set(),
      frozen: new Set(),
      output: { number: 0, text: '', dropped: 0 },
    };
    store.sessions.set(name, found);
  }
  return found;
}

function putRow(of, row) {
  const known = of.byNumber.get(row.number);
  if (known) {
    Object.assign(known, row);
    return;
  }
  of.byNumber.set(row.number, row);
  const last = of.rows[of.rows.length - 1];
  of.rows.push(row);
  if (last && last.number > row.number) of.rows.sort((a, b) => a.number - b.number);
}

// --- reading ---

async function loadRows(of) {
  let before = Number.MAX_SAFE_INTEGER;
  for (;;) {
    const page = await resource(`cadre://sessions/${of.name}/timeline/${before}`);
    of.total = page.total;
    for (const row of page.rows.reverse()) {
      if (!of.byNumber.has(row.number)) {
        of.byNumber.set(row.number, row);
        of.rows.push(row);
      } else Object.assign(of.byNumber.get(row.number), row);
    }
    of.rows.sort((a, b) => a.number - b.number);
    changed(`rows:${of.name}`);
    if (page.rows.length === 0 || of.rows.length >= page.total) return;
    before = page.rows[0].number;
  }
}

function takeInfo(of, info) {
  of.info = info;
  of.state = info.state;
  of.current = info.evaluation;
  of.snapshots = new Set((info.snapshots ?? []).map((snapshot) => snapshot.number));
  of.frozen = new Set(info.frozen ?? []);
}

export async function load() {
  const overview = await resource('cadre://inspector');
  store.workspace = overview.workspace ?? '';
  store.version = overview.version;
  const names = new Set(overview.sessions.map((info) => info.name));
  for (const name of store.sessions.keys()) if (!names.has(name)) store.sessions.delete(name);
  for (const info of overview.sessions) {
    const of = session(info.name);
    of.rows = [];
    of.byNumber = new Map();
    takeInfo(of, info);
  }
  store.programs = new Map(overview.programs.map((run) => [run.id, run]));
  store.isLoaded = true;
  changed('sessions');
  changed('programs');
  await Promise.all([loadWorkspaces(), ...[...store.sessions.values()].map(loadRows)]);
}

// No event tells what happens in them.
export async function loadWorkspaces() {
  const { workspaces } = await resource('cadre://workspaces');
  store.workspaces = workspaces
    .filter((other) => other.path !== store.workspace)
    .sort((a, b) => a.path.localeCompare(b.path));
  changed('workspaces');
}

// --- events ---

const handlers = {
  started(event) {
    const of = session(event.session);
    of.current = event.current;
    putRow(of, event.row);
    of.output = { number: event.row.number, text: '', dropped: 0 };
    changed(`rows:${of.name}`);
  },
  output(event) {
    const of = session(event.session);
    if (of.output.number !== event.evaluation)
      of.output = { number: event.evaluation, text: '', dropped: 0 };
    if (of.output.text.length < OUTPUT_KEPT) of.output.text += event.text;
    else of.output.dropped += event.text.length;
    of.output.dropped += event.dropped;
    changed(`output:${of.name}`);
  },
  ended(event) {
    const of = session(event.session);
    of.current = event.current;
    putRow(of, event.row);
    changed(`rows:${of.name}`);
    changed(`ended:${of.name}`);
  },
  moved(event) {
    const of = session(event.session);
    of.current = event.current;
    changed(`rows:${of.name}`);
    changed('sessions');
  },
  state(event) {
    session(event.session).state = event.state;
    changed('sessions');
  },
  closed(event) {
    store.sessions.delete(event.session);
    changed('sessions');
  },
  memory(event) {
    const of = session(event.session);
    of.snapshots = new Set(event.snapshots);
    of.frozen = new Set(event.frozen);
    of.info = { ...of.info, ...event.info };
    if (event.info.workspace) store.workspace = event.info.workspace;
    of.samples.push(event);
    if (of.samples.length > SAMPLES) of.samples.shift();
    changed('memory');
  },
  program(event) {
    store.programs.set(event.program.id, event.program);
    changed('programs');
    changed(`call:${event.program.id}`);
  },
  call(event) {
    handlers.program(event);
  },
};

export function apply(event) {
  handlers[event.type]?.(event);
}

// --- lineage ---

// The numbers of the evaluations that the present state is made of.
export function lineage(of) {
  const numbers = new Set();
  for (let at = of.current; at > 0 && !numbers.has(at); at = of.byNumber.get(at)?.parent ?? 0)
    numbers.add(at);
  return numbers;
}
