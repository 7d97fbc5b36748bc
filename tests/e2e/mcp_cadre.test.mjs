// `cadre serve` as the official SDK clients see it: v1, and v2 in its three modes, over stdio and HTTP.
import { test, describe, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import {
  Client as Client2,
  StreamableHTTPClientTransport as Http2,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import {
  HttpServer,
  allEvents,
  call,
  initialize,
  request2024,
  request2026,
  sleep,
  within,
} from './mcp_support.mjs';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const CADRE = path.resolve(process.env.CADRE ?? path.join(ROOT, 'build/debug/src/cli/cadre'));
const MODES = [
  { name: 'v1', sdk: 1 },
  { name: 'v2 legacy', sdk: 2, mode: 'legacy' },
  { name: 'v2 auto', sdk: 2, mode: 'auto' },
  { name: 'v2 2026-07-28', sdk: 2, mode: { pin: '2026-07-28' } },
];

let home, http;
before(async () => {
  home = mkdtempSync(path.join(tmpdir(), 'cadre-home-'));
  process.env.HOME = home; // what the server would keep goes there
  http = await HttpServer.start(
    [],
    [CADRE, 'serve', '--results', 'structured', '--tools', 'full', '--http', '0'],
  );
});
after(async () => {
  await http.stop(10000);
  rmSync(home, { recursive: true });
});

async function withClient({ sdk, mode }, transport, run) {
  const client =
    sdk === 1
      ? new Client1({ name: 'test', version: '1' })
      : new Client2({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const errors = [];
  client.onerror = (e) => errors.push(e.message);
  const [Stdio, Http] = sdk === 1 ? [Stdio1, Http1] : [Stdio2, Http2];
  await client.connect(
    transport === 'stdio'
      ? new Stdio({
          command: CADRE,
          args: ['serve', '--results', 'structured', '--tools', 'full'],
          stderr: 'inherit',
          env: { HOME: home },
        })
      : new Http(new URL(http.url), { requestInit: { headers: http.authorization } }),
  );
  const session = `s${Math.random().toString(36).slice(2, 8)}`;
  const lisp = (code, options, more) => {
    const params = { name: 'evaluate-lisp', arguments: { code, session, ...more } };
    return sdk === 1
      ? client.callTool(params, undefined, options)
      : client.callTool(params, options);
  };
  let seen;
  try {
    await run({ client, lisp, session });
  } finally {
    seen = [...errors];
    const close = { name: 'close-session', arguments: { session } };
    await client.callTool(close).catch(() => {});
    await client.close();
  }
  assert.deepEqual(seen, []);
}

describe('the command line', () => {
  test('the core tools fit into 8 KiB, in both protocols', async () => {
    for (const open of [
      [initialize('2025-11-25'), request2024(1, 'tools/list')],
      [request2026(1, 'tools/list')],
    ]) {
      const { stdout } = spawnSync(CADRE, ['serve', '--tools', 'core'], {
        encoding: 'utf8',
        input: open.map((message) => `${JSON.stringify(message)}\n`).join(''),
      });
      const line = stdout.trim().split('\n').at(-1);
      assert.ok(JSON.parse(line).result.tools.length > 3);
      assert.ok(Buffer.byteLength(line) + 1 <= 8192, `${Buffer.byteLength(line)} bytes`);
    }
  });
  test('localhost is an address, and names are checked', async () => {
    const server = await HttpServer.start(
      [],
      [
        CADRE,
        'serve',
        '--http',
        'localhost:0',
        '--allow-host',
        'lisp.example.com',
        '--allow-origin',
        'https://app.example.com:8443',
        '--allow-origin',
        'vscode-webview://panel',
      ],
    );
    assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
    await server.stop();
    for (const [option, text] of [
      ['--allow-host', ''],
      ['--allow-host', 'a.example.com:80'],
      ['--allow-host', 'http://a'],
      ['--allow-origin', 'foo'],
      ['--allow-origin', ''],
      ['--allow-origin', 'https://'],
      ['--allow-origin', 'https://a/b'],
    ]) {
      const result = spawnSync(CADRE, ['serve', '--http', '0', option, text], {
        encoding: 'utf8',
        timeout: 10000,
      });
      assert.equal(result.status, 2, `${option} '${text}'`);
      assert.match(result.stderr, new RegExp(`${option} takes .*; got '${text}'`));
    }
  });
});

test('a declined reset stays declined', async () => {
  const client = new Client1({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'decline' }));
  await client.connect(new Http1(new URL(`${http.url}?token=${http.token}`)));
  const run = (name, args) =>
    client.callTool({ name, arguments: { session: 'declined', ...args } });
  for (let i = 0; i < 10; i++) await run('evaluate-lisp', { code: `(defvar *v${i}* ${i})` });
  const { isError, content } = await run('reset-session', {});
  assert.ok(isError);
  assert.match(content[0].text, /The user declined the reset\.$/);
  assert.equal((await run('evaluate-lisp', { code: '*v9*' })).content[0].text, '=> 9');
  await run('close-session', {});
  await client.close();
});

for (const mode of MODES)
  for (const transport of ['stdio', 'http'])
    describe(`${mode.name} over ${transport}`, () => {
      test('lists, calls, errors, resources, prompts', () =>
        withClient(mode, transport, async ({ client, lisp }) => {
          const { tools } = await client.listTools();
          assert.ok(tools.some((t) => t.name === 'evaluate-lisp'));
          assert.ok(
            tools.every((t) => t.description && t.outputSchema?.type === 'object' && t.annotations),
          );
          assert.equal(
            (await lisp('(defun f (x) (* 2 x)) (f 21)')).content[0].text.match(/=> (\d+)/)[1],
            '42',
          );
          const failed = await lisp('(/ 1 0)');
          assert.equal(failed.isError, true);
          assert.equal(failed.structuredContent.ok, false);
          assert.match(failed.content[0].text, /DIVISION-BY-ZERO/);
          assert.equal((await lisp('(f 4)')).structuredContent.values[0], '8');
          for (const resource of (await client.listResources()).resources)
            assert.ok((await client.readResource({ uri: resource.uri })).contents.length > 0);
          assert.ok((await client.listPrompts()).prompts.every((p) => p.description));
        }));
      test('progress, then cancellation; the session lives', () =>
        withClient(mode, transport, async ({ lisp }) => {
          await lisp('(defvar *kept* 7)');
          const abort = new AbortController();
          const progress = [];
          const start = performance.now();
          const pending = lisp('(loop (sleep 0.1))', {
            signal: abort.signal,
            timeout: 30000,
            onprogress: (p) => progress.push(p.progress),
          });
          setTimeout(() => abort.abort('test'), 2300);
          await assert.rejects(pending);
          assert.ok(performance.now() - start < 4000);
          assert.ok(
            progress.length >= 1 && progress.every((p, i) => i === 0 || p > progress[i - 1]),
          );
          assert.equal((await lisp('*kept*')).structuredContent.values[0], '7');
          await sleep(300);
        }));
    });

test('a whole number is an integer however it is written', async () => {
  const ask = async (name, text) => {
    const body = JSON.stringify(call(request2026, 1, name)).replace(
      '"arguments":{}',
      `"arguments":${text}`,
    );
    const answer = await http.post(body, {
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': name,
    });
    return (await answer.json()).result.structuredContent;
  };
  await ask('evaluate-lisp', '{"session":"numbers","code":"1"}');
  const { limits } = await ask(
    'configure-limits',
    '{"session":"numbers","timeout":7.0,"max-frames":2e1}',
  );
  assert.deepEqual([limits.timeout, limits['max-frames']], [7, 20]);
  assert.equal(
    (await ask('configure-limits', '{"session":"numbers","timeout":1e300}')).error.code,
    'invalid-argument',
  );
  assert.equal((await ask('list-context', '{"limit":3.0}')).ok, true);
  assert.equal(
    (await ask('evaluate-lisp', '{"session":"numbers","code":"(loop)","timeout":1.0}')).error.code,
    'timeout',
  );
});

test('protocol sessions come and go, evaluation sessions stay; both protocols see the same ones', async () => {
  const args = (code) => ({ code, session: 'shared' });
  const text = async (response) => (await response.json()).result.content[0].text;
  const first = await http.openSession('2025-11-25');
  await http.post(call(request2024, 1, 'evaluate-lisp', args('(defvar *x* 5)')), first);
  await http.get('/mcp', { method: 'DELETE', headers: first });
  assert.equal(
    (await http.post(call(request2024, 2, 'evaluate-lisp', args('*x*')), first)).status,
    404,
  );
  const second = await http.openSession('2024-11-05');
  assert.match(
    await text(await http.post(call(request2024, 1, 'evaluate-lisp', args('*x*')), second)),
    /=> 5/,
  );
  assert.match(
    await text(await http.post2026(call(request2026, 1, 'evaluate-lisp', args('(incf *x*)')))),
    /=> 6/,
  );
});

test('a session that gets the descriptor of a refused connection works', async () => {
  const own = await HttpServer.start(
    [],
    [CADRE, 'serve', '--results', 'structured', '--http', '0', '--context-db', ':memory:'],
  );
  try {
    const evaluate = async (session) =>
      (
        await (
          await own.post2026(call(request2026, 1, 'evaluate-lisp', { code: '(+ 1 2)', session }))
        ).json()
      ).result;
    await evaluate('first'); // from here on fetch() keeps its connection, so no new one is taken
    for (const session of ['second', 'third', 'fourth']) {
      assert.equal(await own.rawStatus('FOO / HTTP/1.1\r\n\r\n'), 501);
      assert.deepEqual(
        (await within(4000, evaluate(session), 'evaluation')).structuredContent.values,
        ['3'],
      );
    }
  } finally {
    await own.stop(10000);
  }
});

test('a 2026 client that disconnects cancels its evaluation', async () => {
  const lisp = (code) => call(request2026, 1, 'evaluate-lisp', { code, session: 'leave' });
  const abort = new AbortController();
  await (await http.post2026(lisp('(defvar *n* 0)'))).json();
  const pending = http.post2026(lisp('(loop)'), {}, { signal: abort.signal });
  await sleep(500);
  abort.abort();
  await assert.rejects(pending);
  const start = performance.now();
  const answer = await (await http.post2026(lisp('*n*'))).json();
  assert.equal(answer.result.structuredContent.values[0], '0');
  assert.ok(performance.now() - start < 5000);
});

for (const era of ['legacy', 'modern'])
  test(`the inspector finds nothing to complain about (${era})`, async () => {
    const bin = path.join(ROOT, 'tests/node_modules/.bin/mcp-inspector');
    // Rejects unless the exit status is 0.
    for (const method of ['tools/list', 'resources/list', 'prompts/list'])
      await promisify(execFile)(
        process.execPath,
        [
          bin,
          '--cli',
          '--protocol-era',
          era,
          ...(method === 'tools/list' ? ['--strict'] : []),
          '--format',
          'json',
          '-q',
          '--method',
          method,
          CADRE,
          'serve',
        ],
        { timeout: 60000 },
      );
  });

test('a long evaluation becomes a task where the client knows tasks; a task can be cancelled', async () => {
  const caps = {
    'io.modelcontextprotocol/clientCapabilities': {
      extensions: { 'io.modelcontextprotocol/tasks': {} },
    },
  };
  const lisp = (session, code) =>
    http
      .post2026(call(request2026, 1, 'evaluate-lisp', { code, session }, caps))
      .then(async (r) => (await allEvents(r)).at(-1).message);
  const task = (method, taskId) =>
    http.post2026(request2026(2, method, { taskId }, caps)).then((r) => r.json());
  // The third is still running when the server is stopped.
  const [short, endless] = await Promise.all([
    lisp('short', '(progn (sleep 11) 7)'),
    lisp('endless', '(loop (sleep 0.1))'),
    lisp('left', '(loop (sleep 0.1))'),
  ]);
  assert.deepEqual([short.result.resultType, endless.result.resultType], ['task', 'task']);
  assert.equal((await task('tasks/cancel', endless.result.taskId)).result.resultType, 'complete');
  assert.equal((await task('tasks/get', endless.result.taskId)).result.status, 'cancelled');
  let got;
  do {
    await sleep(200);
    got = (await task('tasks/get', short.result.taskId)).result;
  } while (got.status === 'working');
  assert.equal(got.status, 'completed');
  assert.equal(got.result.structuredContent.values[0], '7');
});
