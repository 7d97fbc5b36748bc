// Sessions of the daemon: what the relay costs, what saving costs, and how long a session takes to come back.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { askStdio, expect, pause, sample, StdioServer, THINKING_MS } from './clients.mjs';

export const title = 'workspaces';

const TURNS = 6;
const TICKS_PER_S = 100; // of the times in /proc
const QUIET_MS = 2000; // before a state is saved
const SAVE_MS = 60_000;

// A machine of its own: home, runtime directory, workspace.
function newMachine(cadre) {
  const home = mkdtempSync(path.join(tmpdir(), 'cadre-bench-'));
  const cwd = path.join(home, 'project');
  mkdirSync(path.join(cwd, '.git'), { recursive: true });
  mkdirSync(path.join(home, 'run'), { mode: 0o700 });
  const { CADRE_PRIVATE, XDG_STATE_HOME, XDG_CACHE_HOME, ...rest } = process.env;
  const env = { ...rest, HOME: home, XDG_RUNTIME_DIR: path.join(home, 'run') };
  const run = (...args) => execFileSync(cadre, args, { cwd, env, encoding: 'utf8' });
  const state = path.join(home, '.local/state/cadre');
  const session = (name, file) => {
    const [workspace] = readdirSync(path.join(state, 'workspaces'));
    return path.join(state, 'workspaces', workspace, 'sessions', name, file);
  };
  const remove = () => {
    spawnSync(cadre, ['daemon', 'stop'], { cwd, env });
    rmSync(home, { recursive: true, force: true });
  };
  return { home, state, place: { cwd, env }, run, session, remove };
}

const evaluate = async (server, code, expected, session = 'main') =>
  expect(await server.call('evaluate-lisp', { code, session }), expected);

async function withServer(bench, machine, work) {
  const server = new StdioServer(bench.cadre, ['--tools', 'full'], {
    ...machine.place,
    shared: true,
  });
  try {
    await server.initialize();
    return await work(server);
  } finally {
    server.stop();
  }
}

const sums = (bench, machine, shared, session = 'main') =>
  askStdio(bench, 'evaluate-lisp', {
    count: 100,
    pauseMs: THINKING_MS,
    question: () => ({ code: '(+ 1 2 3)', session }),
    expected: '=> 6',
    shared,
    place: machine.place,
  });

const medianOf = (samples) => samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)];

async function relay(bench, machine) {
  await withServer(bench, machine, (server) => evaluate(server, '(+ 1 2 3)', '=> 6'));
  bench.row(
    'start to the initialize answer, a daemon runs',
    await sample(20, () => withServer(bench, machine, () => {}), 3),
    { target: 5 },
  );
  const through = [],
    alone = [],
    added = [];
  for (let turn = 0; turn < TURNS; turn++) {
    alone.push(...sums(bench, machine, false));
    through.push(...sums(bench, machine, true));
    added.push(medianOf(through.slice(-100)) - medianOf(alone.slice(-100)));
  }
  bench.row('(+ 1 2 3) through the relay', through, { floor: alone });
  bench.row('what the relay adds, medians of 100', added, { target: 0.06 });
  bench.row(
    'cadre eval --session',
    await sample(20, () => machine.run('eval', '--session', 'main', '(+ 1 2 3)'), 3),
    { target: 10 },
  );
}

async function forks(bench, machine) {
  await withServer(bench, machine, async (server) => {
    const samples = [];
    for (let i = 0; i < 20; i++) {
      const start = performance.now();
      expect(await server.call('fork-session', { from: 'main', as: `fork-${i}` }), 'has the state');
      samples.push(performance.now() - start);
      machine.run('sessions', 'rm', `fork-${i}`);
    }
    bench.row('fork-session', samples, { target: 10 });
  });
}

// Seconds of processor time of the children of a process that have ended.
function childSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').pop().split(' ');
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_S;
}

async function waitForImage(machine, name) {
  const end = performance.now() + SAVE_MS;
  while (!existsSync(machine.session(name, 'image.json'))) {
    if (performance.now() > end) throw new Error('the session was not saved');
    await pause(20);
  }
}

// Each time a session of its own: the next save of one waits for long.
async function saves(bench, machine) {
  const { pid } = JSON.parse(readFileSync(path.join(machine.state, 'daemon.lock'), 'utf8'));
  const seconds = [];
  const beside = [],
    without = [];
  await withServer(bench, machine, async (server) => {
    for (let turn = 0; turn < TURNS; turn++) {
      const name = `saved-${turn}`;
      await evaluate(server, '(defun f (x) (* x 2))', '=> F', name);
      const before = childSeconds(pid);
      await waitForImage(machine, name);
      await pause(100);
      seconds.push(childSeconds(pid) - before);
      const busy = `busy-${turn}`;
      await evaluate(server, '(defun f (x) (* x 2))', '=> F', busy);
      await pause(QUIET_MS + 50);
      const samples = sums(bench, machine, true, busy);
      if (!existsSync(machine.session(busy, 'image.json'))) beside.push(...samples);
      await waitForImage(machine, busy);
      without.push(...sums(bench, machine, true, busy));
    }
  });
  const { size } = statSync(machine.session('saved-0', 'image.zst'));
  bench.row('image of a small session', size / 1e6, { unit: 'MB', target: 12 });
  bench.row('processor time of a save', seconds, { unit: 's', target: 2 });
  if (beside.length > 0)
    bench.row('(+ 1 2 3) while a save runs', beside, {
      floor: without,
      target: 2 * medianOf(without),
    });
  else bench.skip('(+ 1 2 3) while a save runs', 'no save lasted long enough');
}

async function restores(bench, machine) {
  machine.run('eval', '--session', 'main', '(defun f (x) (* x 2))');
  machine.run('sessions', 'save', 'main');
  const cache = path.join(machine.home, '.cache/cadre/images');
  const timed = async (isCached) => {
    const samples = [];
    for (let i = 0; i < 6; i++) {
      machine.run('daemon', 'stop');
      if (!isCached && existsSync(cache)) rmSync(cache, { recursive: true });
      await withServer(bench, machine, async (server) => {
        const start = performance.now();
        await evaluate(server, '(f 21)', '=> 42');
        samples.push(performance.now() - start);
      });
      await pause(100);
    }
    return samples;
  };
  bench.row('restore from the compressed image', await timed(false), { target: 80 });
  bench.row('restore, its core is in the cache', await timed(true), { target: 30 });
}

export async function measure(bench) {
  const machine = newMachine(bench.cadre);
  try {
    await relay(bench, machine);
    await forks(bench, machine);
    await saves(bench, machine);
    await restores(bench, machine);
  } finally {
    machine.remove();
  }
}
