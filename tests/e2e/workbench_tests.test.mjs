// run-tests: each test in a fork of the session, whatever it does there. FiveAM and RT are Debian's.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import {
  CADRE,
  eventually,
  expectResult,
  LONG,
  temporaryDirectory,
  useServer,
} from './support.mjs';

const directory = temporaryDirectory();
const temporary = temporaryDirectory();
const write = (name, text) => writeFileSync(path.join(directory, name), text);
const environment = {
  CL_SOURCE_REGISTRY: `(:source-registry (:tree "/usr/share/common-lisp/source/") (:directory "${directory}/") :ignore-inherited-configuration)`,
  TMPDIR: temporary,
};

write(
  'shop.asd',
  `(defsystem "shop" :components ((:file "shop")) :in-order-to ((test-op (test-op "shop/tests"))))
(defsystem "shop/tests" :depends-on ("shop" "fiveam") :components ((:file "shop-tests")))`,
);
write(
  'shop.lisp',
  `(defpackage :shop (:use :cl) (:export #:total #:discount))
(in-package :shop)
(defvar *rate* 10)
(defun discount (price) (- price *rate*))
(defun total (prices) (reduce #'+ prices))`,
);
write(
  'shop-tests.lisp',
  `(defpackage :shop/tests (:use :cl :fiveam :shop))
(in-package :shop/tests)
(def-suite shop)
(in-suite shop)
(test sums (is (= 6 (total '(1 2 3)))))
(test changes-the-rate (setf shop::*rate* 99) (is (= 99 shop::*rate*)))
(test sees-the-rate (is (= 10 shop::*rate*)))
(defun check-price (price) (declare (optimize (debug 3))) (is (= 80 (discount price))) (is (= 1 1)))
(test discounts (format t "price ~a~%" 100) (check-price 100))
(test fails-twice (is (= 1 (total '(2)))) (is-true nil "no ~a" "luck"))
(test signals-an-error (is (= 4 (parse-integer "x2"))))
(test leaves-a-file
  (with-open-file (out (format nil "~a/left" (sb-posix:getenv "TMPDIR")) :direction :output)
    (print 1 out))
  (is-true t))
(test is-skipped (skip "not today"))`,
);

describe('the tests of a system', () => {
  const server = useServer({ env: environment });
  let run;
  const failure = (name) => run.failures.find((each) => each.name === `SHOP/TESTS::${name}`);

  test('are loaded and run one by one', async () => {
    const { text, structured, isError } = await server.call('run-tests', { system: 'shop' });
    run = structured.run;
    assert.equal(isError, false);
    assert.deepEqual(
      [run.tests, run.passed, run.failed, run.skipped, run.frameworks],
      [8, 4, 3, 1, ['FiveAM']],
    );
    assert.match(
      text,
      /^4 of 8 tests passed, 3 failed, 1 skipped \(FiveAM, \d+ checks, [\d.]+ s\)\n/,
    );
    assert.equal(run.slowest.length, 3);
  });
  test('a failed check says form, values, place and output', () => {
    const { reason, expression, expected, got, file, line, output } = failure('DISCOUNTS');
    assert.deepEqual(
      { reason, expression, expected, got, file, line, output },
      {
        reason: 'failed',
        expression: '(= 80 (DISCOUNT PRICE))',
        expected: '80',
        got: '90',
        file: path.join(directory, 'shop-tests.lisp'),
        line: 8, // of the innermost frame in the files of the system
        output: 'price 100\n',
      },
    );
  });
  test('a test goes on after a failed check', () => {
    const all = run.failures.filter((each) => each.name === 'SHOP/TESTS::FAILS-TWICE');
    assert.equal(all.length, 2);
    assert.match(all[1].message, /no luck/);
  });
  test('a failure is frozen: its variables, code in its frame, its restarts', async () => {
    const { error } = failure('DISCOUNTS');
    const frames = await server.call('get-backtrace', { error });
    const frame = Number(/^(\d+): .*CHECK-PRICE/m.exec(frames.text)?.[1]);
    assert.ok(Number.isInteger(frame), frames.text);
    expectResult(await server.call('inspect', { error, frame }), { has: ['PRICE = 100'] });
    expectResult(
      await server.call('eval-in-frame', { error, frame, code: '(* 2 price)' }),
      '=> 200',
    );
    expectResult(await server.call('invoke-restart', { error, restart: 'IGNORE-FAILURE' }), {
      has: ['the test has run to its end'],
    });
    expectResult(
      await server.call('invoke-restart', { error, restart: 'IGNORE-FAILURE', adopt: true }),
      { ok: false, code: 'not-adoptable' },
    );
  });
  test('the session is unchanged, and its own frozen errors stay', async () => {
    expectResult(await server.evaluate('(find-package :shop)'), '=> NIL');
    const own = await server.evaluate(
      '(defun fail-here (mine) (error "mine ~a" mine)) (fail-here 7)',
    );
    await server.call('run-tests', { system: 'shop' });
    expectResult(await server.call('inspect', { error: own.structured.error.id, frame: 1 }), {
      has: ['MINE = 7'],
    });
  });
  test('the failures of the last run alone stay frozen', async () => {
    const before = (await server.call('run-tests', { system: 'shop', test: 'discounts' }))
      .structured.run;
    assert.equal(before.tests, 1);
    const after = (await server.call('run-tests', { system: 'shop', test: 'sums' })).structured.run;
    assert.deepEqual([after.tests, after.failures.length], [1, 0]);
    expectResult(await server.call('inspect', { error: before.failures[0].error }), { ok: false });
  });
  test('together in one process, they see what the others did', async () => {
    const { structured } = await server.call('run-tests', { system: 'shop', isolate: 'none' });
    const names = structured.run.failures.map((each) => each.name);
    assert.ok(names.includes('SHOP/TESTS::SEES-THE-RATE'), names.join());
  });
  test('no temporary directory is left', () => {
    assert.deepEqual(
      readdirSync(temporary).filter((name) => name.startsWith('cadre-test')),
      [],
    );
  });
  test('what is not there is said', async () => {
    expectResult(await server.call('run-tests', { system: 'shop', test: 'nothing' }), {
      ok: false,
      code: 'no-tests',
      has: ['No test, suite or package is called nothing. Tests: SHOP/TESTS::'],
    });
    expectResult(await server.call('run-tests', {}), { ok: false, code: 'no-tests' });
    expectResult(await server.call('run-tests', { system: 'no-such-system' }), { ok: false });
  });
});

