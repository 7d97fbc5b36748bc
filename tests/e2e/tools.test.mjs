// The other Lisp tools: compile-form, time-execution, introspection, files and systems, syntax.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import Ajv from 'ajv/dist/2020.js';
import { callTable, useServer } from './support.mjs';

describe('schemas', () => {
  const server = useServer();
  const folder = path.join(import.meta.dirname, '../../src/tools/schemas');
  test('every file is the schema of a tool', () => {
    const names = readdirSync(folder)
      .filter((name) => name.endsWith('.json'))
      .map((name) => name.slice(0, -5));
    assert.deepEqual(server.tools.map(({ name }) => name).sort(), names.sort());
  });
  test('all schemas are valid under the meta-schema', () => {
    const ajv = new Ajv();
    for (const { name, inputSchema, outputSchema } of server.tools)
      for (const schema of [inputSchema, outputSchema])
        assert.ok(ajv.validateSchema(schema), `${name}: ${ajv.errorsText(ajv.errors)}`);
  });
});

callTable('compile-form', [
  ['compile-form', { code: '(+ 1 2)' }, 'Compilation successful.\nNo warnings or notes.'],
  [
    'compile-form',
    { code: '(defun f (x) (foo-undefined x))' },
    {
      match:
        /^Compilation successful\.\n\nWarnings \(1\):\n {2}\[STYLE\] undefined function: COMMON-LISP-USER::FOO-UNDEFINED\n {4}in form 1, line 1: \(FOO-UNDEFINED X\)$/,
    },
  ],
  [
    'compile-form',
    { code: '(defun g (x) (+ x "string"))' },
    { has: ['Compiled; compile-file would report failure.', '[WARNING] '] },
  ],
  [
    'compile-form',
    { code: '(defun g () *no-such-variable*)' },
    { has: '[WARNING] undefined variable: COMMON-LISP-USER::*NO-SUCH-VARIABLE*' },
  ],
  [
    'compile-form',
    { code: '(lambda (x) (declare (fixnum x)) (if (stringp x) (print 1) 2))' },
    { has: 'Compiler notes (1):\n  deleting unreachable code' },
  ],
  [
    'compile-form',
    { code: '(+ 1 2)\n(foo (bar' },
    {
      ok: false,
      has: [
        'Compilation FAILED.\n\nErrors (1):\n  Read error: end of input inside the form that starts at line 2, column 1',
      ],
    },
  ],
  ['compile-form', { code: '(if)' }, { ok: false, has: 'Compilation FAILED.' }],
  ['compile-form', { code: '(defmacro m () (error "in macro")) (defun h () (m))' }, { ok: false }],
  ['compile-form', { code: '#.(/ 1 0)' }, { ok: false, has: 'DIVISION-BY-ZERO' }],
  [
    'compile-form',
    {
      code: '(defun compiled-only () 1) (defvar *compiled-only* 5) (eval-when (:compile-toplevel) (defvar *side* 1)) (print "never")',
    },
    { has: 'Compilation successful.' },
  ],
  [
    'evaluate-lisp',
    { code: `(list (fboundp 'compiled-only) (boundp '*compiled-only*) (boundp '*side*))` },
    '=> (NIL NIL NIL)',
  ],
  ['compile-form', { code: '(defun a () (b)) (defun b () 1)' }, { has: 'No warnings or notes.' }],
  // what the file compiler finds clean is clean
  ...[
    '(declaim (optimize (speed 1)))',
    '(defvar *zq*) (defun zf () (let ((*zq* 2)) (zg))) (defun zg () *zq*)',
    '(defclass k1 () ()) (defmethod m1 ((k k1)) k)',
    '(define-condition cond1 (error) ()) (defun zf () 1) (defun zh () (handler-case (zf) (cond1 () 2)))',
    '(define-modify-macro appendf (&rest a) append) (defun zi (x) (appendf x 1))',
    '(defmacro define-pair (a b) `(progn (defmacro ,a () 1) (defvar ,b))) (define-pair za *zb*) (defun zc () (let ((*zb* (za))) (zd))) (defun zd () *zb*)',
    '(macrolet ((inner () 1)) (defun zj () (inner)) (defstruct zk a)) (defun zl (k) (zk-a k))',
    '(defpackage :zpkg (:use :cl) (:export #:one)) (in-package :zpkg) (defun one () 1) (defun two () (zpkg:one))',
  ].map((code) => ['compile-form', { code }, 'Compilation successful.\nNo warnings or notes.']),
  [
    'compile-form',
    { code: '(defun zf () (zg)) (defun zg () 1) (list 1 . )' },
    { ok: false, has: 'Errors (1):', lacks: 'undefined' },
  ],
  [
    'compile-form',
    {
      code: '(defun a () 1)\n\n(defun b ()\n  (no-such-one 1))\n(defun c (x) 1) (defun d () (if))\n(print 1)',
    },
    {
      ok: false,
      has: [
        '    in form 4, line 5: (IF)',
        '    in form 3, line 5: (DEFUN C (X) 1)',
        '    in form 2, line 3: (NO-SUCH-ONE 1)',
      ],
    },
  ],
  [
    'compile-form',
    { code: '(defun zf () (load-time-value (sb-ext:exit :code 3 :abort t)))' },
    'Compilation successful.\nNo warnings or notes.',
  ],
  ['compile-form', { code: '' }, { has: 'Compilation successful.' }],
  ['compile-form', { code: '(loop)' }, { has: 'Compilation successful.' }],
  ['compile-form', { code: '(sb-ext:exit :code 3)' }, { has: 'Compilation successful.' }],
  [
    'compile-form',
    { code: '(macrolet ((m () (loop))) (m))', timeout: 1 },
    { ok: false, has: 'Compilation FAILED.', seconds: [1, 20] },
  ],
  [
    'compile-form',
    { code: '#.(sb-ext:exit :code 3 :abort t)' },
    { ok: false, has: 'Compilation FAILED.' },
  ],
  ['compile-form', { code: '1', package: 'no-such' }, { code: 'unknown-package' }],
  ['evaluate-lisp', { code: '(+ 1 1)' }, '=> 2'],
  ['describe-last-error', {}, { has: 'No error information available.' }],
]);

