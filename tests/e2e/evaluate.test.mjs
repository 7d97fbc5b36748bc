// evaluate-lisp: values, definitions, output, reading, packages, streams, limits of output.
import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import {
  evaluationTable,
  eventually,
  expectResult,
  temporaryDirectory,
  titleOf,
  useServer,
} from './support.mjs';
import path from 'node:path';

// Each row is [code, expected] or [code, expected, parameters]; the rows of one table run in order.
evaluationTable('basic evaluation', [
  ['(+ 1 2 3)', '=> 6'],
  [`(concatenate 'string "Hello, " "World!")`, '=> "Hello, World!"'],
  [`(mapcar #'1+ '(1 2 3 4 5))`, '=> (2 3 4 5 6)'],
  ['(floor 17 5)', '=> 3\n=> 2'],
  [`(member 'x '(a b c))`, '=> NIL'],
  ['(sqrt -1)', '=> #C(0.0 1.0)'],
  ['(setf x 10) (setf y 20) (+ x y)', '=> 30'],
  ['(list x y)', '=> (10 20)'],
  ['(values)', '; No values'],
  ['(values nil)', '=> NIL'],
  ['', '; No forms to evaluate.'],
  ['   \n\t ', '; No forms to evaluate.'],
  ['; only a comment\n#| and\n#| another |# one |#', '; No forms to evaluate.'],
  [`(signal 'condition)`, '=> NIL'],
  [`(signal 'simple-error)`, '=> NIL'],
  ['(values 1 "two" :three)', '=> 1\n=> "two"\n=> :THREE'],
  ['1 2 3', '=> 3'],
  ['(values 1 2) 3', '=> 3'],
]);

evaluationTable('definitions', [
  ['(defun square (x) (* x x))', '=> SQUARE'],
  ['(square 5)', '=> 25'],
  [`(mapcar #'square '(1 2 3 4))`, '=> (1 4 9 16)'],
  ['(defvar *counter* 0)', '=> *COUNTER*'],
  ['(incf *counter*) (incf *counter*) *counter*', '=> 2'],
  ['*counter*', '=> 2'],
  [
    `(defmacro with-timing (&body body)
      (let ((start (gensym)))
        \`(let ((,start (get-internal-real-time)))
           (prog1 (progn ,@body)
             (format t "Time: ~,3f seconds~%"
                     (/ (- (get-internal-real-time) ,start) internal-time-units-per-second))))))`,
    '=> WITH-TIMING',
  ],
  ['(with-timing (sleep 0.1))', /^\[stdout\]\nTime: 0\.1\d\d seconds\n\n=> NIL$/],
  ['(defmacro twice (x) `(+ ,x ,x))', '=> TWICE'],
  ['(twice 21)', '=> 42'],
  ['(twice (square 3))', '=> 18'],
  [`(macroexpand-1 '(twice 5))`, '=> (+ 5 5)\n=> T'],
  [
    '(defclass point () ((x :initarg :x :accessor point-x) (y :initarg :y :accessor point-y)))',
    '=> #<STANDARD-CLASS COMMON-LISP-USER::POINT>',
  ],
  [
    `(let ((p (make-instance 'point :x 3 :y 4))) (sqrt (+ (expt (point-x p) 2) (expt (point-y p) 2))))`,
    '=> 5.0',
  ],
  ['(incf *counter* (twice (square 2)))', '=> 10'],
  [
    '(defun square (x) (+ x x))',
    '[warnings]\nSTYLE-WARNING: redefining COMMON-LISP-USER::SQUARE in DEFUN\n\n=> SQUARE',
  ],
  ['(square 5)', '=> 10'],
  [
    `(list (fboundp 'square) (boundp '*counter*) (macro-function 'twice) (find-class 'point nil))`,
    { lacks: 'NIL' },
  ],
]);

// Output: [code, raw stdout, text]
describe('section bodies are trimmed, structured output is not', () => {
  const server = useServer();
  const rows = [
    ['(format t "Hello, World!~%") 42', 'Hello, World!\n', '[stdout]\nHello, World!\n\n=> 42'],
    [`(progn (print 'hello) (+ 1 2))`, '\nHELLO ', '[stdout]\nHELLO\n\n=> 3'],
    ['(print 1) (print 2) (print 3)', '\n1 \n2 \n3 ', '[stdout]\n1 \n2 \n3\n\n=> 3'],
    ['(princ "A") (princ "B") nil', 'AB', '[stdout]\nAB\n\n=> NIL'],
    ['(format t "  a~%~%b  ~%~%") 7', '  a\n\nb  \n\n', '[stdout]\n  a\n\nb\n\n=> 7'],
    ['(terpri) 7', '\n', '=> 7'],
  ];
  for (const [code, raw, text] of rows) {
    test(titleOf(code), async () => {
      const result = await server.evaluate(code);
      expectResult(result, text);
      assert.equal(result.structured.stdout, raw);
    });
  }
});

