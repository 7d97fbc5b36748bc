// Programs over MCP servers by Streamable HTTP: real ones, and ones that misbehave.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { HostileHttp } from './hostile_http.mjs';
import { CADRE, eventually, temporaryDirectory, useServer } from './support.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const modules = path.resolve(here, '../node_modules/@modelcontextprotocol');
const directory = temporaryDirectory();

function configure(name, servers) {
  const file = path.join(directory, `${name}.json`);
  writeFileSync(file, JSON.stringify({ mcpServers: servers, policies: { '*': 'allow' } }));
  return ['--mcp-config', file];
}
async function run(server, source, limits) {
  const { structured } = await server.call('run-program', { source, ...(limits && { limits }) });
  return { value: structured.return, failure: structured.fail?.message, structured };
}

describe('servers by HTTP', () => {
  const works = [
    ['good', 'done by good for nobody'],
    ['events', 'by events'],
    ['open', 'not closed'],
    ['resume', 'resumed from there'],
    ['expire', 'in a new session'],
    ['forget', 'in a new session'],
    ['ids', 'right'],
    ['noise', 'heard'],
    ['to-good', 'done by good for nobody'],
    ['year-2024', 'done by year-2024 for nobody'],
    ['stateless', 'done by stateless for nobody'],
  ];
  const fails = [
    ['hang', /no answer from the server hang within 500 ms/],
    ['die', /the server die failed: the connection failed: /],
    ['half', /the server half failed: the connection failed: /],
    ['endless', /no answer from the server endless within 500 ms/],
    ['slow-headers', /no answer from the server slow-headers within 500 ms/],
    ['headers', /failed: its headers are larger than 256 KiB/],
    ['bomb', /failed: it sent compressed data, which it was not asked for/],
    ['huge', /its result is larger than 8388608 bytes \(max_result\)/],
    ['line', /failed: it sent a message of more than 64 MiB/],
    ['garbage', /failed: what it sent is no answer to the request/],
    ['late-redirect', /redirects to http:\/\/127\.0\.0\.1:\d+ \(HTTP status 302\), which is not f/],
    ['to-other', /redirects to http:\/\/localhost:\d+ \(HTTP status 307\), which is not followed/],
    ['to-itself', /redirects to http:\/\/127\.0\.0\.1:\d+ \(HTTP status 308\)/],
    ['login', /it wants a login; Cadre does not do OAuth: give its entry a token.*status 401/],
    ['token', /refuses the credentials in `headers` of its entry \(HTTP status 401\): not [*]+/],
    ['old-sse', /SSE server \(protocol 2024-11-05\), this transport is not supported/],
    ['html', /its answer is neither JSON nor an event stream \(HTTP status 200\): <p>hello/],
    ['broken', /it refused the request \(HTTP status 500\): something is wrong/],
    ['refused', /the server refused failed: the connection failed: .*connect/],
  ];
  const hostile = new HostileHttp();
  const options = { env: { A_VALUE: 'very-secret-value' } };
  before(async () => {
    await hostile.start();
    const entries = { asks: {}, slow: {}, listen: {} };
    for (const [name] of [...works, ...fails]) entries[name] = {};
    for (const [name, entry] of Object.entries(entries)) {
      entry.url = hostile.url(name);
      entry.headers = { 'X-Who': '${WHO:-nobody}' };
    }
    for (const name of ['hang', 'endless', 'slow-headers']) entries[name].timeout_ms = 500;
    for (const name of ['token', 'to-other'])
      entries[name].headers.Authorization = 'Bearer ${A_VALUE}';
    entries.refused.url = 'http://127.0.0.1:1/mcp';
    options.args = configure('hostile', entries);
  });
  after(() => hostile.stop());
  const server = useServer(options);
  const requests = (name) => hostile.seen.filter((request) => request.path === name);

  for (const [name, expected] of works)
    test(`${name} answers`, async () => {
      const { value, failure } = await run(server, `(${name}/work {})`);
      assert.equal(failure, undefined);
      assert.equal(value, expected);
    });
  for (const [name, expected] of fails)
    test(`${name} fails alone`, async () => {
      const { failure, structured } = await run(server, `(${name}/work {})`);
      assert.match(failure ?? '', expected);
      assert.ok(!JSON.stringify(structured).includes('very-secret-value'));
      const { value } = await run(server, '(good/add {:a 1 :b 2})');
      assert.deepEqual(value, [3]);
    });
  test('a call is sent once, whatever becomes of it', () => {
    for (const name of ['die', 'half', 'hang', 'events', 'resume'])
      assert.equal(hostile.counts[name], 1, name);
    assert.equal(hostile.counts.expire, 2);
  });
  test('after a broken connection the server is greeted again', async () => {
    assert.deepEqual((await run(server, '(die/add {:a 1 :b 1})')).value, [2]);
    const greetings = requests('die').filter((each) => each.message?.method === 'initialize');
    assert.equal(greetings.length, 2);
  });
  test('credentials do not go to another host', () => {
    const authorization = (name) => requests(name).map((each) => each.headers.authorization);
    assert.deepEqual([...new Set(authorization('token'))], ['Bearer very-secret-value']);
    assert.ok(authorization('to-other').length > 0);
    assert.ok(requests('good').every((each) => each.headers.authorization === undefined));
  });
  test('sessions and versions are named in every request but the first', async () => {
    const [first, ...others] = requests('good').filter((each) => each.method !== 'DELETE');
    assert.equal(first.message.method, 'initialize');
    assert.equal(first.headers['mcp-session-id'], undefined);
    const later = others.filter((each) => each.message?.method !== 'initialize');
    assert.ok(later.length > 2);
    for (const { headers } of later) {
      assert.match(headers['mcp-session-id'], /^good-/);
      assert.equal(headers['mcp-protocol-version'], '2025-11-25');
    }
    assert.equal(later[0].message.method, 'notifications/initialized');
  });
  test('arguments go into headers where the schema of a server of 2026-07-28 says so', async () => {
    const where = async (name, region) =>
      (await run(server, `(${name}/where {:region "${region}" :inner {:n 7}})`)).value;
    assert.equal(await where('stateless', 'eu west'), 'eu west 7');
    const encoded = Buffer.from('Zürich').toString('base64');
    assert.equal(await where('stateless', 'Zürich'), `=?base64?${encoded}?= 7`);
    assert.equal(await where('good', 'eu'), ' ');
  });
  test('it is told the workspace, and refused a model', async () => {
    const { value } = await run(server, '(asks/work {})');
    assert.equal(value[0], -32601);
    assert.match(value[1], /^file:\/\/\//);
  });
  test('a run that ends cancels its calls', async () => {
    const { failure } = await run(server, '(slow/work {})', { timeout: 300 });
    assert.match(failure, /time/);
    const cancelled = () =>
      requests('slow').find((each) => each.message?.method === 'notifications/cancelled');
    assert.ok(await eventually(() => cancelled() && hostile.closed.includes('slow'), 20));
    const call = requests('slow').find((each) => each.message?.method === 'tools/call');
    assert.equal(cancelled().message.params.requestId, call.message.id);
  });
  test('what it says unasked changes its tools', async () => {
    const names = async () => {
      const { structured } = await server.call('list-program-tools', { server: 'listen' });
      return structured.tools.map((tool) => tool.name);
    };
    assert.deepEqual(await names(), ['listen/add', 'listen/work', 'listen/where']);
    assert.ok(await eventually(() => hostile.listener, 20));
    hostile.changeTools();
    assert.ok(await eventually(async () => (await names()).includes('listen/another'), 20));
  });
});

// A port that is free now; what takes it says so when it is somebody else's.
async function freePort() {
  const taken = createServer();
  await new Promise((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address();
  await new Promise((resolve) => taken.close(resolve));
  return port;
}

class Process {
  constructor(command, args, env = {}) {
    this.child = spawn(command, args, { env: { ...process.env, ...env } });
    this.output = '';
    for (const stream of [this.child.stdout, this.child.stderr])
      stream.on('data', (block) => (this.output += block));
    this.ended = new Promise((resolve) => this.child.on('exit', resolve));
  }
  async says(pattern) {
    assert.ok(await eventually(() => pattern.test(this.output), 60), this.output);
  }
  async stop(signal) {
    this.child.kill(signal);
    await this.ended;
  }
}

describe('the reference server everything by HTTP', () => {
  const script = path.join(modules, 'server-everything/dist/index.js');
  const options = {};
  let port, real;
  const begin = async () => {
    real = new Process(process.execPath, [script, 'streamableHttp'], { PORT: `${port}` });
    await real.says(/listening/);
  };
  before(async () => {
    port = await freePort();
    await begin();
    options.args = configure('everything', { everything: { url: `http://127.0.0.1:${port}/mcp` } });
  });
  after(() => real.stop('SIGKILL'));
  const server = useServer(options);

  test('calls, many at a time', async () => {
    const source = '(pmap (fn [i] (everything/get-sum {:a i :b 2})) (range 30))';
    const sums = Array.from({ length: 30 }, (_, i) => `The sum of ${i} and 2 is ${i + 2}.`);
    assert.deepEqual((await run(server, source)).value, sums);
  });
  test('a long call with progress ends with its run', async () => {
    const source = '(everything/trigger-long-running-operation {:duration 60 :steps 60})';
    const { failure } = await run(server, source, { timeout: 500 });
    assert.match(failure, /time/);
    assert.match((await run(server, '(everything/echo {:message "on"})')).value, /on/);
  });
  test('its death in mid-call fails that call; started again it is used again', async () => {
    const source = '(everything/trigger-long-running-operation {:duration 60 :steps 2})';
    const call = run(server, source, { timeout: 60_000 });
    await eventually(() => /long-running|POST request/.test(real.output), 5);
    await real.stop('SIGKILL');
    assert.match((await call).failure, /the server everything failed: /);
    assert.match(
      (await run(server, '(everything/echo {:message "x"})')).failure,
      /the server everything failed: the connection failed/,
    );
    await begin();
    assert.match((await run(server, '(everything/echo {:message "back"})')).value, /back/);
  });
});

// Lets all through to a server of both eras but what only those up to 2025-11-25 have, so that it
// is spoken to as 2026-07-28 has it.
function modernOnly(url, seen) {
  return createHttpServer(async (request, response) => {
    let text = '';
    for await (const block of request) text += block;
    const { id, method } = JSON.parse(text || '{}');
    seen.push(method);
    if (method === 'initialize') {
      const error = { code: -32601, message: 'Method not found' };
      response.writeHead(404, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
      return;
    }
    const { host, connection, 'content-length': length, ...headers } = request.headers;
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const body = text || undefined;
    try {
      const answer = await fetch(url, {
        method: request.method,
        headers,
        body,
        signal: gone.signal,
      });
      response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') });
      for await (const block of answer.body) response.write(block);
      response.end();
    } catch (error) {
      if (!gone.signal.aborted) throw error;
    }
  });
}

describe('Cadre itself by HTTP', () => {
  const options = {};
  const seen = [];
  let other, front;
  before(async () => {
    other = new Process(CADRE, ['serve', '--http', '127.0.0.1:0', '--no-token', '--private']);
    await other.says(/http:\/\/\S+/);
    const [url] = other.output.match(/http:\/\/[^\s'"]+/);
    front = modernOnly(url, seen);
    await new Promise((resolve) => front.listen(0, '127.0.0.1', resolve));
    const modern = `http://127.0.0.1:${front.address().port}/mcp`;
    options.args = configure('cadre', { other: { url }, modern: { url: modern } });
  });
  after(async () => {
    front.closeAllConnections();
    front.close();
    await other.stop('SIGTERM');
  });
  const server = useServer(options);
  test('a session of another machine is a tool', async () => {
    const { value, failure } = await run(server, '(other/evaluate-lisp {:code "(* 6 7)"})');
    assert.equal(failure, undefined);
    assert.match(JSON.stringify(value), /42/);
  });
  test('it is spoken to as 2026-07-28 has it, and checks what it is told', async () => {
    const source = '(map (fn [i] (modern/evaluate-lisp {:code (str "(* 6 " i ")")})) [7 8])';
    const { value, failure } = await run(server, source);
    assert.equal(failure, undefined);
    assert.match(JSON.stringify(value), /42.*48/);
    assert.ok(seen.includes('subscriptions/listen'), `${seen}`);
    assert.ok(!seen.includes('notifications/initialized'), `${seen}`);
  });
  test('a call that takes long ends there, too', async () => {
    const long = '(modern/evaluate-lisp {:code "(loop)" :timeout 60})';
    assert.match((await run(server, long, { timeout: 500 })).failure, /time/);
    const { value } = await run(server, '(modern/evaluate-lisp {:code "(+ 1 1)"})');
    assert.match(JSON.stringify(value), /2/);
  });
});
