// The same evaluation over Streamable HTTP on a connection kept alive. The floor is Node's own HTTP
// server answering the same bytes from another process.
import { execFileSync, spawn } from 'node:child_process';
import http from 'node:http';
import path from 'node:path';
import { calmly, expect, HttpServer, sample } from './clients.mjs';

export const title = 'HTTP';

const FLOOR_SERVER = `require('http').createServer((q, s) => { q.resume(); q.on('end', () => {
  s.setHeader('content-type', 'application/json'); s.end('{"jsonrpc":"2.0","id":1,"result":{}}'); }); })
  .listen(0, '127.0.0.1', function () { console.log(this.address().port); })`;

async function floorSamples() {
  const child = spawn(process.execPath, ['-e', FLOOR_SERVER], { stdio: ['ignore', 'pipe', 'ignore'] });
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  try {
    const port = await new Promise((resolve) => { child.stdout.once('data', (data) => resolve(Number(data))); });
    return await sample(500, () => new Promise((resolve, reject) => {
      const request = http.request({ host: '127.0.0.1', port, method: 'POST', agent }, (response) => {
        response.resume().on('end', resolve);
      });
      request.on('error', reject);
      request.end('{"jsonrpc":"2.0","id":1,"method":"ping"}');
    }));
  } finally {
    agent.destroy();
    child.kill();
  }
}

const CONNECTIONS = 16;
const SECONDS = 3;

// Requests a second over several connections at once.
async function throughput(server, name, args) {
  const end = performance.now() + SECONDS * 1000;
  let answered = 0;
  await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
    while (performance.now() < end) {
      await server.call(name, args);
      answered++;
    }
  }));
  return answered / SECONDS;
}

// The floor is a bare libevent handler that answers the same requests with a constant.
async function throughputs(bench) {
  execFileSync('ninja', ['--quiet', '-C', bench.build, 'bench/bench_http'], { stdio: 'ignore' });
  const bare = await new HttpServer(CONNECTIONS).startCommand(path.join(bench.build, 'bench/bench_http'), []);
  const floor = await throughput(bare, 'run-program', { source: '(+ 1 2)' }).finally(() => bare.stop());
  const server = await new HttpServer(CONNECTIONS).start(bench.cadre);
  const rate = await throughput(server, 'run-program', { source: '(+ 1 2)' }).finally(() => server.stop());
  bench.row(`run-program, ${CONNECTIONS} connections`, rate, { unit: '/s', floor });
}

export async function measure(bench) {
  const floor = await floorSamples();
  const server = await new HttpServer().start(bench.cadre);
  try {
    bench.row('(+ 1 2 3), keep-alive, 5 ms apart', await calmly(200, async () => {
      expect(await server.call('evaluate-lisp', { code: '(+ 1 2 3)' }), '=> 6');
    }), { floor, target: 0.5 });
  } finally {
    server.stop();
  }
  await throughputs(bench);
}
