// What a frozen error keeps, and what a try at it must not touch.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { expectResult, temporaryDirectory, useServer } from './support.mjs';

describe('variables', () => {
  const server = useServer();
  const inspect = (frame, more) => server.call('inspect', { frame, ...more });
  const inFrame = (frame, code) => server.call('eval-in-frame', { frame, code });

  test('of one name: the innermost is meant, the others are shown as shadowed', async () => {
    await server.evaluate(
      '(defun trim (s) (string-trim " " s)) (defun trimmed (s) (let* ((s (trim s)) (n (length s))) (list (/ n 0) s))) (trimmed " x ")',
    );
    expectResult(await inspect(1), { has: ['  S = "x"\n  S (shadowed) = " x "'] });
    expectResult(await inspect(1, { path: ['s'] }), { has: ['S = "x"'] });
    expectResult(await inFrame(1, '(list s n)'), '=> ("x" 1)');
    expectResult(await inFrame(1, '(progn (setf s "7") s)'), '=> "7"');
  });
  test('three deep', async () => {
    await server.evaluate(
      '(defun fail-with (x) (error "f ~a" x)) ' +
        '(defun thrice (x) (let ((x (1+ x))) (let ((x (* x 10))) (list (fail-with x) x)))) (thrice 1)',
    );
    expectResult(await inspect(2), { has: ['  X = 20\n  X (shadowed) = 2\n  X (shadowed) = 1'] });
    expectResult(await inFrame(2, 'x'), '=> 20');
  });
  test('&rest parameters that SBCL keeps on the stack are lists', async () => {
    await server.evaluate(
      "(defun gather (a &rest r) (let ((n (length r))) (apply #'+ a n r))) (gather 1 2 :x 4)",
    );
    const { text } = await inspect(1);
    assert.match(text, /Locals:\n {2}A = 1\n {2}N = 3\n {2}R = \(2 :X 4\)$/);
    expectResult(await inFrame(1, '(rest r)'), '=> (:X 4)');
  });
  test('one that is not alive any more', async () => {
    await server.evaluate(
      '(defun spent (n) (declare (optimize (debug 2))) (let ((m (* n 2))) (print m) (error "x"))) (spent 3)',
    );
    expectResult(await inspect(1), { has: ['Locals:\n  N = 3\nUnavailable: M'] });
    expectResult(await inFrame(1, 'm'), {
      ok: false,
      has: ['The variable M is not available in frame 1.'],
      lacks: ['WARNING'],
    });
  });
  test('parts by path', async () => {
    await server.evaluate(
      '(defclass half () ((full :initform 1) (empty))) (let ((al \'((:a . 1) 2)) (h (make-instance \'half))) (error "x ~a ~a" al h))',
    );
    expectResult(await inspect(1, { path: ['al', 0] }), { has: ['Parts:\n  0 = :A\n  CDR = 1'] });
    expectResult(await inspect(1, { path: ['al', 0, 'cdr'] }), { has: ['AL.0.CDR = 1'] });
    for (const [steps, message] of [
      [[0, 1], 'There is no part 1 in (:A . 1).'],
      [[-1], 'There is no part -1 in ((:A . 1) 2).'],
      [[null], 'A step of a path is an integer or a string.'],
      [[1.5], 'A step of a path is an integer or a string.'],
    ]) {
      expectResult(await inspect(1, { path: ['al', ...steps] }), {
        ok: false,
        has: ['[ERROR] NO-SUCH-PATH', message],
      });
    }
    expectResult(await inspect(1, { path: ['h', 'empty'] }), {
      ok: false,
      has: ['The slot EMPTY is unbound in '],
    });
  });
  test('of a stack whose middle was not captured', async () => {
    await server.evaluate(
      '(defun deep (n) (if (zerop n) (error "z") (1+ (deep (1- n))))) (deep 5000)',
    );
    expectResult(
      await server.call('get-backtrace', { 'max-frames': 2, offset: 4801, locals: true }),
      { has: ['4803: (DEEP 4802)\n    N = 4802\n4804: (DEEP 4803)\n    N = 4803\n'] },
    );
    expectResult(await inspect(900), {
      ok: false,
      has: ['Frame 900 was not captured; of the 5003 frames of error '],
    });
    expectResult(await server.call('get-backtrace', { 'max-frames': 3, raw: true }), {
      match: /^Raw backtrace \(3 of 50\d\d frames\):/,
    });
  });
});

