// Session tools: state over calls, definitions, reset, rollback, limits, several sessions.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { eventually, expectResult, temporaryDirectory, titleOf, useServer } from './support.mjs';

// Rows: [code, expected, parameters] for evaluate-lisp, or { call: [tool, parameters], expected }.
function table(name, rows, options) {
  describe(name, () => {
    const server = useServer(options);
    for (const row of rows) {
      const [tool, parameters, expected] = Array.isArray(row)
        ? ['evaluate-lisp', { code: row[0], ...row[2] }, row[1]]
        : [...row.call, row.expected];
      test(
        titleOf(
          tool === 'evaluate-lisp'
            ? parameters.code
            : `${tool} ${JSON.stringify(parameters ?? {})}`,
        ),
        async () => expectResult(await server.call(tool, parameters), expected),
      );
    }
  });
}

const definitions = (expected, parameters = {}) => ({
  call: ['list-definitions', parameters],
  expected,
});
const base = '[Functions]\n- MY-FN ()\n\n[Variables]\n- *MY-VAR* = 100';

table('session reset', [
  ['(defun my-fn () 42) (defvar *my-var* 100)', '=> *MY-VAR*'],
  definitions(base),
  [
    `(defmacro my-when (c &body b) \`(if ,c (progn ,@b))) (defclass my-point () ()) (defpackage :my-test-pkg (:use :cl)) :ok`,
    '=> :OK',
  ],
  definitions(
    `${base}\n\n[Macros]\n- MY-WHEN (C &BODY B)\n\n[Classes]\n- MY-POINT\n\n[Packages]\n- MY-TEST-PKG`,
  ),
  {
    call: ['reset-session', {}],
    expected: {
      match:
        /^Session reset\. All definitions cleared\.\nCurrent package: CL-USER\nUndo: rollback-session \{"to": \d+\}$/,
    },
  },
  definitions('No user definitions.'),
  ['(my-fn)', { type: 'UNDEFINED-FUNCTION' }],
  ['*my-var*', { type: 'UNBOUND-VARIABLE' }],
  ['(my-when t 42)', { type: 'UNDEFINED-FUNCTION' }],
  [`(make-instance 'my-point)`, { type: 'SB-PCL:CLASS-NOT-FOUND-ERROR' }],
  ['(find-package :my-test-pkg)', '=> NIL'],
  ['(package-name *package*)', '=> "COMMON-LISP-USER"'],
  ['(defun new-fn (x) (* x 3))', '=> NEW-FN'],
  ['(new-fn 7)', '=> 21'],
]);

table('processes of a session', [
  // `killall sbcl` is meant for others.
  ['(with-open-file (name "/proc/self/comm") (read-line name))', { has: '=> "cadre-lisp"' }],
]);

// After each snapshot the session goes through the motions of a call; its health is checked after each call.
table('what runs between calls is not seen', [
  ['(+ 1 2)', '=> 3'],
  ['*gensym-counter*', { match: /^=> \d+$/ }],
  ['(list ** + (eql * *gensym-counter*))', '=> (3 *GENSYM-COUNTER* T)'],
  ['(trace format read-from-string +)', { has: '=> (' }],
  ['(values)', '; No values'],
  ['(untrace)', '=> T'],
  // The health check reads one list with the session's readtable, so the count grows by one.
  [
    `(progn (defvar *seen* 0) (set-macro-character #\\( (let ((old (get-macro-character #\\())) (lambda (s c) (incf *seen*) (funcall old s c)))))`,
    '=> T',
  ],
  ['*seen*', '=> 1'],
  ['*seen*', '=> 2'],
]);

