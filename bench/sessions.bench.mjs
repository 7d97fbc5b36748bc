// Common Lisp sessions over MCP stdio. The floor is SBCL itself: a read-eval-print loop over a pipe.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { ask, askStdio, expect, pause, sample, StdioServer, THINKING_MS } from './clients.mjs';

export const title = 'sessions';

const FLOOR_LOOP = `(progn (loop (let ((form (read *standard-input* nil :end)))
  (when (eq form :end) (sb-ext:exit :abort t)) (prin1 (eval form)) (terpri) (finish-output))))`;
const FLOOR = [
  'sbcl',
  '--noinform',
  '--no-sysinit',
  '--no-userinit',
  '--disable-debugger',
  '--eval',
  FLOOR_LOOP,
];

const TURNS = 6;

const defun = (i) => `(defun add-${i} (a b) "Adds." (declare (fixnum a b)) (the fixnum (+ a b)))`;

async function evaluate(server, code, expected) {
  return expect(await server.call('evaluate-lisp', { code }), expected);
}

async function withServer(bench, work) {
  const server = new StdioServer(bench.cadre);
  try {
    await server.initialize();
    return await work(server);
  } finally {
    server.stop();
  }
}

async function starts(bench) {
  const timed = (last) =>
    sample(
      20,
      async () => {
        const server = new StdioServer(bench.cadre);
        try {
          await server.initialize();
          await last(server);
        } finally {
          server.stop();
        }
      },
      3,
    );
  bench.row('start to the initialize answer', await timed(() => {}), { target: 15 });
  bench.row(
    'start to the first evaluation',
    await timed((server) => evaluate(server, '(+ 1 2 3)', '=> 6')),
    { target: 40 },
  );
}

// The same questions to cadre and to the floor, by turns: a machine that others use, too, is not equally
// fast from second to second.
function compare(
  bench,
  name,
  { code, expected, floorExpected, target, count = 100, pauseMs = THINKING_MS },
) {
  const own = [],
    floor = [];
  for (let turn = 0; turn < TURNS; turn++) {
    if (floorExpected)
      floor.push(...ask(bench, FLOOR, { count, pauseMs, question: code, expected: floorExpected }));
    own.push(
      ...askStdio(bench, 'evaluate-lisp', {
        count,
        pauseMs,
        question: (i) => ({ code: code(i) }),
        expected,
      }),
    );
  }
  bench.row(name, own, { floor: floorExpected && floor, target });
}

// While all processors but one have something else to do.
function withBusyProcessors(work) {
  const busy = Array.from({ length: availableParallelism() - 1 }, () =>
    spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' }),
  );
  try {
    work();
  } finally {
    for (const child of busy) child.kill('SIGKILL');
  }
}

function evaluations(bench) {
  const sum = { code: () => '(+ 1 2 3)', expected: '=> 6', floorExpected: '6' };
  compare(bench, `(+ 1 2 3), ${THINKING_MS} ms apart`, { ...sum, target: 0.25 });
  withBusyProcessors(() =>
    compare(bench, `(+ 1 2 3), ${THINKING_MS} ms apart, one processor free`, sum),
  );
  compare(bench, '(+ 1 2 3), back to back', { ...sum, count: 200, pauseMs: 0, target: 1 });
  compare(bench, `a small defun, ${THINKING_MS} ms apart`, {
    code: defun,
    expected: '=> ADD-',
    floorExpected: 'ADD-',
    target: 1.2,
  });
  compare(bench, `(/ 1 0) with its backtrace, ${THINKING_MS} ms apart`, {
    code: () => '(/ 1 0)',
    expected: 'DIVISION-BY-ZERO',
    target: 2.5,
  });
}

// A killed process may still take a request while it dies.
function isAlive(pid) {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

async function deaths(bench) {
  await withServer(bench, async (server) => {
    await evaluate(server, '(defparameter *kept* 42)', '=> *KEPT*');
    const samples = [];
    for (let i = 0; i < 50; i++) {
      const answer = await evaluate(server, '(sb-unix:unix-getpid)', '=> ');
      await pause(10);
      const pid = Number(answer.match(/=> (\d+)/)[1]);
      process.kill(pid, 'SIGKILL');
      while (isAlive(pid)) await pause(0);
      const start = process.hrtime.bigint();
      await evaluate(server, '*kept*', '=> 42');
      samples.push(Number(process.hrtime.bigint() - start) / 1e6);
    }
    bench.row('death of the head to the next answer', samples, { target: 5 });
  });
}

// The proportional memory of a process in MB; 0 when it is gone.
function memoryOf(pid) {
  try {
    return (
      Number(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').match(/^Pss:\s+(\d+) kB/m)[1]) / 1024
    );
  } catch {
    return 0;
  }
}

function childrenOf(parent) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return (
          Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').pop().split(' ')[1]) ===
          parent
        );
      } catch {
        return false;
      }
    });
}

async function snapshots(bench) {
  await withServer(bench, async (server) => {
    await evaluate(server, '(+ 1 2)', '=> 3');
    await pause(100);
    const before = childrenOf(server.child.pid).reduce((sum, pid) => sum + memoryOf(pid), 0);
    for (let i = 0; i < 16; i++)
      await evaluate(server, `(defparameter *v${i}* (list ${i} 2 3))`, `=> *V${i}*`);
    await pause(100);
    const after = childrenOf(server.child.pid).reduce((sum, pid) => sum + memoryOf(pid), 0);
    bench.row('memory of 16 snapshots', Math.max(0, after - before), { unit: 'MB', target: 20 });
  });
  await withServer(bench, async (server) => {
    await evaluate(
      server,
      '(defparameter *big* (make-array 62000000 :initial-element 7))',
      '=> *BIG*',
    );
    bench.row(
      '(+ 1 2 3) with 500 MB live, snapshots included',
      await sample(30, () => evaluate(server, '(+ 1 2 3)', '=> 6'), 3),
      { target: 5 },
    );
  });
}

export async function measure(bench) {
  await starts(bench);
  evaluations(bench);
  await deaths(bench);
  await snapshots(bench);
}
