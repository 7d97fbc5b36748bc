// GET /events and the resources behind the page, without a browser: who may read, what is announced, what
// a reader that comes back gets, and what the page's files may do.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Agent, InspectedServer, TOKEN } from './inspector_support.mjs';
import { CADRE, eventually } from './support.mjs';

let server;
let agent;
before(async () => {
  server = await new InspectedServer({ args: ['--tools', 'core'] }).start();
  agent = await new Agent(server).open();
});
after(() => server.stop());

// A reader of the stream; `seen` has the events in order, each with its id.
async function read(from, headers = {}) {
  const control = new AbortController();
  const response = await from.request('/events', { headers, signal: control.signal });
  const reader = { status: response.status, seen: [], close: () => control.abort() };
  if (response.status !== 200) return reader;
  const take = async () => {
    let rest = '';
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + piece).split('\n\n');
      rest = blocks.pop();
      for (const block of blocks) {
        const id = /^id: (.*)$/m.exec(block)?.[1];
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (data) reader.seen.push({ id, ...JSON.parse(data) });
      }
    }
  };
  take().catch(() => {});
  reader.find = async (type, fits = () => true) => {
    const here = () => reader.seen.find((event) => event.type === type && fits(event));
    await eventually(here, 30);
    assert.ok(here(), `no event ${type}: ${reader.seen.map((event) => event.type)}`);
    return here();
  };
  await reader.find('hello');
  return reader;
}

describe('who may read', () => {
  test('without a token, with a wrong one, with one in the address: 401', async () => {
    for (const [where, token] of [
      ['/events', null],
      ['/events', 'x'.repeat(30)],
      [`/events?token=${TOKEN}`, null],
    ])
      assert.equal((await server.request(where, { token })).status, 401, where);
  });

  test('from another origin: 403', async () => {
    for (const where of ['/events', '/', '/app.js'])
      assert.equal(
        (await server.request(where, { headers: { Origin: 'http://evil.example' } })).status,
        403,
        where,
      );
  });

  test('the files of the page need no token, load nothing else and are shown in no frame', async () => {
    for (const [where, type] of [
      ['/', 'text/html'],
      ['/app.js', 'text/javascript'],
      ['/style.css', 'text/css'],
    ]) {
      const response = await server.request(where, { token: null });
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('Content-Type'), `${type}; charset=utf-8`);
      const policy = response.headers.get('Content-Security-Policy');
      for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"])
        assert.ok(policy.includes(part), policy);
      assert.equal(response.headers.get('X-Frame-Options'), 'DENY');
      assert.equal(response.headers.get('X-Content-Type-Options'), 'nosniff');
      const text = await response.text();
      assert.doesNotMatch(text, /https?:\/\/(?!www\.w3\.org)/);
      assert.doesNotMatch(text, /<script(?![^>]* src=)|<style|innerHTML|outerHTML|insertAdjacent/);
    }
    assert.equal((await server.request('/', { method: 'POST', body: '{}' })).status, 405);
    assert.equal((await server.request('/../token', { token: null })).status, 404);
  });
});

test('an evaluation is announced with its output, by whom, its end and the memory', async () => {
  const reader = await read(server);
  const answer = await agent.evaluate('(progn (format t "hello") (finish-output) (list 1 2))');
  const number = answer.evaluation;
  const started = await reader.find('started', (event) => event.row.number === number);
  assert.equal(started.row.by, 'claude-code');
  assert.equal(started.row.outcome, 'running');
  const output = await reader.find('output', (event) => event.evaluation === number);
  assert.equal(output.text, 'hello');
  const ended = await reader.find('ended', (event) => event.row.number === number);
  assert.deepEqual([ended.row.outcome, ended.row.summary, ended.current], ['ok', '(1 2)', number]);
  const order = ['started', 'output', 'ended'].map((type) =>
    reader.seen.findIndex((event) => event.type === type),
  );
  assert.deepEqual(
    order,
    [...order].sort((a, b) => a - b),
  );
  await reader.find('state', (event) => event.state === 'idle');
  const memory = await reader.find('memory', (event) => event.snapshots.includes(number));
  assert.ok(memory.head_kb > 1000 && memory.snapshots_kb > 0);
  reader.close();
});

