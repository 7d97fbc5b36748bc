// Streamable HTTP: sessions of protocol 2024, streams and their continuation, tokens and limits.
import { test, describe, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { discover, lines2026, ping, request } from './mcp_http_support.mjs';
import {
  FIXTURES,
  HttpServer,
  allEvents,
  call,
  events,
  initialize,
  request2024,
  request2026,
  sleep,
  within,
} from './mcp_support.mjs';
import { processorTicks } from './support.mjs';

let server;
before(async () => {
  server = await HttpServer.start();
});
after(() => server.stop());

describe('sessions of 2024', () => {
  test('life of a session', async () => {
    for (const [headers, status] of [
      [{}, 400],
      [{ 'Mcp-Session-Id': 'f'.repeat(32) }, 404],
    ]) {
      const refusal = await server.post(ping('mine'), headers);
      assert.equal(refusal.status, status);
      assert.equal((await refusal.json()).id, 'mine');
      assert.equal(
        (await (await server.post({ jsonrpc: '2.0', method: 'notifications/x' }, headers)).json())
          .id,
        null,
      );
    }
    const opened = await server.post(initialize('2025-11-25'));
    assert.match(opened.headers.get('mcp-session-id'), /^[0-9a-f]{32}$/);
    const refused = await server.post({ ...initialize('2025-11-25'), params: {} });
    assert.equal(refused.headers.get('mcp-session-id'), null);
    const headers = await server.openSession();
    assert.deepEqual((await (await server.post(ping(1), headers)).json()).result, {});
    const again = await server.post(initialize('2025-11-25'), headers);
    assert.equal(again.status, 400);
    assert.equal(
      (await server.post({ jsonrpc: '2.0', id: 'nobody', result: {} }, headers)).status,
      202,
    );
    assert.equal(
      (await server.post(ping(1), { ...headers, 'MCP-Protocol-Version': '2024-11-05' })).status,
      200,
    );
    assert.equal((await fetch(server.url, { method: 'DELETE', headers })).status, 204);
    assert.equal((await server.post(ping(1), headers)).status, 404);
    assert.equal((await fetch(server.url, { method: 'DELETE', headers })).status, 404);
    assert.equal((await fetch(server.url, { headers })).status, 404);
  });
  test('batches on HTTP', async () => {
    const headers = await server.openSession('2025-03-26');
    const both = await (await server.post([ping(1), ping(2)], headers)).json();
    assert.deepEqual(both.map((m) => m.id).sort(), [1, 2]);
    assert.equal(
      (await server.post([{ jsonrpc: '2.0', method: 'notifications/x' }], headers)).status,
      202,
    );
    assert.equal((await server.post([], headers)).status, 400);
    const mixed = await allEvents(
      await server.post(
        [
          ping(1),
          {
            ...call(request2024, 2, 'test_tool_with_progress'),
            params: { name: 'test_tool_with_progress', _meta: { progressToken: 1 } },
          },
        ],
        headers,
      ),
    );
    assert.deepEqual(
      mixed
        .filter((e) => e.message.id)
        .map((e) => e.message.id)
        .sort(),
      [1, 2],
    );
    const young = await server.openSession('2025-11-25');
    assert.equal((await server.post([ping(1)], young)).status, 400);
  });
  test('the GET stream: one at a time, gets what belongs to no request', async () => {
    const headers = { ...(await server.openSession()), Accept: 'text/event-stream' };
    const abort = new AbortController();
    const first = await fetch(server.url, { headers, signal: abort.signal });
    assert.equal(first.status, 200);
    assert.equal((await fetch(server.url, { headers })).status, 409);
    assert.equal(
      (await fetch(server.url, { headers: { ...headers, Accept: 'application/json' } })).status,
      406,
    );
    const list = events(first);
    const next = async () => (await within(2000, list.next(), 'event')).value;
    const priming = await next();
    assert.deepEqual([priming.id, priming.retry, priming.data], ['0-0', '1000', '']);
    const post = (id, method, params) =>
      server.post(request2024(id, method, params), headers2).then((r) => r.json());
    const headers2 = { ...headers, Accept: 'application/json, text/event-stream' };
    assert.equal(
      (await post(1, 'resources/subscribe', { uri: 'test://nothing' })).error.code,
      -32002,
    );
    await post(2, 'resources/subscribe', { uri: 'test://watched-resource' });
    await post(3, 'tools/call', { name: 'touch_resource' });
    const event = await next();
    assert.equal(event.message.method, 'notifications/resources/updated');
    assert.equal(event.id, '0-1');
    abort.abort();
    await sleep(100);
    await post(4, 'tools/call', { name: 'test_trigger_tool_change' });
    const second = await fetch(server.url, { headers: { ...headers, 'Last-Event-ID': '0-1' } });
    const resumed = await within(2000, events(second).next(), 'event');
    assert.equal(resumed.value.message.method, 'notifications/tools/list_changed');
  });
  test('a stream that broke is continued; a finished one is 405', async () => {
    const headers = await server.openSession();
    const abort = new AbortController();
    const broken = await server.post(
      {
        ...call(request2024, 5, 'test_tool_with_progress'),
        params: { name: 'test_tool_with_progress', _meta: { progressToken: 1 } },
      },
      headers,
      { signal: abort.signal },
    );
    const list = events(broken);
    assert.equal((await list.next()).value.retry, '1000');
    const { id } = (await list.next()).value;
    abort.abort();
    await sleep(400);
    const accept = { Accept: 'text/event-stream' };
    const rest = await allEvents(
      await fetch(server.url, { headers: { ...headers, ...accept, 'Last-Event-ID': id } }),
    );
    assert.deepEqual(
      rest.map((e) => e.message.params?.progress ?? e.message.id),
      [50, 100, 5],
    );
    for (const gone of [id, '999-1', 'x', '1-99999999999999'])
      assert.equal(
        (await fetch(server.url, { headers: { ...headers, ...accept, 'Last-Event-ID': gone } }))
          .status,
        405,
        gone,
      );
  });
  test('disconnect is no cancellation, notifications/cancelled is', async () => {
    const headers = await server.openSession();
    const pending = server.post(call(request2024, 9, 'slow_compute', { seconds: 60 }), headers);
    await sleep(100);
    assert.equal(
      (
        await server.post(
          { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } },
          headers,
        )
      ).status,
      202,
    );
    const response = await within(1000, pending, 'end of the cancelled call');
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
    assert.deepEqual(
      (await allEvents(response)).filter((e) => e.message),
      [],
    );
  });
  test('requests to the client travel on the stream of the call', async () => {
    const headers = await server.openSession('2025-11-25', { elicitation: {} });
    const stream = events(
      await server.post(call(request2024, 1, 'test_elicitation', { message: 'Who?' }), headers),
    );
    let asked;
    do {
      asked = (await within(2000, stream.next(), 'question')).value.message;
    } while (!asked);
    assert.equal(asked.method, 'elicitation/create');
    assert.match(asked.id, /^srv-/);
    await server.post(
      {
        jsonrpc: '2.0',
        id: asked.id,
        result: { action: 'accept', content: { username: 'u', email: 'e' } },
      },
      headers,
    );
    const answer = (await within(2000, stream.next(), 'answer')).value.message;
    assert.match(answer.result.content[0].text, /action=accept/);
    const mute = await server.openSession('2025-11-25');
    const without = await (
      await server.post(call(request2024, 1, 'test_elicitation', { message: 'Who?' }), mute)
    ).json();
    assert.equal(without.result.isError, true);
  });
  test('both protocols on one port, same ids, at once', async () => {
    const headers = await server.openSession();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        (i % 2
          ? server.post2026(call(request2026, 0, 'greet', { name: `m${i}` }))
          : server.post(call(request2024, i, 'greet', { name: `l${i}` }), headers)
        ).then((r) => r.json()),
      ),
    );
    answers.forEach((a, i) =>
      assert.equal(a.result.content[0].text, `Hello, ${i % 2 ? 'm' : 'l'}${i}!`),
    );
  });
});

