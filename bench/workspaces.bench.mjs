// Sessions of the daemon: what the relay costs, and how long a session takes to come back.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, pause, sample, StdioServer } from './clients.mjs';

export const title = 'workspaces';

// A machine of its own: home, runtime directory, workspace.
function newMachine(cadre) {
  const home = mkdtempSync(path.join(tmpdir(), 'cadre-bench-'));
  const cwd = path.join(home, 'project');
  mkdirSync(path.join(cwd, '.git'), { recursive: true });
  mkdirSync(path.join(home, 'run'), { mode: 0o700 });
  const { CADRE_PRIVATE, XDG_STATE_HOME, XDG_CACHE_HOME, ...rest } = process.env;
  const env = { ...rest, HOME: home, XDG_RUNTIME_DIR: path.join(home, 'run') };
  const run = (...args) => execFileSync(cadre, args, { cwd, env, encoding: 'utf8' });
  const remove = () => {
    spawnSync(cadre, ['daemon', 'stop'], { cwd, env });
    rmSync(home, { recursive: true, force: true });
  };
  return { home, cwd, env, run, remove };
}

const evaluate = async (server, code, expected) =>
  expect(await server.call('evaluate-lisp', { code }), expected);

async function withServer(bench, machine, isPrivate, work) {
  const options = { cwd: machine.cwd, env: machine.env, shared: !isPrivate };
  const server = new StdioServer(bench.cadre, [], options);
  try {
    await server.initialize();
    return await work(server);
  } finally {
    server.stop();
  }
}

async function relay(bench, machine) {
  await withServer(bench, machine, false, (server) => evaluate(server, '(+ 1 2 3)', '=> 6'));
  bench.row(
    'start to the initialize answer, a daemon runs',
    await sample(20, () => withServer(bench, machine, false, () => {}), 3),
    { target: 5 },
  );
  const timed = (isPrivate) =>
    withServer(bench, machine, isPrivate, (server) =>
      sample(300, () => evaluate(server, '(+ 1 2 3)', '=> 6'), 30),
    );
  const alone = await timed(true);
  bench.row('(+ 1 2 3) through the relay', await timed(false), { floor: alone });
  bench.row(
    'cadre eval --session',
    await sample(20, () => machine.run('eval', '--session', 'main', '(+ 1 2 3)'), 3),
    { target: 10 },
  );
}

async function restore(bench, machine) {
  machine.run('eval', '--session', 'main', '(defun f (x) (* x 2))');
  machine.run('sessions', 'save', 'main');
  const [home] = readdirSync(path.join(machine.home, '.local/state/cadre/workspaces'));
  const image = path.join(
    machine.home,
    '.local/state/cadre/workspaces',
    home,
    'sessions/main/image.zst',
  );
  bench.row('image of a small session', statSync(image).size / 1e6, { unit: 'MB', target: 12 });
  const cache = path.join(machine.home, '.cache/cadre/images');
  const timed = async (isCached) => {
    const samples = [];
    for (let i = 0; i < 6; i++) {
      machine.run('daemon', 'stop');
      if (!isCached && existsSync(cache)) rmSync(cache, { recursive: true });
      await withServer(bench, machine, false, async (server) => {
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
    await restore(bench, machine);
  } finally {
    machine.remove();
  }
}
