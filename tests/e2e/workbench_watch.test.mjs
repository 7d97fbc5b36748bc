// trace-calls, explain: code that is watched while it runs, and what the compiler makes of it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Server } from './support.mjs';

const CODE = `
(defun fact (n) (if (< n 2) 1 (* n (fact (1- n)))))
(defun both (n) (values n (list n n)))
(defun none () (values))
(defun leave () (throw 'out 7))
(defun fail (n) (if (zerop n) (error "at the bottom") (1+ (fail (1- n)))))
(defclass square () ((side :initarg :side :accessor side)))
(defmethod area ((s square)) (* (side s) (side s)))
(defstruct noisy)
(defmethod print-object ((n noisy) stream) (format stream "<~A>" (fact 3)))
(defmacro twice (x) \`(* 2 ,x))`;

let server;
before(async () => {
  server = await Server.start({ args: ['--tools', 'full'] });
  await server.value(CODE);
});
after(() => server.stop());

const trace = (functions, code, more = {}) =>
  server.call('trace-calls', { functions, code, ...more });
const evaluate = async (code) => (await server.call('evaluate-lisp', { code })).text;
// Without the times, which are never the same.
const tree = ({ text }) => text.replace(/ {2}[\d.]+ [µm]s$/gm, '');
const isTraced = (name) =>
  evaluate(`(not (not (sb-int:encapsulated-p '${name} 'cadre-agent::cadre-trace)))`);

