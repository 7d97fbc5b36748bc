// Sessions that are kept: saved by themselves, restored after the daemon has ended or was killed; and
// what happens when an image is bad.
import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { eventually } from './support.mjs';
import { Machine } from './daemon_support.mjs';

const SAVED = 600; // seconds, on a busy machine: a save waits for 20 times what the last one took

describe('kept sessions', { concurrency: false }, () => {
  const machine = new Machine();
  after(() => machine.stop());
  const place = (name = 'main') => machine.sessionPlace(name);
  const image = (name) => path.join(place(name), 'image.zst');
  const description = () => JSON.parse(readFileSync(path.join(place(), 'image.json'), 'utf8'));
  const isSaved = (number) => {
    try {
      return description().evaluation === number;
    } catch {
      return false; // none yet, or the next one is taking its place
    }
  };
  // Of an older state, if such a save is under way.
  const save = () => machine.run(['sessions', 'save']).status === 0;
  let evaluations = 0;

  const evaluate = async (client, code) => {
    evaluations++;
    return client.evaluate(code);
  };

  it('saves the state by itself', async () => {
    const client = await machine.client();
    await evaluate(client, '(defclass point () ((x :initarg :x :reader x)))');
    await evaluate(client, "(defvar *point* (make-instance 'point :x 7))");
    await evaluate(
      client,
      '(defvar *table* (let ((table (make-hash-table))) (dotimes (i 100000 table) (setf (gethash i table) (* i i)))))',
    );
    await evaluate(
      client,
      '(progn (dotimes (i 50) (eval `(defun ,(intern (format nil "F~D" i)) () ,i))) :done)',
    );
    await evaluate(client, '(progn (require :sb-md5) (defpackage :mine (:use :cl)) :ok)');
    await evaluate(client, '(in-package :mine)');
    assert.ok(await eventually(() => isSaved(evaluations), SAVED));
    assert.equal(statSync(image()).mode & 0o777, 0o600);
    // The core of the newest image, and of no other, is there for a session that comes back soon.
    const images = path.join(machine.home, '.cache/cadre/images');
    const cores = () => (existsSync(images) ? readdirSync(images) : []);
    const { id } = description();
    assert.ok(
      await eventually(() => cores().length === 1 && cores()[0].startsWith(`${id}-`), SAVED),
    );
    assert.equal(statSync(path.join(place(), 'journal.jsonl')).mode & 0o777, 0o600);
    await client.close();
  });

  const checkState = async (client, first) => {
    const answer = await evaluate(
      client,
      '(list *package* (cl-user::x cl-user::*point*) (gethash 99999 cl-user::*table*) (cl-user::f49) (find-package :sb-md5))',
    );
    assert.match(answer, first);
    assert.match(answer, /=> \(#<PACKAGE "MINE"> 7 9999800001 49 #<PACKAGE "SB-MD5">\)$/);
  };

  it('restores it when the daemon has ended', async () => {
    assert.equal(machine.run(['daemon', 'stop']).status, 0);
    const saved = evaluations;
    const client = await machine.client();
    await checkState(
      client,
      new RegExp(`^\\[Notice\\]\\nrestored: the state after evaluation ${saved}, saved \\S+Z\\n`),
    );
    assert.equal(await evaluate(client, '(format t "output~%")'), '[stdout]\noutput\n\n=> NIL');
    await client.close();
  });

  it('restores it when the daemon was killed, and names what came later', async () => {
    const client = await machine.client();
    assert.ok(await eventually(() => save() && isSaved(evaluations), SAVED));
    const saved = evaluations;
    await evaluate(client, '(defun later () 1)');
    process.kill(machine.lockFile().pid, 'SIGKILL');
    await client.close();
    const next = await machine.client();
    await checkState(
      next,
      new RegExp(
        `restored: the state after evaluation ${saved}, saved \\S+Z; evaluations that came after it and are not part of it: ${saved + 1} \\(defun later \\(\\) 1\\)\\n`,
      ),
    );
    const { result } = await next.request('tools/call', {
      name: 'rollback-session',
      arguments: { to: 2 },
    });
    assert.match(
      result.content[0].text,
      /snapshots before the state that was restored or forked are gone/,
    );
    await next.close();
  });

  it('keeps the records of errors, without their processes', async () => {
    const client = await machine.client({ args: ['--tools', 'full'] });
    await evaluate(client, '(error "the first")');
    const failed = await evaluate(client, '(defun fails (x) (error "kept: ~a" x))');
    assert.match(failed, /=> /);
    await evaluate(client, '(fails :later)');
    const before = await client.tool('describe-last-error', {});
    assert.match(before, /kept: LATER[\s\S]*frozen[\s\S]*\(.*FAILS :LATER\)/);
    assert.ok(await eventually(() => save() && isSaved(evaluations), SAVED));
    assert.equal(machine.run(['daemon', 'stop']).status, 0);
    await client.close();
    const next = await machine.client({ args: ['--tools', 'full'] });
    const restored = await next.tool('describe-last-error', {});
    assert.equal(restored.replace(/, frozen|, not frozen/, ''), before.replace(', frozen', ''));
    assert.match(
      await next.tool('inspect', {}),
      /^\[ERROR\] NOT-FROZEN\nError \d+ is not frozen any more/m,
    );
    await next.close();
  });

  it('names open files that are not saved', async () => {
    const client = await machine.client();
    const file = path.join(machine.workspace, 'open.txt');
    await evaluate(
      client,
      `(defvar *stream* (open ${JSON.stringify(file)} :direction :output :if-exists :supersede))`,
    );
    assert.ok(await eventually(() => save() && isSaved(evaluations), SAVED));
    await client.close();
    process.kill(machine.lockFile().pid, 'SIGKILL');
    const next = await machine.client();
    const answer = await evaluate(next, '(open-stream-p *stream*)');
    assert.match(answer, /not saved: 1 open file\n/);
    assert.match(answer, /=> NIL$/);
    await next.close();
  });

  it('saves a session with a live thread, and names it', async () => {
    const client = await machine.client();
    await evaluate(
      client,
      '(progn (sb-thread:make-thread (lambda () (loop (sleep 0.001) (list 1 2))) :name "worker") :ok)',
    );
    assert.ok(await eventually(() => save() && isSaved(evaluations), SAVED));
    await client.close();
    process.kill(machine.lockFile().pid, 'SIGKILL');
    const next = await machine.client();
    assert.match(await evaluate(next, ':back'), /not saved: thread "worker"\n/);
    await next.close();
  });

  it('takes the image before when the newest is damaged', async () => {
    assert.equal(machine.run(['daemon', 'stop']).status, 0);
    assert.ok(existsSync(path.join(place(), 'image.previous.zst')));
    truncateSync(image(), Math.floor(statSync(image()).size / 2));
    rmSync(path.join(machine.home, '.cache/cadre/images'), { recursive: true, force: true });
    const client = await machine.client();
    const answer = await evaluate(client, '(cl-user::f7)');
    assert.match(answer, /\/main\/image\.zst cannot be read\n/);
    assert.match(answer, /restored: the state after evaluation \d+/);
    assert.match(answer, /=> 7$/);
    await client.close();
  });

  it('takes the definitions of the journal when no image can be used, and says so', async () => {
    assert.equal(machine.run(['daemon', 'stop']).status, 0);
    for (const name of ['image.zst', 'image.previous.zst'])
      writeFileSync(path.join(place(), name), 'nonsense');
    const client = await machine.client();
    const answer = await evaluate(
      client,
      "(list *package* (fboundp 'later) (find-class 'cl-user::point nil) (fboundp 'cl-user::f7))",
    );
    assert.match(
      answer,
      /the saved state of the session cannot be used: it starts afresh. \d+ definitions/,
    );
    // What a journal shows as a definition comes back; what code made does not.
    assert.match(
      answer,
      /=> \(#<PACKAGE "MINE"> NIL #<STANDARD-CLASS COMMON-LISP-USER::POINT> NIL\)$/,
    );
    await client.close();
  });

  it('goes on with the numbers of the journal', () => {
    const entries = readFileSync(path.join(place(), 'journal.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const started = entries.filter(({ event }) => event === 'started');
    assert.deepEqual(
      started.map(({ evaluation }) => evaluation),
      started.map((_, index) => index + 1),
    );
    for (const { evaluation } of started.filter(({ request }) => !/later/.test(request.code)))
      assert.equal(
        entries.filter((each) => each.event === 'completed' && each.evaluation === evaluation)
          .length,
        1,
        `evaluation ${evaluation}`,
      );
  });

  it('knows the number of an evaluation that is longer than what is read of a journal', async () => {
    assert.equal(machine.run(['daemon', 'stop']).status, 0);
    const request = { op: 'evaluate', code: `"${'x'.repeat(2 << 20)}"` };
    const entry = { evaluation: 9000, event: 'started', time: 0, parent: 0, request };
    const journal = path.join(place(), 'journal.jsonl');
    appendFileSync(journal, `${JSON.stringify(entry)}\n`);
    const client = await machine.client();
    await client.evaluate('1');
    const last = readFileSync(journal, 'utf8').trim().split('\n').at(-1);
    assert.equal(JSON.parse(last).evaluation, 9001);
    await client.close();
  });

  it('forgets what was saved when it is reset', async () => {
    const client = await machine.client();
    await client.evaluate('(defun before () 1)');
    await client.tool('reset-session', {});
    assert.equal(machine.run(['daemon', 'stop']).status, 0);
    assert.match(await client.evaluate("(fboundp 'before)"), /=> NIL$/);
    await client.close();
  });

  it('tells a client what others have evaluated', async () => {
    const [first, second] = [await machine.client(), await machine.client()];
    await first.evaluate('1');
    await second.evaluate('2');
    await second.evaluate('3');
    assert.match(
      await first.evaluate('4'),
      /^\[Notice\]\nsince your last call: evaluations \d+ by test \(pid \d+\), \d+ by test \(pid \d+\)\n\n=> 4$/,
    );
    assert.equal(await first.evaluate('5'), '=> 5');
    await Promise.all([first.close(), second.close()]);
  });
});