// 300 tests, of which five of each kind must not hurt the others. Fewer where time is short.
describe('tests that crash, hang, fill the heap, fail and exit', () => {
  const server = useServer({ env: environment });
  const each = LONG ? 5 : 1;
  const good = LONG ? 275 : 55;
  const kinds = {
    crash: '(sb-posix:kill (sb-posix:getpid) 11)',
    timeout: '(loop)',
    heap: '(let ((list (list))) (loop (push (make-array 100000) list)))',
    failed: '(is (= 1 (work 2)))',
    exit: '(sb-ext:exit :code 3)',
  };

  test('are failures with their reason, and the rest pass', async () => {
    const bad = Object.entries(kinds).flatMap(([kind, body]) =>
      Array.from({ length: each }, (_, i) => `(test ${kind}-${i} ${body})`),
    );
    const fine = Array.from({ length: good }, (_, i) => `(test good-${i} (is (= 2 (work 2))))`);
    const tests = fine.flatMap((text, i) => (bad[i] ? [bad[i], text] : [text]));
    write('mixed.asd', '(defsystem "mixed" :depends-on ("fiveam") :components ((:file "mixed")))');
    write(
      'mixed.lisp',
      `(defpackage :mixed (:use :cl :fiveam)) (in-package :mixed) (def-suite mixed) (in-suite mixed)
(defun work (n) n)\n${tests.join('\n')}`,
    );
    await server.call('configure-limits', { 'max-memory': 128 });
    await server.evaluate('(defvar *kept* (list 1 2 3))');
    const { structured } = await server.call('run-tests', { system: 'mixed', timeout: 10 });
    const { run } = structured;
    assert.deepEqual([run.tests, run.passed, run.failed], [good + 5 * each, good, 5 * each]);
    for (const kind of Object.keys(kinds)) {
      const found = run.failures.filter((one) => one.reason === kind);
      assert.deepEqual(
        found.map((one) => one.name).sort(),
        Array.from({ length: each }, (_, i) => `MIXED::${kind.toUpperCase()}-${i}`),
        JSON.stringify(run.failures, null, 1),
      );
    }
    assert.ok(run.failures.filter((one) => one.error).length <= 16);
    expectResult(
      await server.evaluate('(values *kept* (find-package :mixed))'),
      '=> (1 2 3)\n=> NIL',
    );
  });
});

describe('a run that takes long', () => {
  const server = useServer({ env: environment });
  test('is answered early, waited for, and interrupted', async () => {
    write('slow.asd', '(defsystem "slow" :depends-on ("fiveam") :components ((:file "slow")))');
    write(
      'slow.lisp',
      '(defpackage :slow (:use :cl :fiveam)) (in-package :slow) (test waits (sleep 600)) (test ends (is-true t))',
    );
    const first = await server.call('run-tests', { system: 'slow', timeout: 900, yield: 1 });
    const { evaluation } = first.structured;
    assert.equal(first.structured.state, 'running', first.text);
    expectResult(await server.call('wait', { evaluation, interrupt: true, timeout: 600 }), {
      ok: false,
      code: 'interrupted',
    });
    expectResult(await server.evaluate('(+ 1 2)'), '=> 3');
  });
});

