// Streams, files and the end of a process as in plain SBCL: what the stream variables hold, programs
// saved from a session, exit hooks, output of C, files that are no UTF-8.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { expectResult, temporaryDirectory, titleOf, useServer } from './support.mjs';

const directory = temporaryDirectory();

describe('stream variables', () => {
  const server = useServer();
  const rows = [
    [
      "(mapcar #'stream-element-type (list *terminal-io* *query-io* *debug-io*))",
      '=> (CHARACTER CHARACTER CHARACTER)',
    ],
    [
      `(let ((o (make-string-output-stream)))
         (sb-ext:run-program "/bin/echo" '("hi") :output (make-broadcast-stream o *debug-io*))
         (get-output-stream-string o))`,
      '=> "hi\n"',
    ],
    [
      `(sb-ext:run-program "/bin/echo" '("to the terminal") :output *terminal-io*) 1`,
      '[stdout]\nto the terminal\n\n=> 1',
    ],
    [
      `(let ((*terminal-io* (make-two-way-stream (make-string-input-stream (format nil "yes~%"))
                                                 *standard-output*)))
         (yes-or-no-p "ok?"))`,
      /\nok\? \(yes or no\)\s+=> T$/,
    ],
    [
      '(y-or-n-p "go on?")',
      {
        type: 'END-OF-FILE',
        has: ['the question was: go on? (y or n)', '`input`', '`interactive`'],
      },
    ],
    [
      '(read-line)',
      { type: 'END-OF-FILE', has: ['hint: there is no standard input to read', '`input`'] },
    ],
    [
      '(list (synonym-stream-symbol *standard-output*) (synonym-stream-symbol *error-output*) (synonym-stream-symbol *standard-input*))',
      '=> (SB-SYS:*STDOUT* SB-SYS:*STDERR* SB-SYS:*STDIN*)',
    ],
    // What a call has done to them does not outlive it.
    ['(setf *standard-output* (make-broadcast-stream)) 1', '=> 1'],
    ['(format t "heard") 1', '[stdout]\nheard\n\n=> 1'],
    ['(close *query-io*) (close sb-sys:*stdout*) 1', '=> 1'],
    ['(format *query-io* "x") (format t "heard again") 1', '[stdout]\nheard again\n\n=> 1'],
    [
      '(sb-alien:alien-funcall (sb-alien:extern-alien "puts" (function sb-alien:int sb-alien:c-string)) "from C") 1',
      '[stdout]\nfrom C\n\n=> 1',
    ],
  ];
  for (const [code, expected] of rows)
    test(titleOf(code), async () => expectResult(await server.evaluate(code), expected));
});

describe('a program saved from a session', () => {
  const server = useServer();
  const program = path.join(directory, 'app');

  test('works, and the session goes on', async () => {
    await server.value(
      `(defvar *made* :in-the-session)
       (defun app ()
         (format t "hello from ~A~%" *made*)
         (handler-case (error "seen") (error (e) (format *error-output* "caught ~A~%" e)))
         (sb-ext:gc :full t)
         (sb-ext:finalize (list 1) (lambda ()))
         (print (compile nil '(lambda () (+ 1 "a"))))
         (exit :code 3))`,
    );
    const { text, isError } = await server.evaluate(
      `(sb-ext:save-lisp-and-die "${program}" :executable t :toplevel #'app)`,
      { timeout: 120 },
    );
    assert.ok(!isError, text);
    const size = statSync(program).size.toLocaleString('en-US');
    assert.ok(text.includes(`Saved ${program}, ${size} bytes. The session goes on.`), text);
    const run = spawnSync(program, [], { encoding: 'utf8' });
    assert.equal(run.status, 3, run.stderr);
    assert.match(run.stdout, /^hello from IN-THE-SESSION\n/);
    assert.match(run.stderr, /^caught seen\n[\s\S]*caught WARNING/);
    assert.equal(await server.value('*made*'), '=> :IN-THE-SESSION');
    assert.equal(await server.value('(format t "still here") 1'), '[stdout]\nstill here\n\n=> 1');
  });

  test('an error in it is SBCL’s own', async () => {
    await server.value(`(defun fails () (error "nobody handles this"))`);
    await server.value(
      `(sb-ext:save-lisp-and-die "${program}2" :executable t :toplevel (lambda () (sb-ext:disable-debugger) (fails)))`,
      { timeout: 120 },
    );
    const run = spawnSync(`${program}2`, [], { encoding: 'utf8' });
    assert.equal(run.status, 1);
    assert.match(run.stderr, /Unhandled SIMPLE-ERROR[\s\S]*nobody handles this/);
    assert.doesNotMatch(run.stderr, /cadre agent/i);
  });

  test('a save that fails is an error of the call', async () => {
    expectResult(
      await server.evaluate('(sb-ext:save-lisp-and-die "/no/such/place")', { timeout: 120 }),
      { type: 'SIMPLE-ERROR', message: 'Saving /no/such/place failed: Could not save core.' },
    );
  });
});

describe('the end of the process', () => {
  const server = useServer();

  test('exit hooks run, and what they print is in the answer', async () => {
    const { text } = await server.evaluate(
      `(push (lambda () (format t "the hook ran~%")) sb-ext:*exit-hooks*) (exit :code 4)`,
    );
    assert.match(text, /\[stdout\]\nthe hook ran\n[\s\S]*exit code 4/);
  });

  test('a hook that fails does not keep the process', async () => {
    const { text } = await server.evaluate(
      `(push (lambda () (error "bad hook")) sb-ext:*exit-hooks*) (exit :code 5)`,
    );
    assert.match(text, /exit hook: bad hook[\s\S]*exit code 5/);
  });
});

describe('a file that is no UTF-8', () => {
  const server = useServer();
  const file = path.join(directory, 'latin.lisp');
  writeFileSync(file, Buffer.from('(defvar *latin* "caf\xe9")\n', 'latin1'));

  test('fails to load, as with LOAD', async () => {
    const plain = spawnSync(
      'sbcl',
      ['--noinform', '--no-sysinit', '--no-userinit', '--disable-debugger', '--load', file],
      { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C.UTF-8' } },
    );
    assert.match(plain.stderr, /decoding error/);
    expectResult(await server.call('load-file', { path: file }), {
      type: 'SB-INT:STREAM-DECODING-ERROR',
    });
    assert.ok(execFileSync('cat', [file]).length > 0);
  });
});
