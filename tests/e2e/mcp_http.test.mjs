// Streamable HTTP: every status, sessions, streams and their continuation, limits, tokens.
import { test, describe, before, after } from 'node:test';
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import {
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

import { code, discover, lines2026, request } from './mcp_http_support.mjs';
let server;
before(async () => {
  server = await HttpServer.start();
});
after(() => server.stop());

describe('who may ask', () => {
  const status = (lines, body = JSON.stringify(discover)) =>
    server.rawStatus(request(server, lines, body));

  for (const host of ['localhost', '127.0.0.1', '[::1]', 'LOCALHOST:1'])
    test(`Host ${host} is served`, async () => assert.equal(await status(lines2026(host)), 200));
  for (const host of [
    'evil.example.com',
    'localhost.evil.example.com',
    '127.0.0.1.nip.io',
    '',
    '10.0.0.1',
    '[::2]',
    'localhost:x',
  ])
    test(`Host "${host}" is refused`, async () => assert.equal(await status(lines2026(host)), 403));

  test('Host must be there, once', async () => {
    assert.equal(await status(lines2026('x').filter((l) => !l.startsWith('Host'))), 403);
    assert.equal(await status(lines2026('localhost', ['Host: localhost'])), 403);
    assert.equal(await status(lines2026('localhost', ['Host: evil.example.com'])), 403);
  });
  test('an absolute target must name this host', async () => {
    const lines = (target) => [`POST ${target} HTTP/1.1`, ...lines2026('localhost').slice(1)];
    assert.equal(await status(lines('http://localhost/mcp')), 200);
    assert.equal(await status(lines('http://evil.example.com/mcp')), 403);
  });
  for (const [origin, expected] of [
    ['http://localhost:3000', 200],
    ['https://127.0.0.1', 200],
    ['null', 403],
    ['http://evil.example.com', 403],
    ['file://localhost', 403],
    ['http://localhost.evil.com', 403],
  ])
    test(`Origin ${origin}: ${expected}`, async () =>
      assert.equal(await status(lines2026('localhost', [`Origin: ${origin}`])), expected));
  test('a refusal is a JSON-RPC error without id', async () => {
    const text = await server.raw(request(server, lines2026('evil.example.com'), '{}'));
    const body = JSON.parse(text.slice(text.indexOf('\r\n\r\n')));
    assert.equal('id' in body, false);
    assert.equal(body.error.code, -32600);
  });
});

describe('form of the request', () => {
  test('paths and methods', async () => {
    const base = server.url.replace('/mcp', '');
    for (const [method, target, expected] of [
      ['GET', '/', 404],
      ['POST', '/mcp/', 404],
      ['GET', '/mcp', 405],
      ['DELETE', '/mcp', 405],
      ['PUT', '/mcp', 405],
      ['OPTIONS', '/mcp', 405],
      ['HEAD', '/mcp', 405],
      ['PATCH', '/mcp', 405],
      ['POST', '/healthz', 405],
      ['GET', '/healthz', 200],
      ['GET', '/metrics', 200],
    ]) {
      const response = await fetch(base + target, { method });
      assert.equal(response.status, expected, `${method} ${target}`);
      if (expected === 405)
        assert.match(
          response.headers.get('allow'),
          target === '/mcp' ? /POST, GET, DELETE/ : /GET/,
        );
      assert.equal(response.headers.get('access-control-allow-origin'), null);
      await response.text();
    }
  });
  test('content types', async () => {
    for (const [type, expected] of [
      ['application/json', 200],
      ['application/json; charset=utf-8', 200],
      ['APPLICATION/JSON', 200],
      ['text/plain', 415],
      ['application/jsonx', 415],
      ['application/x-www-form-urlencoded', 415],
    ])
      assert.equal(
        (await server.post2026(discover, { 'Content-Type': type })).status,
        expected,
        type,
      );
  });
  test('accept', async () => {
    for (const [accept, expected] of [
      ['*/*', 200],
      ['application/json, text/event-stream', 200],
      ['text/event-stream;q=0.5, application/json', 200],
      ['application/json', 406],
      ['text/event-stream', 406],
      ['text/html', 406],
    ])
      assert.equal((await server.post2026(discover, { Accept: accept })).status, expected, accept);
  });
  test('bodies', async () => {
    assert.equal((await server.post('{')).status, 400);
    assert.equal(await code(await server.post('')), -32700);
    assert.equal(await code(await server.post('5')), -32600);
    const big = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"${'a'.repeat(8 << 20)}"}}`;
    const status = await new Promise((resolve, reject) => {
      const r = http.request(
        server.url,
        {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', 'Content-Length': big.length },
        },
        (m) => {
          m.resume();
          resolve(m.statusCode);
        },
      );
      r.on('error', reject);
      r.end(big);
    });
    assert.equal(status, 413);
  });
  test('chunked and slow bodies, Expect: 100-continue', async () => {
    const body = JSON.stringify(discover);
    const chunks =
      body
        .match(/.{1,20}/gs)
        .map((c) => `${c.length.toString(16)}\r\n${c}\r\n`)
        .join('') + '0\r\n\r\n';
    const lines = lines2026('localhost', ['Transfer-Encoding: chunked']);
    assert.equal(await server.rawStatus([...lines, '', chunks].join('\r\n')), 200);
    const text = await new Promise((resolve) => {
      let received = '';
      const socket = net.connect(server.port, '127.0.0.1', async () => {
        const whole = request(server, lines2026('localhost'), body);
        for (let i = 0; i < whole.length; i += 40) {
          socket.write(whole.slice(i, i + 40));
          await sleep(3);
        }
      });
      socket.on('data', (d) => {
        received += d;
      });
      socket.on('close', () => resolve(received));
    });
    assert.match(text, /^HTTP\/1\.1 200/);
    const [head] = request(server, lines2026('localhost', ['Expect: 100-continue']), body).split(
      body,
    );
    const expected = await new Promise((resolve) => {
      let received = '';
      const socket = net.connect(server.port, '127.0.0.1', () => socket.write(head));
      socket.on('data', (d) => {
        if (!received) socket.write(body);
        received += d;
      });
      socket.on('close', () => resolve(received));
    });
    assert.match(expected, /^HTTP\/1\.1 100[\s\S]*HTTP\/1\.1 200/);
  });
  test('a body announced too large is refused at once, whether it comes or not', async () => {
    for (const more of [[], ['Expect: 100-continue']]) {
      const lines = lines2026('localhost', ['Content-Length: 8388609', ...more]);
      const start = performance.now();
      const text = await server.raw([...lines, '', ''].join('\r\n'), 5000);
      assert.match(text, /^HTTP\/1\.1 413 .*"message":"The body is larger than 8 MiB"/s);
      assert.equal(text.match(/HTTP\/1\.1/g).length, 1);
      assert.ok(performance.now() - start < 3000);
    }
    assert.match(
      await server.raw(
        [...lines2026('localhost', ['Content-Length: 5', 'Expect: magic']), '', ''].join('\r\n'),
      ),
      /^HTTP\/1\.1 417/,
    );
    assert.equal((await server.post2026(discover)).status, 200);
  });
  test('what others would read differently is refused', async () => {
    const body = JSON.stringify(discover);
    for (const length of [
      `+${body.length}`,
      `0x${body.length.toString(16)}`,
      `${body.length} `.repeat(2),
      '',
    ])
      assert.equal(
        await server.rawStatus(
          [...lines2026('localhost', [`Content-Length: ${length}`]), '', body].join('\r\n'),
        ),
        400,
        length,
      );
    assert.equal(await server.rawStatus(request(server, lines2026('localhost\0evil'), body)), 400);
  });
  test('chunks, folds and encodings by the grammar, whatever the libraries do', async () => {
    const body = JSON.stringify(discover);
    const hex = body.length.toString(16);
    const chunked = lines2026('localhost', ['Transfer-Encoding: chunked']);
    for (const [text, expected] of [
      [`${hex}\r\n${body}\r\n0\r\n\r\n`, 200],
      [`${hex};name="x;y"\r\n${body}\r\n0\r\nTrailer: z\r\n\r\n`, 200],
      [`0x${hex}\r\n${body}\r\n0\r\n\r\n`, 400],
      [`+${hex}\r\n${body}\r\n0\r\n\r\n`, 400],
      [`${hex} \r\n${body}\r\n0\r\n\r\n`, 400],
      [`${hex}\n${body}\n0\n\n`, 400],
      [`${hex}\r\n${body}0\r\n\r\n`, 400],
    ])
      assert.equal(
        await server.rawStatus([...chunked, '', text].join('\r\n')),
        expected,
        JSON.stringify(text),
      );
    for (const [more, expected] of [
      [['X-A: b', ' folded'], 400],
      [['X-A: b', '\tfolded'], 400],
      [['X-A: b\rX-B: c'], 400],
      [['X-A: b\nX-B: c'], 400],
      [['Content-Encoding: gzip'], 415],
      [['Content-Encoding: identity'], 200],
    ])
      assert.equal(
        await server.rawStatus(request(server, lines2026('localhost', more), body)),
        expected,
        JSON.stringify(more),
      );
    const bare = request(server, lines2026('localhost'), body).replaceAll('\r\n', '\n');
    assert.equal(await server.rawStatus(bare), 400);
  });
  test('smuggling is refused', async () => {
    const body = JSON.stringify(discover);
    const lines = lines2026('localhost');
    for (const more of [
      ['Transfer-Encoding: chunked', `Content-Length: ${body.length}`],
      [`Content-Length: ${body.length}`, 'Content-Length: 5'],
      [`Content-Length : ${body.length}`],
    ])
      assert.equal(
        await server.rawStatus([...lines, ...more, '', body].join('\r\n')),
        400,
        more[0],
      );
    const inner = 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n';
    for (const [method, more] of [
      ['GET', `Content-Length: ${inner.length}`],
      ['DELETE', `Content-Length: ${inner.length}`],
      ['GET', 'Transfer-Encoding: chunked'],
      ['POST', 'Transfer-Encoding: gzip, chunked'],
      ['POST', 'Transfer-Encoding: xchunked'],
    ]) {
      const text = await server.raw(
        [`${method} /mcp HTTP/1.1`, 'Host: localhost', more, '', inner].join('\r\n'),
        500,
      );
      assert.match(text, /^HTTP\/1\.1 4(00|13)/, `${method} ${more}: ${text}`);
      assert.equal(text.match(/HTTP\/1\.1/g).length, 1, `${method} ${more}: ${text}`);
    }
  });
  test('too many and too large headers are refused', async () => {
    const many = Array.from({ length: 101 }, (_, i) => `X-${i}: 1`);
    assert.equal(
      await server.rawStatus(
        request(server, lines2026('localhost', many), JSON.stringify(discover)),
      ),
      431,
    );
    const status = await server.rawStatus(
      request(server, lines2026('localhost', [`X: ${'a'.repeat(40 << 10)}`]), '{}'),
    );
    assert.equal(status, 431);
  });
  test('pipelined requests are answered in order, also while the first one runs', async () => {
    const one = (id) => {
      const body = JSON.stringify(
        call(request2026, id, 'slow_compute', { seconds: 0.2, label: id }),
      );
      return request(
        server,
        [
          ...lines2026('localhost').filter((l) => !/^(Mcp-Method|Connection)/.test(l)),
          'Mcp-Method: tools/call',
          'Mcp-Name: slow_compute',
        ],
        body,
      );
    };
    const text = await server.raw(one('a') + one('b') + one('c'), 2000);
    assert.deepEqual(
      [...text.matchAll(/Computed: (\w)/g)].map((m) => m[1]),
      ['a', 'b', 'c'],
    );
  });
  test('binary rubbish does no harm', async () => {
    for (const text of [
      '\0\0\0\0\r\n\r\n',
      'GET\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00',
      'POST /mcp HTTP/1.1\r\nHost',
    ])
      await server.raw(text, 200);
    assert.equal((await server.post2026(discover)).status, 200);
  });
});

describe('headers and statuses of 2026', () => {
  const status = async (expected, expectedCode, promise) => {
    const response = await promise;
    assert.equal(response.status, expected);
    assert.equal(await code(response), expectedCode);
  };
  const greet = call(request2026, 1, 'greet', { name: 'x' });

  test('headers must agree with the body', async () => {
    await status(400, -32020, server.post2026(greet, { 'Mcp-Method': 'tools/list' }));
    await status(400, -32020, server.post2026(greet, { 'Mcp-Name': 'other' }));
    await status(400, -32020, server.post2026(greet, { 'Mcp-Name': 'Greet' }));
    await status(400, -32020, server.post2026(greet, { 'MCP-Protocol-Version': '2025-11-25' }));
    await status(400, -32020, server.post(greet));
    assert.equal((await server.post2026(greet, { 'Mcp-Name': '  greet\t' })).status, 200);
    assert.equal(
      (
        await server.post2026(greet, {
          'Mcp-Name': `=?base64?${Buffer.from('greet').toString('base64')}?=`,
        })
      ).status,
      200,
    );
    await status(400, -32020, server.post2026(greet, { 'Mcp-Name': '=?base64?Z3JlZXQ?=' }));
  });
  test('a repeated header is refused', async () => {
    const body = JSON.stringify(discover);
    assert.equal(
      await server.rawStatus(
        request(server, lines2026('localhost', ['Mcp-Method: server/discover']), body),
      ),
      400,
    );
  });
  test('Mcp-Param follows its argument', async () => {
    const region = call(request2026, 1, 'test_x_mcp_header', { region: 'eu' });
    await status(400, -32020, server.post2026(region));
    await status(400, -32020, server.post2026(region, { 'Mcp-Param-Region': 'us' }));
    assert.equal(
      (await (await server.post2026(region, { 'Mcp-Param-Region': 'eu' })).json()).result.content[0]
        .text,
      'eu',
    );
  });
  test('versions and metadata', async () => {
    const old = request2026(
      1,
      'tools/list',
      {},
      { 'io.modelcontextprotocol/protocolVersion': 'v9' },
    );
    await status(
      400,
      -32022,
      server.post(old, { 'MCP-Protocol-Version': 'v9', 'Mcp-Method': 'tools/list' }),
    );
    await status(
      400,
      -32602,
      server.post(request2024(1, 'tools/list'), {
        'MCP-Protocol-Version': '2026-07-28',
        'Mcp-Method': 'tools/list',
      }),
    );
    await status(
      400,
      -32020,
      server.post(initialize('2025-11-25'), { 'MCP-Protocol-Version': '2026-07-28' }),
    );
    await status(
      400,
      -32600,
      server.post({ jsonrpc: '2.0', id: 1, result: {} }, { 'MCP-Protocol-Version': '2026-07-28' }),
    );
  });
  test('methods and capabilities', async () => {
    await status(404, -32601, server.post2026(request2026(1, 'nope')));
    await status(404, -32601, server.post2026(request2026(1, 'ping')));
    await status(400, -32021, server.post2026(call(request2026, 1, 'test_missing_capability')));
    await status(200, -32602, server.post2026(call(request2026, 1, 'unknown_tool')));
    assert.equal(
      (await server.post2026({ jsonrpc: '2.0', method: 'notifications/x', params: {} })).status,
      202,
    );
  });
  test('JSON for a silent call, SSE for one that talks', async () => {
    const silent = await server.post2026(call(request2026, 1, 'test_simple_text'));
    assert.equal(silent.headers.get('content-type'), 'application/json');
    assert.equal((await silent.json()).result.resultType, 'complete');
    const talking = await server.post2026(
      call(request2026, 2, 'test_tool_with_progress', {}, { progressToken: 't' }),
    );
    assert.equal(talking.headers.get('content-type'), 'text/event-stream');
    const list = await allEvents(talking);
    assert.deepEqual(
      list.map((e) => e.message.params?.progress ?? 'end'),
      [0, 50, 100, 'end'],
    );
    assert.ok(list.every((e) => e.id === undefined));
  });
  test('after five seconds the answer becomes a stream', async () => {
    const response = await server.post2026(
      call(request2026, 1, 'slow_compute', { seconds: 5.5, label: 'late' }),
    );
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
    assert.match((await allEvents(response)).at(-1).message.result.content[0].text, /late/);
  });
  test('a client that leaves cancels its call, before and after headers', async () => {
    const running = async () =>
      +(await (await fetch(server.url.replace('/mcp', '/metrics'))).text()).match(
        /mcp_calls_active (\d+)/,
      )[1];
    const base = await running();
    const abort = new AbortController();
    const waiting = server.post2026(
      call(request2026, 1, 'slow_compute', { seconds: 60 }),
      {},
      { signal: abort.signal },
    );
    await sleep(150);
    assert.equal(await running(), base + 1);
    abort.abort();
    await assert.rejects(waiting);
    await sleep(150);
    assert.equal(await running(), base);
  });
  test('subscriptions/listen: only what exists is agreed, and only what is well formed', async () => {
    const listen = (notifications, options) =>
      server.post2026(request2026('sub', 'subscriptions/listen', { notifications }), {}, options);
    const abort = new AbortController();
    const stream = events(
      await listen(
        { resourceSubscriptions: ['zzz', 'test://watched-resource', 'test://template/1/data'] },
        { signal: abort.signal },
      ),
    );
    const first = (await within(2000, stream.next(), 'event')).value.message;
    assert.deepEqual(first.params.notifications, {
      resourceSubscriptions: ['test://watched-resource', 'test://template/1/data'],
    });
    abort.abort();
    for (const wrong of [
      { resourceSubscriptions: 5 },
      { resourceSubscriptions: [5] },
      { taskIds: 'x' },
      { toolsListChanged: 'yes' },
    ])
      assert.equal(await code(await listen(wrong)), -32602, JSON.stringify(wrong));
  });
  test('subscriptions/listen: acknowledged first, then only what was asked for', async () => {
    const abort = new AbortController();
    const stream = await server.post2026(
      request2026('sub', 'subscriptions/listen', {
        notifications: {
          toolsListChanged: true,
          resourceSubscriptions: ['test://watched-resource'],
          other: true,
        },
      }),
      {},
      { signal: abort.signal },
    );
    const list = events(stream);
    const next = async () => (await within(2000, list.next(), 'event')).value.message;
    const first = await next();
    assert.equal(first.method, 'notifications/subscriptions/acknowledged');
    assert.deepEqual(first.params.notifications, {
      toolsListChanged: true,
      resourceSubscriptions: ['test://watched-resource'],
    });
    await (await server.post2026(call(request2026, 1, 'test_trigger_prompt_change'))).json();
    await (await server.post2026(call(request2026, 2, 'test_trigger_tool_change'))).json();
    await (await server.post2026(call(request2026, 3, 'touch_resource'))).json();
    for (const method of ['notifications/tools/list_changed', 'notifications/resources/updated']) {
      const note = await next();
      assert.equal(note.method, method);
      assert.equal(note.params._meta['io.modelcontextprotocol/subscriptionId'], 'sub');
    }
    abort.abort();
  });
});

describe('requestState', () => {
  const tool = 'test_input_required_result_request_state';
  const capable = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
  const ask = async (params, id = 1) =>
    (await server.post2026(request2026(id, 'tools/call', params, capable))).json();
  const answers = { confirm: { action: 'accept', content: { ok: true } } };
  const fresh = async () => (await ask({ name: tool, arguments: {} })).result.requestState;

  test('is good once', async () => {
    const requestState = await fresh();
    const params = { name: tool, arguments: {}, inputResponses: answers, requestState };
    assert.equal((await ask(params)).result.content[0].text, 'state-ok');
    assert.deepEqual((await ask(params)).error, { code: -32602, message: 'Invalid requestState' });
  });
  test('of another request, truncated, tampered or invented is refused', async () => {
    const other = await ask({ name: 'test_input_required_result_tampered_state', arguments: {} });
    const state = await fresh();
    const [payload, mac] = state.split('.');
    const forged = Buffer.from(
      Buffer.from(payload, 'base64url').toString().replace('"turn":1', '"turn":2'),
    ).toString('base64url');
    for (const requestState of [
      other.result.requestState,
      state.slice(0, -3),
      state + 'x',
      `${payload}.`,
      payload,
      `${forged}.${mac}`,
      '',
      '.',
      'x.y',
      5,
      null,
    ])
      assert.equal(
        (await ask({ name: tool, arguments: {}, inputResponses: answers, requestState })).error
          ?.code,
        -32602,
        `${requestState}`,
      );
  });
  test('answers must be objects', async () => {
    for (const inputResponses of [null, [], 5, { confirm: 5 }, { other: null }])
      assert.equal((await ask({ name: tool, arguments: {}, inputResponses })).error?.code, -32602);
  });
});