// The example of docs/workbench.md, run as it is written there.
describe('the example of the documentation', () => {
  const text = readFileSync(new URL('../../docs/workbench.md', import.meta.url), 'utf8');
  const blocks = [...text.matchAll(/```(\w*)\n([\s\S]*?)```/g)];
  const server = useServer({ env: environment });

  test('answers what it says', async () => {
    for (const [, language, body] of blocks)
      if (language === 'lisp') write(/^;;; (\S+)/.exec(body)[1], body);
    const [, name, args] = /`(run-tests) (\{.*?\})` answers:/.exec(text);
    const { text: answer } = await server.call(name, JSON.parse(args));
    const shown = blocks.find(
      ([, language, body]) => !language && body.includes('tests passed'),
    )[2];
    const plain = (lines) =>
      lines.replace(/[\d.]+ s\)/, 'N s)').replaceAll(`${directory}/`, '~/greet/');
    assert.ok(plain(answer).startsWith(plain(shown.trimEnd())), answer);
    const [, tool, more, result] = /`(eval-in-frame) (\{.*?\})` answers `(.*?)`/.exec(text);
    expectResult(await server.call(tool, JSON.parse(more)), result);
  });
});

describe('cadre test', () => {
  const run = (...args) =>
    spawnSync(CADRE, ['test', '--allow-write', temporary, ...args], {
      encoding: 'utf8',
      env: { ...process.env, ...environment },
      cwd: directory,
    });
  test('prints the failures, writes JUnit XML, and ends with 1', () => {
    const file = path.join(temporary, 'results.xml');
    const { status, stdout, stderr } = run('--junit', file, 'shop');
    assert.equal(status, 1, stderr);
    assert.match(stdout, /^4 of 8 tests passed, 3 failed, 1 skipped/);
    assert.match(stdout, /expected: 80\n {2}got: 90/);
    assert.doesNotMatch(stdout, /Frozen/);
    const xml = readFileSync(file, 'utf8');
    assert.match(xml, /<testsuite name="shop" tests="8" failures="2" errors="1" skipped="1" time=/);
    assert.match(
      xml,
      /<testcase name="SHOP\/TESTS::SUMS" classname="[^"]*" time="[\d.]+"><\/testcase>/,
    );
    assert.match(xml, /<failure type="failed" message="[^"]*">\[failed\] SHOP\/TESTS::DISCOUNTS/);
    assert.match(xml, /<error type="error"/);
    assert.equal(xml.match(/<testcase/g).length, 8);
  });
  test('ends with 0 when all is well, and with 2 for wrong usage', () => {
    assert.equal(run('shop', 'sums').status, 0);
    assert.equal(run().status, 2);
    assert.equal(run('--jobs', '0', 'shop').status, 2);
    assert.equal(run('no-such-system').status, 1);
  });
  test('watches the files of the systems', async () => {
    write('seen.asd', '(defsystem "seen" :depends-on ("fiveam") :components ((:file "seen")))');
    const source = (value) =>
      write(
        'seen.lisp',
        `(defpackage :seen (:use :cl :fiveam)) (in-package :seen) (test one (is (= 1 ${value})))`,
      );
    source(2);
    const child = spawn(CADRE, ['test', '--watch', '--allow-write', temporary, 'seen'], {
      env: { ...process.env, ...environment },
      cwd: directory,
    });
    let text = '';
    child.stdout.on('data', (data) => {
      text += data;
    });
    const ended = new Promise((resolve) => child.on('close', resolve));
    assert.ok(await eventually(() => text.includes('0 of 1 test passed'), 100), text);
    source(1);
    assert.ok(await eventually(() => text.includes('1 of 1 test passed'), 100), text);
    child.kill('SIGINT');
    assert.equal(await ended, 0);
  });
});

describe('other frameworks', () => {
  const server = useServer({ env: environment });
  const failuresOf = async (system, more = {}) => {
    const { structured, text } = await server.call('run-tests', { system, ...more });
    assert.ok(structured.run, text);
    return structured.run;
  };

  test('RT', async () => {
    write(
      'numbers.asd',
      '(defsystem "numbers" :depends-on ("rt") :components ((:file "numbers")))',
    );
    write(
      'numbers.lisp',
      `(defpackage :numbers (:use :cl :rt)) (in-package :numbers)
(deftest adds (+ 1 2) 3)
(deftest divides (truncate 7 2) 3 2)
(deftest breaks (car 1) nil)`,
    );
    const run = await failuresOf('numbers');
    assert.deepEqual([run.tests, run.passed, run.frameworks], [3, 1, ['RT']]);
    const [divides, breaks] = run.failures;
    assert.deepEqual(
      [divides.expression, divides.expected, divides.got, divides.line],
      ['(TRUNCATE 7 2)', '(3 2)', '(3 1)', 3],
    );
    assert.equal(breaks.reason, 'error');
    assert.ok(divides.error > 0 && breaks.error > 0);
  });
  test('none that is known: asdf:test-system', async () => {
    write(
      'plain.asd',
      '(defsystem "plain" :perform (test-op (o c) (print :here) (assert (= 1 2))))',
    );
    write('ends.asd', '(defsystem "ends" :perform (test-op (o c) (uiop:quit 0)))');
    const run = await failuresOf('plain');
    assert.deepEqual([run.tests, run.failed, run.failures[0].reason], [1, 1, 'error']);
    assert.match(run.failures[0].output, /:HERE/);
    assert.equal((await failuresOf('ends')).passed, 1);
  });
});