const oneToHundred = Array.from({ length: 100 }, (_, i) => i).join(' ');

evaluationTable('output', [
  [
    '(format *error-output* "Warning: something happened~%") :ok',
    '[stderr]\nWarning: something happened\n\n=> :OK',
  ],
  [
    '(format t "stdout line~%") (format *error-output* "stderr line~%") :done',
    '[stdout]\nstdout line\n\n[stderr]\nstderr line\n\n=> :DONE',
  ],
  [
    '(warn "This is a warning") :completed',
    '[warnings]\nWARNING: This is a warning\n\n=> :COMPLETED',
  ],
  [
    '(format t "info~%") (format *error-output* "error~%") (warn "warning") :result',
    '[stdout]\ninfo\n\n[stderr]\nerror\n\n[warnings]\nWARNING: warning\n\n=> :RESULT',
  ],
  ['(dotimes (i 100) (princ i) (princ " ")) :done', `[stdout]\n${oneToHundred}\n\n=> :DONE`],
  ['(* 6 7)', '=> 42'],
]);

describe('limits of output', () => {
  const server = useServer();
  const limit = async (characters) => server.call('configure-limits', { 'max-output': characters });

  test('a stream over the limit shows its beginning, its end and the exact count', async () => {
    await limit(100);
    const result = await server.evaluate('(dotimes (i 1000) (write-char #\\a))');
    assert.ok(result.text.length < 300, result.text);
    const { evaluation } = result.structured;
    expectResult(
      result,
      `[stdout]\n${'a'.repeat(73)}\n[truncated: 903 characters omitted; max-output 100]\n${'a'.repeat(24)}\n\n=> NIL\n\n[output ${evaluation}: 1,000 characters; read-output {"output": ${evaluation}, "from": 1}]`,
    );
    assert.equal(result.structured.omitted.stdout, 903);
  });
  test('exactly at the limit nothing is cut', async () => {
    expectResult(
      await server.evaluate('(dotimes (i 97) (write-char #\\b))'),
      `[stdout]\n${'b'.repeat(97)}\n\n=> NIL`,
    );
  });
  test('one over the limit', async () => {
    const { structured } = await server.evaluate('(dotimes (i 98) (write-char #\\b))');
    assert.equal(structured.omitted.stdout, 1);
  });
  test('the two streams share the limit', async () => {
    const { text, structured } = await server.evaluate(
      '(dotimes (i 150) (write-char #\\o) (write-char #\\e *error-output*)) (values)',
    );
    assert.deepEqual([structured.omitted.stdout, structured.omitted.stderr], [100, 100]);
    assert.ok(text.includes('o'.repeat(38)) && text.includes('e'.repeat(38)), text);
  });
  test('characters are counted, not bytes', async () => {
    const { text, structured } = await server.evaluate(
      '(dotimes (i 150) (write-char (code-char 233))) (values)',
    );
    assert.equal(structured.omitted.stdout, 50);
    assert.ok(text.includes(`${'é'.repeat(75)}\n[truncated: 50 characters`), text);
  });
  test('values share one limit', async () => {
    const { text, structured } = await server.evaluate(
      `(values (make-string 60 :initial-element #\\x) (make-string 60 :initial-element #\\y))`,
    );
    const { evaluation } = structured;
    assert.equal(
      text,
      `=> "${'x'.repeat(60)}"\n=> "${'y'.repeat(28)}\n[truncated: 24 characters omitted; max-output 100]\n` +
        `${'y'.repeat(8)}"\n\n[output ${evaluation}: 131 characters; read-output {"output": ${evaluation}, "from": 1}]`,
    );
    assert.equal(structured.omitted.values, 24);
  });
  test('one of a thing is singular', async () => {
    await limit(1);
    expectResult(await server.call('configure-limits', { timeout: 1, 'max-frames': 1 }), {
      has: ['timeout: 1 second\n', 'max-output: 1 character\n'],
    });
    expectResult(await server.evaluate('12'), {
      has: '=> 1\n[truncated: 1 character omitted; max-output 1]\n\n[output ',
    });
    expectResult(await server.evaluate('(error "x")'), {
      ok: false,
      has: '\n... 1 more frame (get-backtrace)',
    });
    await server.evaluate('(');
    expectResult(await server.call('describe-last-error'), { has: 'Backtrace (top 1 frame):' });
    await server.call('configure-limits', { timeout: 30, 'max-frames': 20 });
  });
  test('back to the default', async () => {
    await limit(100000);
    expectResult(
      await server.evaluate('(dotimes (i 1000) (write-char #\\a)) 1'),
      `[stdout]\n${'a'.repeat(1000)}\n\n=> 1`,
    );
  });
});