const timing =
  String.raw`Timing:\n  Real time:      [\d.]+ ms\n  Run time:       [\d.]+ ms\n  GC time:        [\d.]+ ms\n` +
  String.raw`  Bytes consed:   [\d,]+\n  Page faults:    [\d,]+`;

callTable('time-execution', [
  ['time-execution', { code: '(list 1 2)' }, new RegExp(`^${timing}\n\nResult:\n  \\(1 2\\)$`)],
  ['time-execution', { code: '(values 1 2)' }, new RegExp(`^${timing}\n\nResult:\n  1\n  2$`)],
  ['time-execution', { code: '(values)' }, new RegExp(`^${timing}\n\nResult:\n  \\(no values\\)$`)],
  [
    'time-execution',
    { code: '(format t "printed text~%") (format *error-output* "err") (warn "w") 1' },
    new RegExp(
      `^${timing}\n\nResult:\n  1\n\nOutput:\nprinted text\n\n\\[stderr\\]\nerr\n\n\\[warnings\\]\nWARNING: w$`,
    ),
  ],
  ['time-execution', { code: '(defvar *timed* 5)' }, { has: 'Result:\n  *TIMED*' }],
  ['evaluate-lisp', { code: '*timed*' }, '=> 5'],
  [
    'time-execution',
    { code: '(princ "before") (/ 1 0)' },
    {
      type: 'DIVISION-BY-ZERO',
      match: /^Error during execution:\n\[stdout\]\nbefore\n\n\[ERROR\] DIVISION-BY-ZERO\n/,
    },
  ],
  ['describe-last-error', {}, { has: 'Error: DIVISION-BY-ZERO' }],
]);

