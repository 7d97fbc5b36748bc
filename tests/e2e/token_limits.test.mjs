// What the holder of a token may ask for: its workspaces, by the header Cadre-Workspace, and the widest sandbox.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { HttpServer, call, initialize, request2024, request2026 } from './mcp_support.mjs';
import { CADRE, temporaryDirectory } from './support.mjs';

const serve = ['serve', '--results', 'structured', '--tools', 'full', '--http', '0'];

function tokenFile(directory, name) {
  const file = path.join(directory, `${name}.token`);
  writeFileSync(file, `${name}-0123456789abcdef\n`, { mode: 0o600 });
  return file;
}

function newDirectory(base, name) {
  const directory = path.join(base, name);
  mkdirSync(directory);
  writeFileSync(path.join(directory, 'here.txt'), `${name}\n`);
  return directory;
}

describe('workspaces of a token', () => {
  const base = realpathSync(temporaryDirectory());
  const [one, two, other] = ['one', 'two', 'other'].map((name) => newDirectory(base, name));
  const state = newDirectory(base, 'state');
  symlinkSync(other, path.join(two, 'link'));
  let server, as;

  before(async () => {
    const args = [
      ...[
        '--token',
        `alice=${tokenFile(base, 'alice')}`,
        '--token',
        `bob=${tokenFile(base, 'bob')}`,
      ],
      ...['--token-workspace', `alice=${one}`, '--token-workspace', `alice=${two}`],
      ...['--token-sandbox', 'alice=strict'],
    ];
    server = await HttpServer.start(args, [CADRE, ...serve], {
      XDG_STATE_HOME: state,
      CADRE_TOKEN: '',
    });
    as = Object.fromEntries(
      ['alice', 'bob'].map((name) => [name, { Authorization: `Bearer ${name}-0123456789abcdef` }]),
    );
    as.user = server.authorization;
  });
  after(() => server.stop(10000));

  const headers = (who, workspace) => ({
    ...as[who],
    ...(workspace && { 'Cadre-Workspace': workspace }),
  });
  const ask = (who, workspace, name, args) =>
    server.post2026(call(request2026, 1, name, args), headers(who, workspace));
  const tool = async (...request) =>
    (await (await ask(...request)).json()).result.structuredContent;
  const lisp = async (who, workspace, code) =>
    (await tool(who, workspace, 'evaluate-lisp', { code })).values;
  const sandbox = async (who, workspace) => {
    await lisp(who, workspace, '1');
    return (await tool(who, workspace, 'session-info', {})).sandbox;
  };

  test('the first without the header, the others with it', async () => {
    assert.equal((await sandbox('alice')).workspace, one);
    assert.equal((await sandbox('alice', one)).workspace, one);
    assert.equal((await sandbox('alice', two)).workspace, two);
    assert.equal((await sandbox('alice', `${two}/../two`)).workspace, two);
  });

  test('and no wider sandbox', async () => {
    assert.equal((await sandbox('alice', two)).mode, 'strict');
    assert.equal((await sandbox('user', two)).mode, 'workspace');
  });

  test('what is in one is not in another', async () => {
    await lisp('alice', one, '(defvar *in* :one)');
    await lisp('alice', two, '(defvar *in* :two)');
    await lisp('user', two, '(defvar *in* :user)');
    assert.deepEqual(await lisp('alice', one, '*in*'), [':ONE']);
    assert.deepEqual(await lisp('alice', two, '*in*'), [':TWO']);
    assert.deepEqual(await lisp('user', two, '*in*'), [':USER']);
    await tool('alice', two, 'add-context', { type: 'text', content: 'of two' });
    assert.match(JSON.stringify(await tool('alice', two, 'list-context', {})), /of two/);
    for (const [who, workspace] of [['alice', one], ['user', two], ['alice']])
      assert.doesNotMatch(JSON.stringify(await tool(who, workspace, 'list-context', {})), /of two/);
  });

  test('a workspace that is not its own is refused, and nothing is told about it', async () => {
    const refused = [
      other,
      `${base}/nowhere`,
      path.join(two, 'link'),
      base,
      '/',
      'two',
      `${one}-x`,
    ];
    for (const workspace of refused) {
      const answer = await ask('alice', workspace, 'evaluate-lisp', { code: '1' });
      assert.equal(answer.status, 403, workspace);
      assert.match(await answer.text(), /not one that you may use/);
    }
    assert.equal((await ask('bob', one, 'evaluate-lisp', { code: '1' })).status, 403);
  });

  test('the user names any that can be one', async () => {
    assert.equal((await sandbox('user', other)).workspace, other);
    for (const workspace of ['/', '/usr', '/tmp'])
      assert.equal((await ask('user', workspace, 'evaluate-lisp', { code: '1' })).status, 403);
  });

  test('who has none works in an empty directory of its own', async () => {
    const { workspace } = await sandbox('bob');
    assert.equal(workspace, path.join(state, 'cadre/clients/bob/scratch'));
    const read = `(with-open-file (s "${one}/here.txt") (read-line s))`;
    assert.equal((await tool('bob', undefined, 'evaluate-lisp', { code: read })).ok, false);
    assert.ok(existsSync(workspace));
  });

  test('a protocol session stays in its workspace', async () => {
    const opened = await server.post(initialize('2025-11-25'), headers('alice', two));
    await opened.json();
    const session = { 'Mcp-Session-Id': opened.headers.get('mcp-session-id') };
    const evaluate = call(request2024, 2, 'evaluate-lisp', { code: '*in*' });
    const said = async (more) =>
      (await (await server.post(evaluate, { ...session, ...more })).json()).result.structuredContent
        .values;
    assert.deepEqual(await said(headers('alice')), [':TWO']);
    assert.deepEqual(await said(headers('alice', two)), [':TWO']);
    assert.equal(
      (await server.post(evaluate, { ...session, ...headers('alice', one) })).status,
      404,
    );
    assert.equal(
      (await server.post(evaluate, { ...session, ...headers('user', two) })).status,
      404,
    );
  });
});

test('limits that cannot be', () => {
  const base = temporaryDirectory();
  const token = ['--token', `a=${tokenFile(base, 'a')}`];
  for (const [args, expected] of [
    [
      ['--token-workspace', `b=${base}`],
      /--token-workspace takes NAME=DIR, NAME of a --token; got 'b=/,
    ],
    [['--token-workspace', base], /takes NAME=DIR/],
    [['--token-workspace', 'a=/no/such'], /No such file/],
    [['--token-workspace', 'a=/'], /never a workspace/],
    [['--token-sandbox', 'a=wide'], /workspace, strict or off; got 'wide'/],
    [['--token-sandbox', '=strict'], /takes NAME=MODE/],
  ]) {
    const { status, stderr } = spawnSync(CADRE, [...serve, ...token, ...args], {
      encoding: 'utf8',
      timeout: 10000,
      env: { ...process.env, XDG_STATE_HOME: base },
    });
    assert.equal(status, 2, args.join(' '));
    assert.match(stderr, expected);
  }
  const { stderr } = spawnSync(CADRE, ['serve', '--token-sandbox', 'a=strict'], {
    encoding: 'utf8',
  });
  assert.match(stderr, /need --http/);
});