test('rollbacks, errors and closed sessions are announced', async () => {
  const reader = await read(server);
  const { evaluation } = await agent.evaluate('(defvar *x* 1)', { session: 'side' });
  await agent.evaluate('(car *x*)', { session: 'side' });
  const failed = await reader.find('ended', (event) => event.row.outcome === 'error');
  assert.match(failed.row.summary, /TYPE-ERROR/);
  await agent.tool('rollback-session', { to: evaluation, session: 'side' });
  const moved = await reader.find('moved');
  assert.deepEqual(
    [moved.session, moved.op, moved.current, moved.by],
    ['side', 'rollback', evaluation, 'claude-code'],
  );
  const timeline = await agent.resource('cadre://sessions/side/timeline/999');
  assert.deepEqual(
    timeline.rows.map((row) => [row.number, row.parent, row.outcome]),
    [
      [2, 1, 'error'],
      [1, 0, 'ok'],
    ],
  );
  await agent.tool('close-session', { session: 'side' });
  await reader.find('closed', (event) => event.session === 'side');
  await assert.rejects(agent.resource('cadre://sessions/side/timeline/999'));
  reader.close();
});

test('the parent of an evaluation is the state it began with', async () => {
  const session = 'tree';
  for (const code of ['1', '2', '3']) await agent.evaluate(code, { session });
  await agent.tool('rollback-session', { to: 1, session });
  await agent.evaluate('4', { session });
  const { rows } = await agent.resource(`cadre://sessions/${session}/timeline/5`);
  assert.deepEqual(
    rows.map((row) => [row.number, row.parent]),
    [
      [4, 1],
      [3, 2],
      [2, 1],
      [1, 0],
    ],
  );
  const page = await agent.resource(`cadre://sessions/${session}/timeline/3`);
  assert.deepEqual(
    page.rows.map((row) => row.number),
    [2, 1],
  );
});

test('a program and its calls of tools are announced and kept', async () => {
  const reader = await read(server);
  await agent.tool('run-program', { source: '(println "a") (+ 1 2)' });
  const ended = await reader.find('program', (event) => event.program.outcome === 'ok');
  const run = await agent.resource(`cadre://programs/${ended.program.id}`);
  assert.deepEqual([run.step.return, run.step.prints, run.calls], [3, ['a'], []]);
  await agent.tool('run-program', { source: '(+ 1' });
  await reader.find('program', (event) => event.program.outcome === 'error');
  reader.close();
});

test('a reader that comes back gets what it missed, or is told to read anew', async () => {
  const first = await read(server);
  await agent.evaluate('"before"');
  const last = await first.find('ended', (event) => event.row.summary === '"before"');
  first.close();
  await agent.evaluate('"missed"');
  const second = await read(server, { 'Last-Event-ID': last.id });
  assert.equal(second.seen[0].resumed, true);
  await second.find('ended', (event) => event.row.summary === '"missed"');
  assert.ok(!second.seen.some((event) => event.row?.summary === '"before"'));
  second.close();
  for (const id of [
    '',
    'x',
    `${last.id}9999999`,
    '0123456789abcdef-1',
    last.id.replace(/-.*/, '-x'),
  ]) {
    const reader = await read(server, { 'Last-Event-ID': id });
    assert.equal(reader.seen[0].resumed, false, id);
    reader.close();
  }
});

test('of output that comes faster than a person reads only some is told, and how much is not', async () => {
  const reader = await read(server);
  const { evaluation } = await agent.evaluate(
    '(dotimes (i 60) (write-string (make-string 50000 :initial-element #\\x)) (finish-output))',
    { yield: 0 },
  );
  await reader.find('ended', (event) => event.row.number === evaluation);
  const pieces = reader.seen.filter((event) => event.type === 'output');
  const told = pieces.reduce((sum, event) => sum + event.text.length, 0);
  const dropped = pieces.reduce((sum, event) => sum + event.dropped, 0);
  assert.equal(told + dropped, 3000000);
  assert.ok(pieces.every((event) => event.text.length <= 16384));
  assert.ok(dropped > 0);
  reader.close();
});

test('at most sixteen read at once', async () => {
  const readers = await Promise.all(Array.from({ length: 16 }, () => read(server)));
  assert.equal((await server.request('/events')).status, 503);
  for (const reader of readers) reader.close();
  assert.ok(
    await eventually(async () => {
      const reader = await read(server).catch(() => ({ status: 0 }));
      reader.close?.();
      return reader.status === 200;
    }, 10),
  );
});