describe('what time-execution measures', () => {
  const server = useServer();
  test('time', async () => {
    const { structured } = await server.call('time-execution', { code: '(sleep 0.2)' });
    assert.ok(
      structured.timing.real_us >= 200_000 && structured.timing.real_us < 1_200_000,
      JSON.stringify(structured.timing),
    );
    assert.ok(structured.timing.run_us < structured.timing.real_us);
  });
  test('bytes of a large array, within 1 %', async () => {
    const { structured } = await server.call('time-execution', {
      code: `(make-array 8000000 :element-type '(unsigned-byte 8)) 1`,
    });
    assert.ok(
      Math.abs(structured.timing.bytes - 8_000_000) <= 80_000,
      JSON.stringify(structured.timing),
    );
  });
});

callTable('introspection', [
  [
    'evaluate-lisp',
    {
      code: `(defpackage :my-app (:use :cl) (:export #:person #:visible)) (in-package :my-app)
     (defclass person () ((name :initarg :name :initform (error "never evaluated") :reader person-name) (age :initarg :age :accessor age)))
     (defclass worker (person) ((job :initarg :job)))
     (defgeneric area (x)) (defmethod area ((p person)) 1) (defmethod area :around ((p person)) 2)
     (defvar *level* 3 "How deep.") (defun visible (a &optional b) "Documented." (list a b *level*)) (defun caller () (visible 1))
     (defmacro wrap (x) \`(list ,x)) (in-package :cl-user) 1`,
    },
    { has: '=> 1' },
  ],
  ['describe-symbol', { name: 'mapcar' }, { has: ['COMMON-LISP::MAPCAR [FUNCTION]', 'Arglist: '] }],
  [
    'describe-symbol',
    { name: 'my-app::visible' },
    { has: ['MY-APP::VISIBLE [FUNCTION]', '&OPTIONAL', 'Documentation:\n    Documented.'] },
  ],
  [
    'describe-symbol',
    { name: '*level*', package: 'my-app' },
    { has: ['MY-APP::*LEVEL* [VARIABLE]', 'Value: 3', 'How deep.'] },
  ],
  ['describe-symbol', { name: 'wrap', package: 'MY-APP' }, { has: '[MACRO]' }],
  ['describe-symbol', { name: 'area', package: 'my-app' }, { has: '[GENERIC-FUNCTION]' }],
  ['describe-symbol', { name: 'person', package: 'my-app' }, { has: '[CLASS]' }],
  [
    'describe-symbol',
    { name: 'nothing-like-this-at-all' },
    'Symbol NOTHING-LIKE-THIS-AT-ALL not found in package COMMON-LISP-USER (status: NIL)',
  ],
  [
    'describe-symbol',
    { name: 'x', package: 'no-such-package' },
    { match: /^Package no-such-package not found$/i },
  ],
  ['evaluate-lisp', { code: `(find-symbol "NOTHING-LIKE-THIS-AT-ALL")` }, '=> NIL\n=> NIL'],
  [
    'describe-symbol',
    { pattern: 'mapcar' },
    { match: /^Found \d+ symbols? matching 'mapcar':\n\n {2}COMMON-LISP::MAPCAR \[FUNCTION\]/ },
  ],
  [
    'describe-symbol',
    { pattern: 'VISI', package: 'my-app' },
    { has: 'MY-APP::VISIBLE [FUNCTION]' },
  ],
  [
    'describe-symbol',
    { pattern: 'level', package: 'my-app', type: 'variable' },
    { has: 'MY-APP::*LEVEL* [VARIABLE]' },
  ],
  ['describe-symbol', { pattern: 'a' }, { match: /\n\.\.\. \d+ more$/ }],
  ['describe-symbol', { pattern: 'zzqzzq' }, { has: 'Found 0 symbols' }],
  ['describe-symbol', { pattern: 'a', type: 'nonsense' }, { ok: false }],
  [
    'find-references',
    { name: 'my-app::visible' },
    { has: 'Functions that call MY-APP::VISIBLE:\n\n  MY-APP::CALLER' },
  ],
  ['find-references', { name: 'my-app::caller' }, 'No references found for MY-APP::CALLER'],
  [
    'evaluate-lisp',
    {
      code: `(dotimes (i 210 (defun called () 1))
               (eval \`(defun ,(intern (format nil "CALLER-~D" i)) () (called))))`,
    },
    '=> CALLED',
  ],
  [
    'find-references',
    { name: 'called' },
    ({ text, structured }) => {
      assert.equal(structured.callers.length, 200);
      assert.ok(text.endsWith(`\n... ${structured.callers_total - 200} more`), text.slice(-100));
    },
  ],
  [
    'find-references',
    { name: 'my-app::*level*' },
    { has: 'Code that references MY-APP::*LEVEL*:\n\n  MY-APP::VISIBLE' },
  ],
  ['find-references', { name: '*print-base*', package: 'cl' }, { lacks: '[ERROR]' }],
  [
    'describe-symbol',
    { name: 'person', package: 'my-app' },
    {
      has: [
        'MY-APP::PERSON [CLASS]',
        '\n  Superclasses: STANDARD-OBJECT',
        '\n  Subclasses: MY-APP::WORKER',
        '\n  Precedence: MY-APP:PERSON → STANDARD-OBJECT → ',
        '\n  Slots:\n    NAME  initarg :NAME',
        'never evaluated',
        '\n  Methods:\n',
        '    MY-APP::AREA :AROUND (MY-APP:PERSON)',
      ],
      lacks: ['Metaclass', 'Inherited slots', 'SLOT-ACCESSOR'],
    },
  ],
  [
    'describe-symbol',
    { name: 'worker', package: 'my-app' },
    { has: ['\n  Slots:\n', '\n  Inherited slots: '], lacks: ['Subclasses', 'AREA'] },
  ],
  [
    'evaluate-lisp',
    {
      code: `(define-condition sour (error) ((tastes :initform (list 1 2)) (kind :initform 'lemon))) (defclass orphan (no-such-parent) ()) 1`,
    },
    { has: '=> 1' },
  ],
  [
    'describe-symbol',
    { name: 'sour' },
    { has: ['TASTES  initform (LIST 1 2)\n', 'KIND  initform (QUOTE LEMON)', 'Metaclass: '] },
  ],
  [
    'describe-symbol',
    { name: 'orphan' },
    { has: '\n  Precedence: (not known: a superclass is not defined)' },
  ],
  [
    'list-definitions',
    { type: 'classes' },
    '[Classes]\n- ORPHAN\n- SOUR\n- MY-APP::PERSON\n- MY-APP::WORKER',
  ],
  [
    'list-definitions',
    { package: 'no-such-package' },
    { match: /^Package no-such-package not found$/ },
  ],
  [
    'describe-symbol',
    { name: 'worker', package: 'my-app', inherited: true },
    { has: '    MY-APP::AREA :AROUND (MY-APP:PERSON)', lacks: ['SLOT-ACCESSOR', 'CADRE'] },
  ],
  ['describe-symbol', {}, { ok: false, has: 'Give name or pattern.' }],
  ['describe-symbol', { name: 'a', pattern: 'b' }, { ok: false, has: 'not both' }],
  [
    'macroexpand-form',
    { form: '(push item list)' },
    { has: ['Expansion of (PUSH ITEM LIST):\n\n(', 'setq list'] },
  ],
  ['macroexpand-form', { form: '(my-app::wrap 5)' }, { has: '(list 5)' }],
  ['macroexpand-form', { form: '(when a (when b c))' }, { has: '(if a' }],
  ['macroexpand-form', { form: '(+ 1 2)' }, { has: '(Form is not a macro call)' }],
  ['macroexpand-form', { form: '(when' }, { ok: false }],
  ['evaluate-lisp', { code: '(defmacro failing (x) (error "no ~a" x))' }, '=> FAILING'],
  [
    'macroexpand-form',
    { form: ' (failing 5)' },
    ({ text, structured }) => {
      assert.ok(text.startsWith('[ERROR] SIMPLE-ERROR\nno 5\n\n[Backtrace]\n'), text);
      assert.deepEqual(
        [structured.error.form, structured.error.line, structured.error.column],
        [1, 1, 2],
      );
    },
  ],
  [
    'macroexpand-form',
    { form: '' },
    { code: 'invalid-argument', has: 'There is no form to expand.' },
  ],
  [
    'macroexpand-form',
    { form: '(push a b) (pop b)' },
    { code: 'invalid-argument', has: 'There is more than one form' },
  ],
  [
    'macroexpand-form',
    { form: '(push a b) ; comment\n#+no-such-feature (skipped)' },
    { has: 'Expansion of (PUSH A B):' },
  ],
  [
    'macroexpand-form',
    { form: '(push `(list ,z ,@more) b)' },
    { has: 'Expansion of (PUSH `(LIST ,Z ,@MORE) B):\n\n' },
  ],
  ['macroexpand-form', { form: '(let ((1 2)) 3)' }, { has: '(Form is not a macro call)' }],
  ['macroexpand-form', { form: '(destructuring-bind)' }, { ok: false }],
]);

