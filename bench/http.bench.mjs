// The same evaluation over Streamable HTTP on a connection kept alive. The floor is a bare libevent handler
// that answers the same requests with a constant.
import { execFile, execFileSync } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { askHttp, httpCallHeaders, httpCallText, HttpServer, THINKING_MS } from './clients.mjs';

const execFileAsync = promisify(execFile);

export const title = 'HTTP';

const CONNECTIONS = 16;
const SECONDS = 3;

// Requests a second over several connections at once, by wrk: a load generator in Node is slower than the server.
async function throughput(server, name, args) {
  const { stdout } = await execFileAsync(
    'wrk',
    [
      '-t1',
      `-c${CONNECTIONS}`,
      `-d${SECONDS}s`,
      '-s',
      path.join(import.meta.dirname, 'post.lua'),
      `http://127.0.0.1:${server.port}/mcp`,
    ],
    {
      env: {
        ...process.env,
        BENCH_BODY: httpCallText(name, args, 1),
        BENCH_HEADERS: httpCallHeaders(name).join('\n'),
      },
    },
  );
  if (/Non-2xx/.test(stdout)) throw new Error(stdout);
  return Number(stdout.match(/Requests\/sec:\s+([\d.]+)/)[1]);
}

async function withBare(bench, work) {
  execFileSync('ninja', ['--quiet', '-C', bench.build, 'bench/bench_http'], { stdio: 'ignore' });
  const bare = await new HttpServer().startCommand(path.join(bench.build, 'bench/bench_http'), []);
  try {
    return await work(bare);
  } finally {
    bare.stop();
  }
}

async function withServer(bench, work) {
  const server = await new HttpServer().start(bench.cadre);
  try {
    return await work(server);
  } finally {
    server.stop();
  }
}

export async function measure(bench) {
  const questions = { count: 200, pauseMs: THINKING_MS, question: () => ({ code: '(+ 1 2 3)' }) };
  const latency = (expected) => (server) =>
    askHttp(bench, server.port, 'evaluate-lisp', { ...questions, expected });
  bench.row(
    `(+ 1 2 3), keep-alive, ${THINKING_MS} ms apart`,
    await withServer(bench, latency('=> 6')),
    { floor: await withBare(bench, latency('')), target: 0.5 },
  );
  const rate = (server) => throughput(server, 'run-program', { source: '(+ 1 2)' });
  bench.row(`run-program, ${CONNECTIONS} connections`, await withServer(bench, rate), {
    unit: '/s',
    floor: await withBare(bench, rate),
  });
}