test('--tools core offers all tools to the page, and to others what it offered before', async () => {
  const names = async (client) =>
    (await client.request('tools/list', {})).tools.map((tool) => tool.name);
  assert.ok((await names(agent)).includes('remove-context'));
  const other = new Agent(server, 'other');
  await other.request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'other', version: '1' },
  });
  assert.ok(!(await names(other)).includes('remove-context'));
  await assert.rejects(
    other.request('tools/call', { name: 'remove-context', arguments: { ids: ['ctx-1'] } }),
    /offers fewer tools/,
  );
});

test('tokens see their own events only', async () => {
  const two = new InspectedServer();
  const file = `${two.directory}/bob`;
  writeFileSync(file, 'bobs-token-bobs-token-bobs');
  chmodSync(file, 0o600);
  two.args.push('--token', `bob=${file}`);
  await two.start();
  try {
    const bob = {
      request: (where, more) =>
        two.request(where, { ...more, token: 'bobs-token-bobs-token-bobs' }),
    };
    const [mine, his] = [await read(two), await read(bob)];
    const own = await new Agent(two).open();
    await own.evaluate('(list :mine)');
    await mine.find('ended');
    const other = await new Agent(bob, 'bob').open();
    await other.evaluate('(list :his)');
    await his.find('ended');
    assert.ok(!JSON.stringify(his.seen).includes(':MINE'));
    assert.ok(!JSON.stringify(mine.seen).includes(':HIS'));
    mine.close();
    his.close();
  } finally {
    await two.stop();
  }
});

describe('cadre ui', () => {
  const ui = (...args) =>
    spawnSync(CADRE, ['ui', ...args], {
      encoding: 'utf8',
      env: { ...server.environment, DISPLAY: '', WAYLAND_DISPLAY: '', BROWSER: '' },
    });

  test('prints the address of the page with the token', () => {
    const run = ui('--http', String(server.port), '--token-file', server.tokenFile, '--print');
    assert.deepEqual([run.status, run.stdout], [0, `${server.address}/#token=${TOKEN}\n`]);
  });

  test('the browser is not told the token, but a file that others cannot read', async () => {
    const script = path.join(server.directory, 'browser');
    const told = path.join(server.directory, 'told');
    writeFileSync(script, `#!/bin/sh\necho "$1" >'${told}.new'\nmv '${told}.new' '${told}'\n`);
    chmodSync(script, 0o755);
    const run = spawnSync(
      CADRE,
      ['ui', '--http', String(server.port), '--token-file', server.tokenFile],
      { encoding: 'utf8', env: { ...server.environment, BROWSER: script } },
    );
    assert.equal(run.status, 0, run.stderr);
    assert.ok(await eventually(() => existsSync(told), 20));
    const file = readFileSync(told, 'utf8').trim().replace('file://', '');
    assert.ok(!file.includes(TOKEN));
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.match(readFileSync(file, 'utf8'), new RegExp(`url=${server.address}/#token=${TOKEN}`));
  });

  const canBeOther = process.getuid() === 0 && spawnSync('perl', ['-e', '1']).status === 0;
  test('another user who listens is not told the token', { skip: !canBeOther }, async () => {
    const script = `my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 5) or die;
      $| = 1; print $server->sockport, "\\n"; while ($server->accept) { print "reached\\n" }`;
    const thief = spawn('perl', ['-MIO::Socket::INET', '-e', script], {
      uid: 65534,
      gid: 65534,
      cwd: '/',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let heard = '';
    thief.stdout.on('data', (data) => {
      heard += data;
    });
    assert.ok(await eventually(() => heard.includes('\n'), 20));
    const run = ui('--http', heard.trim(), '--token-file', server.tokenFile, '--print');
    thief.kill('SIGKILL');
    assert.match(run.stderr, /another user listens on 127\.0\.0\.1 port \d+/);
    assert.deepEqual([run.status, run.stdout], [1, '']);
    assert.doesNotMatch(heard, /reached/);
  });

  test('says what is wrong: no server, another token, a wrong argument', () => {
    const nobody = ui('--http', '1', '--token-file', server.tokenFile);
    assert.equal(nobody.status, 1);
    assert.match(nobody.stderr, /no server listens on 127\.0\.0\.1 port 1; start one/);
    const other = path.join(server.directory, 'other');
    writeFileSync(other, 'another-token-another-token');
    chmodSync(other, 0o600);
    const wrong = ui('--http', String(server.port), '--token-file', other);
    assert.equal(wrong.status, 1);
    assert.match(wrong.stderr, /has another token/);
    assert.equal(ui('extra').status, 2);
  });
});
