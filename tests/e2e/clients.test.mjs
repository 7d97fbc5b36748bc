// Clients of an HTTP server: who is let in, what belongs to whom, who waits for whom.
import { test, describe, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { HttpServer, call, initialize, request2024, request2026, within } from './mcp_support.mjs';
import { CADRE, temporaryDirectory } from './support.mjs';

const discover = request2026(1, 'server/discover');
const serve = ['serve', '--results', 'structured', '--tools', 'full', '--http'];
const start = (state, more = [], address = '0') =>
  HttpServer.start(more, [CADRE, ...serve, address], { XDG_STATE_HOME: state, CADRE_TOKEN: '' });
const tokenFile = (state, name) => {
  const file = path.join(state, `${name}.token`);
  writeFileSync(file, `${name}-0123456789abcdef\n`, { mode: 0o600 });
  return file;
};

describe('a token by default', () => {
  const state = temporaryDirectory();
  const kept = path.join(state, 'cadre/token');

  test('is made at the first start, shown once, and asked for on loopback', async () => {
    let server = await start(state);
    const token = server.token;
    assert.match(token, /^[A-Za-z0-9_-]{43}$/);
    assert.match(server.stderr, /listening on http:\S+\?token=/);
    assert.equal(readFileSync(kept, 'utf8'), `${token}\n`);
    assert.equal(statSync(kept).mode & 0o777, 0o600);
    assert.equal(statSync(path.dirname(kept)).mode & 0o777, 0o700);
    for (const [headers, query, expected] of [
      [{}, '', 200],
      [{ Authorization: '' }, '', 401],
      [{ Authorization: `Bearer ${token}x` }, '', 401],
      [{ Authorization: `Bearer x` }, `?token=${token}`, 401],
      [{ Authorization: undefined }, `?token=${token}`, 200],
      [
        { Authorization: undefined },
        `?a=b&token=${token.replace(/^./, (c) => `%${c.charCodeAt(0).toString(16)}`)}`,
        200,
      ],
      [{ Authorization: undefined }, `?token=${token}x`, 401],
      [{ Authorization: undefined }, `?xtoken=${token}`, 401],
    ]) {
      const url = server.url;
      server.url += query;
      const sent = Object.fromEntries(
        Object.entries({ ...server.authorization, ...headers }).filter(
          ([, text]) => text !== undefined,
        ),
      );
      const own = server.token;
      server.token = undefined;
      assert.equal(
        (await server.post2026(discover, sent)).status,
        expected,
        `${JSON.stringify(headers)} ${query}`,
      );
      server.token = own;
      server.url = url;
    }
    for (const target of ['/healthz', '/metrics', '/mcp'])
      assert.equal((await fetch(new URL(target, server.url))).status, 401, target);
    await server.stop();
    server = await start(state);
    assert.equal(server.token, token);
    assert.ok(!server.stderr.includes(token));
    assert.ok(server.stderr.includes(`(token in ${kept})`));
    await server.stop();
  });

  test('--no-token is explicit and warns; a network address never goes without', async () => {
    const server = await start(state, ['--no-token']);
    assert.match(server.stderr, /without a token every user of this machine can run code as you/);
    assert.equal((await server.post2026(discover)).status, 200);
    await server.stop();
    const wide = spawnSync(CADRE, [...serve, '0.0.0.0:0', '--no-token'], {
      encoding: 'utf8',
      timeout: 10000,
    });
    assert.equal(wide.status, 2);
    assert.match(wide.stderr, /needs a bearer token/);
  });

  test('without a place for it the server says so and does not start', () => {
    const { status, stderr } = spawnSync(CADRE, [...serve, '0'], {
      encoding: 'utf8',
      timeout: 10000,
      env: { PATH: process.env.PATH },
    });
    assert.equal(status, 2);
    assert.match(stderr, /no place for the token: set HOME or XDG_STATE_HOME, or use --token-file/);
  });

  test('tokens of others need a name and a file of their own', () => {
    const file = tokenFile(state, 'a');
    for (const [args, expected] of [
      [['--token', 'x'], /--token takes NAME=FILE/],
      [['--token', `A=${file}`], /--token takes NAME=FILE/],
      [['--token', `=${file}`], /--token takes NAME=FILE/],
      [['--token', `../x=${file}`], /--token takes NAME=FILE/],
      [['--token', `a=${file}`, '--token', `a=${file}`], /two of the name a/],
      [['--token', `a=${file}`, '--token', `b=${file}`], /two clients have the same token/],
      [['--token', 'a=/no/such/file'], /No such file/],
    ]) {
      const { status, stderr } = spawnSync(CADRE, [...serve, '0', ...args], {
        encoding: 'utf8',
        timeout: 10000,
        env: { ...process.env, XDG_STATE_HOME: state },
      });
      assert.equal(status, 2, args.join(' '));
      assert.match(stderr, expected);
    }
  });
});

test('a Unix socket serves the own user without a token, and nobody else', async () => {
  const state = temporaryDirectory();
  const socketPath = path.join(state, 'socket');
  const run = () =>
    new Promise((resolve, reject) => {
      const child = spawn(CADRE, [...serve, `unix:${socketPath}`], {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { ...process.env, XDG_STATE_HOME: state },
      });
      child.stderr.on('data', (text) =>
        `${text}` === `listening on unix:${socketPath}\n`
          ? resolve(child)
          : reject(new Error(`${text}`)),
      );
    });
  const ask = () =>
    new Promise((resolve, reject) => {
      const request = http.request(
        { socketPath, path: '/healthz', headers: { Host: 'localhost' } },
        (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        },
      );
      request.on('error', reject);
      request.end();
    });
  let child = await run();
  assert.equal(statSync(socketPath).mode & 0o777, 0o600);
  assert.equal(await ask(), 200);
  assert.equal(existsSync(path.join(state, 'cadre/token')), false);
  await assert.rejects(run(), /cannot listen on .*: Address already in use/);
  if (process.getuid() === 0) {
    spawnSync('chmod', ['777', state, socketPath]);
    const { status } = spawnSync(
      'curl',
      ['-s', '--max-time', '5', '--unix-socket', socketPath, 'http://localhost/healthz'],
      { uid: 65534, gid: 65534 },
    );
    assert.notEqual(status, 0);
  }
  child.kill('SIGKILL');
  await new Promise((resolve) => child.on('exit', resolve));
  child = await run(); // the socket that was left behind is replaced
  assert.equal(await ask(), 200);
  child.kill('SIGTERM');
  await new Promise((resolve) => child.on('exit', resolve));
  assert.equal(existsSync(socketPath), false);
});

describe('what belongs to a client', () => {
  const state = temporaryDirectory();
  let server, as;
  before(async () => {
    server = await start(state, [
      '--max-sessions',
      '8',
      '--token',
      `alice=${tokenFile(state, 'alice')}`,
      '--token',
      `bob=${tokenFile(state, 'bob')}`,
    ]);
    as = Object.fromEntries(
      ['alice', 'bob'].map((name) => [name, { Authorization: `Bearer ${name}-0123456789abcdef` }]),
    );
    as.user = server.authorization;
  });
  after(() => server.stop(10000));
  const tool = async (who, name, args, meta) =>
    (await (await server.post2026(call(request2026, 1, name, args, meta), as[who])).json()).result;
  const lisp = async (who, code, session) =>
    (await tool(who, 'evaluate-lisp', { code, session })).structuredContent;

  test('Lisp sessions: the same names, other sessions', async () => {
    for (const who of ['alice', 'bob', 'user']) await lisp(who, `(defvar *who* "${who}")`);
    for (const who of ['alice', 'bob', 'user'])
      assert.deepEqual((await lisp(who, '*who*')).values, [`"${who}"`]);
    await lisp('alice', '(defvar *secret* 1)', 'zebra');
    const info = await tool('bob', 'session-info', { session: 'zebra' });
    assert.equal(info.structuredContent.error.code, 'unknown-session');
    assert.doesNotMatch(JSON.stringify(await tool('bob', 'session-info', {})), /zebra/);
    await tool('bob', 'reset-session', {});
    assert.deepEqual((await lisp('alice', '*who*')).values, ['"alice"']);
  });

  test('the number of sessions is counted by client', async () => {
    for (let i = 0; i < 10; i++) await lisp('bob', '1', `s${i}`);
    assert.equal((await lisp('bob', '1', 's9')).error.code, 'too-many-sessions');
    assert.deepEqual((await lisp('alice', '2', 'more')).values, ['2']);
    for (let i = 0; i < 10; i++) await tool('bob', 'close-session', { session: `s${i}` });
  });

  test('context items and named memories', async () => {
    await tool('alice', 'add-context', { type: 'text', content: 'of alice' });
    assert.match(JSON.stringify(await tool('alice', 'list-context', {})), /of alice/);
    for (const who of ['bob', 'user'])
      assert.doesNotMatch(JSON.stringify(await tool(who, 'list-context', {})), /of alice/);
    await tool('bob', 'clear-context', {});
    assert.match(JSON.stringify(await tool('alice', 'list-context', {})), /of alice/);
    await tool('alice', 'run-program', { source: '(def n 1)', memory: 'shared' });
    assert.equal(
      (await tool('bob', 'run-program', { source: 'n', memory: 'shared' })).isError,
      true,
    );
    assert.equal(
      (await tool('alice', 'run-program', { source: 'n', memory: 'shared' })).structuredContent
        .return,
      1,
    );
    assert.ok(existsSync(path.join(state, 'cadre/clients/alice/context.db')));
  });

  test('protocol sessions and tasks', async () => {
    const opened = await server.post(initialize('2025-11-25'), as.alice);
    const headers = { 'Mcp-Session-Id': opened.headers.get('mcp-session-id') };
    await opened.json();
    assert.equal(
      (await server.post(request2024(1, 'ping'), { ...headers, ...as.alice })).status,
      200,
    );
    for (const who of ['bob', 'user']) {
      assert.equal(
        (await server.post(request2024(1, 'ping'), { ...headers, ...as[who] })).status,
        404,
      );
      assert.equal(
        (await server.get('/mcp', { method: 'DELETE', headers: { ...headers, ...as[who] } }))
          .status,
        404,
      );
    }
    const caps = {
      'io.modelcontextprotocol/clientCapabilities': {
        extensions: { 'io.modelcontextprotocol/tasks': {} },
      },
    };
    const get = async (who, taskId) =>
      (await server.post2026(request2026(2, 'tasks/get', { taskId }, caps), as[who])).json();
    assert.match((await get('bob', 'f'.repeat(32))).error.message, /unknown task/);
  });

  test('a flood of initialize costs the flooder its own sessions only', async () => {
    const open = async (who) => {
      const answer = await server.post(initialize('2025-11-25'), as[who]);
      await answer.json();
      return { 'Mcp-Session-Id': answer.headers.get('mcp-session-id'), ...as[who] };
    };
    const alice = await open('alice');
    const used = await open('bob');
    assert.equal((await server.post(request2024(1, 'ping'), used)).status, 200);
    for (let i = 0; i < 400; i++) await open('bob');
    assert.equal((await server.post(request2024(1, 'ping'), alice)).status, 200);
    assert.equal((await server.post(request2024(1, 'ping'), used)).status, 200); // of those never used first
    assert.equal((await server.post(request2024(1, 'ping'), await open('user'))).status, 200);
  });

  test('endless programs of one client keep no other waiting', async () => {
    let ended = 0;
    const abort = new AbortController();
    const loop = (headers) =>
      server
        .post2026(
          call(request2026, 1, 'run-program', {
            source: '(loop [] (recur))',
            limits: { timeout: 300000 },
          }),
          headers,
          {
            signal: abort.signal,
          },
        )
        .catch(() => {})
        .finally(() => {
          ended++;
        });
    const answer = async (headers) => {
      const answered = await server.post2026(
        call(request2026, 1, 'run-program', { source: '(+ 1 2)' }),
        headers,
      );
      return (await answered.json()).result.structuredContent.return;
    };
    const loops = Array.from({ length: 60 }, () => loop(as.alice));
    assert.equal(await answer(as.bob), 3); // alice has more than one client may run
    assert.equal(await answer(as.user), 3);
    assert.equal(ended, 0);
    abort.abort();
    await Promise.all(loops);
    assert.equal(await answer(as.alice), 3);
  });

  test('endless programs of one protocol session keep no other of the same token waiting', async () => {
    const open = async () => {
      const opened = await server.post(initialize('2025-11-25'), as.bob);
      await opened.json();
      return { 'Mcp-Session-Id': opened.headers.get('mcp-session-id'), ...as.bob };
    };
    const [one, other] = [await open(), await open()];
    let ended = 0;
    const run = (id, headers, source, timeout) =>
      server
        .post(call(request2024, id, 'run-program', { source, limits: { timeout } }), headers)
        .finally(() => {
          ended++;
        });
    const cancel = (id) =>
      server.post(
        { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } },
        one,
      );
    const ids = Array.from({ length: 40 }, (_, i) => `loop-${i}`);
    const loops = ids.map((id) => run(id, one, '(loop [] (recur))', 300000));
    // All 40 are with the server before the other session asks.
    await within(
      10000,
      (async () => {
        const active = async () =>
          +(await (await server.get('/metrics', { headers: as.user })).text()).match(
            /mcp_http_connections (\d+)/,
          )[1];
        while ((await active()) < 40) await new Promise((done) => setTimeout(done, 20));
      })(),
      'loops',
    );
    const answered = await run('sum', other, '(+ 1 2)', 1000);
    assert.equal((await answered.json()).result.structuredContent.return, 3);
    assert.equal(ended, 1);
    for (const id of ids) await cancel(id);
    for (const response of await Promise.all(loops)) await response.text();
  });

  test('an open listener hears of its own items only', async () => {
    const listen = (who, signal) =>
      server.post2026(
        request2026('s', 'subscriptions/listen', {
          notifications: { resourceSubscriptions: ['context://items'] },
        }),
        as[who],
        { signal },
      );
    const abort = new AbortController();
    const answers = await Promise.all(['alice', 'bob'].map((who) => listen(who, abort.signal)));
    const texts = answers.map(() => '');
    const read = answers.map(async (answer, i) => {
      for await (const chunk of answer.body) texts[i] += Buffer.from(chunk);
    });
    await tool('alice', 'add-context', { type: 'text', content: 'news' });
    await within(
      5000,
      (async () => {
        while (!texts[0].includes('resources/updated'))
          await new Promise((done) => setTimeout(done, 20));
      })(),
      'notification',
    );
    assert.ok(!texts[1].includes('resources/updated'));
    abort.abort();
    await Promise.allSettled(read);
  });
});