callTable('syntax', [
  [
    'check-syntax',
    { code: '(a) (b "x)" #\\( ) ; )\n#| ( |# |a(b|' },
    '✓ Syntax valid: 3 top-level forms',
  ],
  ['check-syntax', { code: '\ufeff(a)' }, '✓ Syntax valid: 1 top-level form'],
  ['check-syntax', { code: '' }, '✓ Syntax valid: 0 top-level forms'],
  [
    'check-syntax',
    { code: '(no-such-package:symbol #.(sb-ext:exit))' },
    '✓ Syntax valid: 1 top-level form',
  ],
  [
    'check-syntax',
    { code: '(defun f (x)\n  (list x' },
    {
      match:
        /^✗ Syntax invalid\n\nError: .*\nUnclosed parentheses: 2\nApproximate location: line 2\n\n\[Repair\]\n.*\nline 2: {3}\(list x\)\)$/,
    },
  ],
  ['check-syntax', { code: '(a))' }, { has: ['✗ Syntax invalid', 'unmatched close parenthesis'] }],
  ['check-syntax', { code: '"open' }, { has: ['✗ Syntax invalid', 'string'] }],
  ['check-syntax', { code: '#| #| |#' }, { has: ['✗ Syntax invalid', 'comment'] }],
  [
    'check-syntax',
    { code: '('.repeat(1_000_000) + ')'.repeat(1_000_000) },
    '✓ Syntax valid: 1 top-level form',
  ],
  ['check-syntax', { code: '(#1=#1#)' }, '✓ Syntax valid: 1 top-level form'],
  ...[
    ['a\\', 'end of input after a backslash'],
    ['( . b)', 'misplaced dot'],
    [',a', 'comma not inside a backquote'],
    ['#<foo>', 'no syntax begins with # and this character'],
    ['foo:bar:baz', 'misplaced colon in a symbol'],
  ].map(([code, problem]) => [
    'check-syntax',
    { code },
    { has: ['✗ Syntax invalid', `Error: ${problem} (line 1, column `] },
  ]),
  [
    'check-syntax',
    { code: '(,a (b c))', line: 1, column: 1 },
    { has: 'Match at line 1, column 10' },
  ],
  [
    'check-syntax',
    { code: '(a (b c))', line: 1, column: 4 },
    {
      has: [
        'from line 1, column 4\nMatch at line 1, column 8',
        'Context:',
        '1: (a (b c))  ◀ match',
      ],
    },
  ],
  ['check-syntax', { code: '(a (b c))', line: 1, column: 9 }, { has: 'Match at line 1, column 1' }],
  [
    'check-syntax',
    { code: '(a\n "(" b)', line: 2, column: 7 },
    { has: 'Match at line 1, column 1' },
  ],
  ['check-syntax', { code: '(a', line: 1, column: 1 }, { has: 'No match' }],
  ['check-syntax', { code: 'abc', line: 1, column: 2 }, { has: 'No match' }],
  ['check-syntax', { code: 'abc', line: 99, column: 1 }, { has: 'No match' }],
]);

