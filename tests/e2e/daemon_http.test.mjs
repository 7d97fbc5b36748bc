// HTTP through the daemon: cadre serve --http, whose listener and sessions are the daemon's.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { Machine } from './daemon_support.mjs';
import { Listener } from './listener.mjs';
import { eventually } from './support.mjs';

const PATIENCE = 60;

describe('HTTP through the daemon', { concurrency: false }, () => {
  const machine = new Machine();
  after(() => machine.stop());
  const serve = (...args) => new Listener(machine, ['serve', '--http', '0', ...args]).open();

  it('shares the sessions of the workspace, which outlive the listener', async () => {
    const agent = await machine.client();
    await agent.evaluate('(defvar *shared* 41)');
    const listener = await serve();
    assert.equal(await listener.evaluate('(incf *shared*)'), '=> 42');
    assert.match(await agent.evaluate('*shared*'), /evaluation 2 by browser\n\n=> 42$/);
    assert.equal(await listener.close(), 0);
    assert.equal(await listener.answers(), false);
    assert.equal(await agent.evaluate('*shared*'), '=> 42');
    const again = await serve();
    assert.equal(await again.evaluate('*shared*'), '=> 42');
    assert.equal(await again.close('SIGTERM'), 0);
    await agent.close();
  });

  it('opens the workspace that the header names', async () => {
    const other = path.join(machine.home, 'other');
    mkdirSync(path.join(other, '.git'), { recursive: true });
    const listener = await serve();
    assert.match(
      await listener.evaluate('(boundp (quote *shared*))', { workspace: other }),
      /NIL$/,
    );
    await listener.evaluate('(defvar *there* 1)', { workspace: other });
    await listener.close();
    const there = await machine.client({ cwd: other });
    assert.match(await there.evaluate('*there*'), /=> 1$/);
    await there.close();
  });

  it('gives the holder of another token sessions of its own, which end with the listener', async () => {
    const file = path.join(machine.home, 'bob.token');
    writeFileSync(file, `${'b'.repeat(32)}\n`, { mode: 0o600 });
    const listener = await serve('--token', `bob=${file}`, '--token-sandbox', 'bob=strict');
    const bob = { token: 'b'.repeat(32) };
    assert.equal(await listener.evaluate('(boundp (quote *shared*))', bob), '=> NIL');
    await listener.evaluate('(defvar *of-bob* 1)', bob);
    assert.match(await listener.evaluate('(boundp (quote *of-bob*))'), /=> NIL$/);
    assert.match(
      await listener.evaluate('1', { ...bob, workspace: machine.workspace }),
      /workspace/i,
    );
    await listener.close();
    assert.doesNotMatch(machine.run(['sessions']).stdout, /scratch/);
  });

  it('listens again on the same port when the daemon was killed', async () => {
    const listener = await serve();
    await listener.evaluate('(+ 1 1)');
    const { pid } = machine.lockFile();
    process.kill(pid, 'SIGKILL');
    assert.ok(
      await eventually(
        async () => machine.lockFile().pid !== pid && (await listener.answers()),
        60,
      ),
    );
    assert.match(await listener.evaluate('(+ 20 3)'), /=> 23$/);
    assert.equal(await listener.close(), 0);
  });

  it('closes the listener of a client that was killed', async () => {
    const listener = await serve();
    await listener.close('SIGKILL');
    assert.ok(await eventually(async () => !(await listener.answers()), PATIENCE));
  });

  it('says why it does not listen', async () => {
    const listener = await serve();
    const { port } = new URL(listener.url);
    const { status, stderr } = machine.run(['serve', '--http', port]);
    assert.equal(status, 2);
    assert.match(stderr, /^cadre serve: .*in use/);
    await listener.close();
  });

  it('serves the page, on the sessions of the daemon', async () => {
    const listener = await serve();
    const { origin } = new URL(listener.url);
    assert.match(await (await fetch(`${origin}/`)).text(), /<!doctype html>/i);
    const port = String(new URL(listener.url).port);
    const { stdout } = machine.run(['ui', '--print', '--http', port]);
    assert.match(stdout, new RegExp(`^http://127.0.0.1:${port}/#token=`));
    await listener.close();
  });

  it('may have a listener of its own', async () => {
    machine.run(['daemon', 'stop']);
    const daemon = await new Listener(machine, ['daemon', '--http', '0']).open();
    assert.match(await daemon.evaluate('(+ 2 3)'), /=> 5$/);
    const agent = await machine.client();
    await agent.evaluate('(defvar *own* :kept)');
    assert.match(await daemon.evaluate('*own*'), /=> :KEPT$/);
    await agent.close();
    assert.equal(await daemon.close(), 0);
  });
});
