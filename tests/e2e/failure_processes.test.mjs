// Failures of processes around a session: heads that are killed, what they started, finalizers.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { expectStateKept, useStatefulServer } from './failure_support.mjs';
import { eventually, expectResult, temporaryDirectory, useServer } from './support.mjs';

const directory = temporaryDirectory();

describe('processes around the session', () => {
  const server = useStatefulServer();
  const headPid = async () => (await server.call('session-info')).structured.pid;

  test('head killed while idle', async () => {
    const pid = await headPid();
    await new Promise((resolve) => setTimeout(resolve, 100));
    process.kill(pid, 'SIGKILL');
    assert.ok(await eventually(async () => (await headPid()) !== pid), 'a new head');
    const { text } = await server.evaluate('(list (keep) *state*)');
    assert.match(
      text,
      /^\[Notice\]\nthe session's process died while idle \(signal 9\); rolled back to snapshot \d+\n\n=> \(:KEPT \(1 2 3\)\)$/,
    );
  });
  test('head killed during evaluations, at random points', async () => {
    for (let i = 0; i < 20; i++) {
      const pid = await headPid();
      const answer = server.evaluate(`(progn (push ${i} *state*) (sleep 0.2) (pop *state*) :done)`);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 100));
      process.kill(pid, 'SIGKILL');
      const result = await answer; // which had perhaps not begun
      if (result.isError) expectResult(result, { type: 'PROCESS-KILLED', has: '[Rollback]' });
      else assert.ok(result.text.endsWith('=> :DONE'), result.text);
      await expectStateKept(server);
    }
  });
  test('file offsets are restored, bytes are not', async () => {
    const file = path.join(directory, 'offsets.txt');
    await server.value(
      `(defvar *out* (open "${file}" :direction :output :if-exists :supersede)) (write-line "A" *out*) (finish-output *out*) 1`,
    );
    await server.value('(write-line "B" *out*) (finish-output *out*) 1');
    expectResult(
      await server.evaluate(
        '(write-line "C doomed" *out*) (finish-output *out*) (sb-ext:exit :abort t)',
      ),
      { type: 'PROCESS-EXIT' },
    );
    await server.value('(write-line "D" *out*) (finish-output *out*) 1');
    assert.equal(readFileSync(file, 'utf8'), 'A\nB\nD\ndoomed\n');
    await server.value('(close *out*) 1');
  });
  test('threads lost by a crash are named', async () => {
    await server.value(
      `(dotimes (i 4) (sb-thread:make-thread (lambda () (loop (make-list 1000) (sleep 0.001))) :name (format nil "conser-~d" i))) 1`,
    );
    const { text } = await server.evaluate('(sb-ext:exit :abort t)');
    for (let i = 0; i < 4; i++) assert.match(text, new RegExp(`Lost threads: .*conser-${i}`));
    await expectStateKept(server);
  });
  test('threads live on over evaluations', async () => {
    await server.value(
      '(defvar *ticks* 0) (sb-thread:make-thread (lambda () (loop (incf *ticks*) (sleep 0.01))) :name "ticker") 1',
    );
    const first = Number((await server.value('*ticks*')).slice(3));
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.ok(Number((await server.value('*ticks*')).slice(3)) > first);
    await server.call('rollback-session', { steps: 3 });
  });
  test('crash inside a copy', async () => {
    await server.evaluate('(error "frozen here")');
    const pid = await headPid();
    expectResult(await server.call('eval-in-frame', { code: '(sb-ext:exit :abort t)' }), {
      type: 'PROCESS-EXIT',
      lacks: '[Rollback]',
    });
    expectResult(
      await server.call('eval-in-frame', {
        code: '(sb-sys:without-interrupts (loop))',
        timeout: 1,
      }),
      { type: 'EVALUATION-TIMEOUT', seconds: [1, 20] },
    );
    expectResult(await server.call('compile-form', { code: '#.(sb-ext:exit :abort t)' }), {
      ok: false,
    });
    expectResult(
      await server.call('compile-form', { code: '(macrolet ((m () (loop))) (m))', timeout: 1 }),
      { ok: false },
    );
    assert.equal(await headPid(), pid);
    expectResult(await server.call('inspect'), { has: 'Frame 0' });
    await expectStateKept(server);
  });
  test('processes started by a lost evaluation are killed', async () => {
    expectResult(
      await server.evaluate(
        `(sb-ext:run-program "/bin/sleep" '("4242") :wait nil) (sb-ext:exit :abort t)`,
      ),
      { type: 'PROCESS-EXIT' },
    );
    const sleepers = () =>
      server.processes().filter((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('4242');
        } catch {
          return false;
        }
      });
    assert.ok(await eventually(() => sleepers().length === 0), 'the child runs on');
    expectResult(
      await server.evaluate(
        `(sb-ext:run-program "/bin/sh" '("-c" "setsid sleep 4242 >/dev/null 2>&1 & true") :search t) (sb-ext:exit :abort t)`,
      ),
      { type: 'PROCESS-EXIT' },
    );
    assert.ok(
      await eventually(() => sleepers().length === 0),
      'a child in a session of its own runs on',
    );
  });
  test('processes started by a successful one live until reset', async () => {
    await server.value(`(sb-ext:run-program "/bin/sleep" '("4243") :wait nil) 1`);
    const sleepers = () =>
      server.processes().filter((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('4243');
        } catch {
          return false;
        }
      });
    assert.equal(sleepers().length, 1);
    await server.call('reset-session');
    assert.ok(await eventually(() => sleepers().length === 0), 'the child runs on after reset');
  });
});

describe('finalizers', () => {
  const server = useServer();
  test('run in or between calls; their errors reach the next reply', async () => {
    let seen = await server.value(
      '(defun drop () (let ((object (list 1 2))) (sb-ext:finalize object (lambda () (error "in finalizer"))) nil)) (dotimes (i 20) (drop)) (make-list 10) (sb-ext:gc :full t) 1',
    );
    await eventually(async () => {
      seen += (await server.evaluate('(sb-ext:gc :full t) 1')).text;
      return /in finalizer/.test(seen);
    }, 3);
    assert.match(seen, /\[stderr\]\n.*in finalizer/s);
  });
  test('an endless one does not hold up the session', async () => {
    await server.value(
      '(defun drop2 () (let ((object (list 1 2))) (sb-ext:finalize object (lambda () (loop))) nil)) (dotimes (i 20) (drop2)) (make-list 10) 1',
    );
    for (let i = 0; i < 5; i++) {
      const result = await server.evaluate('(sb-ext:gc :full t) (list 1 2)');
      assert.ok(result.text.endsWith('=> (1 2)'), result.text);
      assert.ok(result.seconds < 5);
    }
  });
});
