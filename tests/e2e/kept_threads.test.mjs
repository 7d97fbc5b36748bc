// Sessions with live threads are saved, whatever the threads do, and the notice of the restored
// session names them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { LONG } from './support.mjs';
import { Machine } from './daemon_support.mjs';

const ROUNDS = LONG ? 20 : 1;

// What a thread does again and again.
const kinds = {
  'is just starting': '(sleep 1)',
  'starts threads': '(sb-thread:join-thread (sb-thread:make-thread (lambda () (list 1))))',
  allocates: '(make-list 1000)',
  'collects garbage': '(progn (sb-ext:gc) (sleep 0.01))',
  'holds a lock': '(sb-thread:with-mutex (*lock*) (sleep 0.1))',
  'calls the C library': '(sb-alien:free-alien (sb-alien:make-alien sb-alien:char 100000))',
  compiles: '(compile nil (list (quote lambda) () (random 100)))',
  'runs programs': '(sb-ext:run-program "/bin/true" ())',
  'works without interrupts': '(sb-sys:without-interrupts (dotimes (i 10000) (list i)))',
};
const SHORT = ['is just starting', 'starts threads', 'allocates', 'holds a lock'];

describe('a session whose thread', { concurrency: false }, () => {
  const machine = new Machine();
  after(() => machine.stop());
  let last = 0;

  for (const [name, work] of Object.entries(kinds).filter(([name]) => LONG || SHORT.includes(name)))
    for (let round = 0; round < ROUNDS; round++)
      it(`${name} is saved, round ${round + 1}`, () => {
        const session = `thread-${++last}`;
        const evaluate = (code) => machine.run(['eval', '--session', session, code]);
        const start = `(progn (defvar *lock* (sb-thread:make-mutex)) (dotimes (i 3) (sb-thread:make-thread (lambda () (loop ${work})) :name "worker")) :ok)`;
        assert.match(evaluate(start).stdout, /=> :OK/);
        const saved = machine.run(['sessions', 'save', session]);
        assert.equal(saved.status, 0, saved.stderr);
        const description = path.join(machine.sessionPlace(session), 'image.json');
        assert.equal(JSON.parse(readFileSync(description, 'utf8')).evaluation, 1);
        process.kill(machine.lockFile().pid, 'SIGKILL');
        const answer = evaluate('(+ 40 2)');
        // Those that the workers have just started may stand between them.
        const lost = /not saved: (.*)/.exec(answer.stderr)?.[1] ?? answer.stderr;
        assert.equal(lost.split(', ').filter((each) => each === 'thread "worker"').length, 3, lost);
        assert.equal(answer.stdout, '=> 42\n');
        assert.equal(machine.run(['sessions', 'rm', session]).status, 0);
      });
});