describe('reset', () => {
  const server = useServer();
  test('ten times define and reset', async () => {
    for (let i = 0; i < 10; i++) {
      assert.equal(await server.value(`(defun f () ${i}) (f)`), `=> ${i}`);
      await server.call('reset-session');
      expectResult(await server.evaluate('(f)'), { type: 'UNDEFINED-FUNCTION' });
    }
  });
  test('twice gives the same text but for the snapshot', async () => {
    await server.call('reset-session');
    const texts = [];
    for (let i = 0; i < 2; i++)
      texts.push((await server.call('reset-session')).text.replace(/\d+/, 'N'));
    assert.equal(texts[0], texts[1]);
  });
  test('clears the error, the history and the frozen errors', async () => {
    await server.evaluate('(/ 1 0)');
    await server.call('reset-session');
    expectResult(await server.call('describe-last-error'), {
      has: 'No error information available.',
    });
    expectResult(await server.call('list-errors'), 'No errors recorded.');
    expectResult(await server.call('inspect'), { ok: false, code: 'no-error' });
  });
  test('keeps the limits, restores the package', async () => {
    await server.call('configure-limits', { timeout: 7 });
    await server.value('(defpackage :p (:use :cl)) (in-package :p) 1');
    await server.call('reset-session');
    expectResult(await server.call('configure-limits'), { has: 'timeout: 7 seconds' });
    assert.equal(await server.value('(package-name *package*)'), '=> "COMMON-LISP-USER"');
  });
  test('can be undone', async () => {
    await server.value('(defun precious () :here)');
    const { text, structured } = await server.call('reset-session');
    const to = Number(/"to": (\d+)/.exec(text)[1]);
    assert.equal(structured.undo, to);
    expectResult(await server.call('rollback-session', { to }), {
      has: `Rolled back to snapshot ${to}.`,
    });
    assert.equal(await server.value('(precious)'), '=> :HERE');
  });
  test('a loaded system is still usable afterwards', async () => {
    expectResult(await server.call('load-system', { system: 'sb-md5' }), { has: 'Loaded: sb-md5' });
    const code = '(length (sb-md5:md5sum-string "x"))';
    assert.equal(await server.value(code), '=> 16');
    await server.call('reset-session');
    assert.equal(await server.value(code), '=> 16');
  });
  describe('systems in a place that only the session knew', () => {
    const folder = temporaryDirectory();
    const registry = `(push #P${JSON.stringify(`${folder}/`)} asdf:*central-registry*)`;
    test('are found again, those they depend on included', async () => {
      writeFileSync(
        path.join(folder, 'passing.asd'),
        '(defsystem "passing" :depends-on ("near") :components ((:file "passing")))',
      );
      writeFileSync(path.join(folder, 'near.asd'), '(defsystem "near" :components ())');
      writeFileSync(
        path.join(folder, 'passing.lisp'),
        '(defpackage :passing (:use :cl)) (in-package :passing) (defun f () 5)',
      );
      await server.value(`(require :asdf) ${registry} 1`);
      expectResult(await server.call('load-system', { system: 'passing' }), {
        has: 'Loaded: passing',
      });
      expectResult(await server.call('reset-session'), {
        lacks: 'could not be loaded',
        has: 'Systems loaded again: sb-md5, passing.',
      });
      assert.equal(await server.value('(passing::f)'), '=> 5');
      expectResult(await server.call('reset-session'), { lacks: 'could not be loaded' });
      assert.equal(await server.value('(passing::f)'), '=> 5');
    });
    test('one that cannot be found again is named', async () => {
      rmSync(path.join(folder, 'passing.asd'));
      expectResult(await server.call('reset-session'), {
        has: 'the system "passing" could not be loaded again: ',
      });
    });
  });
});

describe('a system in the working directory', () => {
  const cwd = temporaryDirectory();
  writeFileSync(
    path.join(cwd, 'here.asd'),
    '(defsystem "here" :components ()) (defsystem "here/tests" :depends-on ("here"))',
  );
  const server = useServer({ cwd });
  test('is found', async () => {
    expectResult(
      await server.call('load-system', { system: 'here/tests' }),
      /^Loaded: here\/tests\nFrom the workspace: here, here\/tests$/,
    );
  });
});

