// Sessions whose code attacks its own process, its siblings, its descriptors and the machine, beside
// well-behaved ones on the same server. The well-behaved lose no state, see no output but their own
// and are always answered; the longest wait is reported. After each attack its session works again.
// What is started is bounded: every attack makes some dozens of processes that end by themselves, and
// too many of them end the test.
// 20 s, or 10 minutes with CADRE_LONG=1; CADRE_HOSTILE_SECONDS and SEED choose another run.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CADRE,
  LONG,
  Server,
  eventually,
  processesWith,
  readProc,
  sleep,
} from '../e2e/support.mjs';

const SECONDS = Number(process.env.CADRE_HOSTILE_SECONDS ?? (LONG ? 600 : 20));
const SEED = Number(process.env.SEED ?? 1);
const GOOD = 2;
const HOSTILE = 3;
const PROCESSES_MAX = 1500;
const ANSWER_SECONDS = 60; // a well-behaved call that waits so long counts as hanging
const SLEEP = 'sleep 86.417'; // what attacks leave behind, to be found by its name

function randomNumbers(seed) {
  let state = seed >>> 0 || 1;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const alien = (name, ...numbers) =>
  `(sb-alien:alien-funcall (sb-alien:extern-alien "${name}" (function sb-alien:int` +
  `${' sb-alien:long'.repeat(numbers.length)})) ${numbers.join(' ')})`;
const shell = (script, options = ':output nil') =>
  `(sb-ext:run-program "/bin/sh" '("-c" "${script}") ${options})`;
// Parked processes of the same session: those of others are for the sandbox to protect.
const siblings = (signal) =>
  `(dolist (p (ignore-errors (cadre-agent::sibling-processes)))
     (when (and (/= p (sb-posix:getpid)) (eql (ignore-errors (sb-posix:getsid p)) (sb-posix:getsid 0)))
       (ignore-errors (sb-posix:kill p ${signal}))))`;
const threads = (body) =>
  `(dotimes (i 3) (sb-thread:make-thread (lambda ()
     (let ((end (+ (get-internal-real-time) (* 2 internal-time-units-per-second))))
       (loop while (< (get-internal-real-time) end) do ${body})))))`;
const EXIT = '(sb-ext:exit :abort t)';
const redefine = (name) =>
  `(sb-ext:without-package-locks (setf (fdefinition '${name}) (constantly nil)))`;

const attacks = [
  (r) => alien('shutdown', 240 + r(2), r(3)),
  (r) => alien('fcntl', [0, 1, 2, 240, 241, 242, 243, 244][r(8)], 4, 2048), // O_NONBLOCK
  (r) => alien('close', r(250)),
  (r) => alien('dup2', r(5), 238 + r(8)),
  (r) => alien('kill', alien('getpid'), [1, 2, 6, 9, 10, 11, 12, 13, 14, 15, 19, 36][r(12)]),
  () => `${siblings(19)} ${EXIT}`,
  () => `${siblings(9)} ${EXIT}`,
  () => siblings(36),
  () => `${shell(`for i in $(seq 40); do ${SLEEP} & done`)} ${EXIT}`,
  () => `${shell(`for i in $(seq 20); do env -i setsid -f ${SLEEP}; done`)} ${EXIT}`,
  () => shell('for i in $(seq 40); do setsid -f true; done'),
  () => `${shell('timeout 5 yes foreign', ':wait nil :output t')} ${EXIT}`,
  () => `${shell('timeout 5 yes foreign', ':output t')}`,
  () => `${threads('(sb-thread:join-thread (sb-thread:make-thread (lambda () 1)))')} 1`,
  () => `${threads('(probe-file "/usr/share/") (directory "/usr/*.*")')} 1`,
  () =>
    `${threads(alien('free', `${alien('malloc', 90000).replace('sb-alien:int', 'sb-alien:long')}`))} 1`,
  () => `(prog1 1 ${EXIT})`,
  () => '(loop)',
  () => '(sb-sys:without-interrupts (loop))',
  () => '(loop with l = nil do (push (make-array 100000) l))',
  () => '(labels ((f (x) (1+ (f x)))) (f 1))',
  () => '(setf (sb-sys:sap-ref-8 (sb-sys:int-sap 0) 0) 1)',
  () => '(error "frozen")',
  () => '(dotimes (i 100000) (print :foreign))',
  () => redefine('cadre-agent::perform-request'),
  () => redefine('cadre-agent::send-message'),
  () => redefine('car'),
  () =>
    alien(
      'write',
      240,
      `(sb-sys:sap-int (sb-sys:vector-sap (coerce #(1 2 3) '(vector (unsigned-byte 8)))))`,
      3,
    ),
  () => alien('alarm', 1),
  () => '(sb-posix:fork)',
  () => `(sb-thread:make-thread (lambda () (sleep 1) ${EXIT}))`,
];

const failures = [];
const fail = (text) => failures.push(text);

// One evaluation after another, each of which must see the state of the one before and no output
// but its own.
async function behaveWell(server, name, until, waits) {
  const parameters = { session: name };
  await server.value('(defvar *n* 0)', parameters);
  for (let n = 1; Date.now() < until(); n++) {
    const answer = await server.evaluate(`(format t "${name}-${n}") (incf *n*)`, parameters);
    waits.push(answer.seconds);
    if (answer.isError || !answer.text.includes(`=> ${n}`)) fail(`${name} ${n}: ${answer.text}`);
    const output = answer.structured.stdout ?? '';
    if (output.trim() !== `${name}-${n}`) fail(`${name} ${n} printed ${output.slice(0, 200)}`);
    if (failures.length > 5) return;
    await sleep(5);
  }
}

// Attacks, and a check after each that the session works; a reset must help where it does not.
async function attack(server, name, seed, until, tally) {
  const r = randomNumbers(seed);
  while (Date.now() < until() && failures.length < 6) {
    const number = r(attacks.length);
    const code = attacks[number](r);
    await server.evaluate(code, { session: name, timeout: 2 });
    if (r(3) === 0) await sleep(r(300));
    const first = await server.evaluate('(+ 1 2)', { session: name, timeout: 10 });
    tally.attacks++;
    if (first.text.includes('=> 3')) continue;
    tally.repairs++;
    await server.call('reset-session', { session: name });
    const second = await server.evaluate('(+ 1 2)', { session: name, timeout: 30 });
    if (!second.text.includes('=> 3')) fail(`${name} after ${code}: ${second.text}`);
  }
}

const countSleepers = () =>
  processesWith('').filter((pid) => readProc(pid, 'cmdline') === `${SLEEP.replaceAll(' ', '\0')}\0`)
    .length;

test(`${HOSTILE} hostile sessions beside ${GOOD} others, ${SECONDS} s`, async (t) => {
  const server = await Server.start({
    command: ['prlimit', '--nproc=8192', '--core=0', CADRE],
  });
  let end = Date.now() + SECONDS * 1000;
  const until = () => end;
  const waits = [];
  const tally = { attacks: 0, repairs: 0 };
  let stuck;
  const watch = setInterval(() => {
    if (server.processes().length <= PROCESSES_MAX) return;
    fail('too many processes');
    end = 0;
    process.kill(server.pid, 'SIGKILL');
  }, 1000);
  const hang = new Promise((resolve) => {
    stuck = setTimeout(resolve, (SECONDS + ANSWER_SECONDS) * 1000, 'hang');
  });
  const work = Promise.all([
    ...Array.from({ length: GOOD }, (_, i) => behaveWell(server, `good-${i}`, until, waits)),
    ...Array.from({ length: HOSTILE }, (_, i) =>
      attack(server, `hostile-${i}`, SEED * 100 + i, until, tally),
    ),
  ]);
  const outcome = await Promise.race([work, hang]);
  clearTimeout(stuck);
  clearInterval(watch);
  waits.sort((a, b) => a - b);
  const late = waits.filter((seconds) => seconds > 1).length;
  t.diagnostic(
    `seed ${SEED}: ${tally.attacks} attacks, ${tally.repairs} resets needed; ` +
      `${waits.length} good calls, median ${(waits[waits.length >> 1] * 1000).toFixed(1)} ms, ` +
      `longest ${(waits.at(-1) * 1000).toFixed(0)} ms, ${late} over 1 s`,
  );
  assert.deepEqual(failures, []);
  assert.notEqual(outcome, 'hang', 'a call was not answered');
  assert.deepEqual(
    server.transport.strays,
    [],
    'standard output holds something else than JSON-RPC',
  );
  await server.client.close();
  const { status, signal } = await server.ended;
  assert.deepEqual({ status, signal }, { status: 0, signal: null }, server.transport.stderr);
  assert.ok(
    await eventually(() => server.processes().length === 0, 10),
    server.describeProcesses(),
  );
  assert.equal(countSleepers(), 0, 'daemons without an environment are left');
});
