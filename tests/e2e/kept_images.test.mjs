// Images that cannot be used as they are: made by another SBCL or another Cadre, damaged, or without the
// parts they need; and a machine that has been started again. What can come back comes back, and what
// cannot is said.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { CADRE, processesWith, temporaryDirectory } from './support.mjs';
import { Machine } from './daemon_support.mjs';

// An image begins with the header of a frame that zstd skips: four bytes that say so, the length of what
// follows, and that is a description as JSON.
function readImage(file) {
  const bytes = readFileSync(file);
  const end = 8 + bytes.readUInt32LE(4);
  return { description: JSON.parse(bytes.toString('utf8', 8, end)), rest: bytes.subarray(end) };
}

function writeImage(file, magic, description, rest) {
  const text = Buffer.from(JSON.stringify(description));
  const head = Buffer.alloc(8);
  magic.copy(head, 0, 0, 4);
  head.writeUInt32LE(text.length, 4);
  writeFileSync(file, Buffer.concat([head, text, rest]));
}

function changeImage(file, change) {
  const { description, rest } = readImage(file);
  writeImage(file, readFileSync(file).subarray(0, 4), { ...description, ...change }, rest);
}

describe('an image', { concurrency: false }, () => {
  const machine = new Machine();
  after(() => machine.stop());
  const state = path.join(machine.home, '.local/state/cadre');
  const image = (name = 'image.zst') => path.join(machine.sessionPlace('main'), name);
  const stop = () => assert.equal(machine.run(['daemon', 'stop']).status, 0);
  const evaluate = (code) => machine.run(['eval', '--session', 'main', code]);
  const save = () => assert.equal(machine.run(['sessions', 'save', 'main']).status, 0);
  const forgetCore = () =>
    rmSync(path.join(machine.home, '.cache/cadre/images'), { recursive: true });

  it('comes back when the machine was started again', () => {
    assert.equal(evaluate('(progn (defvar *x* 1) (defun twice (x) (* 2 x)))').stdout, '=> TWICE\n');
    save();
    process.kill(machine.lockFile().pid, 'SIGKILL');
    // What does not outlive the machine: the runtime directory, and the cores in the cache.
    const runtime = machine.env.XDG_RUNTIME_DIR;
    rmSync(runtime, { recursive: true });
    mkdirSync(runtime, { mode: 0o700 });
    forgetCore();
    const { stdout, stderr } = evaluate('(twice 21)');
    assert.equal(stdout, '=> 42\n', stderr);
    assert.match(stderr, /^\[Notice\] restored: the state after evaluation 1, saved \S+Z\n$/);
  });

  it('of another SBCL starts with that one, and is saved anew', () => {
    stop();
    const { description } = readImage(image());
    const other = 'ab'.repeat(16);
    renameSync(
      path.join(state, 'runtimes', description.runtime),
      path.join(state, 'runtimes', other),
    );
    changeImage(image(), { runtime: other });
    assert.equal(evaluate('(twice 4)').stdout, '=> 8\n');
    const programs = processesWith(machine.marker).map((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/exe`);
      } catch {
        return '';
      }
    });
    assert.ok(programs.includes(path.join(state, 'runtimes', other)), programs.join('\n'));
    evaluate('(defvar *later* 5)');
    save();
    assert.equal(readImage(image()).description.runtime, description.runtime);
    stop();
    assert.equal(evaluate('(+ *later* (twice 1))').stdout, '=> 7\n');
  });

  it('whose core in the cache is damaged is unpacked again', () => {
    stop();
    const cores = path.join(machine.home, '.cache/cadre/images');
    const [core] = readdirSync(cores);
    writeFileSync(path.join(cores, core), 'nonsense');
    const { stdout, stderr } = evaluate('*later*');
    assert.equal(stdout, '=> 5\n', stderr);
    assert.match(stderr, /^\[Notice\] restored: the state after evaluation 5, saved \S+Z\n/);
  });

  it('whose SBCL is gone is passed over for the one before, which is said', () => {
    evaluate('(defvar *x* 2)');
    save();
    stop();
    copyFileSync(image(), image('image.previous.zst'));
    changeImage(image(), { runtime: 'cd'.repeat(16) });
    const { stdout, stderr } = evaluate('*later*');
    assert.equal(stdout, '=> 5\n');
    assert.match(
      stderr,
      /^\[Notice\] \S+\/main\/image\.zst needs another SBCL, which is not kept any more\n\[Notice\] restored: /,
    );
  });

  it('of another version gives way to the journal, and the notice says what was skipped', () => {
    evaluate('(setf *later* 6)');
    stop();
    for (const name of ['image.zst', 'image.previous.zst'])
      changeImage(image(name), { protocol: 1 });
    const { stdout, stderr } = evaluate('(list (twice 3) *later*)');
    assert.equal(stdout, '=> (6 5)\n', stderr);
    const lines = stderr.trim().split('\n');
    assert.match(lines[0], /\/main\/image\.zst is of another version of Cadre$/);
    assert.match(lines[1], /\/main\/image\.previous\.zst is of another version of Cadre$/);
    assert.match(
      lines[2],
      /^\[Notice\] the saved state of the session cannot be used: it starts afresh\. 3 definitions of its journal were evaluated again; evaluations that did more were skipped: 2 \(twice 21\), .* and 1 more \(export-session, format transcript, shows them\)$/,
    );
  });
});

// The process that unpacks is asked itself: with a whole session it would take hours.
describe('a cut or changed image', () => {
  const machine = new Machine();
  after(() => machine.stop());

  it('is never taken for a whole one', () => {
    machine.run(['eval', '--session', 'main', '(defvar *x* 1)']);
    assert.equal(machine.run(['sessions', 'save', 'main']).status, 0);
    machine.run(['daemon', 'stop']);
    const whole = readFileSync(path.join(machine.sessionPlace('main'), 'image.zst'));
    const place = temporaryDirectory();
    const unpack = (bytes) => {
      const file = path.join(place, 'image.zst'),
        core = path.join(place, 'core');
      writeFileSync(file, bytes);
      rmSync(core, { force: true });
      const { status, signal } = spawnSync(CADRE, ['image-worker', 'unpack', file, CADRE, core], {
        env: machine.env,
      });
      assert.equal(signal, null);
      return { status, isThere: readdirSync(place).some((name) => name.startsWith('core')) };
    };
    const good = unpack(whole);
    assert.ok(good.isThere);
    const header = 8 + whole.readUInt32LE(4);
    const places = [0, 1, 7, 8, 9, header - 1, header, header + 1, header + 5, whole.length - 1];
    for (let i = 0; i < 8; i++) places.push(Math.floor(Math.random() * whole.length));
    for (const at of places) {
      const cut = unpack(whole.subarray(0, at));
      assert.ok(cut.status !== good.status && !cut.isThere, `cut at ${at}: ${cut.status}`);
    }
    for (const at of places.filter((each) => each > header)) {
      const changed = Buffer.from(whole);
      changed[at] ^= 1 << Math.floor(Math.random() * 8);
      const { status, isThere } = unpack(changed);
      assert.ok(status !== good.status && !isThere, `changed at ${at}: ${status}`);
    }
  });
});
