// Debugging as SBCL's own debugger allows it: restarts of frames, errors of threads, folded frames.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventually, expectResult, sleep, useServer } from './support.mjs';

describe('restarts of frames', () => {
  const server = useServer();
  const restart = (parameters) => server.call('invoke-restart', parameters);
  const discarded = '\n\n[Discarded]\nThe session is unchanged; "adopt": true keeps the result.';

  test('a frame says whether it has them', async () => {
    await server.value(
      `(defun a (x) (list (b x))) (defun b (y) (* 2 (c y))) (defun c (z &key (k 1)) (/ z (- k k)))`,
    );
    expectResult(await server.evaluate('(a 5)'), {
      frames: ['(/ 5 0)', '(C 5 :K 1)', '(B 5)', '(A 5)', '(EVAL (A 5))'],
    });
    const frames = [false, true, true, true];
    for (let frame = 0; frame < frames.length; frame++) {
      const { structured } = await server.call('inspect', { frame });
      assert.equal(structured.restartable === true, frames[frame]);
    }
  });

  test('its variables are all there, those that macros have made apart', async () => {
    await server.evaluate(
      `(defun rows (list &key (by 2))
         (let ((sum 0))
           (dolist (each list sum)
             (let* ((twice (* by each)) (once twice))
               (incf sum (/ once (- each each)))))))
       (rows '(5 6))`,
      { session: 'variables' },
    );
    const { structured } = await server.call('inspect', { frame: 1, session: 'variables' });
    const named = structured.locals.filter(({ name }) => !/\d/.test(name));
    assert.deepEqual(
      Object.fromEntries(named.map(({ name, value }) => [name, value])),
      { LIST: '(5 6)', BY: '2', SUM: '0', EACH: '5', TWICE: '10', ONCE: '10' },
      JSON.stringify(structured.locals),
    );
  });

  const rows = [
    ['values: the frame returns them', { frame: 1, values: ['21'] }, '=> (42)'],
    ['of several values, those its caller wants', { frame: 2, values: ['1', '2'] }, '=> (1)'],
    ['no value at all', { frame: 2, values: [] }, '=> (NIL)'],
    ['by name', { frame: 2, restart: 'return-from-frame', values: ['(list 1)'] }, '=> ((1))'],
    [
      'no values: its function is called again, as it is now',
      { frame: 1, code: '(defun c (z &key k) (+ z k))' },
      '=> (12)',
    ],
    [
      'a caller further out',
      { frame: 3, restart: 'RESTART-FRAME', code: '(defun b (y) (list :corrected y))' },
      '=> ((:CORRECTED 5))',
    ],
    [
      'with other arguments',
      { frame: 2, restart: 'restart-frame', values: ['7'], code: '(defun c (z) z)' },
      '=> (14)',
    ],
  ];
  for (const [name, parameters, text] of rows)
    test(name, async () =>
      expectResult(await restart({ ...parameters, error: 1 }), text + discarded),
    );

  test('what lies between is unwound, in order, with its bindings', async () => {
    await server.value(
      `(defvar *depth* 0)
       (defun inner () (unwind-protect (error "inside") (print (list :left *depth*))))
       (defun outer (*depth*) (inner))`,
    );
    await server.evaluate('(list (outer 5) *depth*)');
    expectResult(await restart({ frame: 2, values: ['*depth*'] }), {
      has: ['(:LEFT 5)', '=> (5 0)'],
    });
  });

  test('a next error is an error of the try', async () => {
    await server.evaluate('(a 5)');
    const { text, structured } = await restart({ frame: 1, values: ['"no number"'] });
    assert.match(text, /^\[ERROR\] TYPE-ERROR/);
    assert.deepEqual(
      structured.error.frames.map((frame) => frame.function),
      ['*', 'B', 'A', 'EVAL'],
    );
  });

  test('adopt makes the outcome the session', async () => {
    await server.evaluate('(defvar *result*) (setf *result* (a 6))');
    const result = await restart({ frame: 1, code: '(defun c (z) z)', values: ['1'], adopt: true });
    expectResult(result, { has: ['=> (2)', '[Adopted]'] });
    assert.equal(await server.value('(list *result* (c 3))'), '=> ((2) 3)');
  });

  test('what cannot be done is said', async () => {
    await server.evaluate('(mapcar (lambda (x) (car x)) (list 1))');
    const refusals = [
      [{}, 'invalid-argument', 'Give restart, or frame, or both.'],
      [{ frame: -1 }, 'invalid-argument', 'Value must be non-negative: frame = -1'],
      [{ frame: 9 }, 'no-such-frame', 'Frame 9 does not exist; error 6 has '],
      [
        { frame: 0, restart: 'use-value' },
        'no-such-restart',
        'A frame has no restart use-value; it has RESTART-FRAME and RETURN-FROM-FRAME. Other restarts are invoked without `frame`.',
      ],
    ];
    for (const [parameters, code, message] of refusals)
      expectResult(await restart(parameters), { code, message });
    await server.evaluate(
      '(defun fast (x) (declare (optimize speed (debug 0))) (the fixnum (1+ (the fixnum x)))) (fast 1.5)',
    );
    expectResult(await restart({ frame: 0 }), {
      type: 'NO-SUCH-RESTART',
      match:
        /^Frame 0, FAST, cannot be restarted or returned from: [\s\S]*Frames that can: none\.$/m,
    });
  });
});