describe('a run since the last one', () => {
  const server = useServer({ env: environment, cwd: directory });
  const files = {
    'app.asd': `(defsystem "app" :serial t :components ((:file "app-package") (:file "app")))
(defsystem "app/tests" :depends-on ("app" "fiveam") :components ((:file "app-tests")))`,
    'app-package.lisp':
      '(defpackage :app (:use :cl) (:export #:area #:make-box #:box-w #:with-twice #:lone))',
    'app.lisp': `(in-package :app)
(defun twice (x) (* 2 x))
(defmacro with-twice ((v) &body body) \`(let ((,v (twice ,v))) ,@body))
(defstruct box w h)
(defun area (b) (* (box-w b) (box-h b)))
(defun lone () 1)`,
    'app-tests.lisp': `(defpackage :app/tests (:use :cl :fiveam :app)) (in-package :app/tests)
(def-suite app) (in-suite app)
(defun helper (x) (with-twice (x) x))
(test by-helper (is (= 4 (helper 2))))
(test area (is (= 6 (area (make-box :w 2 :h 3)))))
(test width (is (= 2 (box-w (make-box :w 2)))))
(test lone (is (= 1 (lone))))`,
  };
  const run = async () =>
    (await server.call('run-tests', { system: 'app', since: 'last' })).structured.run;
  const change = (file, from, to) => {
    assert.ok(files[file].includes(from));
    files[file] = files[file].replace(from, to);
    write(file, files[file]);
  };

  test('has what failed, what is new, and what depends on what has changed', async () => {
    for (const [name, text] of Object.entries(files)) write(name, text);
    assert.match((await run()).note, /^All tests are run: nothing is known/);
    // File, text before and after, how many tests are chosen and how many fail.
    const steps = [
      ['app.lisp', '', '', 0, 0],
      ['app.lisp', '(* 2 x)', '(* 3 x)', 1, 1], // through a macro and a function of the tests
      ['app.lisp', '', '', 1, 1], // has failed
      ['app.lisp', '(* 3 x)', '(+ x x)', 1, 0],
      ['app.lisp', 'box w h)', 'box w h d)', 2, 0], // an accessor
      ['app.lisp', 'lone () 1)', 'lone () 1) ; as before', 0, 0],
      ['app.lisp', 'lone () 1', 'lone () "One." 1', 1, 0],
      ['app-tests.lisp', '(= 1 (lone))', '(eql 1 (lone))', 1, 0],
      ['app-tests.lisp', '(test lone', '(test fresh (is-true t))\n(test lone', 1, 0],
    ];
    for (const [file, from, to, chosen, failed] of steps) {
      if (from) change(file, from, to);
      const { tests, failed: bad, note } = await run();
      assert.deepEqual([tests, bad], [chosen, failed], `${to}: ${note}`);
      assert.match(note, /^Since the last run: \d of \d tests chosen/);
    }
    change('app.lisp', '(defun lone () "One." 1) ; as before', '');
    const last = await run();
    assert.match(last.note, /^All tests are run: files, packages or definitions/);
    assert.deepEqual([last.tests, last.failed], [5, 1]);
  });

  test('has what an evaluation has defined since', async () => {
    write('plain.asd', '(defsystem "plain" :depends-on ("fiveam") :components ((:file "plain")))');
    write(
      'plain.lisp',
      `(defpackage :plain (:use :cl :fiveam)) (in-package :plain) (def-suite plain) (in-suite plain)
(defun one () 1) (defun two () 2)
(test one (is (= 1 (one))))
(test two (is (= 2 (two))))`,
    );
    await server.call('load-system', { system: 'plain' });
    const inSession = { package: 'plain', since: 'last' };
    await server.call('run-tests', { package: 'plain' });
    assert.equal((await server.call('run-tests', inSession)).structured.run.tests, 0);
    await server.evaluate('(defun plain::two () 3)');
    const { run: second } = (await server.call('run-tests', inSession)).structured;
    assert.deepEqual([second.tests, second.failed], [1, 1]);
  });
});
