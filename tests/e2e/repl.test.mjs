// `cadre repl` in a real terminal: tmux types, and shows what a person would see.
import assert from 'node:assert/strict';
import { spawnSync, spawn } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { Terminal, hasTmux, home } from './repl_support.mjs';
import { CADRE, eventually, processesWith, sleep } from './support.mjs';

describe('cadre repl', { skip: hasTmux ? false : 'tmux is not installed' }, () => {
  let terminal;
  before(async () => {
    terminal = new Terminal();
    await terminal.shows(/> *$/);
  });
  after(async () => {
    terminal.close();
    assert.ok(
      await eventually(() => processesWith(`CADRE_TEST_ID=${terminal.id}`).length === 0),
      'processes left behind',
    );
  });

  test('evaluates and remembers', async () => {
    assert.match(await terminal.enter('(defun square (x) (* x x))'), /=> SQUARE/);
    assert.match(await terminal.enter('(square 12)'), /=> 144/);
    assert.match(await terminal.enter('*'), /=> 144/);
  });
  test('a form over several lines', async () => {
    terminal.keys('C-l');
    terminal.type('(list 1');
    terminal.keys('Enter');
    await sleep(200);
    assert.doesNotMatch(terminal.screen(), /=> \(1/);
    terminal.type('2 "a');
    terminal.keys('Enter');
    terminal.type('b")');
    terminal.keys('Enter');
    await terminal.shows(/=> \(1 2 "a\n.*b"\)/);
  });
  test('shows output and warnings', async () => {
    assert.match(
      await terminal.enter('(format t "hello~%") (warn "careful") 1'),
      /hello[\s\S]*WARNING: careful[\s\S]*=> 1/,
    );
  });
  test('undo and redo', async () => {
    await terminal.enter('(defvar *n* 1)');
    await terminal.enter('(setf *n* 2)');
    await terminal.enter(':undo');
    assert.match(await terminal.enter('*n*'), /=> 1/);
    await terminal.enter(':undo');
    await terminal.enter(':undo');
    await terminal.enter(':redo');
    await terminal.enter(':redo');
    assert.match(await terminal.enter('(square *n*)'), /=> 1/);
  });
  test('an error shows restarts to choose from', async () => {
    const shown = await terminal.enter('(+ 1 (missing-one 5))');
    assert.match(
      shown,
      /\[ERROR\] UNDEFINED-FUNCTION[\s\S]*0: \(MISSING-ONE 5\)[\s\S]*1\. CONTINUE - [\s\S]*3\. RETURN-VALUE/,
    );
    assert.match(await terminal.enter(':restart 3 41'), /=> 42/);
  });
  test(':restart alone lists the restarts', async () => {
    await terminal.enter('(+ 1 (missing-one 5))');
    assert.match(
      await terminal.enter(':restart'),
      /\[Restarts\]\n1\. CONTINUE - [\s\S]*3\. RETURN-VALUE/,
    );
    assert.match(await terminal.enter(':bt 99'), /; There is no error 99/);
    await terminal.enter('(+ 1 1)');
    assert.match(await terminal.enter(':restart'), /; There is no error to restart from\./);
  });
  test('branches left by undo can be reached', async () => {
    await terminal.enter('(defvar *way* :first)');
    await terminal.enter('(setf *way* :left)');
    await terminal.enter(':undo');
    await terminal.enter('(setf *way* :right)');
    const shown = await terminal.enter(':branches');
    const [, left] = shown.match(/^ *(\d+) +\(setf \*way\* :left\)$/m);
    assert.match(shown, /^\* +\d+ +\(setf \*way\* :right\)$/m);
    assert.match(await terminal.enter(`:goto ${left}`), new RegExp(`; at evaluation ${left}`));
    assert.match(await terminal.enter('*way*'), /=> :LEFT/);
    assert.match(await terminal.enter(':goto 12345'), /no-such-snapshot|NO-SUCH-SNAPSHOT/);
  });
  test('colours', async () => {
    await terminal.enter('(list 1 2)');
    assert.match(terminal.styled(), /\x1b\[1mCL-USER>/);
    assert.match(terminal.styled(), /\x1b\[32m=> \(1 2\)/);
    await terminal.enter('(car 5)');
    assert.match(terminal.styled(), /\x1b\[31m\[ERROR\] TYPE-ERROR/);
  });
  test('frames and locals', async () => {
    await terminal.enter('(defun risky (x) (let ((y (* 2 x))) (+ y (missing-two y))))');
    await terminal.enter('(risky 21)');
    assert.match(await terminal.enter(':bt'), /0: \(MISSING-TWO 42\)[\s\S]*1: \(RISKY 21\)/);
    assert.match(await terminal.enter(':locals 1'), /X = 21[\s\S]*Y = 42/);
    assert.match(await terminal.enter(':in 1 (list x y)'), /=> \(21 42\)/);
    assert.match(await terminal.enter(':errors'), /UNDEFINED-FUNCTION/);
  });
  test('Ctrl-C interrupts the evaluation, not the REPL', async () => {
    terminal.keys('C-l');
    terminal.type('(loop)');
    terminal.keys('Enter');
    await sleep(500);
    terminal.keys('C-c');
    await terminal.shows(/EVALUATION-INTERRUPTED/);
    assert.match(await terminal.enter('(square 3)'), /=> 9/);
  });
  test('Ctrl-C at the prompt drops the line and starts a new one', async () => {
    terminal.keys('C-l');
    terminal.type('(car (unfinished');
    await terminal.shows(/\(car \(unfinished$/);
    terminal.keys('Left', 'Left', 'C-c');
    await terminal.shows(/^CL-USER> \(car \(unfinished\^C\nCL-USER>\s*$/m);
    assert.match(await terminal.enter('(square 4)'), /=> 16/);
  });
  test('output appears while the evaluation runs; read-line reads the terminal', async () => {
    terminal.keys('C-l');
    terminal.type('(progn (princ "Who? ") (list (read-line) (y-or-n-p "Sure?")))');
    terminal.keys('Enter');
    await terminal.shows(/^Who\?\s*$/m);
    terminal.type('Ada Lovelace');
    terminal.keys('Enter');
    await terminal.shows(/^Sure\? \(y or n\)/m);
    terminal.type('y');
    terminal.keys('Enter');
    await terminal.shows(/^Sure\? \(y or n\) y\n=> \("Ada Lovelace" T\)$/m);
  });
  test('Ctrl-C stops code that waits for input, Ctrl-D ends its input', async () => {
    terminal.keys('C-l');
    terminal.type('(progn (princ "waits 1") (read-line))');
    terminal.keys('Enter');
    await terminal.shows(/^waits 1$/m);
    terminal.keys('C-c');
    await terminal.shows(/EVALUATION-INTERRUPTED[\s\S]*\d: \(READ-LINE #</);
    terminal.type('(progn (princ "waits 2") (read-line))');
    terminal.keys('Enter');
    await terminal.shows(/^waits 2$/m);
    terminal.keys('C-d');
    await terminal.shows(/\[ERROR\] END-OF-FILE/);
    assert.match(await terminal.enter('(square 6)'), /=> 36/);
  });
  test('completion', async () => {
    terminal.keys('C-l');
    terminal.type('(multiple-value-b');
    terminal.keys('Tab');
    await terminal.shows(/multiple-value-bind/i);
    terminal.keys('C-u');
    terminal.keys('C-c');
    await sleep(100);
  });
  test('completion of commands', async () => {
    terminal.keys('C-l');
    terminal.type(':re');
    terminal.keys('Tab');
    await terminal.shows(/^:redo {2}:reset {2}:restart$/m);
    terminal.type('d');
    terminal.keys('Tab');
    await terminal.shows(/^CL-USER> :redo$/m);
    terminal.keys('C-c');
  });
  test('a closing parenthesis marks the one it closes', async () => {
    terminal.keys('C-l');
    terminal.type('(list "(" (car nil');
    await terminal.shows(/\(car nil$/m);
    terminal.type(')');
    const marked = await eventually(() =>
      /\x1b\[7m\((?:\x1b\[[0-9;]*m|\x0f)*car nil\)/.test(terminal.styled()),
    );
    assert.ok(marked, JSON.stringify(terminal.styled()));
    terminal.type(')');
    const moved = await eventually(() =>
      /\x1b\[7m\((?:\x1b\[[0-9;]*m|\x0f)*list "/.test(terminal.styled()),
    );
    assert.ok(moved, JSON.stringify(terminal.styled()));
    terminal.keys('Enter');
    await terminal.shows(/^=> \("\(" NIL\)$/m);
    assert.doesNotMatch(terminal.styled(), /\x1b\[7m/);
  });
  test('a continued line is indented; the mark finds earlier lines', async () => {
    terminal.keys('C-l');
    terminal.type('(let ((a 1)');
    terminal.keys('Enter');

    assert.ok(await eventually(() => terminal.cursor() === 9 + 6), `column ${terminal.cursor()}`);
    terminal.type('(b 2))');
    terminal.keys('Enter');
    assert.ok(await eventually(() => terminal.cursor() === 9 + 2), `column ${terminal.cursor()}`);
    terminal.type('(list a b)');
    terminal.type(')');
    const marked = await eventually(() =>
      /\x1b\[7m\((?:\x1b\[[0-9;]*m|\x0f)*let/.test(terminal.styled()),
    );
    assert.ok(marked, JSON.stringify(terminal.styled()));
    terminal.keys('Enter');
    await terminal.shows(/^=> \(1 2\)$/m);
  });
  test('the arguments of the operator are shown, and gone when the line ends', async () => {
    await terminal.enter('(defun greet (name &key (loudly t)) (list name loudly))');
    terminal.keys('C-l');
    terminal.type('(greet');
    await terminal.shows(/\(greet$/m);
    terminal.type(' ');
    await terminal.shows(/^CL-USER> \(greet\s*\n\(greet NAME &KEY \(LOUDLY T\)\)$/m);
    terminal.type('1)');
    terminal.keys('Enter');
    await terminal.shows(/^=> \(1 T\)$/m);
    assert.doesNotMatch(terminal.screen().split('greet 1)').at(-1), /LOUDLY/);
  });
  test('history', async () => {
    await terminal.enter('(+ 40 2)');
    terminal.keys('C-l');
    await sleep(50);
    terminal.keys('Up', 'Enter');
    await terminal.shows(/\(\+ 40 2\)[\s\S]*=> 42/);
  });
  test('a crash does not end it', async () => {
    assert.match(
      await terminal.enter('(sb-ext:exit :code 7)'),
      /exit code 7[\s\S]*\[Rollback\][\s\S]*:quit or Ctrl-D leaves/,
    );
    assert.match(await terminal.enter('(square 5)'), /=> 25/);
  });
  test('limits', async () => {
    assert.match(await terminal.enter(':limits'), /max-output: 100000 characters/);
    assert.match(await terminal.enter(':limits max-output 500'), /max-output: 500 characters/);
    assert.match(await terminal.enter(':limits max-output 0'), /Value must be/);
    await terminal.enter(':limits timeout 1');
    assert.match(await terminal.enter('(loop)'), /computation;\s+:limits\s+raises the\s+timeout\./);
    assert.match(
      await terminal.enter('(labels ((f (n) (if (zerop n) (car n) (1+ (f (1- n)))))) (f 30))'),
      /\d+ more frames \(:bt\)/,
    );
    await terminal.enter(':limits timeout 0');
  });
  test('the prompt follows the package', async () => {
    await terminal.enter('(defpackage :my-place (:use :cl))');
    const shown = await terminal.enter('(in-package :my-place)');
    assert.match(shown, /MY-PLACE> *$/);
    await terminal.enter('(in-package :cl-user)');
  });
  test('reset, and back', async () => {
    await terminal.enter(':reset');
    assert.match(await terminal.enter('(square 2)'), /UNDEFINED-FUNCTION/);
    await terminal.enter(':undo');
    assert.match(await terminal.enter(':undo'), /; at evaluation \d+/);
    assert.match(await terminal.enter('(square 2)'), /=> 4/);
  });
  test('help and unknown commands', async () => {
    assert.match(await terminal.enter(':help'), /:undo[\s\S]*:restart/);
    assert.match(await terminal.enter(':keyword'), /=> :KEYWORD/);
    assert.match(
      await terminal.enter(':udno'),
      /; There is no command :udno; did you mean :undo\?/,
    );
    await terminal.enter('(/ 1 0)');
    assert.match(
      await terminal.enter(':frame 1'),
      /; There is no command :frame; :help lists them\./,
    );
    assert.match(await terminal.enter(':bt'), /0: \(\/ 1 0\)/);
  });
  test('Ctrl-D leaves', async () => {
    terminal.keys('C-d');
    await terminal.shows(/status 0/);
  });
});

test('no colours where NO_COLOR says so', { skip: !hasTmux }, async () => {
  const terminal = new Terminal([], 'NO_COLOR=1');
  await terminal.shows(/> *$/);
  await terminal.enter('(car 5)');
  assert.match(terminal.screen(), /\[ERROR\] TYPE-ERROR/);
  assert.doesNotMatch(terminal.styled(), /\x1b\[3[0-9]m/);
  terminal.close();
});

describe('cadre repl without a terminal', () => {
  test('the code reads the lines after it', () => {
    const { stdout } = spawnSync(CADRE, ['repl'], {
      env: { ...process.env, HOME: home },
      input: '(list (read-line) (read-line))\none\ntwo\n(+ 1 2)\n',
      encoding: 'utf8',
    });
    assert.equal(stdout, '=> ("one" "two")\n=> 3\n');
  });
  test('the print variables decide how much of a value is shown, also after a reset', () => {
    const list = '(loop for i from 1 to 130 collect i)';
    const lines = [
      list,
      '(setf *print-length* 3)',
      list,
      '(setf *print-length* nil)',
      list,
      '(setf cadre:*value-length* 2)',
      list,
      ':reset',
      list,
    ];
    const { stdout } = spawnSync(CADRE, ['repl'], {
      env: { ...process.env, HOME: home },
      input: `${lines.join('\n')}\n`,
      encoding: 'utf8',
    });
    const whole = '=> \\(1 2 [^.]* 129\\s130\\)\n';
    assert.match(
      stdout,
      new RegExp(
        `^${whole}=> 3\n=> \\(1 2 3 \\.\\.\\.\\)\n\\[127 of 130 elements not shown\\]\n=> NIL\n${whole}` +
          `=> 2\n=> \\(1 2 \\.\\.\\.\\)\n[^=]*${whole}$`,
      ),
    );
  });
  test('reads forms from a pipe', async () => {
    const child = spawn(CADRE, ['repl'], {
      env: { ...process.env, HOME: home },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (data) => {
      out += data;
    });
    child.stdin.end('(defvar *a* 5)\n(* *a*\n 2)\n:quit\n');
    const status = await new Promise((resolve) => child.on('close', resolve));
    assert.equal(status, 0, out);
    assert.match(out, /=> 10/);
  });
});
