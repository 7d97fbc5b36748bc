// Programs in the server: a trivial run over MCP stdio, and one call of a tool over the worker's pipe.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { expect, sample, StdioServer } from './clients.mjs';

export const title = 'programs in the server';

export async function measure(bench) {
  const server = new StdioServer(bench.cadre);
  try {
    await server.initialize();
    bench.row(
      'run-program (+ 1 2)',
      await sample(1000, async () => {
        expect(await server.call('run-program', { source: '(+ 1 2)' }), '=> 3');
      }),
      { target: 0.3 },
    );
  } finally {
    server.stop();
  }
  execFileSync('ninja', ['--quiet', '-C', bench.build, 'bench/bench_pool'], { stdio: 'ignore' });
  const [call, floor] = execFileSync(path.join(bench.build, 'bench/bench_pool'), [bench.cadre], {
    encoding: 'utf8',
  })
    .split(' ')
    .map(Number);
  bench.row('one tool call over the pipe', call, { unit: 'µs', floor, target: 60 });
}
