// The stdio transport: framing, ids, protocols, batches, and what happens to broken input.
import { test, describe } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  FIXTURES,
  ON_STDIO,
  StdioServer,
  VERSIONS_2024,
  call,
  initialize,
  request2024,
  request2026,
  sleep,
} from './mcp_support.mjs';

const ping = (id) => request2024(id, 'ping');

async function withServer(run) {
  const server = new StdioServer();
  try {
    await run(server);
  } finally {
    await server.close();
  }
}

describe('framing', () => {
  test('a message in many writes, many messages in one write', () =>
    withServer(async (s) => {
      const text = JSON.stringify(ping('split')) + '\n';
      for (const c of text) {
        s.write(c);
        if (c === ',') await sleep(2);
      }
      assert.deepEqual((await s.answer('split')).result, {});
      s.write([1, 2, 3].map((i) => JSON.stringify(ping(i))).join('\n') + '\n');
      for (const i of [1, 2, 3]) await s.answer(i);
    }));

  test('CRLF, blank lines and white space are fine', () =>
    withServer(async (s) => {
      s.write(`\n\r\n   \n\t\n${JSON.stringify(ping(1))}\r\n\n  ${JSON.stringify(ping(2))}  \n`);
      await s.answer(1);
      await s.answer(2);
      assert.equal(s.messages.length, 0);
    }));

  test('a last line without newline is answered', async () => {
    const s = new StdioServer();
    s.write(JSON.stringify(ping('last')));
    s.child.stdin.end();
    await s.answer('last');
    assert.equal((await s.exit).code, 0);
  });

  test('8 MiB are read, one byte more is refused', () =>
    withServer(async (s) => {
      const limit = 8 << 20;
      const fill = (size) => {
        const message = JSON.stringify({ ...ping('big'), params: { x: '' } });
        return message.replace('"x":""', `"x":"${'a'.repeat(size - message.length)}"`);
      };
      s.write(fill(limit) + '\n');
      assert.deepEqual((await s.answer('big')).result, {});
      s.write(fill(limit + 1) + '\n');
      assert.equal((await s.answer(null)).error.code, -32600);
      assert.deepEqual((await s.ask(ping(2))).result, {});
    }));

  test('a line of 50 MB is refused once and the server lives', () =>
    withServer(async (s) => {
      for (let i = 0; i < 50; i++) s.write('x'.repeat(1 << 20));
      s.write('\n');
      assert.equal((await s.answer(null)).error.code, -32600);
      assert.deepEqual((await s.ask(ping(1))).result, {});
      assert.equal(s.messages.length, 0);
    }));

  test('10,000 broken lines, then a good one', () =>
    withServer(async (s) => {
      const broken = [
        '{',
        '[',
        '"',
        '}{',
        'nul',
        '{"jsonrpc":"2.0"}',
        '[1,',
        '\u0001',
        '{"a":}',
        'x'.repeat(500),
      ];
      for (let i = 0; i < 10000; i++) s.write(broken[i % broken.length] + '\n');
      assert.deepEqual((await s.ask(ping('good'), 60000)).result, {});
      assert.equal(s.messages.length, 10000);
      assert.ok(s.messages.every((m) => m.id === null && [-32700, -32600].includes(m.error.code)));
    }));

  for (const [name, bytes, code] of [
    ['invalid UTF-8', Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xff"}\n', 'latin1'), -32700],
    [
      'depth 129',
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":${'['.repeat(127)}${']'.repeat(127)}}}\n`,
      -32700,
    ],
    ['duplicate names', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}\n', -32700],
    ['no object', '5\n', -32600],
    ['wrong jsonrpc', '{"jsonrpc":"1.0","method":"ping"}\n', -32600],
  ]) {
    test(`${name} is refused with ${code}`, () =>
      withServer(async (s) => {
        s.write(bytes);
        assert.equal((await s.answer(null)).error.code, code);
        await s.ask(ping('alive'));
      }));
  }

  test('depth 128 is read', () =>
    withServer(async (s) => {
      s.write(
        `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":${'['.repeat(126)}${']'.repeat(126)}}}\n`,
      );
      assert.deepEqual((await s.answer(1)).result, {});
    }));
});

describe('ids', () => {
  test('come back as they were', () =>
    withServer(async (s) => {
      for (const id of ['0', '"0"', '-1', '""', '12345678901234567890', '"\\u0000"']) {
        s.rest = '';
        const before = new Promise((resolve) => s.child.stdout.once('data', resolve));
        s.write(`{"jsonrpc":"2.0","id":${id},"method":"ping"}\n`);
        assert.equal(await before, `{"jsonrpc":"2.0","id":${id},"result":{}}\n`);
      }
    }));

  test('of the wrong kind are refused', () =>
    withServer(async (s) => {
      for (const id of ['1.5', 'null', 'true', '{}', '[]']) {
        s.write(`{"jsonrpc":"2.0","id":${id},"method":"ping"}\n`);
        assert.equal((await s.answer(null)).error.code, -32600);
      }
    }));

  test('that are in flight cannot be used again', () =>
    withServer(async (s) => {
      await s.open();
      s.send(call(request2024, 7, 'slow_compute', { seconds: 0.3 }), ping(7));
      assert.equal((await s.answer(7)).error.code, -32600);
      assert.match((await s.answer(7)).result.content[0].text, /Computed/);
      assert.deepEqual((await s.ask(ping(7))).result, {});
    }));

  test('of enormous size are refused; enormous names do not break the answer', () =>
    withServer(async (s) => {
      for (const id of [JSON.stringify('x'.repeat(5000)), '1'.repeat(5000)]) {
        s.write(`{"jsonrpc":"2.0","id":${id},"method":"ping"}\n`);
        assert.equal((await s.answer(null)).error.code, -32600);
      }
      const long = 'x'.repeat(5 << 20);
      assert.equal(
        (await s.ask(request2026(1, 'resources/read', { uri: `test://${long}` }))).error.code,
        -32602,
      );
      assert.equal((await s.ask(request2026(2, 'tools/call', { name: long }))).error.code, -32602);
      assert.equal((await s.ask(request2026(3, long))).error.code, -32601);
      const capable = {
        'io.modelcontextprotocol/clientCapabilities': {
          extensions: { 'io.modelcontextprotocol/tasks': {} },
        },
      };
      assert.equal(
        (
          await s.ask(
            request2026(4, 'subscriptions/listen', { notifications: { taskIds: [long] } }, capable),
          )
        ).error.code,
        -32602,
      );
      s.send(
        request2026(4, 'subscriptions/listen', {
          notifications: { resourceSubscriptions: [long] },
        }),
      );
      const agreed = await s.wait((m) => m.method === 'notifications/subscriptions/acknowledged');
      assert.deepEqual(agreed.params.notifications, { resourceSubscriptions: [] });
      assert.equal(
        (
          await s.ask(
            request2026(5, 'tools/list', {}, { 'io.modelcontextprotocol/protocolVersion': long }),
          )
        ).error.code,
        -32022,
      );
      const read = await s.ask(
        request2026(6, 'resources/read', { uri: `test://template/${long}/data` }),
      );
      assert.ok(read.error);
      await s.ask(call(request2026, 7, 'test_tool_with_progress', {}, { progressToken: long }));
      assert.equal(s.garbage.length, 0);
    }));

  test('a readable id is echoed in a refusal', () =>
    withServer(async (s) => {
      assert.equal((await s.ask({ jsonrpc: '2.0', id: 3, method: 5 })).error.code, -32600);
      assert.equal(
        (await s.ask({ jsonrpc: '2.0', id: 4, method: 'ping', params: [] })).error.code,
        -32600,
      );
    }));
});

describe('protocols', () => {
  for (const version of VERSIONS_2024)
    test(`initialize agrees on ${version}`, () =>
      withServer(async (s) => {
        assert.equal((await s.open(version)).result.protocolVersion, version);
      }));

  for (const version of ['1999-01-01', '2026-07-28', 'x'])
    test(`initialize with ${version} is answered with 2025-11-25`, () =>
      withServer(async (s) => {
        assert.equal((await s.open(version)).result.protocolVersion, '2025-11-25');
      }));

  test('before initialize only ping; initialize only once', () =>
    withServer(async (s) => {
      assert.equal((await s.ask(request2024(1, 'tools/list'))).error.code, -32600);
      assert.deepEqual((await s.ask(ping(2))).result, {});
      assert.equal(
        (await s.ask({ ...initialize('2025-11-25', 3), params: {} })).error.code,
        -32602,
      );
      await s.open();
      assert.equal((await s.ask(initialize('2025-11-25', 4))).error.message, 'Already initialized');
    }));

  test('requests of both protocols on one channel do not affect each other', () =>
    withServer(async (s) => {
      assert.equal((await s.ask(request2026(1, 'tools/list'))).result.resultType, 'complete');
      assert.equal((await s.ask(request2024(2, 'tools/list'))).error.code, -32600);
      await s.open('2024-11-05');
      const [old, young] = [
        await s.ask(request2024(3, 'tools/list')),
        await s.ask(request2026(4, 'tools/list')),
      ];
      assert.deepEqual(old.result.tools, young.result.tools);
      assert.equal(old.result.resultType, undefined);
      assert.equal(young.result.ttlMs, 300000);
      assert.equal(
        young.result._meta['io.modelcontextprotocol/serverInfo'].name,
        'cadre-conformance',
      );
    }));

  test('2026 refusals', () =>
    withServer(async (s) => {
      const code = async (message) => (await s.ask(message)).error;
      assert.deepEqual(
        await code(
          request2026(
            1,
            'tools/list',
            {},
            { 'io.modelcontextprotocol/protocolVersion': '2025-11-25' },
          ),
        ),
        {
          code: -32022,
          message: 'Unsupported protocol version',
          data: { supported: ['2026-07-28'], requested: '2025-11-25' },
        },
      );
      assert.deepEqual(
        (
          await code({
            ...request2026(2, 'tools/list'),
            params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } },
          })
        ).data,
        { missing: ['io.modelcontextprotocol/clientCapabilities'] },
      );
      for (const method of [
        'initialize',
        'ping',
        'logging/setLevel',
        'resources/subscribe',
        'resources/unsubscribe',
        'nope',
        'tasks/list',
      ])
        assert.equal((await code(request2026(3, method))).code, -32601, method);
    }));

  test('arguments: unknown, missing and wrong ones name themselves', () =>
    withServer(async (s) => {
      const text = async (name, args) => (await s.ask(call(request2026, 1, name, args))).result;
      const unknown = await text('greet', { name: 'x', nmae: 'y' });
      assert.equal(unknown.isError, true);
      assert.equal(
        unknown.content[0].text,
        "Invalid params: unknown parameter 'nmae' (did you mean 'name'?)",
      );
      assert.equal(
        (await text('greet', {})).content[0].text,
        "Invalid params: missing required parameter 'name'",
      );
      assert.equal(
        (await text('greet', { name: 5 })).content[0].text,
        "Invalid params: 'name' must be a string, not 5",
      );
      assert.equal(
        (await text('slow_compute', { seconds: -1 })).content[0].text,
        "Invalid params: 'seconds' must be at least 0, not -1",
      );
      assert.equal(
        (await s.ask(call(request2026, 2, 'no_such_tool'))).error.message,
        'Unknown tool: no_such_tool',
      );
      await s.open('2025-06-18');
      assert.equal((await s.ask(call(request2024, 3, 'greet', {}))).error.code, -32602);
    }));

  test('resource not found: -32602 in 2026, -32002 in 2024, both with the URI', () =>
    withServer(async (s) => {
      const params = { uri: 'test://nothing' };
      await s.open();
      assert.deepEqual((await s.ask(request2026(1, 'resources/read', params))).error, {
        code: -32602,
        message: 'Resource not found: test://nothing',
        data: params,
      });
      assert.equal((await s.ask(request2024(2, 'resources/read', params))).error.code, -32002);
    }));

  test('cursors: only our own', () =>
    withServer(async (s) => {
      for (const cursor of ['', 'x', 'MDowOjA', 5, null])
        assert.equal(
          (await s.ask(request2026(1, 'tools/list', { cursor }))).error.message,
          'Invalid cursor',
        );
    }));

  test('old versions get text for blocks they do not know', () =>
    withServer(async (s) => {
      await s.open('2024-11-05');
      const answer = await s.ask(call(request2024, 1, 'test_audio_content'));
      assert.equal(answer.result.content[0].type, 'text');
    }));
});