callTable('profile and memory', [
  [
    'profile-code',
    { code: '(defun spin (n) (loop repeat n sum (random 10))) (spin 20000000)', timeout: 30 },
    { match: /^Statistical Profile \(CPU mode\)\nTotal samples: [1-9]\d*\n\n[\s\S]*\nResult: \d+/ },
  ],
  [
    'profile-code',
    { code: '(spin 20000000)', 'report-type': 'graph', timeout: 30 },
    ({ text }) => {
      assert.match(text, /Callees/);
      assert.doesNotMatch(text, /\n-+\n-+\n|CADRE-AGENT/);
    },
  ],
  [
    'profile-code',
    { code: '(let (x) 1)' },
    { has: '[warnings]\nSTYLE-WARNING: The variable X is defined but never used.' },
  ],
  ['profile-code', { code: '1' }, { has: ['Total samples: 0', 'too quickly', 'Result: 1'] }],
  [
    'profile-code',
    { code: '(error "stop")' },
    { type: 'SIMPLE-ERROR', has: '(Profiling stopped due to error)' },
  ],
  ['evaluate-lisp', { code: '(list (spin 10))' }, { match: /=> \(\d+\)/ }],
  [
    'memory-report',
    {},
    { has: ['Heap:', 'live: ', 'max-memory: 1024 MB', 'head: ', 'snapshot ', 'private in all: '] },
  ],
  [
    'memory-report',
    { verbosity: 'minimal', 'gc-first': true },
    { has: 'live: ', lacks: 'snapshot' },
  ],
  ['memory-report', { verbosity: 'detailed' }, { has: 'Generations:' }],
]);