describe('tokens and limits', () => {
  let folder;
  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'mcp-'));
  });
  after(() => rmSync(folder, { recursive: true }));
  const tokenFile = (text, mode = 0o600) => {
    const file = path.join(folder, `token-${Math.random()}`);
    writeFileSync(file, text);
    chmodSync(file, mode);
    return file;
  };

  test('a token is demanded and compared', async () => {
    const guarded = await HttpServer.start(['--token-file', tokenFile('0123456789abcdef\n')]);
    try {
      for (const [authorization, expected] of [
        [undefined, 401],
        ['Bearer wrong', 401],
        ['Basic 0123456789abcdef', 401],
        ['Bearer 0123456789abcdef0', 401],
        ['Bearer 0123456789abcdef', 200],
        ['bearer 0123456789abcdef', 200],
      ]) {
        const response = await guarded.post2026(
          discover,
          authorization ? { Authorization: authorization } : {},
        );
        assert.equal(response.status, expected, authorization);
        if (expected === 401) assert.equal(response.headers.get('www-authenticate'), 'Bearer');
      }
      assert.equal((await fetch(guarded.url.replace('/mcp', '/healthz'))).status, 401);
    } finally {
      await guarded.stop();
    }
  });
  for (const [name, args, expected] of [
    ['0.0.0.0 without a token', () => ['--http', '0.0.0.0:0'], /--token-file/],
    ['a short token', () => ['--http', '0', '--token-file', tokenFile('short')], /16/],
    [
      'a token file that others can read',
      () => ['--http', '0', '--token-file', tokenFile('0123456789abcdef', 0o644)],
      /chmod/,
    ],
    [
      'no such token file',
      () => ['--http', '0', '--token-file', path.join(folder, 'none')],
      /No such file/,
    ],
    ['no address', () => ['--http', 'nowhere:0'], /not an IP address/],
  ])
    test(`${name}: does not start, exit 2`, () => {
      const result = spawnSync(FIXTURES, args(), { encoding: 'utf8', timeout: 5000 });
      assert.equal(result.status, 2);
      assert.match(result.stderr, expected);
    });
  const connect = (port, text = '') =>
    new Promise((resolve) => {
      const socket = net.connect(port, '127.0.0.1', () => {
        if (text) socket.write(text);
        resolve(socket);
      });
      socket.on('error', () => {});
      socket.resume();
    });
  const whole = (host) => request(server, lines2026(host), JSON.stringify(discover));
  test('connections that work keep their place: one more gets 503, then there is room again', async () => {
    const small = await HttpServer.start(['--max-connections', '4']);
    try {
      const aborts = await Promise.all(
        Array.from({ length: 4 }, async () => {
          const abort = new AbortController();
          const notifications = { toolsListChanged: true };
          const listening = await small.post2026(
            request2026('s', 'subscriptions/listen', { notifications }),
            {},
            { signal: abort.signal },
          );
          await events(listening).next();
          return abort;
        }),
      );
      assert.equal(await small.rawStatus(whole('localhost')), 503);
      aborts.forEach((a) => a.abort());
      await sleep(100);
      assert.equal(await small.rawStatus(whole('localhost')), 200);
    } finally {
      await small.stop();
    }
  });
  test('connections that send nothing, or too slowly, keep nobody out', async () => {
    const small = await HttpServer.start(['--max-connections', '8']);
    const sockets = [];
    try {
      for (const text of ['', 'P', 'POST /mcp HTTP/1.1\r\nHost: localhost\r\n', '\r\n'])
        for (let i = 0; i < 16; i++) sockets.push(await connect(small.port, text));
      for (let i = 0; i < 20; i++) {
        assert.equal(await small.rawStatus(whole('localhost')), 200);
        sockets.push(await connect(small.port, 'POST /mcp HT'));
      }
    } finally {
      sockets.forEach((s) => s.destroy());
      await small.stop();
    }
  });
  test('512 slow connections keep nobody out', async () => {
    const full = await HttpServer.start();
    const sockets = [];
    try {
      const kept = await full.openSession();
      for (let i = 0; i < 520; i++)
        sockets.push(await connect(full.port, 'POST /mcp HTTP/1.1\r\n'));
      assert.equal(await full.rawStatus(whole('localhost')), 200);
      assert.equal((await full.post(ping(1), kept)).status, 200);
    } finally {
      sockets.forEach((s) => s.destroy());
      await full.stop();
    }
  });
  for (const [descriptors, options, complaint] of [
    [256, [], /^$/],
    [64, ['--max-connections', '1000'], /^.*cannot accept a connection: Too many open files$/],
  ])
    test(`a flood of connections with ${descriptors} descriptors neither spins nor floods the log`, async () => {
      const flooded = await HttpServer.start(options, [
        'sh',
        '-c',
        `ulimit -n ${descriptors}; exec "$0" "$@"`,
        FIXTURES,
        '--http',
        '0',
      ]);
      try {
        const sockets = Array.from({ length: 300 }, () =>
          net.connect(flooded.port, '127.0.0.1').on('error', () => {}),
        );
        await sleep(500);
        const before = processorTicks(flooded.child.pid);
        await sleep(1500);
        assert.ok(processorTicks(flooded.child.pid) - before < 50);
        const lines = flooded.stderr.split('\n').slice(1, -1);
        assert.ok(lines.length <= 5);
        assert.match(lines[0] ?? '', complaint);
        sockets.forEach((s) => s.destroy());
        assert.equal(
          await flooded.rawStatus(
            request(flooded, lines2026('localhost'), JSON.stringify(discover)),
            10000,
          ),
          200,
        );
      } finally {
        await flooded.stop();
      }
    });
  test('a stream nobody reads is closed, the server goes on', async () => {
    const socket = net.connect(server.port, '127.0.0.1');
    const body = JSON.stringify(
      request2026(1, 'subscriptions/listen', {
        notifications: { resourceSubscriptions: ['test://watched-resource'] },
      }),
    );
    socket.write(
      request(
        server,
        lines2026('localhost').map((l) => l.replace('server/discover', 'subscriptions/listen')),
        body,
      ),
    );
    socket.pause();
    await sleep(100);
    for (let i = 0; i < 4; i++)
      await (
        await server.post2026(call(request2026, 1, 'touch_resource', { times: 20000 }))
      ).json();
    let received = 0;
    socket.on('data', (d) => {
      received += d.length;
    });
    const closed = new Promise((resolve) => {
      socket.on('close', resolve);
      socket.on('error', resolve);
    });
    socket.resume();
    await within(3000, closed, 'close');
    assert.ok(received < 80000 * 200, `${received} bytes were kept for it`);
    assert.equal((await server.post2026(discover)).status, 200);
  });
  test('a stopping server answers what it cannot finish', async () => {
    const own = await HttpServer.start();
    const pending = own.post2026(
      call(request2026, 7, 'slow_compute', { seconds: 30, label: 'never' }),
    );
    await sleep(200);
    const stopped = own.stop();
    const answer = await pending;
    assert.equal(answer.status, 503);
    assert.deepEqual(await answer.json(), {
      jsonrpc: '2.0',
      id: 7,
      error: { code: 1002, message: 'The server is stopping: this request was interrupted' },
    });
    await stopped;
    assert.doesNotMatch(own.stderr, /Bad file descriptor/);
  });
  test('a stopping server lets running calls finish', async () => {
    const own = await HttpServer.start();
    const pending = own.post2026(
      call(request2026, 1, 'slow_compute', { seconds: 0.3, label: 'done' }),
    );
    const listening = await own.post2026(
      request2026('s', 'subscriptions/listen', { notifications: { toolsListChanged: true } }),
    );
    await sleep(100);
    const stopped = own.stop();
    assert.match((await (await pending).json()).result.content[0].text, /done/);
    const last = (await allEvents(listening)).at(-1).message;
    assert.equal(last.id, 's');
    assert.equal(last.result._meta['io.modelcontextprotocol/subscriptionId'], 's');
    await stopped;
  });
});