describe('tries', () => {
  const server = useServer();
  const invoke = (restart, more) => server.call('invoke-restart', { restart, ...more });

  test('that fail do not use up the error they began at', async () => {
    const { structured } = await server.evaluate('(error "orig")');
    for (let i = 0; i < 8; i++)
      expectResult(await invoke('retry', { error: structured.error.id }), {
        ok: false,
        has: ['is frozen; restarts:', '[Discarded]'],
      });
    expectResult(await server.call('inspect', { error: structured.error.id }), {
      has: ['Frame 0: (ERROR "orig")'],
    });
  });
  test('values are one form each', async () => {
    await server.evaluate('(cerror "go on" "stop")');
    for (const values of [[''], ['1 2']]) {
      expectResult(await invoke('continue', { values }), {
        ok: false,
        has: ['Each of the values must be one Lisp form: '],
      });
    }
  });
  test('that unwind leave files alone', async () => {
    const file = path.join(temporaryDirectory(), 'written.txt');
    const write = `(with-open-file (s ${JSON.stringify(file)} :direction :output :if-exists :supersede) (write-line "x" s) (report-to s))`;
    await server.evaluate('(defun report-to (s) (error "mid ~a" s))');
    const { structured } = await server.evaluate(write);
    assert.ok(
      !existsSync(file),
      'the session itself has unwound, and the half-written file is gone',
    );
    expectResult(await invoke('retry', { code: '(defun report-to (s) (write-line "fixed" s))' }), {
      has: ['=> "fixed"', '[Discarded]'],
    });
    await server.evaluate('(defun report-to (s) (write-line "good" s))');
    await server.evaluate(write);
    expectResult(await invoke('abort', { error: structured.error.id }), {
      has: ['; Aborted', '[Discarded]'],
    });
    assert.equal(readFileSync(file, 'utf8'), 'x\ngood\n');
  });
  test('that go on leave the renamed original alone', async () => {
    const file = path.join(temporaryDirectory(), 'renamed.txt');
    writeFileSync(file, 'OLD');
    await server.evaluate(
      `(with-open-file (s ${JSON.stringify(file)} :direction :output :if-exists :rename-and-delete) ` +
        '(restart-case (error "e") (go-on () :ok)))',
    );
    expectResult(await invoke('go-on'), { has: ['=> :OK', '[Discarded]'] });
    assert.equal(readFileSync(file, 'utf8'), 'OLD');
  });
  test('once adopted, the process closes files as any other', async () => {
    const file = path.join(temporaryDirectory(), 'aborted.txt');
    await server.evaluate(
      `(defvar *kept* (open ${JSON.stringify(file)} :direction :output)) (cerror "go on" "stop")`,
    );
    expectResult(await invoke('continue', { adopt: true }), { has: ['[Adopted]'] });
    assert.ok(existsSync(file));
    await server.evaluate('(close *kept* :abort t)');
    assert.ok(!existsSync(file));
  });
  test('adopted ones name the threads that are gone, and so does a reset', async () => {
    const start = (name) =>
      server.evaluate(
        `(sb-thread:make-thread (lambda () (loop (sleep 0.05))) :name "${name}") (cerror "go on" "stop")`,
      );
    await start('ticker');
    const adopted = await invoke('continue', { adopt: true });
    expectResult(adopted, { match: /\[Adopted\]\n.*\nLost threads: ticker$/ });
    assert.deepEqual(adopted.structured.lost_threads, ['ticker']);
    await start('second');
    expectResult(await server.call('reset-session'), { has: ['\nLost threads: second\n'] });
  });
  test('that end cannot be adopted, and say so', async () => {
    await server.evaluate('(progn (cerror "go on" "stop") (sb-ext:exit :code 4 :abort t))');
    expectResult(await invoke('continue', { adopt: true }), {
      ok: false,
      has: ['[Discarded]\nThe session is unchanged; the process of this try has ended.'],
    });
  });
});