table('state persistence', [
  ['(defun greet (name) (format nil "Hello, ~a!" name))', '=> GREET'],
  ['(greet "World")', '=> "Hello, World!"'],
  [`(defvar *items* '())`, '=> *ITEMS*'],
  [`(push 'apple *items*)`, '=> (APPLE)'],
  [`(push 'banana *items*)`, '=> (BANANA APPLE)'],
  ['*items*', '=> (BANANA APPLE)'],
  ['(let ((x1 42)) x1)', '=> 42'],
  ['x1', { type: 'UNBOUND-VARIABLE' }],
  ['(in-package :nope)', { type: 'PACKAGE-DOES-NOT-EXIST' }],
  ['(package-name *package*)', '=> "COMMON-LISP-USER"'],
  ['(defpackage :my-pkg (:use :cl)) (in-package :my-pkg)', { has: 'MY-PKG' }],
  ['(defun internal-fn () :secret)', '=> INTERNAL-FN'],
  ['(package-name *package*)', '=> "MY-PKG"'],
  ['(in-package :cl-user)', { has: 'COMMON-LISP-USER' }],
  [
    `(defpackage :math-utils (:use :cl) (:export #:add-all)) (in-package :math-utils)
    (defun add-all (&rest numbers) (reduce #'+ numbers)) (in-package :cl-user) (math-utils:add-all 10 20 30)`,
    '=> 60',
  ],
  ['(package-name *package*)', '=> "MATH-UTILS"', { package: 'math-utils' }],
  ['(package-name *package*)', '=> "COMMON-LISP-USER"'],
  ['(setf *random-state* (sb-ext:seed-random-state 1)) (defvar *a* (random 1000)) 1', '=> 1'],
  ['(setf *random-state* (sb-ext:seed-random-state 1)) (= *a* (random 1000))', '=> T'],
]);

describe('a hundred calls', () => {
  const server = useServer();
  test('(incf *n*) a hundred times', async () => {
    await server.value('(defvar *n* 0)');
    for (let i = 1; i <= 100; i++) assert.equal(await server.value('(incf *n*)'), `=> ${i}`);
  });
});

