// Sessions that give up their processes: idle ones, and the least recently used above the memory budget.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { eventually, sleep } from './support.mjs';
import { Machine } from './daemon_support.mjs';

const SAVED = 240; // seconds, on a busy machine

describe('hibernation', { concurrency: false }, () => {
  const machine = new Machine({ CADRE_HIBERNATE: '1' });
  after(() => machine.stop());

  it('gives up the processes of an idle session, and restores it', async () => {
    const client = await machine.client();
    await client.evaluate('(defvar *x* 42)');
    const status = () => machine.run(['daemon', 'status']).stdout;
    assert.ok(await eventually(() => /: 0 processes/.test(status()), SAVED), status());
    const answer = await client.evaluate('*x*');
    assert.match(answer, /restored: the state after evaluation 1/);
    assert.match(answer, /=> 42$/);
    await client.close();
  });

  it('keeps a session with a thread', async () => {
    const client = await machine.client();
    await client.evaluate('(progn (sb-thread:make-thread (lambda () (sleep 1000))) :ok)');
    await sleep(2500);
    assert.doesNotMatch(machine.run(['daemon', 'status']).stdout, /: 0 processes/);
    await client.close();
  });
});

describe('the memory budget', { concurrency: false }, () => {
  const machine = new Machine({ CADRE_MEMORY_BUDGET: '400' });
  const other = path.join(machine.home, 'other');
  mkdirSync(path.join(other, '.git'), { recursive: true });
  after(() => machine.stop());
  const processes = (workspace) => {
    const { stdout } = machine.run(['daemon', 'status']);
    return Number(stdout.match(new RegExp(`^${workspace}: (\\d+) processes`, 'm'))?.[1] ?? -1);
  };

  it('is one of all workspaces: the least recently used session hibernates', async () => {
    const [first, second] = [await machine.client(), await machine.client({ cwd: other })];
    const fill = `(progn (defvar *x* (make-array ${200 << 20} :element-type '(unsigned-byte 8) :initial-element 1)) 1)`;
    await first.evaluate(fill);
    await sleep(2000);
    assert.ok(processes(machine.workspace) > 0, 'it is within the budget alone');
    await second.evaluate(fill);
    assert.ok(await eventually(() => processes(machine.workspace) === 0, SAVED));
    assert.ok(processes(other) > 0);
    assert.match(await first.evaluate('(length *x*)'), /restored: .*\n\n=> 209715200$/);
    await Promise.all([first.close(), second.close()]);
  });
});
