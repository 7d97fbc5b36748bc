// A session compiles and builds as plain SBCL does: what COMPILE, COMPILE-FILE and ASDF say of bad
// code, which policy is in force, how deep code may recurse, what a rebound stream gets.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { CADRE, expectResult, temporaryDirectory, titleOf, useServer } from './support.mjs';

const directory = temporaryDirectory();

function file(name, text) {
  const place = path.join(directory, name);
  mkdirSync(path.dirname(place), { recursive: true });
  writeFileSync(place, text);
  return place;
}

const plain = (...forms) =>
  execFileSync(
    'sbcl',
    ['--noinform', '--no-sysinit', '--no-userinit', '--non-interactive'].concat(
      forms.flatMap((form) => ['--eval', form]),
    ),
    { encoding: 'utf8', env: { ...process.env, XDG_CACHE_HOME: directory } },
  );

const bad = file('bad.lisp', '(defun bad () (+ 1 "a"))\n');
const styled = file('styled.lisp', '(defun styled (x) 1)\n');
const good = file('good.lisp', '(defun good (x) (list x))\n');

describe('what the compiler returns', () => {
  const server = useServer();
  const quiet = '(compile-file "FILE" :verbose nil :output-file "OUT")';
  const compileFile = (name) =>
    `(multiple-value-bind (fasl warnings failure) ${quiet
      .replace('FILE', name)
      .replace('OUT', `${name}.fasl`)} (list (and fasl t) warnings failure))`;
  const rows = [
    [`(list (multiple-value-list (compile nil '(lambda () (+ 1 "a")))))`, /T T\)\)$/],
    [`(rest (multiple-value-list (compile nil '(lambda (x) 1))))`, /=> \(T NIL\)$/],
    [`(rest (multiple-value-list (compile nil '(lambda () (undefined-name)))))`, /=> \(T NIL\)$/],
    [`(rest (multiple-value-list (compile nil '(lambda (x) x))))`, '=> (NIL NIL)'],
    [compileFile(bad), { match: /=> \(T T T\)$/, has: `in ${bad}:1` }],
    [compileFile(styled), /=> \(T T NIL\)$/],
    [compileFile(good), '=> (T NIL NIL)'],
    // A warning that the code itself muffles is not counted, here as there.
    [
      `(handler-bind ((warning #'muffle-warning)) (rest (multiple-value-list (compile nil '(lambda () (+ 1 "a"))))))`,
      /^(?!.*\nWARNING)[\s\S]*=> \(NIL NIL\)$/,
    ],
    // Warnings of macros at compile time, and in a compilation unit.
    [
      `(rest (multiple-value-list (compile nil '(lambda () (macrolet ((m () (warn "from a macro") 1)) (m))))))`,
      /WARNING: from a macro[\s\S]*=> \(T T\)$/,
    ],
    [
      `(with-compilation-unit () (rest (multiple-value-list (compile nil '(lambda () (+ 1 "a"))))))`,
      /=> \(T T\)$/,
    ],
  ];
  for (const [code, expected] of rows)
    test(titleOf(code), async () => expectResult(await server.evaluate(code), expected));

  test('a warning of running code is recorded once and printed nowhere', async () => {
    const { text } = await server.evaluate('(warn "seen once")');
    assert.equal(text, '[warnings]\nWARNING: seen once\n\n=> NIL');
  });
});

describe('policy', () => {
  const server = useServer();

  test('evaluated code keeps all frames, ten million deep', async () => {
    await server.value('(defun f (n) (if (zerop n) :done (f (1- n))))');
    assert.equal(await server.value('(f 10000000)'), '=> :DONE');
    await server.value('(defun third-call () (/ 1 0)) (defun second-call () (third-call)) 1');
    expectResult(await server.evaluate('(second-call)'), {
      frames: ['(/ 1 0)', '(THIRD-CALL)', '(SECOND-CALL)', '(EVAL (SECOND-CALL))'],
    });
  });

  test('the stack is given back', async () => {
    await server.value('(f 5000000)');
    const pages = await server.value(
      `(with-open-file (s "/proc/self/statm") (list (read s) (read s)))`,
    );
    const resident = Number(/=> \(\d+ (\d+)\)/.exec(pages)[1]) * 4096;
    assert.ok(resident < 150e6, `${resident} bytes are resident`);
  });

  test('the user decides for his own code', async () => {
    await server.value('(defun g (n) (declare (optimize (debug 1))) (if (zerop n) 1 (g (1- n))))');
    assert.equal(await server.value('(g 200000000)'), '=> 1');
    await server.value('(declaim (optimize (debug 1)))');
    await server.value('(defun h (n) (if (zerop n) 2 (h (1- n))))');
    assert.equal(await server.value('(h 200000000)'), '=> 2');
  });

  test('files are compiled with the policy of plain SBCL, byte for byte', async () => {
    const source = file(
      'twice.lisp',
      '(defun twice-over (n acc) (if (zerop n) acc (twice-over (1- n) (cons n acc))))\n' +
        '(defmacro m (x) `(list ,x ,x))\n(defun user (y) (m (twice-over y nil)))\n',
    );
    const compile = (out) =>
      `(compile-file "${source}" :output-file "${path.join(directory, out)}" :verbose nil)`;
    plain(compile('plain.fasl'));
    await server.call('reset-session', {});
    await server.value(compile('session.fasl'));
    // All but the first line, which names the program that wrote the file.
    const bytes = (name) => {
      const all = readFileSync(path.join(directory, name));
      return all.subarray(all.indexOf('\n'));
    };
    assert.deepEqual(bytes('session.fasl'), bytes('plain.fasl'));
  });
});

