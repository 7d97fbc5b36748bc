// Several servers add to one store at once: no id twice, none lost, the window right.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { CADRE, LONG, Server, temporaryDirectory } from '../e2e/support.mjs';

const SERVERS = 4;
const ADDS = LONG ? 25_000 : 2_500;
const IN_FLIGHT = 50;

async function addMany(server, ids) {
  let left = ADDS;
  const one = async () => {
    while (left-- > 0)
      ids.push((await server.call('add-context', { content: `(f ${left})` })).structured.item.id);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, one));
}

test(`${SERVERS * ADDS} adds from ${SERVERS} processes`, async () => {
  const file = path.join(temporaryDirectory(), 'context.db');
  const servers = await Promise.all(
    Array.from({ length: SERVERS }, () => Server.start({ args: ['--context-db', file] })),
  );
  const ids = [];
  await Promise.all(servers.map((server) => addMany(server, ids)));
  const numbers = ids.map((id) => Number(id.slice('ctx-'.length))).sort((a, b) => a - b);
  assert.deepEqual(
    [numbers.length, new Set(numbers).size, numbers[0], numbers.at(-1)],
    [SERVERS * ADDS, SERVERS * ADDS, 1, SERVERS * ADDS],
  );
  await Promise.all(servers.map((server) => server.stop()));
  const listed = JSON.parse(
    spawnSync(CADRE, ['context', '--context-db', file, 'list', '--json'], { encoding: 'utf8' })
      .stdout,
  );
  assert.deepEqual(
    listed.summaries.map((summary) => summary.id),
    numbers.slice(-50).map((number) => `ctx-${number}`),
  );
});
