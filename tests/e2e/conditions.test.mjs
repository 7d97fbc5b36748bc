// Conditions: types, messages, frames, restarts, reader errors, warnings, failures that are none.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectResult, frameCall, titleOf, useServer } from './support.mjs';

function table(name, rows) {
  describe(name, () => {
    const server = useServer();
    for (const [code, expected] of rows) {
      test(titleOf(code), async () => expectResult(await server.evaluate(code), expected));
    }
  });
}

const error = (type, message, ...frames) => ({ type, message, frames });

describe('real types, messages and frames', () => {
  const server = useServer();
  const levels =
    '(defun level3 () (/ 10 0)) (defun level2 () (level3)) (defun level1 () (level2)) (level1)';
  const rows = [
    [
      '(nonexistent-function 1 2 3)',
      error(
        'UNDEFINED-FUNCTION',
        'The function COMMON-LISP-USER::NONEXISTENT-FUNCTION is undefined.',
        '(NONEXISTENT-FUNCTION 1 2 3)',
        '(EVAL (NONEXISTENT-FUNCTION 1 2 3))',
      ),
    ],
    ['(+ xx 1)', error('UNBOUND-VARIABLE', 'The variable XX is unbound.', '(EVAL (+ XX 1))')],
    [
      '(+ 1 "hello")',
      error(
        'TYPE-ERROR',
        'The value\n  "hello"\nis not of type\n  NUMBER'.replace(/\n\s*/g, ' '),
        '(+ 1 "hello")',
      ),
    ],
    [
      '(/ 1 0)',
      error(
        'DIVISION-BY-ZERO',
        'arithmetic error DIVISION-BY-ZERO signalled\nOperation was (/ 1 0).',
        '(/ 1 0)',
        '(EVAL (/ 1 0))',
      ),
    ],
    [
      '(aref #(1 2 3) 10)',
      error(
        'SB-INT:INVALID-ARRAY-INDEX-ERROR',
        'Invalid index 10 for (SIMPLE-VECTOR 3), should be a non-negative integer below 3.',
        '(AREF #(1 2 3) 10)',
      ),
    ],
    [
      '(+ 1 2',
      {
        ...error(
          'END-OF-FILE',
          'end of input inside the form that starts at line 1, column 1; 1 parenthesis is open, ' +
            'the innermost since line 1, column 1',
          '(READ "(+ 1 2")',
        ),
        code: 'reader',
        phase: 'read',
      },
    ],
    [
      ')',
      {
        ...error('SB-INT:SIMPLE-READER-ERROR', 'unmatched close parenthesis at line 1, column 1'),
        code: 'reader',
      },
    ],
    [
      '(+ 1 2))',
      {
        ...error('SB-INT:SIMPLE-READER-ERROR', 'unmatched close parenthesis at line 1, column 8'),
        code: 'reader',
      },
    ],
    ['(+ 1 #\\(', { type: 'END-OF-FILE', code: 'reader' }],
    [
      '(in-package :totally-nonexistent)',
      error(
        'PACKAGE-DOES-NOT-EXIST',
        'The name "TOTALLY-NONEXISTENT" does not designate any package.',
        /^\(EVAL /,
      ),
    ],
    [
      '(find-symbol "X" :no-such-package)',
      error(
        'PACKAGE-DOES-NOT-EXIST',
        'The name :NO-SUCH-PACKAGE does not designate any package.',
        '(FIND-SYMBOL "X" :NO-SUCH-PACKAGE)',
      ),
    ],
    [
      '(error "Custom error message")',
      error('SIMPLE-ERROR', 'Custom error message', '(ERROR "Custom error message")'),
    ],
    [
      `(error 'simple-error)`,
      error(
        'SIMPLE-ERROR',
        '(the report of this SIMPLE-ERROR failed: SIMPLE-ERROR)',
        '(ERROR SIMPLE-ERROR)',
      ),
    ],
    [
      levels,
      {
        ...error(
          'DIVISION-BY-ZERO',
          'arithmetic error DIVISION-BY-ZERO signalled',
          '(/ 10 0)',
          '(LEVEL3)',
          '(LEVEL2)',
          '(LEVEL1)',
          '(EVAL (LEVEL1))',
        ),
        has: '(in form 4, line 1, column 82; the forms before it took effect)',
      },
    ],
    [
      '(car 42)',
      error('TYPE-ERROR', 'The value 42 is not of type LIST when binding LIST', '(CAR 42)'),
    ],
    [
      `(elt '() 5)`,
      error(
        'SB-KERNEL:INDEX-TOO-LARGE-ERROR',
        'The index 5 is too large for a list of length 0.',
        '(ELT NIL 5)',
        /^\(EVAL /,
      ),
    ],
    [
      `(elt '(1 2 3) 999)`,
      error(
        'SB-KERNEL:INDEX-TOO-LARGE-ERROR',
        'The index 999 is too large for a list of length 3.',
      ),
    ],
    [
      '(cerror "Continue" "Test condition")',
      error('SIMPLE-ERROR', 'Test condition', '(CERROR "Continue" "Test condition")'),
    ],
    [
      '(open "/nonexistent/path.lisp")',
      error(
        'FILE-DOES-NOT-EXIST',
        'The file #P"/nonexistent/path.lisp" does not exist: No such file or directory',
        /^\(OPEN "\/nonexistent\/path.lisp" /,
      ),
    ],
    [
      `(sb-ext:run-program "/nonexistent" '())`,
      error(
        'SIMPLE-ERROR',
        `Couldn't execute "/nonexistent": No such file or directory`,
        /^\((SB-EXT:)?RUN-PROGRAM "\/nonexistent"/,
      ),
    ],
    [
      '(handler-case (error "outer") (error (c) (error "inner")))',
      error('SIMPLE-ERROR', 'inner', '(ERROR "inner")'),
    ],
    [
      `(throw 'nowhere 1)`,
      error(
        'SB-INT:SIMPLE-CONTROL-ERROR',
        'attempt to THROW to a tag that does not exist: NOWHERE',
        /^\((EVAL \()?THROW/,
      ),
    ],
    [
      '(defun zz () 1) (zz 1 2)',
      error('SB-INT:SIMPLE-PROGRAM-ERROR', 'invalid number of arguments: 2', '(ZZ 1 2)'),
    ],
    [
      '(defstruct pt x y) (pt-x 5)',
      error('TYPE-ERROR', 'The value 5 is not of type COMMON-LISP-USER::PT', '(PT-X 5)'),
    ],
    ['(read-line)', error('END-OF-FILE', 'end of file on #<SYNONYM-STREAM ', /^\(READ-LINE/)],
    ['(break "hm")', error('SIMPLE-CONDITION', 'hm', '(BREAK "hm")')],
    [
      '(abort)',
      { ...error('EVALUATION-ABORTED', 'The code invoked the ABORT restart.'), code: 'aborted' },
    ],
    [
      '(defun rec (n) (1+ (rec (1+ n)))) (rec 0)',
      {
        ...error(
          'SB-KERNEL::CONTROL-STACK-EXHAUSTED',
          'Control stack exhausted (no more space for function call frames).',
          /^\(REC /,
        ),
        match: /\n1: \(REC \d+\)\n… [\d,]+ × \(REC …\)\n\d+: \(EVAL \(REC 0\)\)\n/,
      },
    ],
    [
      `(length (make-array (* 40 1024 1024 1024) :element-type '(unsigned-byte 8)))`,
      error('SB-KERNEL::HEAP-EXHAUSTED-ERROR', 'Heap exhausted (no more space for allocation).'),
    ],
    [
      '(defun bad2 (x) (if))',
      {
        has: [
          '[warnings]\nCOMPILE-ERROR: Error while parsing arguments to special operator IF',
          '=> BAD2',
        ],
      },
    ],
    [
      '(bad2 1)',
      error('SB-INT:COMPILED-PROGRAM-ERROR', 'Execution of a form compiled with errors.'),
    ],
    [
      '(progn (format t "Processing...~%") (error "Failed"))',
      { type: 'SIMPLE-ERROR', has: '[stdout]\nProcessing...\n\n[ERROR] SIMPLE-ERROR\nFailed' },
    ],
  ];
  for (const [code, expected] of rows) {
    test(titleOf(code), async () => {
      expectResult(await server.evaluate(code), expected);
      assert.equal(await server.value('(+ 1 1)'), '=> 2');
    });
  }
});

table('warnings', [
  ['(let (x) 42)', '[warnings]\nSTYLE-WARNING: The variable X is defined but never used.\n\n=> 42'],
  [
    '(let (x y z) (+ 1 1))',
    {
      match:
        /^\[warnings\]\n(STYLE-WARNING: The variable [XYZ] is defined but never used\.\n){3}\n=> 2$/,
    },
  ],
  ['(let (x) x)', '=> NIL'],
  [
    '(defun f () 1) (defun f () 2)',
    '[warnings]\nSTYLE-WARNING: redefining COMMON-LISP-USER::F in DEFUN\n\n=> F',
  ],
  [
    '(defun u () *undefined-var*)',
    '[warnings]\nWARNING: undefined variable: COMMON-LISP-USER::*UNDEFINED-VAR*\n\n=> U',
  ],
  [
    `(compile nil '(lambda (x) (+ x "string")))`,
    {
      has: 'WARNING: Constant "string" conflicts with its asserted type NUMBER.',
      lacks: '[stderr]',
    },
  ],
  ['(defun test-warn () (warn "Test warning") 42)', '=> TEST-WARN'],
  ['(test-warn)', '[warnings]\nWARNING: Test warning\n\n=> 42'],
  ['(defun g () (h)) (defun h () 1)', '=> H'],
  [
    '(defun g3 () (h3))',
    '[warnings]\nSTYLE-WARNING: undefined function: COMMON-LISP-USER::H3\n\n=> G3',
  ],
  ['(setf fresh 10)', '=> 10'],
  ['(handler-bind ((warning #\'muffle-warning)) (warn "own") 1)', '=> 1'],
  ['(handler-case (warn "own") (warning () :handled))', '=> :HANDLED'],
  [
    `(error 'simple-warning :format-control "as error")`,
    { type: 'SIMPLE-WARNING', message: 'as error' },
  ],
  ['(warn "two~%lines") 1', '[warnings]\nWARNING: two\n  lines\n\n=> 1'],
  [
    '(dotimes (i 60) (warn "w~d" i)) 1',
    { has: ['WARNING: w49\n... 10 more warnings'], lacks: 'w50' },
  ],
  [
    '(warn "~a" (make-string 3000 :initial-element #\\m)) 1',
    { match: /^\[warnings\]\nWARNING: m{1900,2000}(\.\.\.)?\n\n=> 1$/ },
  ],
  ['(no-such-function-here)', { type: 'UNDEFINED-FUNCTION', lacks: '[warnings]' }],
  [
    `(compile nil '(lambda (x) (declare (fixnum x)) (if (stringp x) (print 1) 2)))`,
    { has: 'COMPILER-WARNING: deleting unreachable code' },
  ],
  ['(defun bad () (if)) (defun bad3 () (let ((1 2)) 3)) 5', { has: ['COMPILE-ERROR: ', '=> 5'] }],
]);

describe('warnings in structured form', () => {
  const server = useServer();
  test('category, exact class and form', async () => {
    const { structured } = await server.evaluate('(+ 1 2)\n(let (x) 42)\n(warn "hm")');
    assert.deepEqual(
      structured.warnings.map(({ category, form }) => [category, form]),
      [
        ['STYLE-WARNING', 2],
        ['WARNING', 3],
      ],
    );
    assert.match(structured.warnings[1].type, /SIMPLE-WARNING$/);
  });
});

table('messages', [
  [
    "(define-condition mute (error) () (:report (lambda (c s) (declare (ignore c s)))))  (error 'mute)",
    { type: 'MUTE', message: '(MUTE without a message)' },
  ],
  [
    '(define-condition broken (error) () (:report (lambda (c s) (declare (ignore c s)) (error "inside")))) (error \'broken)',
    { type: 'BROKEN', message: '(the report of this BROKEN failed: SIMPLE-ERROR)' },
  ],
  [
    '(error "~a" (make-string 5000 :initial-element #\\z))',
    { type: 'SIMPLE-ERROR', match: /\nz{3990,4000}\.\.\.\n/ },
  ],
  [
    '(error "trailing   ~%~%")',
    { match: /\[ERROR\] SIMPLE-ERROR\ntrailing\n\n\[Backtrace\]/, ok: false },
  ],
  [
    '(let ((l (list 1))) (setf (cdr l) l) (error "circular ~s" l))',
    { type: 'SIMPLE-ERROR', message: 'circular #1=(1 . #1#)' },
  ],
  [
    `(defpackage :conds (:use :cl) (:export #:outer)) (define-condition conds:outer (error) ()) (error 'conds:outer)`,
    { type: 'CONDS:OUTER' },
  ],
  [`(define-condition conds::inner (error) ()) (error 'conds::inner)`, { type: 'CONDS::INNER' }],
]);

describe('hints', () => {
  const server = useServer();
  const rows = [
    ['(defun square (x) (* x x)) (squar 5)', 'UNDEFINED-FUNCTION', 'hint: did you mean SQUARE'],
    ['(defvar *counter* 1) (1+ *countr*)', 'UNBOUND-VARIABLE', 'hint: did you mean *COUNTER*?'],
    ["(mapcra #'car nil)", 'UNDEFINED-FUNCTION', 'MAPCAR'],
    [
      '(defpackage :tools-of-mine (:use :cl)) (in-package :tools-of-mina)',
      'PACKAGE-DOES-NOT-EXIST',
      'TOOLS-OF-MINE',
    ],
    [
      '(defun tools-of-mine::hidden () 1) (tools-of-mine:hidden)',
      undefined,
      'HIDDEN exists in TOOLS-OF-MINE but is not external; use TOOLS-OF-MINE::HIDDEN',
    ],
  ];
  for (const [code, type, hint] of rows) {
    test(titleOf(code), async () => {
      const result = await server.evaluate(code);
      expectResult(result, { ok: false, type, has: hint });
      assert.ok(result.structured.error.hint.length > 0);
    });
  }
  test('none for a name like no other', async () => {
    const { structured, text } = await server.evaluate('(zzyzx-qqq-17)');
    assert.equal(structured.error.hint ?? '', '');
    assert.ok(!text.includes('hint:'), text);
  });
});

describe('reader errors', () => {
  const server = useServer();
  // [code, type, message, line, column]
  const rows = [
    [
      '\n\n(foo\n  (bar',
      'END-OF-FILE',
      'end of input inside the form that starts at line 3, column 1; 2 parentheses are open, ' +
        'the innermost since line 4, column 3',
      3,
      1,
    ],
    [
      '(foo "abc',
      'END-OF-FILE',
      'end of input inside the form that starts at line 1, column 1; a string is open since line 1, column 6',
      1,
      1,
    ],
    [
      '(foo #| never',
      'END-OF-FILE',
      'end of input inside the form that starts at line 1, column 1; a block comment is open since line 1, column 6',
      1,
      1,
    ],
    [
      '(+ 1 2))',
      'SB-INT:SIMPLE-READER-ERROR',
      'unmatched close parenthesis at line 1, column 8',
      1,
      8,
    ],
    [
      '(+ 1\n   2))',
      'SB-INT:SIMPLE-READER-ERROR',
      'unmatched close parenthesis at line 2, column 6',
      2,
      6,
    ],
    [
      '(+ 1 5/0)',
      'SB-KERNEL:READER-IMPOSSIBLE-NUMBER-ERROR',
      'READER-ERROR at 8 on input:\nfailed to build ratio\n' +
        'Original error: arithmetic error DIVISION-BY-ZERO signalled\nOperation was (/ 5 0). (line 1, column 8)',
      1,
      8,
    ],
    ['(no-such-pkg:foo)', undefined, undefined, 1, undefined],
    ['(car cl:no-such-symbol)', undefined, undefined, 1, undefined],
    ['(a . )', undefined, undefined, 1, undefined],
    [
      '"λλλ" )',
      'SB-INT:SIMPLE-READER-ERROR',
      'unmatched close parenthesis at line 1, column 7',
      1,
      7,
    ],
    ['#<unreadable>', undefined, undefined, 1, undefined],
  ];
  for (const [code, type, message, line, column] of rows) {
    test(titleOf(JSON.stringify(code)), async () => {
      const result = await server.evaluate(code);
      expectResult(result, {
        ok: false,
        code: 'reader',
        phase: 'read',
        type,
        message,
        lacks: ['#<SB-', 'Stream:', '[Debug]'],
      });
      const { error } = result.structured;
      assert.equal(error.line, line);
      if (column) assert.equal(error.column, column);
      assert.equal(error.frames.length, 1);
      assert.match(frameCall(error.frames[0]), /^\(READ "/);
      assert.deepEqual(
        error.restarts.map((restart) => restart.name),
        ['ABORT'],
      );
      assert.ok(!error.frozen);
    });
  }
  test('an error inside #. is an ordinary condition in phase read', async () => {
    expectResult(await server.evaluate('#.(/ 1 0)'), { type: 'DIVISION-BY-ZERO', phase: 'read' });
  });
  test('a reader error leaves everything as it was', async () => {
    assert.equal(await server.value('(package-name *package*)'), '=> "COMMON-LISP-USER"');
  });
});

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