describe('cleanup forms', () => {
  const server = useServer();

  test('that fail are told beside the failure', async () => {
    expectResult(
      await server.evaluate(
        '(unwind-protect (error "first") (print :a) (error "in cleanup") (print :never))',
      ),
      {
        ok: false,
        has: [
          '[Notice]\nWhile the evaluation was cleaning up, SIMPLE-ERROR was signalled: in cleanup; ',
          '[ERROR] SIMPLE-ERROR\nfirst',
        ],
      },
    );
  });
  test('that do not end either', async () => {
    expectResult(
      await server.call('evaluate-lisp', {
        code: '(unwind-protect (error "root cause") (loop))',
        timeout: 1,
      }),
      {
        ok: false,
        has: [
          'the timeout of 1 second was exceeded',
          '[ERROR] SIMPLE-ERROR\nroot cause',
          'is frozen',
        ],
      },
    );
    expectResult(await server.call('describe-last-error'), { has: ['root cause', 'frozen'] });
  });
  test('nor those that cannot be interrupted', async () => {
    expectResult(
      await server.call('evaluate-lisp', {
        code: '(unwind-protect (error "root cause") (sb-sys:without-interrupts (loop)))',
        timeout: 1,
      }),
      {
        ok: false,
        has: ['[ERROR] EVALUATION-TIMEOUT', 'It was cleaning up after SIMPLE-ERROR: root cause'],
      },
    );
  });
  test('exit in another thread keeps its code', async () => {
    expectResult(
      await server.evaluate('(sb-thread:make-thread (lambda () (sb-ext:exit :code 6))) (sleep 5)'),
      { ok: false, has: ['The code ended its process with exit code 6.'] },
    );
  });
});

describe('what is said about a failure', () => {
  const server = useServer();

  test('forms before it did not take effect when all was rolled back', async () => {
    expectResult(
      await server.evaluate('(defvar *lost* 1) (setf (sb-sys:sap-ref-8 (sb-sys:int-sap 0) 0) 1)'),
      { ok: false, has: ['(in form 2, line 1, column 19)', '[Rollback]'], lacks: ['took effect'] },
    );
  });
  test('while something prints in circles', async () => {
    await server.evaluate(
      '(defclass shy () ()) (defmethod print-object ((o shy) s) (error "in print ~a" "abc"))',
    );
    expectResult(
      await server.evaluate(
        '(let ((*print-circle* t)) (prin1 (list "x" (make-instance \'shy) "yy")))',
      ),
      { ok: false, has: ['0: (ERROR "in print ~a" "abc")\n'] },
    );
  });
  test('lines of the code that look like those of the runtime stay', async () => {
    const lines = [
      'Exiting.',
      "Error: can't open data.csv",
      'fatal error: disk full',
      'Memory fault at my desk:',
      'next',
      'Gen  Boxed',
      '1 2 3 4 5 6 7 8',
    ];
    expectResult(await server.evaluate(`(format *error-output* "${lines.join('~%')}~%")`), {
      has: [`[stderr]\n${lines.join('\n')}\n`],
    });
  });
  test('a file that a file loads is its own source, and what compile-time code loads is not the text', async () => {
    const folder = temporaryDirectory();
    const [inner, outer, broken] = ['inner', 'outer', 'broken'].map((name) =>
      path.join(folder, `${name}.lisp`),
    );
    writeFileSync(inner, '(defun nine () 9)\n');
    writeFileSync(outer, `(load ${JSON.stringify(inner)})\n`);
    writeFileSync(
      broken,
      '(defvar *a* 1)\n(defvar *b* 2)\n(defun calls () (not-defined-anywhere 1))\n',
    );
    await server.call('load-file', { path: outer });
    expectResult(await server.call('describe-symbol', { name: 'nine' }), {
      has: [`Source: ${inner}:1`],
    });
    expectResult(await server.evaluate(`(load ${JSON.stringify(inner)})`), '=> T');
    expectResult(
      await server.call('compile-form', {
        code: `(eval-when (:compile-toplevel) (load ${JSON.stringify(broken)}))`,
      }),
      { has: ['undefined function: COMMON-LISP-USER::NOT-DEFINED-ANYWHERE'], lacks: ['in form'] },
    );
  });
});

describe('a session with much data', () => {
  const server = useServer();

  test('keeps its newest error frozen', async () => {
    for (let i = 0; i < 7; i++)
      await server.evaluate('(defparameter *big* (make-array 12000000 :initial-element 0)) 1');
    for (let i = 1; i <= 2; i++) {
      await server.evaluate('(defun fail-with (x) (error "oops ~a" x)) (fail-with 3)');
      expectResult(await server.call('inspect', { frame: 1 }), { has: ['X = 3'] });
    }
  });
});