describe('tools/list', () => {
  const server = useServer();
  // readOnly, destructive, idempotent, openWorld
  const hints = {
    'evaluate-lisp': 'f t f t',
    'time-execution': 'f t f t',
    'profile-code': 'f t f t',
    'trace-calls': 'f t f t',
    explain: 't f t f',
    'load-file': 'f t f t',
    'load-system': 'f t f t',
    'compile-form': 't f t f',
    'macroexpand-form': 't f t f',
    inspect: 't f f f',
    'eval-in-frame': 't f f f',
    'rollback-session': 'f t t f',
    'reset-session': 'f t t f',
    'close-session': 'f t t f',
    'configure-limits': 'f f t f',
    'invoke-restart': 'f t f t',
    'list-definitions': 't f t f',
    'session-info': 't f t f',
    'export-session': 't f t f',
    'fork-session': 'f f f f',
    'adopt-session': 'f t f f',
    'try-alternatives': 'f t f t',
    'describe-last-error': 't f t f',
    'get-backtrace': 't f t f',
    'list-errors': 't f t f',
    'describe-symbol': 't f t f',
    'find-references': 't f t f',
    'find-definition': 't f t f',
    rename: 'f t f f',
    'break-at': 'f t f t',
    'check-syntax': 't f t f',
    'list-systems': 't f t f',
    'memory-report': 't f t f',
  };
  for (const [name, expected] of Object.entries(hints)) {
    test(name, () => {
      const tool = server.tools.find((candidate) => candidate.name === name);
      assert.ok(tool, 'is listed');
      assert.ok((tool.title ?? tool.annotations?.title)?.length > 0, 'has a title');
      assert.ok(tool.description?.length > 0, 'has a description');
      assert.equal(tool.inputSchema.type, 'object');
      const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = tool.annotations;
      const found = [
        readOnlyHint ?? false,
        destructiveHint ?? true,
        idempotentHint ?? false,
        openWorldHint ?? true,
      ];
      assert.equal(found.map((hint) => (hint ? 't' : 'f')).join(' '), expected);
    });
  }
  test('instructions of fewer than 300 words', () => {
    const words = server.client.getInstructions().trim().split(/\s+/).length;
    assert.ok(words > 20 && words < 300, `${words} words`);
  });
});
