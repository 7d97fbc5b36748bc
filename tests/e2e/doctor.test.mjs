// `cadre doctor` and the daemon that runs: after an upgrade or a move it goes on with what was there before.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CADRE } from './support.mjs';
import { Machine } from './daemon_support.mjs';

describe('the daemon', { concurrency: false }, () => {
  const machine = new Machine();
  const doctor = (program = CADRE) => {
    const { stdout } = spawnSync(program, ['doctor'], {
      cwd: machine.workspace,
      env: machine.env,
      encoding: 'utf8',
    });
    return stdout.match(/^(ok|note|FAIL) +daemon .*(\n {6}.*)*/m)[0];
  };
  let pid;
  test('none runs', () => assert.match(doctor(), /^ok +daemon +none runs/));

  describe('one that runs', () => {
    before(async () => {
      const client = await machine.client();
      await client.close();
      ({ pid } = machine.lockFile());
    });
    after(() => machine.stop());

    test('answers', () =>
      assert.match(doctor(), new RegExp(`^ok +daemon +process ${pid} answers$`)));
    test('is from another place', () => {
      const elsewhere = path.join(machine.home, 'cadre');
      copyFileSync(CADRE, elsewhere);
      const shown = doctor(elsewhere);
      assert.match(
        shown,
        new RegExp(`^note +daemon +process ${pid} is Cadre .* of ${CADRE}, this`),
      );
      assert.match(shown, /cadre daemon stop$/);
    });
    test('does not answer', () => {
      process.kill(pid, 'SIGSTOP');
      const shown = doctor();
      process.kill(pid, 'SIGCONT');
      assert.match(shown, new RegExp(`^FAIL +daemon +the daemon does not answer; kill -9 ${pid} `));
    });
  });
});