describe('errors of threads are frozen', () => {
  const server = useServer();

  // On a machine without time to spare the channel or the clone may come too late: try again.
  const untilFrozen = (fail) =>
    eventually(async () => {
      await fail();
      return (await server.call('describe-last-error')).text.includes(', frozen');
    }, 60);

  test('of one that the call waits for', async () => {
    await server.value(
      '(defun in-thread (x) (let ((y (* 2 x))) (list (car y) x))) (format t "printed before")',
    );
    await untilFrozen(() =>
      server.value(
        `(format t "not flushed")
         (sb-thread:join-thread (sb-thread:make-thread (lambda () (in-thread 21)) :name "worker") :default 1)`,
      ),
    );
    expectResult(await server.call('describe-last-error'), {
      has: ['thread "worker"', 'frozen', '0: (IN-THREAD 21)'],
    });
    const { text } = await server.call('inspect', { frame: 0 });
    assert.match(text, /^Frame 0: \(IN-THREAD 21\)\n[\s\S]*\n {2}X = 21\n {2}Y = 42/);
    const inFrame = (code) => server.call('eval-in-frame', { frame: 0, code });
    expectResult(await inFrame('(list x y)'), '=> (21 42)');
    expectResult(await inFrame('(sb-ext:gc :full t) (length (make-list 100000))'), '=> 100000');
    expectResult(await inFrame('(error "again")'), { type: 'SIMPLE-ERROR', message: 'again' });
    expectResult(
      await inFrame('(sb-thread:thread-name sb-thread:*current-thread*)'),
      '=> "worker"',
    );
  });

  test('a thread does not go on', async () => {
    expectResult(await server.call('invoke-restart', { frame: 0, values: ['1'] }), {
      code: 'no-such-restart',
      message: 'A thread that has ended by an error cannot go on.',
    });
    expectResult(await server.call('invoke-restart', { restart: 'ABORT', adopt: true }), {
      code: 'not-adoptable',
      message: 'Error ',
    });
  });

  test('a call without one is a success again', async () => {
    await server.value('1');
    expectResult(await server.call('describe-last-error'), { has: 'No error information' });
  });

  test('of one that fails between calls', async () => {
    await untilFrozen(async () => {
      await server.value(
        '(sb-thread:make-thread (lambda () (sleep 0.1) (in-thread 4)) :name "late") 1',
      );
      let seen = '';
      await eventually(async () => {
        seen = await server.value('2');
        return seen.includes('(error ');
      }, 20);
      assert.match(seen, /; thread "late" ended by/);
    });
    expectResult(await server.call('inspect', { frame: 0 }), { has: ['(IN-THREAD 4)', 'Y = 8'] });
  });

  test('of one that fails between calls, while another runs on', async () => {
    await server.value(
      '(defvar *other* (sb-thread:make-thread (lambda () (sleep 600)) :name "other"))',
    );
    await untilFrozen(async () => {
      await server.value(
        '(sb-thread:make-thread (lambda () (sleep 0.1) (in-thread 5)) :name "second") 1',
      );
      await sleep(400);
      await eventually(async () => (await server.value('2')).includes('(error '), 20);
    });
    expectResult(await server.call('inspect', { frame: 0 }), { has: ['(IN-THREAD 5)', 'Y = 10'] });
    await server.value('(sb-thread:terminate-thread *other*)');
  });

  test('the session goes on after it', async () => {
    await server.value('(defvar *kept* 7)');
    expectResult(await server.evaluate('(exit)'), { ok: false, has: '[Rollback]' });
    assert.equal(await server.value('*kept*'), '=> 7');
  });
});
