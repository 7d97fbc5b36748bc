// Error intelligence and live debugging: the record of an error, its frozen process, and tries from it.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expectResult, frameCall, sleep, temporaryDirectory, useServer } from './support.mjs';

const NO_ERROR =
  'No error information available.\n(No error has occurred since the last successful evaluation)';

describe('the last error', () => {
  const server = useServer();
  const describeError = (parameters) => server.call('describe-last-error', parameters);

  test('none in a fresh session', async () => {
    await server.value('1');
    expectResult(await describeError(), NO_ERROR);
    expectResult(await server.call('get-backtrace'), NO_ERROR);
    expectResult(await server.call('list-errors'), 'No errors recorded.');
  });
  test('(/ 1 0) is described, twice the same', async () => {
    await server.evaluate('(/ 1 0)');
    const first = await describeError();
    assert.match(
      first.text,
      new RegExp(
        '^' +
          [
            'Error: DIVISION-BY-ZERO',
            '  arithmetic error DIVISION-BY-ZERO signalled',
            '  Operation was \\(/ 1 0\\)\\.',
            '  At: evaluation 2, form 1, line 1, column 1; \\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z; error 1, frozen',
            '',
            'Available Restarts:',
            '  1\\. RETRY - Evaluate form 1 again\\.',
            '  2\\. ABORT - Return to top level\\.',
            '',
            'Backtrace \\(top 2 frames\\):',
            '  0: \\(/ 1 0\\)',
            '  1: \\(EVAL \\(/ 1 0\\)\\)',
          ].join('\n') +
          '$',
      ),
    );
    await sleep(300);
    for (let i = 0; i < 100; i++) assert.deepEqual((await describeError()).text, first.text);
    assert.equal(first.structured.error.type, 'DIVISION-BY-ZERO');
  });
  test('the type and datum of a type error', async () => {
    await server.evaluate(`(car 'not-a-list)`);
    expectResult(await describeError(), { has: ['Error: TYPE-ERROR', 'NOT-A-LIST'] });
  });
  test('restarts of an undefined function', async () => {
    await server.evaluate('(nonexistent-function 42)');
    expectResult(await describeError(), {
      has: [
        '1. CONTINUE - Retry calling NONEXISTENT-FUNCTION.',
        '2. USE-VALUE - Call specified function.',
        '3. RETURN-VALUE - Return specified values.',
        '4. RETURN-NOTHING - Return zero values.',
        '5. RETRY - ',
        '6. ABORT - ',
      ],
    });
  });
  test('restart-case', async () => {
    await server.evaluate('(restart-case (error "test") (use-zero () 0) (use-one () 1))');
    expectResult(await describeError(), {
      match:
        /1\. USE-ZERO - \S.*\n {2}2\. USE-ONE - \S.*\n {2}3\. RETRY - \S.*\n {2}4\. ABORT - \S/,
    });
  });
  test('nested restart-case', async () => {
    const { structured } = await server.evaluate(
      '(restart-case (restart-case (error "x") (inner () 1)) (outer () 2))',
    );
    assert.deepEqual(
      structured.error.restarts.map((restart) => restart.name),
      ['INNER', 'OUTER', 'RETRY', 'ABORT'],
    );
  });
  test('a recursion whose base case fails', async () => {
    await server.evaluate(
      '(defun factorial (n) (if (zerop n) (error "done") (* n (factorial (1- n))))) (factorial 5)',
    );
    expectResult(await server.call('get-backtrace'), {
      is: [
        'Backtrace (8 frames):',
        '0: (ERROR "done")',
        ...[0, 1, 2, 3, 4, 5].map((n) => `${n + 1}: (FACTORIAL ${n})`),
        '7: (EVAL (FACTORIAL 5))',
      ].join('\n'),
    });
  });
  test('deep stack: inline frames, then all of them', async () => {
    const { text } = await server.evaluate(
      '(defun d (n) (if (zerop n) (error "x") (1+ (d (1- n))))) (d 49)',
    );
    assert.ok(text.includes('\n19: (D 18)\n... 32 more frames (get-backtrace)'), text);
    const inline = text.split('[Backtrace]\n')[1].split('\n').slice(0, 20);
    const full = await server.call('get-backtrace', { 'max-frames': 1000 });
    const lines = full.text.split('\n');
    assert.equal(lines[0], 'Backtrace (52 frames):');
    assert.equal(lines.at(-1), '51: (EVAL (D 49))');
    assert.deepEqual(lines.slice(1, 21), inline);
    const some = await server.call('get-backtrace', { 'max-frames': 3, offset: 10 });
    assert.equal(
      some.text,
      ['Backtrace (3 of 52 frames):', ...lines.slice(11, 14), '... 39 more frames'].join('\n'),
    );
  });
  test('a shorter view is a prefix of a longer one', async () => {
    let before = [];
    for (const count of [1, 2, 5, 20, 52]) {
      const { structured } = await server.call('get-backtrace', { 'max-frames': count });
      assert.equal(structured.frames.length, count);
      assert.deepEqual(structured.frames.slice(0, before.length), before);
      before = structured.frames;
    }
  });
  test('very deep stacks: the first 800 and the last 200', async () => {
    await server.evaluate('(defun rec (n) (1+ (rec (1+ n)))) (rec 0)');
    const { text, structured } = await server.call('get-backtrace', { 'max-frames': 1000 });
    assert.match(text, /\n799: .*\n\.\.\. \d{6,} frames not captured\n\d+: /);
    assert.equal(structured.frames.length, 1000);
    assert.equal(structured.frames.at(-1).number, structured.depth - 1);
    assert.equal(frameCall(structured.frames.at(-1)), '(EVAL (REC 0))');
    assert.equal(frameCall(structured.frames.at(-2)), '(REC 0)');
  });
  test('locals on request', async () => {
    await server.evaluate(
      '(defun with-locals (x) (let ((y (* 2 x))) (+ y (undefined-thing y)))) (with-locals 21)',
    );
    const { text } = await server.call('get-backtrace', { locals: true });
    assert.match(text, /\n1: \(WITH-LOCALS 21\)\n {4}X = 21\n {4}Y = 42\n/);
  });
  test('raw is the unfiltered stack', async () => {
    const { text, structured } = await server.call('get-backtrace', {
      raw: true,
      'max-frames': 1000,
    });
    assert.match(text, /^Raw backtrace \(/);
    assert.ok(structured.frames.length > 3);
    assert.ok(structured.frames.some((frame) => frameCall(frame).includes('WITH-LOCALS')));
  });
  test('a success clears it, the history stays', async () => {
    await server.value('(+ 1 2 3)');
    expectResult(await describeError(), NO_ERROR);
    const { structured, text } = await server.call('list-errors');
    assert.ok(structured.errors.length >= 5);
    const ids = structured.errors.map((error) => error.id);
    assert.deepEqual(
      ids,
      [...ids].sort((a, b) => b - a),
    );
    assert.match(
      text,
      /1\. DIVISION-BY-ZERO - arithmetic error DIVISION-BY-ZERO signalled \(evaluation 2\)$/,
    );
  });
  test('an old error by its number', async () => {
    expectResult(await describeError({ error: 1 }), { has: 'Error: DIVISION-BY-ZERO' });
    expectResult(await server.call('get-backtrace', { error: 1 }), {
      has: 'Backtrace (2 frames):\n0: (/ 1 0)',
    });
    expectResult(await describeError({ error: 4711 }), { code: 'no-such-error' });
  });
  test('compile-form and inspection do not touch it', async () => {
    await server.evaluate('(error "mine")');
    const { text } = await describeError();
    await server.call('compile-form', { code: '(foo' });
    await server.call('eval-in-frame', { code: '(error "other")' });
    await server.call('macroexpand-form', { form: '(when 1 2)' });
    await server.call('invoke-restart', { restart: 'ABORT' });
    await server.call('list-definitions');
    assert.equal((await describeError()).text, text);
  });
  test('the history keeps the last 20', async () => {
    for (let i = 0; i < 25; i++) await server.evaluate(`(error "number ${i}")`);
    const { structured } = await server.call('list-errors');
    assert.deepEqual(
      structured.errors.map((error) => error.message),
      Array.from({ length: 20 }, (_, i) => `number ${24 - i}`),
    );
    assert.equal((await server.call('list-errors', { limit: 3 })).structured.errors.length, 3);
    expectResult(
      await server.call('list-errors', { limit: 0 }),
      '20 recorded, none shown (limit 0).',
    );
  });
  test('the last 4 are frozen', async () => {
    const { structured } = await server.call('list-errors');
    assert.deepEqual(
      structured.errors.map((error) => error.frozen === true),
      Array.from({ length: 20 }, (_, i) => i < 4),
    );
    const old = structured.errors[10].id;
    expectResult(await server.call('inspect', { error: old }), {
      code: 'not-frozen',
      has: `Error ${old} is not frozen any more (the last 4 are kept).`,
    });
  });
});

const RISKY = `(defun risky (x) (let ((y (* 2 x))) (+ y (undefined-helper y) 1000)))
(defun top (z) (list :answer (risky (1+ z))))`;

describe('post-mortem', () => {
  const server = useServer();
  const tryRestart = (parameters) => server.call('invoke-restart', parameters);

  test('the frames', async () => {
    await server.evaluate(RISKY);
    const { structured } = await server.evaluate('(top 20)');
    assert.deepEqual(
      structured.error.frames.map((frame) => frameCall(frame)),
      ['(UNDEFINED-HELPER 42)', '(RISKY 21)', '(TOP 20)', '(EVAL (TOP 20))'],
    );
  });
  test('inspect', async () => {
    const result = await server.call('inspect', { frame: 1 });
    expectResult(
      result,
      'Frame 1: (RISKY 21)\nSource: (UNDEFINED-HELPER Y)\nLocals:\n  X = 21\n  Y = 42',
    );
    assert.deepEqual(result.structured.locals, [
      { name: 'X', value: '21' },
      { name: 'Y', value: '42' },
    ]);
  });
  test('a source form with a backquote', async () => {
    await server.evaluate('(defun quoting (z) `(list ,z ,(/ z 0))) (quoting 1)', {
      session: 'quoting',
    });
    expectResult(await server.call('inspect', { frame: 1, session: 'quoting' }), {
      match: /\nSource: (`\(LIST ,Z )?,?\(\/ Z 0\)\)?\n/,
    });
    const { structured } = await server.evaluate(
      '(defun quoting (z) (error "x ~S" z)) (quoting \'`(list ,a ,@b))',
      { session: 'quoting' },
    );
    assert.equal(structured.error.message, 'x `(LIST ,A ,@B)');
    assert.equal(frameCall(structured.error.frames[1]), '(QUOTING `(LIST ,A ,@B))');
  });
  test('a frame that does not exist', async () => {
    const { structured } = await server.call('describe-last-error');
    expectResult(await server.call('inspect', { frame: 40 }), {
      code: 'no-such-frame',
      has: `Frame 40 does not exist; error ${structured.error.id} has 4 frames (0 to 3).`,
    });
    expectResult(await server.call('eval-in-frame', { frame: 40, code: '1' }), {
      code: 'no-such-frame',
    });
  });
  test('eval-in-frame', async () => {
    expectResult(await server.call('eval-in-frame', { frame: 1, code: '(list :x x :y y)' }), {
      is: '=> (:X 21 :Y 42)',
    });
    expectResult(
      await server.call('eval-in-frame', { frame: 2, code: '(princ z) (values (* z 2) :b)' }),
      { is: '[stdout]\n20\n\n=> 40\n=> :B' },
    );
  });
  test('effects of eval-in-frame are discarded', async () => {
    expectResult(
      await server.call('eval-in-frame', { frame: 1, code: '(setf x 5) (defvar *leak* 1) x' }),
      { has: '=> 5' },
    );
    expectResult(await server.call('eval-in-frame', { frame: 1, code: 'x' }), { is: '=> 21' });
    expectResult(await server.call('eval-in-frame', { frame: 1, code: "(boundp '*leak*)" }), {
      is: '=> NIL',
    });
    assert.equal(await server.value(`(boundp '*leak*)`), '=> NIL');
    await server.evaluate('(top 20)');
  });
  test('a failure there is only reported', async () => {
    expectResult(await server.call('eval-in-frame', { frame: 1, code: '(car x)' }), {
      type: 'TYPE-ERROR',
      has: 'The frozen error and the session are unaffected.',
    });
    expectResult(
      await server.call('eval-in-frame', { frame: 1, code: '(sb-ext:exit :code 3 :abort t)' }),
      {
        type: 'PROCESS-EXIT',
        has: 'The frozen error and the session are unaffected.',
        lacks: '[Rollback]',
      },
    );
    expectResult(await server.call('eval-in-frame', { frame: 1, code: '(loop)', timeout: 1 }), {
      type: 'EVALUATION-TIMEOUT',
      seconds: [1, 20],
    });
    expectResult(await server.call('inspect', { frame: 1 }), { has: 'X = 21' });
    expectResult(await server.call('describe-last-error'), { has: 'Error: UNDEFINED-FUNCTION' });
  });

  test('ten tries from one error give ten right answers and leave it intact', async () => {
    const before = (await server.call('inspect', { frame: 1 })).text;
    for (let i = 1; i <= 10; i++) {
      const result = await tryRestart({
        restart: 'USE-VALUE',
        values: [`(lambda (n) (* n ${i}))`],
      });
      expectResult(result, {
        has: [
          `=> (:ANSWER ${42 + 42 * i + 1000})`,
          '[Discarded]\nThe session is unchanged; "adopt": true keeps the result.',
        ],
      });
      assert.equal(result.structured.adopted, false);
    }
    assert.equal((await server.call('inspect', { frame: 1 })).text, before);
  });
  test('by number, in any case', async () => {
    expectResult(await tryRestart({ restart: 3, values: ['7'] }), { has: '=> (:ANSWER 1049)' });
    expectResult(await tryRestart({ restart: '3', values: ['8'] }), { has: '=> (:ANSWER 1050)' });
    expectResult(await tryRestart({ restart: 'return-value', values: ['(+ 1 1)'] }), {
      has: '=> (:ANSWER 1044)',
    });
  });
  test('unknown restart, bad code, bad value', async () => {
    expectResult(await tryRestart({ restart: 'NO-SUCH' }), {
      code: 'no-such-restart',
      has: 'USE-VALUE',
    });
    expectResult(await tryRestart({ restart: 99 }), { code: 'no-such-restart' });
    expectResult(await tryRestart({ restart: 'USE-VALUE', values: ['(error "in value")'] }), {
      type: 'SIMPLE-ERROR',
      message: 'in value',
      phase: 'evaluate',
      lacks: '[Discarded]',
    });
    expectResult(await tryRestart({ restart: 'CONTINUE', code: '(error "in code")' }), {
      type: 'SIMPLE-ERROR',
      message: 'in code',
    });
  });
  test('a restart that leads to the next error', async () => {
    const result = await tryRestart({ restart: 'RETURN-VALUE', values: ['"text"'] });
    expectResult(result, { type: 'TYPE-ERROR', has: '[Discarded]' });
    expectResult(await server.call('describe-last-error'), { has: 'Error: UNDEFINED-FUNCTION' });
    expectResult(await server.call('list-errors', { limit: 1 }), { has: 'TYPE-ERROR' });
  });
  test('ABORT', async () => {
    expectResult(await tryRestart({ restart: 'ABORT' }), {
      has: '; Aborted: the evaluation returned to top level.',
    });
  });
  test('CONTINUE with the missing function', async () => {
    const code = '(defun undefined-helper (n) (* n 100))';
    const number = (await server.call('describe-last-error')).structured.error.id;
    expectResult(await tryRestart({ restart: 'CONTINUE', code }), {
      has: ['=> (:ANSWER 5242)', '[Discarded]'],
    });
    assert.equal(await server.value(`(fboundp 'undefined-helper)`), '=> NIL');
    const adopted = await tryRestart({ restart: 'CONTINUE', code, adopt: true, error: number });
    expectResult(adopted, {
      has: ['=> (:ANSWER 5242)', '[Adopted]\nThe session continues from here as evaluation '],
    });
    assert.equal(adopted.structured.adopted, true);
    assert.match(adopted.text, /Not part of it: evaluations? \d+/);
    assert.equal(await server.value('(undefined-helper 1)'), '=> 100');
  });
  test('redefine and retry, adopted', async () => {
    await server.value('(defun flaky (n) (error "not yet ~a" n)) (defvar *log* nil)');
    await server.evaluate(
      '(push :start *log*) (push (flaky 3) *log*) (push :end *log*) (list :result *log*)',
    );
    const result = await tryRestart({
      restart: 'RETRY',
      code: '(defun flaky (n) (* n n))',
      adopt: true,
    });
    expectResult(result, { has: ['=> (:RESULT (:END 9 :START))', '[Adopted]'] });
    assert.equal(await server.value('*log*'), '=> (:END 9 :START)');
    expectResult(await server.call('describe-last-error'), NO_ERROR);
  });
  test('adopting what ended in the next error', async () => {
    await server.evaluate(
      '(defvar *seen* nil) (push (1+ (no-such-fn)) *seen*) (push (aref #(1) 5) *seen*)',
    );
    expectResult(await tryRestart({ restart: 'RETURN-VALUE', values: ['41'], adopt: true }), {
      type: 'SB-INT:INVALID-ARRAY-INDEX-ERROR',
      has: '[Adopted]',
    });
    expectResult(await server.call('describe-last-error'), {
      has: 'Error: SB-INT:INVALID-ARRAY-INDEX-ERROR',
    });
    assert.equal(await server.value('*seen*'), '=> (42)');
  });
  test('the state before an adoption can be rolled back to', async () => {
    await server.value('(setf *seen* :before)');
    const { structured } = await server.evaluate('(progn (setf *seen* (no-such-fn)) *seen*)');
    await tryRestart({ restart: 'RETURN-VALUE', values: [':adopted'], adopt: true });
    assert.equal(await server.value('*seen*'), '=> :ADOPTED');
    await server.call('rollback-session', { to: structured.evaluation });
    assert.equal(await server.value('*seen*'), '=> :BEFORE');
  });
  test('restart-case: values, missing values', async () => {
    await server.evaluate('(list :got (restart-case (error "x") (use-it (v) (* v 2))))');
    expectResult(await tryRestart({ restart: 'use-it', values: ['21'] }), { has: '=> (:GOT 42)' });
    expectResult(await tryRestart({ restart: 'use-it' }), {
      type: 'SB-INT:SIMPLE-PROGRAM-ERROR',
      has: 'invalid number of arguments: 0',
    });
  });
  test('remaining forms of the call run too', async () => {
    await server.evaluate(
      '(defvar *trail* nil) (push 1 *trail*) (push (no-such-fn) *trail*) (princ "later") (push 3 *trail*)',
    );
    expectResult(await tryRestart({ restart: 'RETURN-VALUE', values: ['2'] }), {
      has: ['[stdout]\nlater', '=> (3 2 1)'],
    });
  });
  test('no error', async () => {
    await server.value('1');
    for (const [tool, parameters] of [
      ['inspect', {}],
      ['eval-in-frame', { code: '1' }],
      ['invoke-restart', { restart: 'ABORT' }],
    ]) {
      expectResult(await server.call(tool, parameters), {
        code: 'no-error',
        has: 'No error information available.',
      });
    }
  });
});

describe('inspection by path', () => {
  const server = useServer();
  const inspect = (...steps) => server.call('inspect', { frame: 1, path: steps });
  test('set-up', async () => {
    await server.value(`(defclass order () ((items :initarg :items :reader items) (name :initarg :name)))
      (defstruct box content)
      (defun fail (order box table vec) (error "look ~a ~a ~a ~a" order box (hash-table-count table) vec))`);
    const { isError } = await server.evaluate(`(let ((h (make-hash-table :test 'equal)))
      (setf (gethash "k" h) :found)
      (fail (make-instance 'order :items (list 10 20 '(30 31)) :name "first") (make-box :content #(1 2)) h (vector 5 6 7)))`);
    assert.ok(isError);
  });
  const rows = [
    [['ORDER', 'ITEMS'], 'ORDER.ITEMS = (10 20 (30 31))'],
    [['ORDER', 'ITEMS', 2], 'ORDER.ITEMS.2 = (30 31)'],
    [['ORDER', 'ITEMS', 2, 1], 'ORDER.ITEMS.2.1 = 31'],
    [['order', 'name'], '= "first"'],
    [['BOX', 'CONTENT', 1], '= 2'],
    [['VEC', 2], 'VEC.2 = 7'],
    [['TABLE', 'key', '"k"'], '= :FOUND'],
  ];
  for (const [steps, text] of rows) {
    test(JSON.stringify(steps), async () => {
      const result = await inspect(...steps);
      expectResult(result, { has: text });
      assert.ok(result.structured.object.type.length > 0);
    });
  }
  for (const steps of [['NO-SUCH'], ['VEC', 99], ['ORDER', 'NO-SLOT']]) {
    test(`refused: ${JSON.stringify(steps)}`, async () =>
      expectResult(await inspect(...steps), { ok: false }));
  }
  test('at most 50 parts', async () => {
    await server.evaluate(
      '(defun big (l) (error "n ~a" (length l))) (big (loop for i below 80 collect i))',
    );
    const { structured } = await server.call('inspect', { frame: 1, path: ['L'] });
    assert.equal(structured.object.parts.length, 50);
  });
  test('a printer that fails or loops costs nothing but its answer', async () => {
    await server.evaluate(`(defclass bad () ()) (defmethod print-object ((o bad) s) (error "no"))
      (defclass worse () ()) (defmethod print-object ((o worse) s) (loop))
      (defun hold (a) (error "x ~a" (type-of a))) (hold (make-instance 'bad))`);
    expectResult(await server.call('inspect', { frame: 1 }), {
      has: 'A = #<unprintable BAD: SIMPLE-ERROR',
    });
    await server.evaluate(`(hold 5)`);
    expectResult(
      await server.call('eval-in-frame', { frame: 1, code: `(make-instance 'worse)`, timeout: 1 }),
      { type: 'EVALUATION-TIMEOUT' },
    );
    expectResult(await server.call('inspect', { frame: 1 }), { has: 'A = 5' });
  });
});

describe('memory faults', () => {
  const server = useServer();
  test('are not adoptable', async () => {
    const result = await server.evaluate('(sb-sys:sap-ref-64 (sb-sys:int-sap 0) 0)');
    expectResult(result, { type: 'SB-SYS:MEMORY-FAULT-ERROR', has: '[Rollback]' });
    expectResult(await server.call('invoke-restart', { restart: 'ABORT', adopt: true }), {
      code: 'not-adoptable',
    });
  });
});

describe('places in files', () => {
  const server = useServer();
  const file = path.join(temporaryDirectory(), 'bank.lisp');
  writeFileSync(
    file,
    '(defpackage "BANK" (:use "CL") (:export "WITHDRAW"))\n(in-package "BANK")\n\n' +
      '(defun withdraw (n)\n  (+ n (length (error "no money ~a" n))))\n',
  );
  for (const compile of [false, true])
    test(`of frames, the file ${compile ? 'compiled' : 'loaded'}`, async () => {
      const session = compile ? 'compiled' : 'main';
      await server.call('load-file', { path: file, compile, session });
      const { text } = await server.evaluate('(defun go-on () (1+ (bank:withdraw 4))) (go-on)', {
        session,
      });
      assert.ok(text.includes('\n1: (BANK:WITHDRAW 4)\n2: (GO-ON)\n'), text);
      for (const tool of ['get-backtrace', 'describe-last-error'])
        expectResult(await server.call(tool, { session }), {
          has: [`1: (BANK:WITHDRAW 4)  ${file}:4\n`, '2: (GO-ON)\n'],
        });
      const { structured } = await server.call('get-backtrace', { session });
      assert.deepEqual(structured.frames[1], {
        number: 1,
        function: 'BANK:WITHDRAW',
        arguments: ['4'],
        source: `${file}:4`,
      });
    });
  test('of references, or the evaluation that defined them', async () => {
    const { structured } = await server.evaluate('(defun again () (bank:withdraw 5))');
    expectResult(await server.call('find-references', { name: 'bank:withdraw' }), {
      has: `COMMON-LISP-USER::AGAIN  evaluation ${structured.evaluation}`,
    });
    expectResult(await server.call('describe-symbol', { name: 'again' }), {
      has: `Source: evaluation ${structured.evaluation}`,
    });
  });
  test('of methods and variables, too', async () => {
    const more = path.join(path.dirname(file), 'more.lisp');
    writeFileSync(
      more,
      `(in-package :bank)
(defgeneric pay (from))
(defmethod pay ((from integer))
  (withdraw from))
(defvar *paid* 0)`,
    );
    await server.call('load-file', { path: more });
    const { structured } = await server.evaluate(
      '(in-package :bank) (defmethod pay ((from (eql 5))) (withdraw 1)) (in-package :cl-user)',
    );
    const evaluated = `evaluation ${structured.evaluation}`;
    expectResult(await server.call('find-references', { name: 'bank:withdraw' }), {
      has: [`PAY (INTEGER))  ${more}:3`, `PAY ((EQL 5)))  ${evaluated}`],
    });
    expectResult(await server.call('describe-symbol', { name: 'bank::pay' }), {
      has: [`Source: ${more}:2`, `PAY (INTEGER)  ${more}:3`, `PAY ((EQL 5))  ${evaluated}`],
    });
    expectResult(await server.call('describe-symbol', { name: 'bank::*paid*' }), {
      has: `Source: ${more}:5`,
    });
  });
  test('a method that is not there is an undefined function', async () =>
    expectResult(await server.evaluate("(fdefinition '(sb-pcl::fast-method no-gf (integer)))"), {
      ok: false,
      type: 'UNDEFINED-FUNCTION',
    }));
  test('a function of another package is what was meant', async () => {
    expectResult(await server.evaluate('(withdraw 3)'), {
      ok: false,
      has: '\nhint: did you mean BANK:WITHDRAW?\n',
    });
    await server.value('(defun caar-like () 1) (defun lisp-own () 2)');
    expectResult(await server.evaluate('(lisp-owm)'), { ok: false, has: 'did you mean LISP-OWN?' });
    await server.value('(defun mapcan* () 1)');
    expectResult(await server.evaluate('(mapcan+)'), {
      ok: false,
      has: 'did you mean MAPCAN*, ',
    });
  });
});

describe('CONTINUE of an assertion takes values for its places', () => {
  const server = useServer();
  const go = (values) => server.call('invoke-restart', { restart: 'CONTINUE', values });
  test('as many as there are', async () => {
    await server.evaluate(
      '(defvar *x* 1) (defvar *y* 2) (assert (= *x* 5) (*x* *y*)) (list *x* *y*)',
    );
    expectResult(await go(['(+ 2 3)']), { has: '=> (5 2)' });
    expectResult(await go(['5', '6']), { has: '=> (5 6)' });
    expectResult(await go(['7']), { ok: false, has: 'failed with *X* = 7' });
  });
  test('without them the question finds nobody, and the hint says what to give', async () =>
    expectResult(await go([]), { ok: false, has: ['supply a new value', 'takes `values`'] }));
  test('a correctable error takes none', async () => {
    await server.evaluate('(cerror "Go on" "stop")');
    expectResult(await go(['1']), { ok: false });
  });
});