describe('endless recursion', () => {
  const server = useServer();

  test('is reported, costs no snapshot, and names the way out', async () => {
    await server.value('(defun endless (n) (1+ (endless n)))');
    expectResult(await server.evaluate('(endless 1)'), {
      type: 'SB-KERNEL::CONTROL-STACK-EXHAUSTED',
      has: '(declaim (optimize (debug 1)))',
    });
    assert.equal(await server.value('(+ 1 2)'), '=> 3');
    const { text } = await server.call('session-info');
    assert.match(text, /\b0 {2}after evaluation 0/);
  });
});

describe('streams that the user has given', () => {
  const server = useServer();
  const rows = [
    ['(with-output-to-string (*error-output*) (warn "x"))', '=> "WARNING: x\n"'],
    [
      `(search "caught WARNING" (with-output-to-string (*error-output*) (compile nil '(lambda () (+ 1 "a")))))`,
      /=> \d+$/,
    ],
    [
      `(search "compiling file" (with-output-to-string (*standard-output*) (compile-file "${good}" :verbose t :output-file "${good}.fasl")))`,
      /=> \d+$/,
    ],
    [`(compile-file "${good}" :output-file "${good}.fasl")`, /\[stdout\]\n; compiling file "/],
  ];
  for (const [code, expected] of rows)
    test(titleOf(code), async () => expectResult(await server.evaluate(code), expected));
});

// cffi, for instance, links programs with what it finds there.
test('the home of SBCL has what plain SBCL has there, but its core', () => {
  const files = `(format t "~{~A~%~}" (remove "core" (mapcar (function file-namestring) (directory (merge-pathnames "*.*" (sb-int:sbcl-homedir-pathname)))) :test (function search)))`;
  const list = (text) =>
    text
      .split('\n')
      .filter((name) => /^sbcl\./.test(name))
      .sort();
  const session = execFileSync(CADRE, ['eval', files], { encoding: 'utf8' });
  assert.deepEqual(list(session), list(plain(files)));
});

describe('programs that the session starts', () => {
  const server = useServer();

  test('have no limit of the address space', async () => {
    const { text } = await server.evaluate(
      `(sb-ext:run-program "/bin/sh" '("-c" "ulimit -v; ulimit -H -c") :output t) 1`,
    );
    const limit = (name) =>
      execFileSync('/bin/sh', ['-c', `ulimit ${name}`], { encoding: 'utf8' }).trim();
    assert.match(text, new RegExp(`^\\[stdout\\]\n${limit('-v')}\n${limit('-H -c')}\n`));
  });

  test('a thousand threads', async () => {
    const code = `(let* ((gate (sb-thread:make-semaphore))
             (threads (loop repeat 1000
                            collect (sb-thread:make-thread
                                     (lambda () (sb-thread:wait-on-semaphore gate) 1)))))
        (sb-thread:signal-semaphore gate 1000)
        (reduce #'+ threads :key #'sb-thread:join-thread))`;
    assert.equal(await server.value(code), '=> 1000');
  });

  test('foreign allocation stays bounded', async () => {
    const code = `(loop repeat 40
         for address = (sb-alien:alien-funcall
                        (sb-alien:extern-alien "malloc" (function sb-alien:unsigned-long sb-alien:unsigned-long))
                        (* 128 1024 1024))
         count (plusp address))`;
    const count = Number(/=> (\d+)/.exec(await server.value(code))[1]);
    assert.ok(count > 4 && count < 30, `${count} pieces of 128 MB`);
  });
});

describe('ASDF', () => {
  const server = useServer({ env: { XDG_CACHE_HOME: directory, HOME: directory } });
  file(
    'badsys/badsys.asd',
    '(defsystem "badsys" :serial t :components ((:file "a") (:file "b")))\n',
  );
  file('badsys/a.lisp', '(defun fine () 1)\n\n(defun bad () (+ 1 "a"))\n');
  file('badsys/b.lisp', '(defun b () 1)\n');

  test('a file with a warning fails the build and leaves no fasl', async () => {
    await server.value(`(push #P"${directory}/badsys/" asdf:*central-registry*)`);
    const result = await server.call('load-system', { system: 'badsys' });
    expectResult(result, {
      type: 'UIOP/LISP-BUILD:COMPILE-FILE-ERROR',
      has: `badsys failed to build: ${directory}/badsys/a.lisp\n${directory}/badsys/a.lisp:3: WARNING: Constant "a" conflicts`,
      lacks: ['[Backtrace]', 'ASDF/'],
    });
    assert.match(result.text, /\n {2}in \(defun bad \(\) \(\+ 1 "a"\)\)\n/);
    // Failures come first.
    assert.match(result.text, /^\[ERROR\][\s\S]*\n\n\[warnings\]\nCOMPILER-WARNING: deleting/);
    assert.match(
      result.text,
      /: 1 RETRY \(Retry compiling #<CL-SOURCE-FILE "badsys" "a">\.\), 2 ACC/,
    );
    const found = execFileSync('find', [directory, '-name', 'a.fasl'], { encoding: 'utf8' });
    assert.equal(found, '');
    assert.ok(existsSync(path.join(directory, 'badsys/a.lisp')));
  });

  test('an error while a file is loaded names file, line and form', async () => {
    file('loaderr/loaderr.asd', '(defsystem "loaderr" :components ((:file "a")))\n');
    file('loaderr/a.lisp', '(defun fine () 1)\n\n(fine)\n(error "at load")\n');
    await server.value(`(push #P"${directory}/loaderr/" asdf:*central-registry*)`);
    const result = await server.call('load-system', { system: 'loaderr' });
    expectResult(result, { message: 'at load', has: `${directory}/loaderr/a.lisp:4` });
    assert.match(
      result.text,
      /\n0: \(ERROR "at load"\)\n.*\n… \d+ frames of ASDF and the compiler\n/,
    );
  });

  test('a change within the second of the last build is seen; nothing to do is said', async () => {
    file('quick/quick.asd', '(defsystem "quick" :components ((:file "a")))\n');
    await server.value(`(push #P"${directory}/quick/" asdf:*central-registry*)`);
    for (let i = 0; i < 5; i++) {
      file('quick/a.lisp', `(defun quick-value () ${i})\n`);
      expectResult(
        await server.call('load-system', { system: 'quick' }),
        /^Loaded: quick, 1 file compiled/,
      );
      assert.equal(await server.value('(quick-value)'), `=> ${i}`);
    }
    expectResult(
      await server.call('load-system', { system: 'quick' }),
      'Up to date: quick; nothing to do',
    );
    expectResult(
      await server.call('load-system', { system: 'quick', force: true }),
      /^Loaded: quick, 1 file compiled/,
    );
  });

  test('test runs the tests of the system', async () => {
    file(
      'tested/tested.asd',
      '(defsystem "tested" :components ((:file "a")) :perform (test-op (o c) (format t "tests of tested~%")))\n',
    );
    file('tested/a.lisp', '(defun tested () 1)\n');
    await server.value(`(push #P"${directory}/tested/" asdf:*central-registry*)`);
    expectResult(
      await server.call('load-system', { system: 'tested', test: true }),
      `Loaded: tested, 1 file compiled, tests run, from ${directory}/tested/\n\n[stdout]\ntests of tested`,
    );
  });

  test('what the compiler says of a library is one line', async () => {
    const place = 'share/common-lisp/source/library';
    file(`${place}/library.asd`, '(defsystem "library" :components ((:file "noisy")))\n');
    file(
      `${place}/noisy.lisp`,
      '(defun noisy (x y) (declare (optimize speed)) (* x 2))\n(defun quiet (z) 1)\n',
    );
    await server.value(`(push #P"${directory}/${place}/" asdf:*central-registry*)`);
    expectResult(
      await server.call('load-system', { system: 'library' }),
      /^Loaded: library, 1 file compiled; of libraries: \d+ compiler notes?, 2 style warnings \(noisy\.lisp\), from \S+\/common-lisp\/source\/$/,
    );
  });
});
