// The state of one session for another: fork-session, adopt-session, try-alternatives, and
// cadre sessions fork.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Machine } from './daemon_support.mjs';

describe('forks', { concurrency: false }, () => {
  const machine = new Machine();
  let client;
  before(async () => {
    client = await machine.client({ args: ['--tools', 'full', '--results', 'structured'] });
    await client.evaluate('(progn (defvar *x* 1) (defun scaled (n) (* n *x*)))');
    await client.evaluate('(setf *x* 10)');
  });
  after(() => machine.stop());
  const evaluate = (code, session = 'main') => client.evaluate(code, { session });
  const structured = async (name, args) => {
    const { result } = await client.request('tools/call', { name, arguments: args });
    return result.structuredContent;
  };

  it('gives a new session the state of another, which goes its own way', async () => {
    assert.equal(
      await client.tool('fork-session', { as: 'branch' }),
      'Session "branch" has the state of "main" after evaluation 2.',
    );
    assert.equal(await evaluate('(progn (incf *x* 5) (scaled 2))', 'branch'), '=> 30');
    assert.equal(await evaluate('(scaled 2)'), '=> 20');
    assert.match(await client.tool('session-info', {}), /\nSessions: main, branch$/);
  });

  it('can neither end nor look into the session it came from', async () => {
    await client.tool('fork-session', { as: 'attacker' });
    const pid = /=> (\d+)/.exec(await evaluate('(sb-posix:getpid)'))[1];
    const attack = `(let ((others (cons ${pid} (cadre-agent::sibling-processes))))
      (flet ((foreign-p (p) (/= (sb-posix:getsid p) (sb-posix:getsid 0))))
        (mapcar (lambda (p) (list (handler-case (sb-posix:kill p 9) (error () :kept))
                                  (handler-case (open (format nil "/proc/~d/mem" p)) (error () :closed))))
                (remove-if-not #'foreign-p others))))`;
    const said = await evaluate(attack, 'attacker');
    assert.match(said, /^=> \((\(:KEPT :CLOSED\)\s*)+\)$/);
    assert.equal(await evaluate('(sb-posix:getpid)'), `=> ${pid}`);
    const alternatives = await client.tool('try-alternatives', {
      codes: [attack, '(scaled 2)'],
    });
    assert.match(alternatives, /:KEPT :CLOSED/);
    assert.match(alternatives, /=> 20/);
    assert.equal(await evaluate('(list (sb-posix:getpid) (scaled 2))'), `=> (${pid} 20)`);
    await client.tool('close-session', { session: 'attacker' });
  });

  // Each fork of a fork is kept from the one before; where the kernel allows no more, it goes on.
  it('goes on from fork to fork', async () => {
    await client.tool('fork-session', { as: 'ping' });
    await client.tool('fork-session', { as: 'pong' });
    for (let i = 0; i < 10; i++) {
      assert.match(
        await client.tool('adopt-session', { from: 'ping', as: 'pong' }),
        /^Session "pong"/,
      );
      assert.match(
        await client.tool('adopt-session', { from: 'pong', as: 'ping' }),
        /^Session "ping"/,
      );
    }
    const run = '(sb-ext:process-exit-code (sb-ext:run-program "/bin/true" nil))';
    assert.equal(await evaluate(run, 'ping'), '=> 0');
    for (const session of ['ping', 'pong']) await client.tool('close-session', { session });
  });

  it('gives the state after an earlier evaluation', async () => {
    assert.equal(
      await client.tool('fork-session', { from: 'main@1', as: 'before' }),
      'Session "before" has the state of "main" after evaluation 1.',
    );
    assert.equal(await evaluate('*x*', 'before'), '=> 1');
  });

  it('refuses names and states that cannot be', async () => {
    const refused = async (args, expected) =>
      assert.match(await client.tool('fork-session', args), expected);
    await refused({ as: 'branch' }, /SESSION-EXISTS\nThere is a session "branch" already/);
    await refused({ as: 'Bad Name' }, /INVALID-ARGUMENT\nInvalid session name/);
    await refused({ from: 'main@99', as: 'x' }, /NO-SUCH-SNAPSHOT\nSnapshot 99 does not exist/);
    await refused({ from: 'nobody', as: 'x' }, /UNKNOWN-SESSION/);
    await refused({ from: 'main@last', as: 'x' }, /INVALID-ARGUMENT\nfrom is the name/);
  });

  it('shares no file, connection or process with the session it came from', async () => {
    const file = JSON.stringify(path.join(machine.workspace, 'lines.txt'));
    await evaluate('(require :sb-bsd-sockets)');
    await evaluate(`(progn
      (with-open-file (out ${file} :direction :output) (dotimes (i 3000) (format out "line ~a~%" i)))
      (defvar *in* (open ${file})) (read-line *in*)
      (defvar *socket* (make-instance 'sb-bsd-sockets:inet-socket :type :stream :protocol :tcp))
      (sb-bsd-sockets:socket-bind *socket* #(127 0 0 1) 0)
      (sb-bsd-sockets:socket-listen *socket* 5)
      (sb-thread:make-thread (lambda () (sleep 1000)) :name "sleeper")
      :ready)`);
    assert.equal(
      await client.tool('fork-session', { as: 'other' }),
      `Session "other" has the state of "main" after evaluation ${await number('other')}.\n` +
        'Lost threads: sleeper\nNot in it: 1 connection, which is closed there.',
    );
    // More than a buffer, so that the offset of the file itself moves.
    const rest = '(loop for line = (read-line *in* nil) while line count t)';
    assert.equal(await evaluate(rest, 'other'), '=> 2999');
    assert.equal(await evaluate(rest), '=> 2999');
    const child = `(sb-ext:process-pid (run-program "/bin/sleep" '("1000") :wait nil))`;
    const pid = Number(/\d+$/.exec(await evaluate(child, 'other'))[0]);
    await client.evaluate('(loop)', { timeout: 1 }); // what it started is killed
    assert.match(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), /sleep/);
    await client.tool('close-session', { session: 'other' });
    assert.equal(await evaluate('(length (sb-thread:list-all-threads))'), '=> 2');
  });
  const number = async (session) => (await structured('session-info', { session })).evaluation;

  it('tries alternatives side by side, and changes nothing', async () => {
    const text = await client.tool('try-alternatives', {
      codes: ['(incf *x*)', '(/ 1 0)', '(setf *x* 77)', '(loop)', '(sb-ext:exit :abort t)'],
      check: '(scaled 1)',
      timeout: 2,
    });
    const lines = text.replace(/[\d.]+ ms, [\d.]+ MB/g, 'COST').split('\n');
    assert.deepEqual(lines.slice(0, 3), ['1. (incf *x*)', '   COST: => 11', '   check: => 11']);
    assert.match(lines[4], /^ {3}COST: \[ERROR\] DIVISION-BY-ZERO: arithmetic error/);
    assert.deepEqual(lines.slice(5, 8), ['3. (setf *x* 77)', '   COST: => 77', '   check: => 77']);
    assert.match(lines[9], /^ {3}COST: \[ERROR\] EVALUATION-TIMEOUT: /);
    assert.match(lines[11], /^ {3}COST: \[ERROR\] PROCESS-EXIT: /);
    assert.equal(await evaluate('*x*'), '=> 10');
    const { sessions } = await structured('session-info', {});
    assert.deepEqual(sessions, ['main', 'branch', 'before']);
    assert.match(
      await client.tool('try-alternatives', { codes: [] }),
      /INVALID-ARGUMENT\ncodes has 1 to 16 texts/,
    );
  });

  it('lets a session adopt the state of another, and go back', async () => {
    await evaluate('(defpackage :extra (:use :cl))', 'branch');
    await evaluate('(progn (in-package :extra) (defun added () 1))', 'branch');
    const before = await number('main');
    assert.equal(
      await client.tool('adopt-session', { from: 'branch' }),
      `Session "main" has the state of "branch", as evaluation ${before + 1}; ` +
        'rollback-session with steps 1 goes back to its own.',
    );
    assert.equal(await evaluate('(list cl-user::*x* (cl-user::scaled 2))'), '=> (15 30)');
    const exported = await client.tool('export-session', {});
    assert.match(exported, /\(defun scaled \(n\)/);
    assert.match(exported, /\(in-package "CL-USER"\)|\(in-package "COMMON-LISP-USER"\)/);
    await client.tool('rollback-session', { to: before });
    assert.equal(await evaluate('*x*'), '=> 10');
    assert.match(
      await client.tool('adopt-session', { from: 'main' }),
      /INVALID-ARGUMENT\nA session cannot adopt its own state/,
    );
    assert.match(
      await client.tool('adopt-session', { from: 'main', as: 'nobody' }),
      /UNKNOWN-SESSION\nThere is no session "nobody"/,
    );
  });

  it('keeps what was forked, with the journal of its state', async () => {
    const forked = machine.run(['sessions', 'fork', 'main@2', 'typed']);
    assert.deepEqual(
      [forked.status, forked.stdout],
      [0, 'Session "typed" has the state of "main" after evaluation 2.\n'],
    );
    assert.equal(machine.run(['sessions', 'fork', 'main']).status, 2);
    assert.equal(machine.run(['sessions', 'fork', 'main@2', 'typed']).status, 1);
    assert.match(machine.run(['sessions', 'export', 'typed']).stdout, /\(defun scaled \(n\)/);
    assert.equal(machine.run(['sessions', 'save', 'typed']).status, 0);
    assert.equal(machine.run(['daemon', 'stop']).status, 0);
    const answer = await evaluate('(scaled 4)', 'typed');
    assert.match(answer, /^\[Notice\]\nrestored: the state after evaluation 2, saved \S+Z\n/);
    assert.match(answer, /=> 40$/);
    // From a session that has to be restored first.
    await client.tool('fork-session', { from: 'branch', as: 'late' });
    assert.match(await evaluate('cl-user::*x*', 'late'), /=> 15$/);
  });

  it('forks a session beside its running evaluation', async () => {
    const running = client.request('tools/call', {
      name: 'evaluate-lisp',
      arguments: { code: '(progn (setf *x* 0) (sleep 1000))', session: 'typed', yield: 1 },
    });
    await running;
    await client.tool('fork-session', { from: 'typed', as: 'beside' });
    assert.equal(await evaluate('*x*', 'beside'), '=> 10');
    await client.tool('close-session', { session: 'typed' });
    assert.equal(await evaluate('(scaled 1)', 'beside'), '=> 10');
  });
});
