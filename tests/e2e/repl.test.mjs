// `cadre repl` in a real terminal: tmux types, and shows what a person would see.
import assert from 'node:assert/strict';
import { spawnSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CADRE, eventually, processesWith, sleep, temporaryDirectory } from './support.mjs';

const home = temporaryDirectory();
// libedit never frees the names of the functions added to it.
const suppressions = path.join(home, 'leaks-of-libedit');
writeFileSync(suppressions, 'leak:wcsdup\n');
const hasTmux = spawnSync('tmux', ['-V']).status === 0;

class Terminal {
  constructor(args = []) {
    this.socket = `cadre-${randomUUID().slice(0, 8)}`;
    this.id = randomUUID();
    const command = `env HOME='${home}' LSAN_OPTIONS='suppressions=${suppressions}:print_suppressions=0' CADRE_TEST_ID=${this.id} TERM=screen '${CADRE}' repl ${args.join(' ')}; echo "status $?"; sleep 600`;
    const { status, stderr } = this.tmux(
      '-f',
      '/dev/null',
      'new-session',
      '-d',
      '-x',
      '120',
      '-y',
      '50',
      command,
    );
    assert.equal(status, 0, String(stderr));
  }

  tmux(...args) {
    return spawnSync('tmux', ['-L', this.socket, ...args], { encoding: 'utf8' });
  }
  screen() {
    return this.tmux('capture-pane', '-p', '-S', '-200').stdout.replace(/\n+$/, '');
  }
  keys(...keys) {
    this.tmux('send-keys', ...keys);
  }
  type(text) {
    this.tmux('send-keys', '-l', text);
  }

  // Waits until the screen matches.
  async shows(pattern, seconds = 10) {
    const found = await eventually(() => pattern.test(this.screen()), seconds);
    assert.ok(found, `${pattern} is not on the screen:\n${this.screen()}`);
  }

  // Types a line and waits for the next prompt after it; gives what appeared in between.
  async enter(line, prompt = /^\S+> $/) {
    this.tmux('clear-history');
    this.keys('C-l');
    await sleep(30);
    this.type(line);
    this.keys('Enter');
    let text = '';
    const done = await eventually(() => {
      text = this.tmux('capture-pane', '-p', '-J').stdout.trimEnd();
      const lines = text.split('\n');
      return lines.length > 1 && prompt.test(`${lines.at(-1)} `.replace(/ +$/, ' '));
    }, 10);
    assert.ok(done, `no prompt after ${line}:\n${this.screen()}`);
    return text;
  }

  close() {
    this.tmux('kill-server');
  }
}

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
  test('Ctrl-C at the prompt drops the line', async () => {
    terminal.type('(car (unfinished');
    terminal.keys('C-c');
    await sleep(200);
    assert.match(await terminal.enter('(square 4)'), /=> 16/);
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
  test('history', async () => {
    await terminal.enter('(+ 40 2)');
    terminal.keys('C-l');
    await sleep(50);
    terminal.keys('Up', 'Enter');
    await terminal.shows(/\(\+ 40 2\)[\s\S]*=> 42/);
  });
  test('a crash does not end it', async () => {
    assert.match(await terminal.enter('(sb-ext:exit :code 7)'), /exit code 7[\s\S]*\[Rollback\]/);
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

describe('cadre repl without a terminal', () => {
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
