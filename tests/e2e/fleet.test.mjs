// A cluster of nodes that share workspaces over NATS. The first part runs everywhere, with two nodes and
// one NATS server on the loopback; the second is what `make test-fleet` is for: three namespaces, three
// servers, HAProxy, and faults under load.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { canMakeNamespaces, Fleet, hasPrograms } from '../fleet/fleet.mjs';
import { findFaults } from '../fleet/checker.mjs';
import { readJournal } from '../fleet/nats.mjs';
import { runFaults } from '../fleet/load.mjs';
import { eventually, LONG, sleep } from './support.mjs';

const MCP = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
  'MCP-Protocol-Version': '2025-06-18',
};

const missing = !hasPrograms('nats-server') && 'nats-server is not installed';

describe('two nodes', { skip: missing, concurrency: false }, () => {
  const fleet = new Fleet({ count: 1 });
  let nats;
  before(async () => {
    fleet.indexes = [0];
    await fleet.start();
    fleet.indexes = [0, 1];
    fleet.startNode(1, [0]);
    await fleet.waitForNode(1);
    nats = await fleet.nats();
  });
  after(async () => {
    nats?.close();
    await fleet.stop();
  });

  it('answer for a workspace that one of them owns', async () => {
    const first = await fleet.evaluate(0, 'alpha', '(defun twice (x) (* 2 x))');
    assert.ok(first.ok, first.text);
    for (const node of [0, 1, 0]) {
      const answer = await fleet.evaluate(node, 'alpha', '(twice 21)');
      assert.equal(answer.value.values[0], '42', answer.text);
      assert.equal(answer.owner, first.owner);
      assert.equal(answer.epoch, 1);
    }
  });

  it('have what they have answered in the journal', async () => {
    const answer = await fleet.evaluate(1, 'alpha', '(list :recorded)');
    const records = await readJournal(nats, 'alpha');
    const entries = records.filter((record) => record.session === 'main');
    assert.equal(entries.at(-1).entry.evaluation, answer.value.evaluation);
    assert.equal(entries.at(-1).entry.event, 'completed');
    assert.match(entries.at(-2).entry.request.code, /:recorded/);
  });

  it('carry answers of many pieces, and requests', async () => {
    const text = 'x'.repeat(1_500_000);
    for (const node of [0, 1]) {
      const answer = await fleet.evaluate(node, 'alpha', `(length "${text}")`);
      assert.equal(answer.value?.values[0], '1500000', answer.text.slice(0, 300));
      await fleet.call(node, 'alpha', 'configure-limits', { 'max-output': 2_000_000 });
      const long = await fleet.evaluate(
        node,
        'alpha',
        '(make-string 1200000 :initial-element #\\y)',
      );
      assert.ok(long.text.length > 1_200_000, long.text.slice(0, 300));
    }
  });

  it('go on with a session of the 2024 protocol that another one opened', async () => {
    const initialize = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'old', version: '1' },
      },
    };
    const headers = { ...MCP, 'Cadre-Workspace': 'alpha' };
    const opened = await fleet.request(0, 'POST', '/mcp', headers, JSON.stringify(initialize));
    const id = opened.headers['mcp-session-id'];
    assert.match(id, /^alpha\./);
    const call = {
      jsonrpc: '2.0',
      id: 2,
      method: 'tools/call',
      params: { name: 'evaluate-lisp', arguments: { code: '(twice 4)' } },
    };
    for (const node of [1, 0]) {
      const session = { ...MCP, 'Mcp-Session-Id': id };
      const answer = await fleet.request(node, 'POST', '/mcp', session, JSON.stringify(call));
      assert.match(answer.text, /=> 8/);
    }
    const forged = { ...MCP, 'Mcp-Session-Id': id.replace(/.$/, id.endsWith('0') ? '1' : '0') };
    forged['Cadre-Workspace'] = 'alpha';
    const refused = await fleet.request(1, 'POST', '/mcp', forged, JSON.stringify(call));
    assert.equal(refused.status, 404);
    const ended = { ...MCP, 'Mcp-Session-Id': id };
    assert.equal((await fleet.request(1, 'DELETE', '/mcp', ended)).status, 204);
    assert.equal((await fleet.request(0, 'POST', '/mcp', ended, JSON.stringify(call))).status, 404);
  });

  it('refuse a request without a name that is one', async () => {
    const bad = await fleet.evaluate(0, 'not a name', '1');
    assert.equal(bad.status, 400);
    assert.match(bad.text, /letters, digits/);
  });

  it('are listed by cadre cluster status, and measured', async () => {
    const status = fleet.run(0, 'cluster', 'status');
    assert.equal(status.status, 0, status.stderr);
    assert.match(status.stdout, /^n1 +up/m);
    assert.match(status.stdout, /^n2 +up/m);
    assert.match(status.stdout, /^alpha +n[12] +1 /m);
    const metrics = await fleet.fetch(0, '/metrics');
    for (const name of ['claims_total', 'fencings_total', 'workspaces', 'journal_seconds_count'])
      assert.match(metrics, new RegExp(`^cadre_cluster_${name} \\d`, 'm'));
  });

  it('hand a workspace over when one drains, with all that it keeps', async () => {
    await fleet.call(0, 'moving', 'add-context', { content: 'an item', type: 'text' });
    const program = { source: '(def kept 7)', memory_name: 'notes' };
    await fleet.call(0, 'moving', 'run-program', program);
    const before = await fleet.evaluate(0, 'moving', '(defparameter *state* (list 1 2 3))');
    const owner = Number(before.owner.slice(1)) - 1;
    const drained = fleet.run(1 - owner, 'cluster', 'drain', before.owner);
    assert.equal(drained.status, 0, drained.stderr);
    const after = await fleet.evaluate(owner, 'moving', '*state*');
    assert.equal(after.value?.values[0], '(1 2 3)', after.text);
    assert.notEqual(after.owner, before.owner);
    assert.equal(after.epoch, 2);
    assert.match(after.text, /restored: the state after evaluation 1/);
    const items = await fleet.call(0, 'moving', 'render-context', {});
    assert.match(items.text, /an item/);
    const remembered = await fleet.call(0, 'moving', 'run-program', {
      source: '(* 6 kept)',
      memory_name: 'notes',
    });
    assert.match(remembered.text, /42/);
    await fleet.kill(fleet.nodes[owner]);
    fleet.startNode(owner, [0]);
    await fleet.waitForNode(owner);
  });

  it('take over from one that is killed', async () => {
    const before = await fleet.evaluate(0, 'killed', '(defun answer () 42)');
    const owner = Number(before.owner.slice(1)) - 1;
    await fleet.kill(fleet.nodes[owner]);
    const answer = await fleet.evaluate(1 - owner, 'killed', '(answer)');
    assert.equal(answer.value?.values[0], '42', answer.text);
    assert.equal(answer.value.evaluation, before.value.evaluation + 1);
    assert.equal(answer.epoch, 2);
    fleet.startNode(owner, [0]);
    await fleet.waitForNode(owner);
  });

  it('say that the cluster cannot be reached, and recover', async () => {
    await fleet.kill(fleet.servers[0]);
    const began = Date.now();
    const refused = await fleet.evaluate(0, 'alpha', '1');
    assert.equal(refused.status, 503, refused.text);
    assert.ok(Date.now() - began < 30_000);
    fleet.startServer(0);
    await eventually(async () => (await fleet.evaluate(0, 'alpha', '(+ 1 2)')).ok, 30);
    const status = fleet.run(0, 'cluster', 'status');
    assert.equal(status.status, 0, status.stderr);
  });
});

const cannot =
  missing ||
  (!hasPrograms('haproxy', 'ip') && 'haproxy or ip is not installed') ||
  (!canMakeNamespaces() && 'network namespaces cannot be made here');

describe('three nodes under faults', { skip: (!LONG && 'make test-fleet') || cannot }, () => {
  const fleet = new Fleet({ count: 3, namespaces: true, balancer: true });
  after(() => fleet.stop());

  it('lose nothing that they have answered', async (context) => {
    await fleet.start();
    await sleep(2000);
    const history = await runFaults(fleet, {
      workspaces: Number(process.env.FLEET_WORKSPACES ?? 60),
      seconds: Number(process.env.FLEET_SECONDS ?? 120),
      say: (text) => context.diagnostic(text),
    });
    assert.deepEqual(findFaults(history), []);
    assert.deepEqual(history.problems, []);
  });
});
