// The daemon is killed at random points, also while it evaluates, writes the journal, saves,
// compresses, renames and restores. No image is ever half or corrupt, none is lost that was
// complete, and the journal has every evaluation once. `make kills` does it 300 times.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  watch,
} from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { CADRE, LONG, eventually, processesWith, readProc, sleep } from './support.mjs';
import { Machine } from './daemon_support.mjs';

const ROUNDS = LONG ? 300 : 10;
const PATIENCE = 120; // seconds, on a busy machine
const upTo = (milliseconds) => sleep(Math.random() * milliseconds);

describe('kills', { concurrency: false }, () => {
  const machine = new Machine();
  const effects = path.join(machine.workspace, 'effects');
  const valueAfter = new Map([[0, 0]]); // of *n*, by the number of the evaluation
  const answered = new Set(); // numbers of evaluations
  let complete = 0; // the newest state that a complete image was seen of
  after(() => machine.stop());

  const place = () => machine.sessionPlace('main');
  const cores = path.join(machine.home, '.cache/cadre/images');

  // What the description of an image says, which stands before the state.
  const imageNumber = (name) => {
    let fd;
    try {
      fd = openSync(path.join(place(), name), 'r');
    } catch {
      return 0; // there is none
    }
    const head = Buffer.alloc(8);
    assert.equal(readSync(fd, head, 0, 8, 0), 8, `${name} is cut`);
    const text = Buffer.alloc(head.readUInt32LE(4));
    assert.equal(readSync(fd, text, 0, text.length, 8), text.length, `${name} is cut`);
    closeSync(fd);
    return JSON.parse(text.toString()).evaluation;
  };
  // The one before is looked at last: it may become that while this is done.
  const newestImage = () => {
    const found = Math.max(imageNumber('image.zst'), imageNumber('image.previous.zst'));
    assert.ok(
      found >= complete,
      `an image of state ${complete} was there, now the newest is ${found}`,
    );
    complete = found;
    return found;
  };

  const journal = () =>
    ['journal.1.jsonl', 'journal.jsonl']
      .map((name) => path.join(place(), name))
      .filter((file) => existsSync(file))
      .flatMap((file) => readFileSync(file, 'utf8').split('\n'))
      .filter((line) => line)
      .map((line) => JSON.parse(line));
  const checkJournal = () => {
    const events = new Map();
    for (const { evaluation, event } of journal()) {
      if (event !== 'started' && event !== 'completed') continue;
      const before = events.get(evaluation) ?? [];
      events.set(evaluation, [...before, event]);
    }
    for (const [number, list] of events)
      assert.match(list.join(), /^started(,completed)?$/, `evaluation ${number}`);
    for (const number of answered)
      assert.equal(events.get(number)?.join(), 'started,completed', `evaluation ${number}`);
    if (!existsSync(effects)) return;
    const values = readFileSync(effects, 'utf8').trim().split('\n');
    const codes = journal().map(({ request }) => request?.code ?? '');
    for (const value of values)
      assert.ok(
        codes.some((code) => code.includes(`*n* ${value})`)),
        `${value} is not in the journal`,
      );
  };

  const setting = (value) =>
    `(progn (defparameter *n* ${value}) (with-open-file (stream ${JSON.stringify(effects)} :direction :output :if-exists :append :if-does-not-exist :create) (format stream "~D~%" *n*)) *n*)`;
  const noteAnswer = (value) => {
    const last = journal().findLast(({ event }) => event === 'completed');
    valueAfter.set(last.evaluation, value);
    answered.add(last.evaluation);
  };
  const set = async (client, value) => {
    assert.match(await client.evaluate(setting(value)), new RegExp(`=> ${value}$`));
    noteAnswer(value);
  };

  // What was said to be saved is there.
  const saveAndSet = async (client, value) => {
    assert.equal(machine.run(['sessions', 'save']).status, 0);
    assert.equal(newestImage(), journal().at(-1).evaluation);
    await set(client, value);
  };

  const daemon = () => machine.lockFile().pid;
  const isGone = (pid) =>
    /^(|State:\s+[ZX].*)$/m.test(readProc(pid, 'status').match(/^State.*/m)?.[0] ?? '');
  const kill = async (client) => {
    const pid = daemon();
    newestImage();
    process.kill(pid, 'SIGKILL');
    await client.close();
    const workers = () =>
      processesWith(machine.marker).filter((each) =>
        /image-worker/.test(readProc(each, 'cmdline')),
      );
    assert.ok(await eventually(() => isGone(pid) && workers().length === 0, PATIENCE));
  };
  const save = () =>
    spawn(CADRE, ['sessions', 'save'], {
      cwd: machine.workspace,
      env: machine.env,
      stdio: 'ignore',
    });
  // While a save is under way, when `file` appears in the directory of the session, or changes.
  const whenTouched = async (file) => {
    let watcher;
    const touched = new Promise((resolve) => {
      watcher = watch(place(), (_, name) => name === file && resolve());
    });
    const saving = save();
    const ended = new Promise((resolve) => saving.on('close', resolve));
    await Promise.race([touched, ended]);
    watcher.close();
  };

  const aims = {
    'at any time': () => upTo(4000),
    'while it evaluates': async (client, value) => {
      client
        .request('tools/call', { name: 'evaluate-lisp', arguments: { code: setting(value) } })
        .catch(() => {});
      await upTo(20);
    },
    'while the state saves itself': async () => {
      save();
      await upTo(400);
    },
    'while the image is compressed': async () => {
      await whenTouched('image.new');
      await upTo(100);
    },
    'while the image before is put away': () => whenTouched('image.previous.zst'),
    'while the image is put in its place': () => whenTouched('image.zst'),
    'after the image': () => whenTouched('image.json'),
    'while the client leaves': async (client) => {
      client.child.stdin.end();
      await upTo(600);
    },
  };
  const restoringAims = {
    'when it is asked for': () => upTo(50),
    'while it is unpacked': () =>
      eventually(
        () => existsSync(cores) && readdirSync(cores).some((name) => /\.\d+$/.test(name)),
        2,
      ),
    'while Lisp starts': () => upTo(500),
  };
  const pick = (table, round) => Object.entries(table)[round % Object.keys(table).length];

  const killWhileRestoring = async (round) => {
    const [, wait] = pick(restoringAims, round);
    const client = await machine.client();
    client.request('tools/call', { name: 'list-definitions', arguments: {} }).catch(() => {});
    await wait();
    await kill(client);
  };

  for (let round = 0; round < ROUNDS; round++) {
    const [name, wait] = pick(aims, round);
    it(`loses nothing when killed ${name}, round ${round + 1}`, async () => {
      const value = 10 * (round + 1);
      const client = await machine.client();
      await set(client, value);
      if (round % 3 === 1) await saveAndSet(client, value + 1);
      await wait(client, value + 2);
      await kill(client);
      if (round % 3 === 0) await killWhileRestoring(round / 3);
      const newest = newestImage();
      const next = await machine.client();
      const answer = await next.evaluate("(if (boundp '*n*) (symbol-value '*n*) 0)");
      const restored = Number(/restored: the state after evaluation (\d+)/.exec(answer)?.[1] ?? 0);
      assert.equal(restored, newest, answer);
      assert.doesNotMatch(answer, /cannot be (read|used)|damaged|no process starts/);
      const found = Number(/=> (\d+)$/.exec(answer)[1]);
      // Of an evaluation without an answer it is not known whether it is part of the state.
      assert.equal(found, valueAfter.get(restored) ?? found, answer);
      noteAnswer(found);
      checkJournal();
      await next.close();
    });
  }
});
