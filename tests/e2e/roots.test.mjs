// The first root that a client offers is the workspace; it is asked for when it is needed.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Machine } from './daemon_support.mjs';

describe('roots', { concurrency: false }, () => {
  const machine = new Machine();
  after(() => machine.stop());
  const project = path.join(machine.home, 'a project, 100 % ü');
  mkdirSync(project);
  const where = '(uiop:native-namestring *default-pathname-defaults*)';
  const workspace = async (client) =>
    /Workspace: (.*)/.exec(await client.tool('session-info', {}))?.[1];
  const offering = (roots, options) =>
    machine.client({ capabilities: { roots: {} }, roots, ...options });
  const questions = (client) =>
    client.notifications.filter(({ method }) => method === 'roots/list').length;

  it('uses the first root, and asks for it once', async () => {
    const client = await offering(function (message) {
      this.reply(message.id, {
        roots: [{ uri: pathToFileURL(project).href }, { uri: 'file:///nowhere' }],
      });
    });
    assert.ok((await client.request('tools/list', {})).result.tools.length > 5);
    assert.equal(questions(client), 0);
    // Two at once: both wait for the answer, and stay in order.
    const [first, second] = await Promise.all([
      client.evaluate('(defvar *order* (list 1))'),
      client.evaluate('(push 2 *order*)'),
    ]);
    assert.deepEqual([first, second], ['=> *ORDER*', '=> (2 1)']);
    assert.equal(await workspace(client), project);
    assert.equal(questions(client), 1);
    await client.close();
    // Another client that works there finds the session.
    const there = await machine.client({ cwd: project, args: ['--workspace', project] });
    assert.match(await there.evaluate('*order*'), /=> \(2 1\)$/);
    await there.close();
  });

  it('goes on without an answer', async () => {
    for (const answer of [
      () => {},
      function (message) {
        this.reply(message.id, { roots: [] });
      },
      function (message) {
        this.reply(message.id, { roots: [{ uri: 'https://example.org/' }] });
      },
      function (message) {
        this.child.stdin.write(
          `${JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -1, message: 'no' } })}\n`,
        );
      },
    ]) {
      const client = await offering(answer);
      assert.match(await client.evaluate('(+ 1 2)'), /=> 3$/);
      assert.equal(await workspace(client), machine.workspace);
      await client.close();
    }
  });

  it('drops an answer that comes too late', async () => {
    let late;
    const client = await offering((message) => (late = message.id));
    assert.match(await client.evaluate('(+ 1 2)'), /=> 3$/);
    client.reply(late, { roots: [{ uri: pathToFileURL(project).href }] });
    assert.match(await client.evaluate('(+ 1 3)'), /=> 4$/);
    assert.equal(await workspace(client), machine.workspace);
    await client.close();
  });

  it('never takes a directory that is no workspace', async () => {
    const client = await offering(function (message) {
      this.reply(message.id, { roots: [{ uri: 'file:///' }] });
    });
    assert.match(await client.evaluate(where), /=> /);
    assert.match(await workspace(client), /\/cadre\/scratch \(scratch\)$/);
    await client.close();
  });

  it('asks nobody where the workspace is given', async () => {
    const client = await offering(() => assert.fail('asked'), {
      args: ['--workspace', machine.workspace],
    });
    assert.match(await client.evaluate('(+ 1 2)'), /=> 3$/);
    assert.equal(questions(client), 0);
    await client.close();
  });

  it('asks again nobody when the daemon was killed', async () => {
    const client = await offering(function (message) {
      this.reply(message.id, { roots: [{ uri: pathToFileURL(project).href }] });
    });
    assert.match(await client.evaluate('(+ 1 2)'), /=> 3$/);
    process.kill(machine.lockFile().pid, 'SIGKILL');
    await client.request('tools/call', { name: 'evaluate-lisp', arguments: { code: '1' } }); // may fail
    assert.match(await client.evaluate('(+ 1 3)'), /=> 4$/);
    assert.equal(await workspace(client), project);
    assert.equal(questions(client), 1);
    await client.close();
  });
});
