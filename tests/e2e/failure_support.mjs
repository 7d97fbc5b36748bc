// A server whose session has a state that must survive whatever the tests do to it.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually, processorTicks, useServer } from './support.mjs';

const STATE = '=> (:KEPT (1 2 3))';

// Afterwards the old values are there, and nothing of the failed call runs on.
export async function expectStateKept(server) {
  const { text, isError } = await server.evaluate('(list (keep) *state*)');
  assert.ok(!isError, text);
  assert.ok(text.endsWith(STATE), text);
}

export function useStatefulServer(options) {
  const server = useServer(options);
  test('state to keep', async () => {
    assert.equal(
      await server.value('(defun keep () :kept) (defvar *state* (list 1 2 3))'),
      '=> *STATE*',
    );
    await server.call('configure-limits', { timeout: 1, 'max-memory': 200 });
  });
  after(async () => {
    const busy = async () => {
      const before = new Map(server.processes().map((pid) => [pid, processorTicks(pid)]));
      await new Promise((resolve) => setTimeout(resolve, 300));
      return [...before]
        .filter(([pid, ticks]) => processorTicks(pid) - ticks > 10)
        .map(([pid]) => pid);
    };
    assert.ok(
      await eventually(async () => (await busy()).length === 0),
      `spinning: ${await busy()}`,
    );
  });
  return server;
}
