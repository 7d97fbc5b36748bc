// trace-calls, break-at, explain: code that is watched while it runs, and what the compiler makes of it.
import assert from 'node:assert/strict';
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Server, temporaryDirectory } from './support.mjs';

const directory = realpathSync(temporaryDirectory());

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

describe('break-at', () => {
  const breakAt = (args) => server.call('break-at', args);
  const file = path.join(directory, 'broken.lisp');
  before(async () => {
    writeFileSync(
      file,
      `(defun cents (price) "Cents." (declare (optimize (debug 3)))
  (let ((whole (floor price)))
    (* 100 whole)))\n`,
    );
    await server.call('load-file', { path: file });
  });

  test('freezes each time when a function is called; CONTINUE goes on', async () => {
    const { text, isError } = await breakAt({ function: 'both', code: '(list (both 2) (both 1))' });
    assert.ok(isError);
    assert.match(text, /SIMPLE-CONDITION\nBreak at \(BOTH 2\)\n/);
    assert.match(text, /is frozen; restarts: 1 CONTINUE/);
    const next = await server.call('invoke-restart', { restart: 'CONTINUE' });
    assert.match(next.text, /Break at \(BOTH 1\)/);
    const last = await server.call('invoke-restart', {
      restart: 'CONTINUE',
      error: Number(/Error (\d+) is frozen/.exec(next.text)[1]),
    });
    assert.match(last.text, /^=> \(2 1\)/);
    assert.equal(await evaluate('(both 5)'), '=> 5\n=> (5 5)');
    assert.equal(
      await evaluate("(sb-int:encapsulated-p 'both 'cadre-agent::cadre-break)"),
      '=> NIL',
    );
  });
  test('before a form of a function, whose variables are there', async () => {
    const { text } = await breakAt({
      function: 'cents',
      form: '(* 100 whole)',
      code: '(cents 5/2)',
    });
    assert.match(
      text,
      /Break at \(\* 100 WHOLE\)\n\n\[Backtrace\]\n0: \(BREAK .*\n1: \(CENTS 5\/2\)/,
    );
    const inside = await server.call('eval-in-frame', { frame: 1, code: '(list price whole)' });
    assert.match(inside.text, /=> \(5\/2 2\)/);
    assert.match((await server.call('invoke-restart', { restart: 'CONTINUE' })).text, /^=> 200/);
    assert.equal(await evaluate('(cents 3)'), '=> 300');
  });
  test('before a form of the code, not where it is quoted', async () => {
    const { text } = await breakAt({ form: '(fact 3)', code: "(list '(fact 3) (fact 3))" });
    assert.match(text, /Break at \(FACT 3\)/);
    assert.match(
      (await server.call('invoke-restart', { restart: 'CONTINUE' })).text,
      /^=> \(\(FACT 3\) 6\)/,
    );
  });
  test('a place that it does not come to, or that is not there', async () => {
    assert.match((await breakAt({ function: 'fact', code: '1' })).text, /^=> 1\n\nIt did not come/);
    for (const [args, expected] of [
      [{ form: '(nowhere)', code: '1' }, /NO-SUCH-FORM/],
      [{ function: 'cents', form: '(nowhere)', code: '1' }, /NO-SUCH-FORM/],
      [{ function: 'fact', form: '(fact 1)', code: '1' }, /NO-SOURCE/],
      [{ function: 'nowhere', code: '1' }, /UNDEFINED-FUNCTION/],
      [{ code: '1' }, /Give `function', `form' or both/],
    ]) {
      const { text, isError } = await breakAt(args);
      assert.ok(isError, text);
      assert.match(text, expected);
    }
  });
});

describe('a symbol of the standard', () => {
  const describe = async (name) => (await server.call('describe-symbol', { name })).text;
  test('is described with its arglist and the address of its page', async () => {
    assert.match(
      await describe('mapcar'),
      /\n {2}Arglist: \(.*\n {2}HyperSpec: http:\/\/l1sp\.org\/cl\/mapcar$/s,
    );
    assert.match(await describe('list*'), /HyperSpec: http:\/\/l1sp\.org\/cl\/list%2A$/);
    assert.doesNotMatch(await describe('fact'), /HyperSpec/);
  });
  test('and with the text of the page where that is installed', async () => {
    mkdirSync(path.join(directory, 'spec/Data'), { recursive: true });
    mkdirSync(path.join(directory, 'spec/Body'));
    writeFileSync(path.join(directory, 'spec/Data/Map_Sym.txt'), 'MAPCAR\n../Body/f_mapc_.htm\n');
    const page = path.join(directory, 'spec/Body/f_mapc_.htm');
    writeFileSync(page, '<h2>Function <b>MAPC, MAPCAR</b></h2>\n\n\n<p>if x &lt; 1 &amp; y</p>');
    const other = await Server.start({ env: { CADRE_HYPERSPEC: path.join(directory, 'spec') } });
    const { text } = await other.call('describe-symbol', { name: 'mapcar' });
    await other.stop();
    assert.ok(
      text.endsWith(`HyperSpec: file://${page}\n    Function MAPC, MAPCAR\n    \n    if x < 1 & y`),
      text,
    );
  });
});