describe('batches', () => {
  const note = { jsonrpc: '2.0', method: 'notifications/x' };
  const isArray = (m) => Array.isArray(m);

  for (const version of ['2024-11-05', '2025-03-26'])
    test(`${version}: one array of answers, in any order`, () =>
      withServer(async (s) => {
        await s.open(version);
        s.send([
          call(request2024, 1, 'slow_compute', { seconds: 0.1 }),
          ping(2),
          note,
          request2024(3, 'nope'),
        ]);
        const answers = await s.wait(isArray);
        assert.deepEqual(answers.map((a) => a.id).sort(), [1, 2, 3]);
        assert.equal(answers.find((a) => a.id === 3).error.code, -32601);
      }));

  test('nothing but notifications is not answered', () =>
    withServer(async (s) => {
      await s.open('2025-03-26');
      s.send([note, note, { jsonrpc: '2.0', id: 9, result: {} }]);
      await s.ask(ping(1));
      assert.equal(s.messages.length, 0);
    }));

  for (const [name, batch] of [
    ['empty', []],
    ['101 messages', Array.from({ length: 101 }, (_, i) => ping(i))],
    ['with initialize', [ping(1), initialize('2025-03-26', 2)]],
    ['with a 2026 request', [ping(1), request2026(2, 'tools/list')]],
    ['with something else', [ping(1), 5]],
  ])
    test(`${name}: refused as a whole`, () =>
      withServer(async (s) => {
        await s.open('2025-03-26');
        s.send(batch);
        assert.equal((await s.answer(null)).error.code, -32600);
        await s.ask(ping('after'));
        assert.equal(s.messages.length, 0);
      }));

  test('100 messages are answered', () =>
    withServer(async (s) => {
      await s.open('2025-03-26');
      s.send(Array.from({ length: 100 }, (_, i) => ping(i)));
      assert.equal((await s.wait(isArray)).length, 100);
    }));

  for (const version of ['2025-06-18', '2025-11-25'])
    test(`${version} has no batches`, () =>
      withServer(async (s) => {
        await s.open(version);
        s.send([ping(1)]);
        assert.equal((await s.answer(null)).error.code, -32600);
      }));
});

