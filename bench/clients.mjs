// The least clients that can measure a server: no SDK, one request at a time. Where the answer takes
// less than a millisecond, ask() has bench_client.c measure: Node alone takes about a third of one to
// notice an answer after a pause.
import { execFileSync, spawn } from 'node:child_process';
import path from 'node:path';

const TIMEOUT_MS = 60_000;

// A child process that answers one line for each line it is sent.
export class LineProcess {
  constructor(command, args, options = {}) {
    this.waiting = [];
    this.rest = '';
    this.child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'], ...options });
    this.child.stdout.setEncoding('utf8').on('data', (text) => this.#take(text));
    this.child.on('error', (error) => this.#end(error));
    this.child.on('exit', (status, signal) =>
      this.#end(new Error(`${command} ended: ${signal ?? status}`)),
    );
    this.child.stdin.on('error', () => {});
  }

  #take(text) {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop();
    for (const line of lines) if (this.isAnswer(line)) this.waiting.shift()?.resolve(line);
  }

  isAnswer() {
    return true;
  }

  #end(error) {
    this.ended = error;
    for (const waiter of this.waiting.splice(0)) waiter.reject(error);
  }

  ask(line) {
    if (this.ended) return Promise.reject(this.ended);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('no answer')), TIMEOUT_MS);
      this.waiting.push({
        reject,
        resolve: (answer) => {
          clearTimeout(timer);
          resolve(answer);
        },
      });
      this.child.stdin.write(`${line}\n`);
    });
  }

  stop() {
    this.child.removeAllListeners('exit');
    this.child.kill('SIGKILL');
  }
}

export function requestText(method, params, id) {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1' },
};
const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

// Any MCP server over standard input and output; its notifications are passed over.
export class McpProcess extends LineProcess {
  #id = 0;

  isAnswer(line) {
    return !line.startsWith('{"jsonrpc":"2.0","method"') && !line.startsWith('{"method"');
  }

  // The whole of it, for a test of the raw text.
  request(method, params = {}) {
    return this.ask(requestText(method, params, ++this.#id));
  }

  async initialize() {
    await this.request('initialize', INITIALIZE);
    this.child.stdin.write(`${INITIALIZED}\n`);
  }

  call(name, args) {
    return this.request('tools/call', { name, arguments: args });
  }
}

// `cadre serve` over standard input and output; with `shared` through the daemon.
export class StdioServer extends McpProcess {
  constructor(cadre, args = [], { shared = false, ...options } = {}) {
    super(cadre, ['serve', ...(shared ? [] : ['--private']), ...args], options);
  }
}

// tools/call in protocol revision 2026-07-28 over HTTP.
export function httpCallText(name, args, id) {
  return requestText(
    'tools/call',
    {
      name,
      arguments: args,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
    id,
  );
}

export function httpCallHeaders(name) {
  return [
    'content-type: application/json',
    'accept: application/json, text/event-stream',
    'mcp-protocol-version: 2026-07-28',
    'mcp-method: tools/call',
    `mcp-name: ${name}`,
  ];
}

// `cadre serve --http 127.0.0.1:0`, or any HTTP server that says where it listens as cadre does.
export class HttpServer {
  start(cadre) {
    return this.startCommand(cadre, ['serve', '--private', '--http', '127.0.0.1:0', '--no-token']);
  }

  async startCommand(command, args) {
    this.child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    this.port = await new Promise((resolve, reject) => {
      let text = '';
      this.child.on('error', reject);
      this.child.on('exit', (status) => reject(new Error(`${command} ended: ${status}\n${text}`)));
      this.child.stderr.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
        const port = text.match(/listening on http:\/\/127\.0\.0\.1:(\d+)/)?.[1];
        if (port) resolve(Number(port));
      });
    });
    return this;
  }

  stop() {
    this.child.removeAllListeners('exit');
    this.child.kill('SIGKILL');
  }
}

// The milliseconds of `count` runs of an asynchronous function, after some that do not count.
export async function sample(count, work, warmUp = Math.min(20, count)) {
  const samples = [];
  for (let i = -warmUp; i < count; i++) {
    const start = process.hrtime.bigint();
    await work(i);
    if (i >= 0) samples.push(Number(process.hrtime.bigint() - start) / 1e6);
  }
  return samples;
}

export function expect(answer, text) {
  if (!answer.includes(text)) throw new Error(`expected ${text} in: ${answer.slice(0, 300)}`);
  return answer;
}

// --- measured by bench_client -----------------------------------------------------------------------

const WARM_UP = 20;
export const THINKING_MS = 5; // the snapshot after a reply is hidden in a client's pause

// Milliseconds of the answers to `count` questions, each of which must contain `expected`. The server is
// a command, or the address of an HTTP server with headers. question(i) gives the lines. `place`: the
// working directory and environment of a command.
export function ask(bench, server, { count, pauseMs, before = [], question, expected, place }) {
  execFileSync('ninja', ['--quiet', '-C', bench.build, 'bench/bench_client'], { stdio: 'ignore' });
  const lines = Array.from({ length: count + WARM_UP }, (_, i) => question(i));
  const output = execFileSync(
    path.join(bench.build, 'bench/bench_client'),
    [String(pauseMs), ...server],
    {
      ...place,
      input: [...before, ...lines, ''].join('\n'),
      encoding: 'utf8',
      maxBuffer: 1 << 28,
      timeout: TIMEOUT_MS,
      stdio: ['pipe', 'pipe', 'ignore'],
    },
  );
  return output
    .split('\n')
    .slice(-1 - count, -1)
    .map((line) => {
      const [ms, answer] = line.split('\t');
      expect(answer, expected);
      return Number(ms);
    });
}

// The tool `name` of `cadre serve` over standard input and output, with `shared` through the daemon;
// question(i) gives its arguments.
export function askStdio(bench, name, { question, shared = false, ...options }) {
  return ask(bench, [bench.cadre, 'serve', ...(shared ? [] : ['--private'])], {
    ...options,
    before: [requestText('initialize', INITIALIZE, 0), `!${INITIALIZED}`],
    question: (i) => requestText('tools/call', { name, arguments: question(i) }, i + 1),
  });
}

// The same of a server that listens on a port.
export function askHttp(bench, port, name, { question, ...options }) {
  const headers = [`host: 127.0.0.1:${port}`, ...httpCallHeaders(name)];
  return ask(bench, [`http://127.0.0.1:${port}`, ...headers], {
    ...options,
    question: (i) => httpCallText(name, question(i), i + 1),
  });
}

export const pause = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
