// PTC-Lisp beside the small languages of the same machine (peers.mjs). First run: whole processes: start, read, run, print,
// end. Warm: the same work again in one process that has compiled it once, timed inside the process: for cadre a host of
// libcadre (bench_warm.c). Files are read and parsed anew in every run.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from './clients.mjs';
import { findPeers, WARM_RUNS } from './peers.mjs';
import { makeTasks } from './tasks.mjs';

export const title = 'programs';

// Of a whole process: at least so many runs, and more while they are cheap.
const LEAST_RUNS = 5;
const MOST_RUNS = 50;
const CHEAP_MS = 500;
const WARM_UP = 3;
const WARM_TIMEOUT_MS = 5_000;
const LIMITS = { timeout: 60_000, regex_limit: 100_000_000, max_memory: 100_000_000 };

function runOnce([command, ...args], expected) {
  const start = process.hrtime.bigint();
  const answer = spawnSync(command, args, {
    encoding: 'utf8',
    timeout: 60_000,
    maxBuffer: 1 << 26,
  });
  const ms = Number(process.hrtime.bigint() - start) / 1e6;
  if (answer.error) throw answer.error;
  expect(answer.stdout + answer.stderr, String(expected));
  return ms;
}

function runMany(command, task) {
  runOnce(command, task.expected);
  const samples = [];
  for (
    let spent = 0;
    samples.length < LEAST_RUNS || (samples.length < MOST_RUNS && spent < CHEAP_MS);
    spent += samples.at(-1)
  ) {
    samples.push(runOnce(command, task.expected));
  }
  return samples;
}

// The milliseconds of the lines `VALUE MILLISECONDS` that a command prints, as far as it comes in its time.
function readLines([command, ...args], expected) {
  const answer = spawnSync(command, args, { encoding: 'utf8', timeout: WARM_TIMEOUT_MS });
  if (answer.error && answer.error.code !== 'ETIMEDOUT') throw answer.error;
  const lines = answer.stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' ').map(Number));
  for (const [value] of lines)
    if (value !== expected) throw new Error(`${command}: expected ${expected}, got ${value}`);
  if (lines.length === 0)
    throw new Error(`${command}: ${answer.stderr.slice(0, 300) || 'no answer in time'}`);
  return lines.map(([, ms]) => ms);
}

// Limits as a command takes them: -o NAME=NUMBER.
const OPTIONS = Object.entries(LIMITS).flatMap(([name, value]) => ['-o', `${name}=${value}`]);

function buildProgram(bench, name) {
  execFileSync('ninja', ['--quiet', '-C', bench.build, `bench/${name}`], { stdio: 'ignore' });
  return path.join(bench.build, 'bench', name);
}

function warmLines(command, task) {
  const lines = readLines(command, task.expected);
  return lines.slice(Math.min(WARM_UP, lines.length - 1));
}

function compareTask(bench, warmProgram, task, peers) {
  const own = [
    bench.cadre,
    'run',
    '-e',
    task.program,
    ...OPTIONS,
    ...(task.context ? ['--context', task.context] : []),
  ];
  const ownWarm = [
    warmProgram,
    ...(task.context ? ['-c', task.context] : []),
    ...OPTIONS,
    String(WARM_RUNS),
    task.program,
  ];
  const first = { cadre: runMany(own, task) };
  const warm = task.startOnly ? {} : { cadre: warmLines(ownWarm, task) };
  for (const [name, , peer] of peers) {
    const firstCommand = peer.first(task);
    const warmCommand = task.startOnly ? undefined : peer.warm(task);
    first[name] = firstCommand && runMany(firstCommand, task);
    warm[name] = warmCommand && warmLines(warmCommand, task);
  }
  bench.compare('first run', task.name, first);
  if (!task.startOnly) bench.compare('warm', task.name, warm);
}

// Create, parse, run and destroy within a process that is already there.
function compareEmbedded(bench, peers) {
  const commands = [
    ['cadre', [buildProgram(bench, 'bench_embed')]],
    ...peers.filter(([, , peer]) => peer.embedded).map(([name, , peer]) => [name, peer.embedded]),
  ];
  const first = {};
  const warm = {};
  for (const [name, command] of commands) [first[name], ...warm[name]] = readLines(command, 3);
  bench.compare('first run', 'embedded run', first);
  bench.compare('warm', 'embedded run', warm);
  bench.row(
    'embedded run: create, parse, run, destroy',
    warm.cadre.map((ms) => ms * 1000),
    { unit: 'us', target: 3 },
  );
}

export function measure(bench) {
  const folder = mkdtempSync(path.join(tmpdir(), 'cadre-bench-'));
  const { installed, missing } = findPeers();
  bench.note(
    `peers: ${installed.map(([name, version]) => `${name} ${version}`).join(', ')}${missing.length ? `; not installed: ${missing.join(', ')}` : ''}`,
  );
  bench.note(
    `cadre runs within ${LIMITS.max_memory / 1e6} MB of memory; times are the best of several, the best of a line has a *`,
  );
  try {
    const warmProgram = buildProgram(bench, 'bench_warm');
    for (const task of makeTasks(folder)) compareTask(bench, warmProgram, task, installed);
    compareEmbedded(bench, installed);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