describe('running calls', () => {
  test('answers come out of order; ping does not wait', () =>
    withServer(async (s) => {
      await s.open();
      s.send(
        call(request2024, 1, 'slow_compute', { seconds: 0.4, label: 'slow' }),
        call(request2024, 2, 'slow_compute', { seconds: 0.1, label: 'fast' }),
        ping(3),
      );
      const order = [];
      for (let i = 0; i < 3; i++) order.push((await s.wait((m) => m.id !== undefined)).id);
      assert.deepEqual(order, [3, 2, 1]);
    }));

  for (const [protocol, make] of [
    ['2024', request2024],
    ['2026', request2026],
  ])
    test(`${protocol}: nothing comes after a cancellation`, () =>
      withServer(async (s) => {
        await s.open();
        s.send(call(make, 'c', 'slow_compute', { seconds: 0.3 }));
        await sleep(50);
        s.send({
          jsonrpc: '2.0',
          method: 'notifications/cancelled',
          params: { requestId: 'c', reason: 'test' },
        });
        s.send({
          jsonrpc: '2.0',
          method: 'notifications/cancelled',
          params: { requestId: 'unknown' },
        });
        await sleep(500);
        assert.deepEqual((await s.ask(ping('c'))).result, {});
        assert.equal(s.messages.length, 0);
      }));

  test('progress: token kept, values rising, 50 ms before the answer', () =>
    withServer(async (s) => {
      await s.open();
      for (const token of [0, 'p', 12.5]) {
        s.send({
          ...call(request2024, 1, 'test_tool_with_progress'),
          params: { name: 'test_tool_with_progress', _meta: { progressToken: token } },
        });
        const values = [];
        for (let i = 0; i < 3; i++) {
          const note = await s.wait((m) => m.method === 'notifications/progress');
          assert.equal(note.params.progressToken, token);
          values.push(note.params.progress);
        }
        const before = performance.now();
        await s.answer(1);
        assert.ok(performance.now() - before > 20);
        assert.deepEqual(values, [0, 50, 100]);
      }
    }));

  test('end of input: what was read is answered, then exit 0', async () => {
    const s = new StdioServer();
    await s.open();
    s.send(call(request2024, 1, 'slow_compute', { seconds: 0.5, label: 'late' }));
    s.child.stdin.end();
    assert.match((await s.answer(1)).result.content[0].text, /late/);
    assert.equal((await s.exit).code, 0);
  });

  test('end of input: work that does not end is given up after 1.5 s', async () => {
    const s = new StdioServer();
    await s.open();
    s.send(call(request2024, 1, 'slow_compute', { seconds: 60 }));
    const start = performance.now();
    await s.close();
    assert.ok(performance.now() - start > 1200 && performance.now() - start < 3000);
  });

  test('input from a file and from /dev/null', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'mcp-'));
    const file = path.join(folder, 'input');
    writeFileSync(file, [1, 2, 3].map((i) => JSON.stringify(ping(i))).join('\n'));
    const run = (input) =>
      spawnSync(FIXTURES, ON_STDIO, {
        encoding: 'utf8',
        timeout: 10000,
        stdio: [openSync(input, 'r'), 'pipe', 'pipe'],
      });
    const [three, none] = [run(file), run('/dev/null')];
    rmSync(folder, { recursive: true });
    assert.deepEqual(
      [three.status, three.stderr, none.status, none.stdout, none.stderr],
      [0, '', 0, '', ''],
    );
    assert.equal(
      three.stdout,
      [1, 2, 3].map((i) => `{"jsonrpc":"2.0","id":${i},"result":{}}\n`).join(''),
    );
  });

  test('SIGTERM ends it within 2 s', async () => {
    const s = new StdioServer();
    await s.open();
    s.send(call(request2024, 1, 'slow_compute', { seconds: 60 }));
    await s.ask(ping(2));
    const start = performance.now();
    s.child.kill('SIGTERM');
    assert.equal((await s.answer(1)).error.code, 1002); // it is not left without an answer
    assert.equal((await s.exit).code, 0);
    assert.ok(performance.now() - start < 2000);
  });

  test('a client that stops reading is not waited for', async () => {
    const s = new StdioServer();
    await s.open();
    s.child.stdout.pause();
    for (let i = 0; i < 2000; i++) s.send(request2024(i, 'tools/list'));
    await sleep(300);
    s.child.stdout.destroy();
    assert.equal((await s.exit).code, 0);
  });
});
