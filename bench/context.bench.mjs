// The context store over MCP stdio, in a file. The floor is a ping: the protocol without a store.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, sample, StdioServer } from './clients.mjs';

export const title = 'context';

const ITEM = {
  content: '(defun add (a b) (+ a b))',
  metadata: { filename: 'math.lisp', start_line: 5, end_line: 7 },
};
const PIPELINED = 500;

// Many requests on their way at once, as several clients would have them: time per request.
async function amortised(rounds, request) {
  return (
    await sample(rounds, () => Promise.all(Array.from({ length: PIPELINED }, request)), 1)
  ).map((ms) => ms / PIPELINED);
}

export async function measure(bench) {
  const directory = mkdtempSync(path.join(tmpdir(), 'cadre-bench-'));
  const server = new StdioServer(bench.cadre, ['--context-db', path.join(directory, 'context.db')]);
  const add = async () => expect(await server.call('add-context', ITEM), 'Added ctx-');
  try {
    await server.initialize();
    const ping = await sample(500, () => server.request('ping'));
    bench.row('add, one after the other', await sample(1000, add), { floor: ping });
    bench.row('add, amortised over a queue', await amortised(20, add), { target: 0.2 });
    bench.row(
      'list of 50 items',
      await sample(300, async () => {
        expect(await server.call('list-context'), '50 of 50 items');
      }),
      { floor: ping, target: 1 },
    );
    bench.row(
      'render of 50 items',
      await sample(300, async () => {
        expect(await server.call('render-context'), 'math.lisp:5-7');
      }),
      { floor: ping, target: 1 },
    );
  } finally {
    server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}