evaluationTable('values', [
  ['(let ((l (list 1 2 3))) (setf (cdddr l) l) l)', '=> #1=(1 2 3 . #1#)'],
  ['(loop for i below 200 collect i)', { has: '...)', lacks: ' 101' }],
  [
    '(let ((l nil)) (dotimes (i 20) (setf l (list l))) l)',
    /^=> \(\(\(\(\(\(\(\(\(\(#\)\)\)\)\)\)\)\)\)\)\n\[parts not shown; inspect "\$\d+"\]$/,
  ],
  [
    `(defclass spiky () ())
    (defmethod print-object ((o spiky) s) (error "no print"))
    (make-instance 'spiky)`,
    '=> #<unprintable SPIKY: SIMPLE-ERROR: no print>',
  ],
  // A part that cannot be printed does not hide the others.
  [
    `(list 1 (make-instance 'spiky) (vector "two"))`,
    { match: /^=> \(1 #<error printing a SPIKY: #<SIMPLE-ERROR "no print" \S+>> #\("two"\)\)$/ },
  ],
  [
    `(vector (make-instance 'spiky) 3)`,
    { match: /^=> #\(#<error printing a SPIKY: #<SIMPLE-ERROR "no print" \S+>> 3\)$/ },
  ],
  ['"a\nb"', '=> "a\nb"'],
  ['(setf *print-base* 16) 255', '=> FF'],
  ['(setf *print-base* 10) 255', '=> 255'],
  ['(setf *print-length* 3) (loop for i below 6 collect i)', { has: '=> (0 1 2 ...)\n[3 of 6' }],
  ['(setf *print-length* nil) (loop for i below 6 collect i)', '=> (0 1 2 3 4 5)'],
  [':foo', '=> :FOO'],
  [`'|hello world|`, '=> |hello world|'],
]);

evaluationTable('REPL variables', [
  ['(+ 1 2)', '=> 3'],
  ['*', '=> 3'],
  ['(list 10 20)', '=> (10 20)'],
  ['(list * -)', `=> ((10 20) (LIST * -))`],
  ['(values 1 2)', '=> 1\n=> 2'],
  ['/', '=> (1 2)'],
  ['(* 2 21)', '=> 42'],
  ['(error "no change")', { type: 'SIMPLE-ERROR' }],
  ['(list * (first +))', { is: '=> (42 *)' }],
  ['1 2 3 (list * ** ***)', '=> (3 2 1)'],
]);

evaluationTable('reading form by form', [
  [
    '(defpackage :one-call (:use :cl) (:export #:f)) (in-package :one-call) (defun f () 5) (in-package :cl-user) (one-call:f)',
    '=> 5',
  ],
  [
    `(set-macro-character #\\! (lambda (s c) (declare (ignore c)) (list 'quote (read s t nil t)))) !foo`,
    '=> FOO',
  ],
  [`(set-macro-character #\\! nil) 1`, '=> 1'],
  ['#.(+ 1 2)', '=> 3'],
  [
    '(defvar *kept* 1) (setf *kept* 2) (error "stop") (setf *kept* 3)',
    {
      type: 'SIMPLE-ERROR',
      has: '(in form 3, line 1, column 35; the forms before it took effect)',
    },
  ],
  ['*kept*', '=> 2'],
  ['(setf *kept* 4)\n(setf *kept* 5)\n(setf *kept* 6', { type: 'END-OF-FILE', code: 'reader' }],
  ['*kept*', '=> 5'],
  [`(read-from-string "(")`, { type: 'END-OF-FILE', lacks: '[ERROR] READER' }],
  ['*read-eval*', '=> T'],
  ['(setf *read-base* 16) ff', '=> 255'],
  ['(setf *read-base* a) 10', '=> 10'],
]);

evaluationTable('the package argument', [
  ['(defpackage :other (:use :cl)) :made', '=> :MADE'],
  ['(package-name *package*)', '=> "OTHER"', { package: 'other' }],
  ['(package-name *package*)', '=> "OTHER"', { package: 'OTHER' }],
  ['(package-name *package*)', '=> "COMMON-LISP-USER"'],
  [
    '(in-package :cl) (defun common-lisp-user::here () 1)',
    { lacks: '[ERROR]' },
    { package: 'other' },
  ],
  ['(package-name *package*)', '=> "COMMON-LISP-USER"'],
  [
    '(setf common-lisp-user::*seen* 1)',
    {
      type: 'PACKAGE-DOES-NOT-EXIST',
      code: 'unknown-package',
      has: '[ERROR] PACKAGE-DOES-NOT-EXIST\nThe name "NO-SUCH" does not designate any package.',
    },
    { package: 'NO-SUCH' },
  ],
  [`(boundp '*seen*)`, '=> NIL'],
  [
    '(defpackage :gone (:use :cl)) (in-package :gone) (cl:delete-package :gone)',
    { lacks: '[ERROR]' },
  ],
  ['(package-name *package*)', '=> "COMMON-LISP-USER"'],
]);

const directory = temporaryDirectory();

evaluationTable('streams', [
  ['(format *trace-output* "t~%") 1', '[stderr]\nt\n\n=> 1'],
  ['(format sb-sys:*stdout* "raw~%") (finish-output sb-sys:*stdout*) 1', '[stdout]\nraw\n\n=> 1'],
  ['(format sb-sys:*stderr* "raw~%") (finish-output sb-sys:*stderr*) 1', '[stderr]\nraw\n\n=> 1'],
  ['(read-line *standard-input* nil :eof)', '=> :EOF\n=> T'],
  ['(read-line sb-sys:*stdin* nil :eof)', '=> :EOF\n=> T'],
  ['(read-line *terminal-io* nil :eof)', '=> :EOF\n=> T'],
  ['(format *terminal-io* "x") 1', '[stdout]\nx\n\n=> 1'],
  ['(format *query-io* "x") (format *debug-io* "x") 1', '=> 1'],
  ['(read-char *query-io* nil :eof)', '=> :EOF'],
  [`(sb-ext:run-program "/bin/echo" '("child") :output t) 1`, '[stdout]\nchild\n\n=> 1'],
  [`(sb-ext:run-program "/bin/sh" '("-c" "echo oops >&2") :error nil :output nil) 1`, '=> 1'],
  [`(sb-ext:run-program "/bin/sh" '("-c" "cat") :input t :output t) 1`, '=> 1'],
  [
    `(sb-alien:alien-funcall (sb-alien:extern-alien "write" (function sb-alien:long sb-alien:int sb-alien:c-string sb-alien:long)) 1 "fd one" 6) :ok`,
    '[stdout]\nfd one\n\n=> :OK',
  ],
  [
    `(sb-alien:alien-funcall (sb-alien:extern-alien "write" (function sb-alien:long sb-alien:int sb-alien:c-string sb-alien:long)) 2 "fd two" 6) :ok`,
    '[stderr]\nfd two\n\n=> :OK',
  ],
  [
    '(sb-thread:join-thread (sb-thread:make-thread (lambda () (princ "from a thread") 5)))',
    '[stdout]\nfrom a thread\n\n=> 5',
  ],
  ['(setf *standard-output* (make-broadcast-stream)) (princ "lost") 1', '=> 1'],
  ['(princ "again") 1', '[stdout]\nagain\n\n=> 1'],
  ['(close *standard-output*) 2', { has: '=> 2' }],
  ['(princ "still") 3', '[stdout]\nstill\n\n=> 3'],
  ['(princ (list (code-char 955) (code-char 128512))) 1', '[stdout]\n(λ 😀)\n\n=> 1'],
  ['(princ (code-char #xD800)) (princ (code-char 0)) 1', { has: '\uFFFD' }],
  [
    `(sb-ext:run-program "/usr/bin/printf" '("a\\\\377b") :output t) 1`,
    '[stdout]\na\uFFFDb\n\n=> 1',
  ],
  [
    `(with-open-file (s "${path.join(directory, 'x.txt')}" :direction :output) (princ "file" s)) 1`,
    '=> 1',
  ],
  [
    `(defvar *go* nil)
     (defvar *late* (sb-thread:make-thread (lambda () (loop until *go* do (sleep 0.01)) (format t "late~%"))))
     :started`,
    '=> :STARTED',
  ],
  ['(setf *go* t) (sb-thread:join-thread *late*) :slept', '[stdout]\nlate\n\n=> :SLEPT'],
]);

describe('output between calls is marked in the next', () => {
  const server = useServer();
  const directory = temporaryDirectory();
  const marker = (name) => path.join(directory, name);
  const writeBetweenCalls = async () => {
    await server.value(
      `(sb-thread:make-thread (lambda ()
         (loop until (probe-file "${marker('begin')}") do (sleep 0.01))
         (format t "between~%")
         (finish-output)
         (open "${marker('end')}" :direction :probe :if-does-not-exist :create)))
       1`,
    );
    writeFileSync(marker('begin'), '');
    assert.ok(await eventually(() => existsSync(marker('end')), 20));
    for (const name of ['begin', 'end']) rmSync(marker(name));
  };
  test('one that prints, too', async () => {
    await writeBetweenCalls();
    const { text, structured } = await server.evaluate('(princ "now") 1');
    assert.equal(text, '[output since the last call]\nbetween\n\n[stdout]\nnow\n\n=> 1');
    assert.equal(structured.earlier_output, 'between\n');
    assert.equal(structured.stdout, 'now');
  });
  test('one that prints nothing', async () => {
    await writeBetweenCalls();
    assert.equal(await server.value('1'), '[output since the last call]\nbetween\n\n=> 1');
  });
  test('one after a call that has no place to show it', async () => {
    await writeBetweenCalls();
    await server.call('describe-symbol', { name: 'car' });
    assert.equal(
      await server.value('(princ "now") 1'),
      '[output since the last call]\nbetween\n\n[stdout]\nnow\n\n=> 1',
    );
    assert.equal(await server.value('(princ "then") 1'), '[stdout]\nthen\n\n=> 1');
  });
});

describe('timing', () => {
  const server = useServer();
  test('capture-time adds one line below the values', async () => {
    const result = await server.evaluate('(values 1 2)', { 'capture-time': true });
    assert.match(
      result.text,
      /^=> 1\n=> 2\n; Timing: [\d.]+ms real, [\d.]+ms run, [\d.]+ms GC, \d+ bytes consed$/,
    );
  });
  test('timing is structured where it is asked for, also after an error', async () => {
    assert.ok(!('timing' in (await server.evaluate('1')).structured));
    for (const code of ['(sleep 0.05)', '(progn (sleep 0.05) (error "x"))']) {
      const { structured } = await server.evaluate(code, { 'capture-time': true });
      assert.ok(
        structured.timing.real_us >= 50_000 && structured.timing.real_us < 5_000_000,
        JSON.stringify(structured.timing),
      );
      for (const name of ['run_us', 'gc_us', 'bytes', 'page_faults'])
        assert.ok(structured.timing[name] >= 0, name);
    }
  });
  test('evaluations are counted, the package is told', async () => {
    const first = (await server.evaluate('1')).structured;
    const second = (await server.evaluate('1 2 3')).structured;
    assert.equal(second.evaluation, first.evaluation + 1);
    assert.equal(second.forms, 3);
    assert.deepEqual(second.values, ['3']);
    assert.match(second.package, /^(COMMON-LISP-USER|CL-USER)$/);
  });
});

describe('arguments', () => {
  const server = useServer();
  const rows = [
    ['bad session name', { code: '1', session: 'Bad Name' }, { code: 'invalid-argument' }],
    ['session name too long', { code: '1', session: 'x'.repeat(33) }, { code: 'invalid-argument' }],
    ['negative timeout', { code: '1', timeout: -1 }, { code: 'invalid-argument' }],
    ['timeout too large', { code: '1', timeout: 86401 }, { code: 'invalid-argument' }],
    ['missing code', {}, { ok: false, has: `Invalid params: missing required parameter 'code'` }],
    ['code is a number', { code: 5 }, { ok: false, has: 'code' }],
    ['code is null', { code: null }, { ok: false }],
    ['session is a list', { code: '1', session: [] }, { ok: false }],
  ];
  for (const [name, parameters, expected] of rows) {
    test(name, async () => {
      const state = await server.value('(list 1 2)');
      const result = await server.call('evaluate-lisp', parameters);
      expectResult(result, expected);
      assert.equal(await server.value('(list 1 2)'), state);
    });
  }
  test('code over 4 MiB is refused', async () => {
    expectResult(await server.evaluate(`"${'x'.repeat(4 * 1024 * 1024)}"`), {
      code: 'invalid-argument',
      has: 'code is longer than 4 MiB',
    });
    assert.equal(await server.value('1'), '=> 1');
  });
  test('code of 3 MiB is evaluated', async () => {
    assert.equal(
      await server.value(`(length "${'x'.repeat(3 * 1024 * 1024)}")`),
      `=> ${3 * 1024 * 1024}`,
    );
  });
});
