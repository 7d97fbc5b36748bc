// Conditions: types, messages, frames, restarts, reader errors, warnings, failures that are none.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { evaluationTable, expectResult, frameCall, titleOf, useServer } from './support.mjs';

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

evaluationTable('warnings', [
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

evaluationTable('messages', [
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
