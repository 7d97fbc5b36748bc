// Kept sessions from the command line: cadre eval --session, cadre sessions; and export-session.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { Machine } from './daemon_support.mjs';
import { CADRE, eventually } from './support.mjs';

describe('sessions on the command line', { concurrency: false }, () => {
  const machine = new Machine();
  after(() => machine.stop());
  const evaluate = (code, ...options) =>
    machine.run(['eval', '--session', 'work', ...options, code]);

  it('evaluates in a session that remembers', () => {
    const first = evaluate('(defun twice (x) (* 2 x))');
    assert.deepEqual([first.status, first.stdout], [0, '=> TWICE\n']);
    const second = evaluate('(progn (format t "hello~%") (twice 21))');
    assert.deepEqual([second.status, second.stdout, second.stderr], [0, 'hello\n=> 42\n', '']);
    const failed = evaluate('(error "no")');
    assert.deepEqual([failed.status, failed.stdout], [1, '']);
    assert.match(failed.stderr, /^\[ERROR\] SIMPLE-ERROR\nno\n/);
  });

  it('shares the session with MCP clients', async () => {
    const client = await machine.client();
    assert.equal(await client.evaluate('(twice 4)', { session: 'work' }), '=> 8');
    evaluate('(defvar *y* 5)');
    assert.match(
      await client.evaluate('*y*', { session: 'work' }),
      /^\[Notice\]\nsince your last call: evaluation \d+ by eval \(pid \d+\)\n\n=> 5$/,
    );
    await client.close();
  });

  it('prints output that was too long for its answer', async () => {
    const client = await machine.client();
    const output = (...args) => machine.run(['sessions', 'output', ...args]);
    const answer = await client.evaluate('(dotimes (i 30000) (format t "line ~a~%" i))', {
      session: 'work',
    });
    const number = /\[output (\d+): /.exec(answer)[1];
    const lines = Array.from({ length: 30000 }, (_, i) => `line ${i}\n`);
    assert.equal(output('work', number).stdout, lines.join(''));
    assert.equal(output('work').stdout, lines.join(''));
    assert.equal(
      output('work', number, '--from', '201', '--lines', '2').stdout,
      'line 200\nline 201\n',
    );
    assert.equal(
      output('work', number, '--match', '19999', '--from', '2').stdout,
      '20000: line 19999\n',
    );
    assert.equal(output('work', number, '--from', '40000').stdout, '');
    const absent = output('work', '99999');
    assert.deepEqual(
      [absent.status, absent.stdout, absent.stderr],
      [1, '', 'cadre sessions output: no output is kept under this number\n'],
    );
    assert.equal(output('work', 'x').status, 2);
    // Other clients of the workspace read it, too.
    const other = await machine.client();
    await client.close();
    assert.match(
      await other.tool('read-output', { session: 'work', output: Number(number), lines: 1 }),
      /^line 0\n\n\[output /,
    );
    await other.close();
  });

  it('lists and saves sessions', () => {
    assert.equal(machine.run(['sessions', 'save', 'work']).status, 0);
    const [workspace] = JSON.parse(machine.run(['sessions', '--json']).stdout);
    assert.equal(workspace.workspace, machine.workspace);
    const [session] = workspace.sessions.filter(({ name }) => name === 'work');
    assert.equal(session.saved_evaluation, session.evaluations);
    assert.ok(session.bytes > 1e6 && session.bytes < 12e6, `${session.bytes} bytes`);
    assert.match(machine.run(['sessions']).stdout, /^ {2}work +idle +\d+ evaluations, saved /m);
  });

  it('says that a session is not there, for each verb', () => {
    for (const verb of ['show', 'export', 'watch', 'save', 'rm']) {
      const { status, stdout, stderr } = machine.run(['sessions', verb, 'wrok']);
      assert.deepEqual(
        [status, stdout, stderr],
        [1, '', 'cadre sessions: no session "wrok" is kept for this workspace\n'],
      );
    }
  });

  it('watches a journal, however long its entries are, until the session is removed', async () => {
    const client = await machine.client();
    const text = 'x'.repeat(600_000);
    const evaluateLong = (name) =>
      client.evaluate(`(length "${name}${text}")`, { session: 'long' });
    await evaluateLong('a');
    await evaluateLong('b');
    const watch = spawn(CADRE, ['sessions', 'watch', 'long'], {
      cwd: machine.workspace,
      env: machine.env,
    });
    let shown = '';
    watch.stdout.on('data', (data) => (shown += data));
    const ended = new Promise((resolve) => watch.on('close', resolve));
    const sees = async () => {
      await client.evaluate(':again', { session: 'long' });
      return /completed/.test(shown);
    };
    assert.ok(await eventually(sees, 60));
    await evaluateLong('c');
    assert.ok(await eventually(() => shown.includes('(length "c'), 60));
    assert.equal(shown.match(/\(length "c/g).length, 1);
    assert.doesNotMatch(shown, /\(length "[ab]/);
    assert.equal(machine.run(['sessions', 'rm', 'long']).status, 0);
    assert.equal(await ended, 0);
    await client.close();
  });

  it('does not save after each call, as when the last of other clients leaves', async () => {
    const saved = () => {
      const [{ sessions }] = JSON.parse(machine.run(['sessions', '--json']).stdout);
      return sessions.find(({ name }) => name === 'work').saved_evaluation;
    };
    evaluate('(+ 1 1)');
    assert.equal(machine.run(['sessions', 'save', 'work']).status, 0);
    const before = saved();
    for (let i = 0; i < 3; i++) assert.equal(evaluate('(+ 1 2)').status, 0);
    // The next save by itself waits for 20 times what this one took.
    assert.equal(await eventually(() => saved() !== before, 4), false);
    const client = await machine.client();
    await client.close();
    assert.ok(await eventually(() => saved() !== before, 120));
  });

  it('exports the definitions as a file that plain SBCL loads', async () => {
    evaluate('(defpackage :geo (:use :cl) (:export #:area))');
    evaluate('(in-package :geo)');
    evaluate('(defclass square () ((side :initarg :side :reader side)))');
    evaluate('(defgeneric area (shape))');
    evaluate('(defmethod area ((shape square)) 0)');
    evaluate('(defmethod area ((shape square)) (expt (side shape) 2)) ; ) not a parenthesis');
    evaluate('(defun twice (x) "a string with (" (+ x x))');
    const { stdout } = machine.run(['sessions', 'export', 'work']);
    assert.equal(stdout.match(/defmethod area/g).length, 1);
    const file = path.join(machine.home, 'export.lisp');
    writeFileSync(file, stdout);
    const sbcl = spawnSync('sbcl', ['--script'], {
      input: `(load ${JSON.stringify(file)})
        (print (list (geo:area (make-instance 'geo::square :side 3)) (geo::twice 4) (cl-user::twice 5)))`,
      encoding: 'utf8',
    });
    if (!sbcl.error) assert.match(sbcl.stdout, /\(9 8 10\)/, sbcl.stderr);
    const client = await machine.client({ args: ['--tools', 'full'] });
    assert.equal(await client.tool('export-session', { session: 'work' }), stdout);
    const transcript = await client.tool('export-session', {
      session: 'work',
      format: 'transcript',
    });
    assert.match(
      transcript,
      /^# Session work\n\n## 1: \S+Z, eval \(pid \d+\)\n\n```lisp\n\(defun twice/,
    );
    await client.close();
  });

  it('leaves out what was rolled back', async () => {
    const client = await machine.client();
    await client.evaluate('(defun kept () 1)', { session: 'roll' });
    await client.evaluate('(defun undone () 2)', { session: 'roll' });
    await client.tool('rollback-session', { session: 'roll', steps: 1 });
    await client.evaluate('(defun after () 3)', { session: 'roll' });
    const { stdout } = machine.run(['sessions', 'export', 'roll']);
    assert.match(stdout, /defun kept[\s\S]*defun after/);
    assert.doesNotMatch(stdout, /undone/);
    await client.close();
  });

  it('prunes images above a quota, and sessions of workspaces that are gone', () => {
    const other = path.join(machine.home, 'gone');
    mkdirSync(path.join(other, '.git'), { recursive: true });
    machine.run(['eval', '--session', 'main', '1'], { cwd: other });
    machine.run(['daemon', 'stop']);
    assert.equal(machine.run(['sessions', 'prune']).stdout, '');
    rmSync(other, { recursive: true });
    // As the daemon does it, once an hour: the directory may be on a disk that is not mounted now.
    assert.equal(machine.run(['sessions', 'prune', '--keep-gone']).stdout, '');
    assert.match(machine.run(['sessions']).stdout, /\/gone\n {2}main/);
    assert.match(
      machine.run(['sessions', 'prune']).stdout,
      /^removed: the sessions of gone-[0-9a-f]{8}, whose directory is gone\n$/,
    );
    assert.ok(existsSync(path.join(machine.sessionPlace('work'), 'image.zst')));
    assert.match(
      machine.run(['sessions', 'prune', '--quota', '0']).stdout,
      /removed: .*image.zst\n/,
    );
    assert.ok(!existsSync(path.join(machine.sessionPlace('work'), 'image.zst')));
    // What was written lately stays, because a save that is under way may need it.
    assert.ok(readdirSync(path.join(machine.home, '.local/state/cadre/bases')).length > 0);
  });

  it('removes a session', () => {
    const place = machine.sessionPlace('roll');
    assert.ok(existsSync(place));
    assert.equal(machine.run(['sessions', 'rm', 'roll']).status, 0);
    assert.ok(!existsSync(place));
    const { status, stderr } = machine.run(['sessions', 'show', 'roll']);
    assert.deepEqual(
      [status, stderr],
      [1, 'cadre sessions: no session "roll" is kept for this workspace\n'],
    );
  });
});