describe('trace-calls', () => {
  test('is a tree of calls with arguments and values', async () => {
    const answer = await trace(['fact'], '(fact 3)');
    assert.match(answer.text, /^\(FACT 3\) => 6 {2}[\d.]+ [µm]s$/m);
    assert.equal(
      tree(answer),
      `Calls: COMMON-LISP-USER::FACT 3
(FACT 3) => 6
  (FACT 2) => 2
    (FACT 1) => 1

=> 6`,
    );
    assert.equal(await isTraced('fact'), '=> NIL');
  });
  test('several functions, several values, none; setf functions and generic functions', async () => {
    const answer = await trace(
      ['both', 'none', 'area', 'SIDE', '(setf side)', 'cl-user::fact', 'both'],
      "(let ((s (make-instance 'square :side 2))) (setf (side s) 3) (area s) (both 1) (none))",
    );
    const lines = tree(answer).split('\n');
    const package_ = 'COMMON-LISP-USER::';
    assert.equal(
      lines[0],
      `Calls: ${package_}BOTH 1, ${package_}NONE 1, ${package_}AREA 1, ${package_}SIDE 2, ` +
        `(SETF ${package_}SIDE) 1, ${package_}FACT 0`,
    );
    assert.match(lines[1], /^\(\(SETF SIDE\) 3 #<SQUARE .*>\) => 3$/);
    assert.match(lines[2], /^\(AREA #<SQUARE .*>\) => 9$/);
    assert.match(lines[3], /^ {2}\(SIDE #<SQUARE .*>\) => 3$/);
    assert.deepEqual(lines.slice(5), [
      '(BOTH 1) => 1, (1 1)',
      '(NONE) => (no values)',
      '',
      '; No values',
    ]);
    for (const name of ['both', 'area', 'side', '(setf side)'])
      assert.equal(await isTraced(name), '=> NIL', name);
    assert.equal(await evaluate("(typep #'area 'generic-function)"), '=> T');
  });
  test('a call that is left by a throw or an error is shown as such, and nothing stays traced', async () => {
    assert.equal(
      tree(await trace(['leave'], "(catch 'out (leave))")),
      'Calls: COMMON-LISP-USER::LEAVE 1\n(LEAVE) did not return\n\n=> 7',
    );
    const failed = await trace(['fail'], '(fail 1)');
    assert.ok(failed.isError);
    assert.match(
      tree(failed),
      /^Calls: .*FAIL 2\n\(FAIL 1\) did not return\n {2}\(FAIL 0\) did not return\n\n\[ERROR\] SIMPLE-ERROR\nat the bottom/,
    );
    assert.doesNotMatch(failed.text, /CADRE-AGENT/);
    // The error is frozen like any other; what comes of it is no longer traced either.
    const frame = await server.call('eval-in-frame', { frame: 1, code: '(list :n n)' });
    assert.equal(frame.text, '=> (:N 0)');
    const adopted = await server.call('invoke-restart', { frame: 1, values: ['5'], adopt: true });
    assert.match(adopted.text, /=> 6/);
    assert.equal(await isTraced('fail'), '=> NIL');
    assert.equal(await isTraced('leave'), '=> NIL');
  });
  test('after a timeout nothing stays traced', async () => {
    const answer = await trace(['fact'], '(progn (fact 1) (loop))', { timeout: 1 });
    assert.ok(answer.isError);
    assert.match(tree(answer), /^Calls: .*FACT 1\n\(FACT 1\) => 1\n/);
    assert.match(answer.text, /TIMEOUT/);
    assert.equal(await isTraced('fact'), '=> NIL');
    const exited = await trace(['fact'], '(progn (fact 1) (sb-ext:exit :code 3 :abort t))');
    assert.ok(exited.isError);
    assert.equal(await isTraced('fact'), '=> NIL');
  });
  test('the answer is bounded in depth, calls and length of lines', async () => {
    const deep = tree(await trace(['fact'], '(fact 100)', { depth: 2 })).split('\n');
    assert.equal(deep.length, 6);
    assert.match(deep[3], /^\[98 more calls not shown\]$/);
    const many = tree(await trace(['fact'], '(dotimes (i 5000) (fact 1))')).split('\n');
    assert.equal(many[0], 'Calls: COMMON-LISP-USER::FACT 5000');
    assert.equal(many[201], '[4800 more calls not shown]');
    const long = tree(await trace(['both'], '(both (make-list 5000 :initial-element "abcdef"))'));
    assert.ok(long.split('\n')[1].length < 600);
    const wide = await trace(
      ['both'],
      '(dotimes (i 300) (both (make-string 150 :initial-element #\\x)))',
    );
    assert.ok(wide.text.length < 20400, `${wide.text.length} characters`);
  });
  test('calls of printers are not traced, nor those of other threads', async () => {
    const printed = tree(await trace(['fact', 'both'], '(both (make-noisy)) (fact 1)'));
    assert.match(
      printed,
      /FACT 1, .*BOTH 1\n\(BOTH <6>\) => <6>, \(#1=<6> #1#\)\n\(FACT 1\) => 1\n/,
    );
    const threaded = tree(
      await trace(['fact'], '(sb-thread:join-thread (sb-thread:make-thread (lambda () (fact 5))))'),
    );
    assert.equal(threaded, 'Calls: COMMON-LISP-USER::FACT 0\n\n=> 120');
  });
  test('what the code does stays, a traced function that it defines anew too', async () => {
    await trace(['none'], '(defvar *seen* 1) (none) (defun none () :new) (none)');
    assert.equal(await evaluate('(list *seen* (none))'), '=> (1 :NEW)');
    assert.equal(await isTraced('none'), '=> NIL');
  });
  test('a function of COMMON-LISP can be traced', async () => {
    const answer = tree(await trace(['remove'], '(apply (quote remove) (list 1 (list 1 2)))'));
    assert.match(answer, /^\(REMOVE 1 \(1 2\)\) => \(2\)$/m);
    assert.equal(await isTraced('remove'), '=> NIL');
  });
  test('what cannot be traced is refused before anything runs', async () => {
    for (const [name, message] of [
      ['no-such', /There is no function no-such/],
      ['twice', /twice is no function/],
      ['if', /if is no function/],
      ['nowhere::f', /"NOWHERE" does not designate any package/],
      ['cadre-agent::printed', /Cadre's own/],
    ]) {
      const answer = await trace(['fact', name], '(defvar *ran* t)');
      assert.ok(answer.isError, name);
      assert.match(answer.text, message);
    }
    assert.match((await trace([], '1')).text, /at least one function/);
    assert.equal(await evaluate("(boundp '*ran*)"), '=> NIL');
    assert.equal(await isTraced('fact'), '=> NIL');
  });
});

describe('explain', () => {
  const explain = async (form) => await server.call('explain', { form });
  test('expansion, type, size', async () => {
    const { text } = await explain('(when (listp *features*) (the fixnum (+ 1 (random 10))))');
    assert.match(
      text,
      /^\(WHEN .*\nType: .*INTEGER 1 10.*\nMachine code: \d+ bytes\n\n\[Expansion\]\n\(if \(listp \*features\*\)/,
    );
  });
  test('the inferred type of a value and of a function', async () => {
    assert.match((await explain('(length "abc")')).text, /^Type: \(INTEGER 3 3\)$/m);
    assert.match(
      (await explain('(defun explained (x) (declare (fixnum x)) (evenp x))')).text,
      /^Type: \(FUNCTION \(FIXNUM\) \(VALUES BOOLEAN &OPTIONAL\)\)$/m,
    );
    assert.match((await explain("#'fact")).text, /^Type: \(FUNCTION \(T\) /m);
  });
  test('nothing of it stays, and the form is not evaluated', async () => {
    assert.equal(await evaluate("(fboundp 'explained)"), '=> NIL');
    await explain('(setf (symbol-value (quote *evaluated*)) (print :ran))');
    assert.equal(await evaluate("(boundp '*evaluated*)"), '=> NIL');
  });
  test('warnings and notes', async () => {
    assert.match((await explain('(list nowhere)')).text, /undefined variable: .*NOWHERE/);
    const fast = '(lambda (x y) (declare (optimize speed)) (+ x y))';
    assert.match((await explain(fast)).text, /Compiler notes \(\d+\):/);
  });
  test('what cannot be read or compiled', async () => {
    for (const form of ['(list', '1 2', '', '(let ((x)) . y)', '(when . 3)']) {
      const answer = await explain(form);
      assert.ok(answer.isError, answer.text);
    }
  });
});