table('list-definitions', [
  definitions('No user definitions.'),
  [
    `(defun b-fn (a &key (b 1)) (list a b)) (defun a-fn () 1) (defparameter *v* '(1 2)) (defconstant +k+ 5)
    (defmacro m (x) x) (defclass c () ()) (defstruct s a) (define-condition cond-1 (error) ()) (setf undeclared 3) :ok`,
    '=> :OK',
  ],
  definitions(
    { has: ['- A-FN ()\n', '- B-FN (A &KEY (B 1))', '- MAKE-S', '- S-A'] },
    { type: 'functions' },
  ),
  definitions('[Variables]\n- *V* = (1 2)\n- +K+ = 5\n- UNDECLARED = 3', { type: 'variables' }),
  definitions('[Macros]\n- M (X)', { type: 'macros' }),
  definitions('[Classes]\n- C\n- COND-1\n- S', { type: 'classes' }),
  [`(fmakunbound 'a-fn) (makunbound '*v*) (unintern 'undeclared) 1`, '=> 1'],
  definitions({ lacks: ['A-FN', '*V*', 'UNDECLARED'], has: 'B-FN' }),
  ['(defpackage :own (:use :cl)) (defun own::inner (x) x) 1', '=> 1'],
  definitions({ has: '- INNER (X)', lacks: 'B-FN' }, { package: 'own' }),
  definitions({ has: ['[Packages]\n- OWN', '- B-FN (A', '- OWN::INNER (X)'], lacks: 'Page' }),
  { call: ['rollback-session', { steps: 1 }], expected: { has: 'Rolled back' } },
  definitions({ lacks: '[Packages]' }),
  ['(defvar *big* (make-list 1000 :initial-element 7)) 1', '=> 1'],
  definitions({ match: /- \*BIG\* = \(7 7 7 7 7 7 7 7 7 7 \.\.\.\)/ }, { type: 'variables' }),
  [
    '(defclass nasty () ()) (defmethod print-object ((o nasty) s) (error "no")) (defvar *nasty* (make-instance \'nasty)) 1',
    '=> 1',
  ],
  definitions({ match: /- \*NASTY\* = #<unprintable NASTY/ }, { type: 'variables' }),
]);

describe('rollback-session', () => {
  const server = useServer();
  const numbers = async () =>
    (await server.call('session-info')).structured.snapshots.map((snapshot) => snapshot.number);
  test('steps, to, forward again', async () => {
    await server.value('(defvar *x* 1)');
    await server.value('(setf *x* 2)');
    const { structured: third } = await server.evaluate('(setf *x* 3)');
    const last = third.evaluation;
    const back = await server.call('rollback-session');
    expectResult(back, {
      is: `Rolled back to snapshot ${last - 1}.\nUndone: evaluation ${last}.\nCurrent package: CL-USER`,
    });
    assert.deepEqual([back.structured.snapshot, back.structured.undone], [last - 1, [last]]);
    assert.equal(await server.value('*x*'), '=> 2');
    expectResult(await server.call('rollback-session', { to: last }), {
      has: `Rolled back to snapshot ${last}.`,
    });
    assert.equal(await server.value('*x*'), '=> 3');
    expectResult(await server.call('rollback-session', { to: last - 2 }), {
      has: `Rolled back to snapshot ${last - 2}.`,
    });
    assert.equal(await server.value('*x*'), '=> 1');
  });
  test('steps count along the lineage of the current state', async () => {
    await server.value('(setf *x* 10)');
    await server.value('(setf *x* 11)');
    expectResult(await server.call('rollback-session', { steps: 2 }), {
      has: 'Undone: evaluations ',
    });
    assert.equal(await server.value('*x*'), '=> 1');
  });
  test('twice to the same snapshot', async () => {
    const {
      text: before,
      structured: { evaluation: target },
    } = await server.evaluate('*x*');
    for (let i = 0; i < 2; i++) {
      await server.value('(setf *x* 99)');
      await server.call('rollback-session', { to: target });
      assert.equal(await server.value('*x*'), before);
    }
  });
  test('unknown snapshot', async () => {
    expectResult(await server.call('rollback-session', { to: 4711 }), { code: 'no-such-snapshot' });
    expectResult(await server.call('rollback-session', { steps: 1000 }), {
      code: 'no-such-snapshot',
    });
  });
  test('clears the last error, keeps the history', async () => {
    await server.evaluate('(/ 1 0)');
    await server.call('rollback-session');
    expectResult(await server.call('describe-last-error'), {
      has: 'No error information available.',
    });
    expectResult(await server.call('list-errors'), { has: 'DIVISION-BY-ZERO' });
  });
  test('names lost threads', async () => {
    await server.value('(sb-thread:make-thread (lambda () (loop (sleep 0.05))) :name "ticker") 1');
    expectResult(await server.call('rollback-session'), { has: 'Lost threads: ticker' });
  });
  test('old snapshots are evicted by count', async () => {
    await server.call('configure-limits', { snapshots: 4 });
    for (let i = 0; i < 8; i++) await server.value(`(setf *x* ${i})`);
    const idle = async () => (await server.call('session-info')).structured.state === 'idle';
    assert.ok(
      await eventually(async () => (await idle()) && (await numbers()).length <= 5),
      JSON.stringify(await numbers()),
    );
    const known = await numbers();
    expectResult(await server.call('rollback-session', { to: known[0] }), { has: 'Rolled back' });
    expectResult(await server.call('rollback-session', { to: 1 }), { code: 'no-such-snapshot' });
  });
});

describe('configure-limits', () => {
  const server = useServer();
  const defaults =
    'Current limits:\n  timeout: 30 seconds\n  max-output: 20000 characters\n  max-memory: 1024 MB\n' +
    '  max-frames: 20\n  snapshots: 16';
  test('query', async () => {
    const result = await server.call('configure-limits');
    expectResult(result, defaults);
    assert.deepEqual(result.structured.limits, {
      timeout: 30,
      'max-output': 20000,
      'max-memory': 1024,
      'max-frames': 20,
      snapshots: 16,
    });
  });
  const bad = [
    [{ timeout: -5 }, '[ERROR] INVALID-ARGUMENT\nValue must be non-negative: timeout = -5'],
    [
      { 'max-memory': 3 },
      '[ERROR] INVALID-ARGUMENT\nValue must be between 64 and 1152: max-memory = 3',
    ],
    [
      { 'max-memory': 100000 },
      '[ERROR] INVALID-ARGUMENT\nValue must be between 64 and 1152: max-memory = 100000',
    ],
    [
      { timeout: 86401 },
      '[ERROR] INVALID-ARGUMENT\nValue must be between 0 and 86400: timeout = 86401',
    ],
    [
      { 'max-output': 0 },
      '[ERROR] INVALID-ARGUMENT\nValue must be between 1 and 4000000: max-output = 0',
    ],
    [
      { 'max-frames': 1001 },
      '[ERROR] INVALID-ARGUMENT\nValue must be between 1 and 1000: max-frames = 1001',
    ],
    [{ snapshots: 0 }, '[ERROR] INVALID-ARGUMENT\nValue must be between 1 and 256: snapshots = 0'],
    [
      { timeout: 5, snapshots: 300 },
      '[ERROR] INVALID-ARGUMENT\nValue must be between 1 and 256: snapshots = 300',
    ],
  ];
  for (const [parameters, text] of bad) {
    test(`refused: ${JSON.stringify(parameters)}`, async () => {
      expectResult(await server.call('configure-limits', parameters), {
        code: 'invalid-argument',
        has: text,
      });
      expectResult(await server.call('configure-limits'), defaults);
    });
  }
  test('change', async () => {
    expectResult(
      await server.call('configure-limits', {
        timeout: 0,
        'max-output': 500,
        'max-memory': 64,
        'max-frames': 3,
        snapshots: 2,
      }),
      'Current limits:\n  timeout: disabled seconds (WARNING: no timeout)\n  max-output: 500 characters\n  max-memory: 64 MB\n' +
        '  max-frames: 3\n  snapshots: 2',
    );
  });
  test('max-frames is in force', async () => {
    expectResult(
      await server.evaluate('(defun d (n) (if (zerop n) (error "x") (1+ (d (1- n))))) (d 10)'),
      {
        type: 'SIMPLE-ERROR',
        has: '\n2: (D 1)\n... 10 more frames (get-backtrace)',
        lacks: '\n3: ',
      },
    );
  });
  test('max-memory is in force', async () => {
    expectResult(
      await server.evaluate('(let ((l nil)) (loop (push (make-array 1000) l)))', { timeout: 20 }),
      {
        type: 'HEAP-LIMIT-EXCEEDED',
        code: 'heap-limit',
        message: 'The heap limit of 64 MB (max-memory) was exceeded; configure-limits raises it.',
      },
    );
    assert.equal(await server.value('(+ 1 1)'), '=> 2');
  });
  test('garbage does not count', async () => {
    assert.equal(
      await server.value(
        '(defvar *ring* (make-array 10)) (dotimes (i 3000) (setf (aref *ring* (mod i 10)) (make-array 12500))) :done',
        { timeout: 20 },
      ),
      '=> :DONE',
    );
  });
  test('limits are per session', async () => {
    await server.evaluate('1', { session: 'second' });
    expectResult(await server.call('configure-limits', { session: 'second' }), defaults);
  });
});

describe('several sessions', () => {
  const server = useServer();
  test('started on first use, with a notice', async () => {
    expectResult(
      await server.evaluate('(defvar *x* :work) *x*', { session: 'work' }),
      '[Notice]\nsession "work" was started\n\n=> :WORK',
    );
    assert.equal(await server.value('(defvar *x* :main) *x*'), '=> :MAIN');
    assert.equal(await server.value('*x*', { session: 'work' }), '=> :WORK');
  });
  test('other tools do not start one', async () => {
    expectResult(await server.call('describe-last-error', { session: 'x' }), {
      code: 'unknown-session',
      has: 'Unknown session "x". Known sessions: main, work',
    });
    expectResult(await server.call('list-definitions', { session: 'x' }), {
      code: 'unknown-session',
    });
    expectResult(await server.call('inspect', { session: 'x' }), { code: 'unknown-session' });
    expectResult(await server.call('rollback-session', { session: 'x' }), {
      code: 'unknown-session',
    });
    expectResult(await server.call('session-info', { session: 'x' }), { code: 'unknown-session' });
    assert.deepEqual((await server.call('session-info')).structured.sessions, ['main', 'work']);
    expectResult(await server.call('session-info', { session: 'Bad!' }), {
      code: 'invalid-argument',
    });
  });
  test('session-info', async () => {
    await server.evaluate('(defun square (x) (* x x))', { session: 'work' });
    await server.evaluate('(/ 1 0)', { session: 'work' });
    const current = async () =>
      (await server.call('session-info', { session: 'work' })).structured.snapshots.some(
        (snapshot) => snapshot.current,
      );
    assert.ok(await eventually(current), 'the snapshot taken after the reply');
    const { text, structured } = await server.call('session-info', { session: 'work' });
    assert.match(text, /Session: work\n/);
    assert.match(text, /Snapshots \(oldest first\):/);
    assert.match(text, /\n\* \d+ {2}after evaluation \d+ {2}\d\d:\d\d:\d\dZ {2}[\d.]+ MB {2}/);
    assert.match(text, /\n {2}\d+ {2}after evaluation 3 .*\(defun square \(x\)/);
    assert.match(text, /Frozen errors: 1/);
    assert.match(text, /Sessions: main, work/);
    assert.deepEqual(structured.frozen, [1]);
    assert.deepEqual(structured.sessions, ['main', 'work']);
    assert.equal(structured.snapshots.filter((snapshot) => snapshot.current).length, 1);
    assert.ok(
      structured.snapshots.every(
        (snapshot) => Number.isInteger(snapshot.number) && Number.isInteger(snapshot.evaluation),
      ),
    );
  });
  test('session-info has one line for each snapshot', async () => {
    await server.evaluate('(defun lines (x)\r\n\t(list x\n  x))', { session: 'work' });
    assert.ok(
      await eventually(async () =>
        /\n. \d+ {2}after evaluation \d+ {2}\S+ {2}\S+ MB {2}\(defun lines \(x\) {3}\(list x {3}x\)\)\n/.test(
          (await server.call('session-info', { session: 'work' })).text,
        ),
      ),
    );
  });
  test('session-info without a session mentions the others', async () => {
    expectResult(await server.call('session-info'), { has: ['Session: main', 'Session work: '] });
  });
  test('no fixed number', async () => {
    for (let i = 0; i < 8; i++)
      expectResult(await server.evaluate('1', { session: `extra-${i}` }), { has: '=> 1' });
  });
  test('close-session ends its processes and forgets everything', async () => {
    const before = server.processes().length;
    for (let i = 0; i < 8; i++)
      expectResult(await server.call('close-session', { session: `extra-${i}` }), {
        has: 'closed',
      });
    assert.ok(
      await eventually(() => server.processes().length < before),
      'processes of closed sessions',
    );
    expectResult(await server.call('session-info', { session: 'extra-0' }), {
      code: 'unknown-session',
    });
    assert.deepEqual((await server.call('session-info')).structured.sessions, ['main', 'work']);
  });
  test('main may be closed and starts afresh', async () => {
    await server.call('close-session');
    expectResult(await server.evaluate('*x*'), { type: 'UNBOUND-VARIABLE' });
    assert.equal(await server.value('*x*', { session: 'work' }), '=> :WORK');
  });
});
