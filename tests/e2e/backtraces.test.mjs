// What an error shows beside its message: backtraces, restarts, structured parts; errors of threads.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectResult, frameCall, titleOf, useServer } from './support.mjs';

describe('backtraces', () => {
  const server = useServer();
  // [code, calls]
  const rows = [
    ['(/ 1 0)', ['(/ 1 0)', '(EVAL (/ 1 0))']],
    [
      '(defun a () (/ 1 0)) (defun b () (a)) (defun c () (b)) (c)',
      ['(/ 1 0)', '(A)', '(B)', '(C)', '(EVAL (C))'],
    ],
    ['(defun deep () (error "oops")) (deep)', ['(ERROR "oops")', '(DEEP)', '(EVAL (DEEP))']],
    [
      '(nonexistent-function 1 2 3)',
      ['(NONEXISTENT-FUNCTION 1 2 3)', '(EVAL (NONEXISTENT-FUNCTION 1 2 3))'],
    ],
    ['(+ unbound-x 1)', ['(EVAL (+ UNBOUND-X 1))']],
    [`(elt '() 5)`, ['(ELT NIL 5)', undefined]],
    ['(/ 8 2 0)', ['(/ 8 2 0)', '(EVAL (/ 8 2 0))']],
    ['(restart-case (error "test") (use-zero () 0))', ['(ERROR "test")', undefined]],
    [
      '(defgeneric area (x)) (defmethod area ((x integer)) (error "no area ~a" x)) (area 5)',
      ['(ERROR "no area ~a" 5)', '((:METHOD AREA (INTEGER)) 5)', '(EVAL (AREA 5))'],
    ],
    // methods the user wrote, on generic functions of Lisp
    [
      `(defclass zz () ()) (defmethod print-object ((z zz) s) (let ((q 7)) (error "po ~a" q))) (princ-to-string (make-instance 'zz))`,
      [
        '(ERROR "po ~a" 7)',
        /^\(\(:METHOD PRINT-OBJECT \(ZZ T\)\)/,
        undefined,
        undefined,
        undefined,
        undefined,
      ],
    ],
    [
      `(defclass z2 () ()) (defmethod initialize-instance :around ((z z2) &key) (call-next-method) (error "ii")) (make-instance 'z2)`,
      ['(ERROR "ii")', /^\(\(:METHOD INITIALIZE-INSTANCE :AROUND \(Z2\)\)/, undefined, undefined],
    ],
    [
      `(defclass z3 () ()) (defmethod shared-initialize :after ((z z3) s &key) (flet ((f () (error "si"))) (f))) (make-instance 'z3)`,
      ['(ERROR "si")', undefined, undefined, undefined, undefined, undefined],
    ],
    [
      `(defmethod (setf documentation) (n (z z2) (x (eql 'foo))) (error "doc")) (setf (documentation (allocate-instance (find-class 'z2)) 'foo) 3)`,
      ['(ERROR "doc")', /^\(\(:METHOD \(SETF DOCUMENTATION\)/, undefined],
    ],
    [
      '(defclass z4 () ((a :reader z4-a))) (z4-a (make-instance (find-class (quote z4))))',
      [/^\(\(:METHOD SLOT-UNBOUND /, undefined, undefined],
    ],
    [
      '(defun outer (f) (funcall f 7)) (outer (lambda (q) (error "in lambda ~a" q)))',
      ['(ERROR "in lambda ~a" 7)', undefined, /^\(OUTER /, undefined],
    ],
    [
      `(defun many (&rest args) (error "many ~a" (reduce #'+ args))) (many 1 2 3 4 5 6 7 8 9 10 11 12)`,
      ['(ERROR "many ~a" 78)', /^\(MANY 1 2 3 4 5 6 7 8 9 10 \.\.\.\)$/, undefined],
    ],
  ];
  for (const [code, calls] of rows) {
    test(titleOf(code), async () => {
      const { structured, text } = await server.evaluate(code);
      const found = structured.error.frames.map((frame) => frameCall(frame));
      assert.equal(found.length, calls.length, JSON.stringify(found));
      calls.forEach((call, index) => {
        if (call instanceof RegExp) assert.match(found[index], call);
        else if (call) assert.equal(found[index], call);
        assert.ok(text.includes(`\n${index}: ${found[index]}`));
        assert.equal(structured.error.frames[index].number, index);
      });
      assert.match(found.at(-1), /^\(EVAL /);
      assert.equal(structured.error.depth, found.length);
    });
  }
  test('arguments that cannot be printed', async () => {
    const { structured } =
      await server.evaluate(`(defclass spiky () ()) (defmethod print-object ((o spiky) s) (error "no"))
      (defun take (o) (error "x ~a" (type-of o))) (take (make-instance 'spiky))`);
    assert.equal(
      frameCall(structured.error.frames[1]),
      '(TAKE #<unprintable SPIKY: SIMPLE-ERROR>)',
    );
  });
  test('user print variables do not change frames, numbers or labels', async () => {
    await server.value(
      '(setf *print-base* 2 *print-case* :downcase *print-radix* t *read-base* 8) 1',
    );
    const { text } = await server.evaluate('(defun h (x) (error "boom ~d" x)) (h 5)');
    assert.match(text, /\[ERROR\] SIMPLE-ERROR\n/);
    assert.match(text, /\n0: /);
    assert.match(text, /\n1: /);
    await server.call('reset-session');
  });
});

describe('deep stacks', () => {
  const server = useServer();
  test('tail calls are real calls: a million of them', async () => {
    assert.equal(
      await server.value('(defun tail (n) (if (zerop n) :bottom (tail (1- n)))) (tail 1000000)'),
      '=> :BOTTOM',
    );
  });
  test('unless the code asks for speed: 50 million in constant space', async () => {
    assert.equal(
      await server.value(
        '(defun fast (n) (declare (optimize (debug 0) (speed 3)) (fixnum n)) (if (zerop n) :bottom (fast (1- n)))) (fast 50000000)',
      ),
      '=> :BOTTOM',
    );
  });
  test('what the runtime says about exhaustion is no output', async () => {
    const { structured, text } = await server.evaluate('(defun rec (n) (1+ (rec (1+ n)))) (rec 0)');
    assert.ok(!text.includes('[stderr]') && !text.includes('guard page'), text);
    assert.match(structured.error.runtime_log ?? '', /guard page/i);
    assert.ok(structured.error.depth > 100_000, `${structured.error.depth}`);
  });
});

describe('long texts are cut', () => {
  const server = useServer();
  test('a frame at 300 characters', async () => {
    const { text } = await server.evaluate(`(defun wide (a b c) (error "~a" (length (list a b c))))
      (wide (make-string 200 :initial-element #\\a) (make-string 200 :initial-element #\\b) (make-string 200 :initial-element #\\c))`);
    const call = /^1: (.*)$/m.exec(text)[1];
    assert.ok(call.length <= 300 && call.endsWith('...'), call);
  });
  test('the description of a restart at 300', async () => {
    const { structured } = await server.evaluate(
      '(with-simple-restart (wordy "~a" (make-string 500 :initial-element #\\d)) (error "x"))',
    );
    const { description } = structured.error.restarts[0];
    assert.ok(description.length <= 300 && description.endsWith('...'), description);
  });
});

describe('restarts', () => {
  const server = useServer();
  const names = (structured) => structured.error.restarts.map((restart) => restart.name);
  const rows = [
    [
      '(foo-undefined)',
      ['CONTINUE', 'USE-VALUE', 'RETURN-VALUE', 'RETURN-NOTHING', 'RETRY', 'ABORT'],
    ],
    ['(1+ unbound-thing)', ['CONTINUE', 'USE-VALUE', 'STORE-VALUE', 'RETRY', 'ABORT']],
    ['(open "/nonexistent/x")', ['CREATE', 'CONTINUE', 'USE-VALUE', 'RETRY', 'ABORT']],
    ['(find-symbol "X" :no-package-here)', ['CONTINUE', 'RETRY', 'USE-VALUE', 'RETRY', 'ABORT']],
    ['(+ 1 "x")', ['RETRY', 'ABORT']],
    [')', ['ABORT']],
    ['(defun cl:car (x) x)', ['CONTINUE', 'IGNORE-ALL', 'UNLOCK-PACKAGE', 'RETRY', 'ABORT']],
  ];
  for (const [code, expected] of rows) {
    test(titleOf(code), async () => {
      const { structured } = await server.evaluate(code);
      assert.deepEqual(names(structured), expected);
      structured.error.restarts.forEach((restart, index) => {
        assert.equal(restart.number, index + 1);
        assert.ok(
          restart.description.length > 0 && !restart.description.includes('\n'),
          JSON.stringify(restart),
        );
      });
    });
  }
  test("Cadre's own say which form", async () => {
    const { structured } = await server.evaluate('1 2 (error "x")');
    assert.deepEqual(
      structured.error.restarts.map(({ name, description }) => [name, description]),
      [
        ['RETRY', 'Evaluate form 3 again.'],
        ['ABORT', 'Return to top level.'],
      ],
    );
  });
  test('a restart without a report is described by its name', async () => {
    const { structured } = await server.evaluate('(restart-case (error "x") (use-zero () 0))');
    assert.equal(structured.error.restarts[0].description, 'use-zero');
  });
  test('calling an undefined function again loses nothing', async () => {
    for (const code of [
      '(undefined-twice 1)',
      '(undefined-twice 1)',
      '(list (undefined-twice 1))',
      '(progn (setf *print-base* 10) (undefined-twice 1))',
    ]) {
      const { structured } = await server.evaluate(code);
      assert.equal(frameCall(structured.error.frames[0]), '(UNDEFINED-TWICE 1)');
      assert.deepEqual(names(structured), [
        'CONTINUE',
        'USE-VALUE',
        'RETURN-VALUE',
        'RETURN-NOTHING',
        'RETRY',
        'ABORT',
      ]);
    }
  });
  test('the [Debug] section lists them', async () => {
    const { text, structured } = await server.evaluate('(error "x")');
    assert.ok(
      text.endsWith(`[Debug]\nError ${structured.error.id} is frozen; restarts: 1 RETRY, 2 ABORT`),
      text,
    );
  });
});

describe('structured error', () => {
  const server = useServer();
  test('type, superclasses, slots, phase, position, id', async () => {
    const { structured } = await server.evaluate('1\n  (/ 1 0)');
    assert.ok(!('superclasses' in structured.error) && !('slots' in structured.error));
    const { error } = (await server.call('describe-last-error')).structured;
    assert.equal(error.type_qualified, 'COMMON-LISP:DIVISION-BY-ZERO');
    assert.deepEqual(
      error.superclasses.filter((name) => /ARITHMETIC-ERROR|:ERROR$|:CONDITION$/.test(name)),
      ['COMMON-LISP:ARITHMETIC-ERROR', 'COMMON-LISP:ERROR', 'COMMON-LISP:CONDITION'],
    );
    const slots = Object.fromEntries(error.slots.map(({ name, value }) => [name, value]));
    assert.equal(slots.OPERATION, '/');
    assert.equal(slots.OPERANDS, '(1 0)');
    assert.deepEqual(
      [error.form, error.line, error.column, error.phase, error.id],
      [2, 2, 3, 'evaluate', 1],
    );
    assert.match(error.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    assert.equal(error.frozen, true);
  });
  test('a package that does not exist is a PACKAGE-ERROR', async () => {
    await server.evaluate('(in-package :nope-nope)');
    const { structured } = await server.call('describe-last-error');
    assert.ok(
      structured.error.superclasses.includes('COMMON-LISP:PACKAGE-ERROR'),
      JSON.stringify(structured.error.superclasses),
    );
  });
  test('disable-debugger cannot turn an error into a dead process', async () => {
    await server.value('(sb-ext:disable-debugger) 1');
    expectResult(await server.evaluate('(error "one")'), {
      type: 'SIMPLE-ERROR',
      lacks: '[Rollback]',
    });
  });
  test('hooks of the user are called first', async () => {
    await server.value(
      '(setf sb-ext:*invoke-debugger-hook* (lambda (c h) (declare (ignore h)) (format t "hook: ~A" c))) 1',
    );
    expectResult(await server.evaluate('(error "two")'), {
      type: 'SIMPLE-ERROR',
      has: '[stdout]\nhook: two\n',
    });
    assert.equal(
      await server.value(
        `(let ((sb-ext:*invoke-debugger-hook* (lambda (c h) (declare (ignore c)) (throw 'out (list sb-ext:*invoke-debugger-hook* (functionp h))))))
           (catch 'out (error "three")))`,
      ),
      '=> (NIL T)',
    );
    await server.value(
      '(defvar *hooked* nil) (setf *debugger-hook* (lambda (c h) (declare (ignore h)) (setf *hooked* c))) 1',
    );
    expectResult(await server.evaluate('(error "three")'), { type: 'SIMPLE-ERROR' });
    assert.equal(await server.value('(princ-to-string *hooked*)'), '=> "three"');
  });
});

describe('other threads', () => {
  const server = useServer();
  test('an error in a thread ends that thread only', async () => {
    const { text, isError } = await server.evaluate(
      '(sb-thread:join-thread (sb-thread:make-thread (lambda () (error "boom")) :name "worker-7") :default :dead)',
    );
    assert.equal(isError, false);
    assert.match(
      text,
      /\[stderr\]\n; thread "worker-7" ended by SIMPLE-ERROR: boom \(error \d+\)\n\n=> :DEAD/,
    );
  });
  test('it is in the history, and the last error', async () => {
    const list = await server.call('list-errors');
    assert.match(list.text, /SIMPLE-ERROR - boom \(evaluation \d+, thread "worker-7"(, frozen)?\)/);
    expectResult(await server.call('describe-last-error'), {
      match: /\n {2}At: evaluation 1, thread "worker-7"; .*; error 1(, frozen)?\n/,
    });
  });
  test('joining it signals as usual', async () => {
    expectResult(
      await server.evaluate(
        '(sb-thread:join-thread (sb-thread:make-thread (lambda () (error "boom"))))',
      ),
      { type: 'SB-THREAD:JOIN-THREAD-ERROR' },
    );
  });
});
