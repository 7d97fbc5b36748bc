// Kept sessions on a disk that fails: evaluations go on, it is said once, and nothing half is left.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { CADRE, eventually } from './support.mjs';
import { Machine } from './daemon_support.mjs';

describe('a bad disk', { concurrency: false }, () => {
  const machine = new Machine();
  after(() => machine.stop());

  it('makes a save fail, which is said, and the next one works', async () => {
    const client = await machine.client();
    await client.evaluate('(defvar *x* 1)');
    // Where the image is written before it takes its place.
    const obstacle = path.join(machine.sessionPlace('main'), 'image.new');
    rmSync(obstacle, { force: true });
    mkdirSync(obstacle);
    writeFileSync(path.join(obstacle, 'file'), '');
    const failed = machine.run(['sessions', 'save']);
    assert.equal(failed.status, 1);
    assert.match(failed.stderr, /could not be saved: the image could not be written/);
    assert.equal(machine.run(['sessions', 'save']).status, 1, 'it is tried again, and fails again');
    rmSync(obstacle, { recursive: true });
    const saved = machine.run(['sessions', 'save']);
    assert.equal(saved.status, 0, saved.stderr);
    await client.close();
  });

  it('does not stop evaluations, and is told once', async () => {
    const client = await machine.client();
    await client.evaluate('1');
    machine.run(['daemon', 'stop']);
    const place = machine.sessionPlace('main');
    rmSync(place, { recursive: true });
    writeFileSync(place, 'no directory');
    const next = await machine.client();
    assert.match(
      await next.evaluate('2'),
      /the journal of the session cannot be written: .*\n\n=> 2$/,
    );
    assert.equal(await next.evaluate('3'), '=> 3');
    await Promise.all([client.close(), next.close()]);
  });

  it('that is full stops no evaluation, is told once, and is used again when there is room', async () => {
    const full = new Machine();
    const mark = path.join(full.home, 'is-full');
    // Its sessions do not reach the library: it is for the daemon alone, and for its workers.
    const daemon = spawn(CADRE, ['daemon'], {
      env: {
        ...full.env,
        LD_PRELOAD: path.join(path.dirname(CADRE), '../../tests/e2e/full_disk.so'),
        ASAN_OPTIONS: `verify_asan_link_order=0:${process.env.ASAN_OPTIONS ?? ''}`,
        FULL_DISK: mark,
        FULL_DISK_UNDER: path.join(full.home, '.local/state/cadre/workspaces'),
      },
      stdio: 'ignore',
    });
    after(() => {
      full.stop();
      daemon.kill('SIGKILL');
    });
    assert.ok(await eventually(() => full.run(['daemon', 'status']).status === 0, 60));
    const client = await full.client();
    assert.equal(await client.evaluate('(defvar *x* 1)'), '=> *X*');
    assert.equal(full.run(['sessions', 'save']).status, 0);
    const place = full.sessionPlace('main');
    const files = () =>
      readdirSync(place).map((name) => [name, statSync(path.join(place, name)).size]);
    const before = files();

    writeFileSync(mark, '');
    assert.match(
      await client.evaluate('(setf *x* 2)'),
      /^\[Notice\]\nthe journal of the session cannot be written: No space left on device\n\n=> 2$/,
    );
    assert.equal(await client.evaluate('(incf *x*)'), '=> 3');
    const failed = full.run(['sessions', 'save']);
    assert.equal(failed.status, 1);
    assert.match(failed.stderr, /could not be saved: the image could not be written/);
    assert.match(
      await client.evaluate('(incf *x*)'),
      /^\[Notice\]\nthe state after evaluation 3 could not be saved: [\s\S]*No space left on device\n\n=> 4$/,
    );
    assert.equal(await client.evaluate('(incf *x*)'), '=> 5');
    assert.deepEqual(files(), before, 'it has grown');

    rmSync(mark);
    assert.equal(await client.evaluate('(incf *x*)'), '=> 6');
    assert.equal(full.run(['sessions', 'save']).status, 0);
    await client.close();
    process.kill(full.lockFile().pid, 'SIGKILL');
    const next = await full.client();
    assert.match(await next.evaluate('*x*'), /restored: the state after evaluation 6.*\n\n=> 6$/);
    await next.close();
  });
});
