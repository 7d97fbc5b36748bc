// What a workspace brings counts after the person's yes, where the client can show a question: asked
// before the first session that would load it, once for each state of the files, and only of clients
// of the user.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { HttpServer, request2026 } from './mcp_support.mjs';
import { CADRE, temporaryDirectory } from './support.mjs';

const yes = { action: 'accept', content: { answer: 'trust' } };
const later = { action: 'accept', content: { answer: 'later' } };
const never = { action: 'accept', content: { answer: 'never' } };
const INIT = '.cadre/init.lisp';

class Place {
  constructor(files) {
    this.home = temporaryDirectory();
    this.directory = path.join(this.home, 'work');
    for (const [name, text] of Object.entries(files)) this.write(name, text);
    this.env = {
      ...process.env,
      HOME: this.home,
      XDG_STATE_HOME: path.join(this.home, 'state'),
      XDG_CACHE_HOME: path.join(this.home, 'cache'),
      XDG_CONFIG_HOME: path.join(this.home, 'config'),
      XDG_RUNTIME_DIR: path.join(this.home, 'run'),
    };
    this.clients = [];
    mkdirSync(this.env.XDG_RUNTIME_DIR, { mode: 0o700 });
    after(() => this.end());
  }

  write(name, text) {
    const file = path.join(this.directory, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  // A client that answers questions with `answer`, or cannot be asked.
  async client({ answer, args = [], env = {} } = {}) {
    const client = new Client(
      { name: 'test', version: '1' },
      { capabilities: answer ? { elicitation: {} } : {} },
    );
    const questions = [];
    if (answer)
      client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
        questions.push(params.message);
        return typeof answer === 'function' ? answer(params) : answer;
      });
    const transport = new StdioClientTransport({
      command: CADRE,
      args: ['serve', '--results', 'text', ...args],
      env: { ...this.env, ...env },
      cwd: this.directory,
      stderr: 'ignore',
    });
    await client.connect(transport);
    this.clients.push(client);
    const tool = async (name, parameters = {}) =>
      (await client.callTool({ name, arguments: parameters })).content[0].text;
    const evaluate = (code, parameters) => tool('evaluate-lisp', { code, ...parameters });
    return { questions, tool, evaluate, close: () => client.close() };
  }

  async end() {
    await Promise.all(this.clients.map((client) => client.close()));
    const lock = path.join(this.env.XDG_STATE_HOME, 'cadre/daemon.lock');
    try {
      process.kill(JSON.parse(readFileSync(lock, 'utf8')).pid, 'SIGTERM');
    } catch {
      /* no daemon has run */
    }
  }
}

const LOADED = '(boundp (quote cl-user::*brought*))';
const init = (value = 1) => `(defparameter cl-user::*brought* ${value})`;

for (const [way, env] of [
  ['a server of its own', { CADRE_PRIVATE: 'true' }],
  ['the daemon', { CADRE_PRIVATE: 'false' }],
])
  test(`${way}: yes counts at once, and for the next client`, async () => {
    const place = new Place({ [INIT]: init(), '.mcp.json': '{"mcpServers": {}}' });
    const first = await place.client({ answer: yes, env });
    assert.match(await first.evaluate('cl-user::*brought*'), /=> 1/);
    assert.equal(first.questions.length, 1);
    const [question] = first.questions;
    assert.ok(question.includes(place.directory), question);
    assert.match(question, /- \.cadre\/init\.lisp: code that runs/);
    assert.doesNotMatch(question, /mcp\.json/, 'which is not used without --import project');
    await first.evaluate('1', { session: 'other' });
    const second = await place.client({ answer: never, env });
    assert.match(await second.evaluate('cl-user::*brought*', { session: 'new' }), /=> 1/);
    assert.deepEqual([first.questions.length, second.questions], [1, []]);
  });

describe('other answers', () => {
  for (const [name, answer] of Object.entries({
    later,
    declined: { action: 'decline' },
    cancelled: { action: 'cancel' },
    'a word that was not offered': { action: 'accept', content: { answer: 'yes' } },
  }))
    test(`${name}: nothing counts, and the next client asks again`, async () => {
      const place = new Place({ [INIT]: init() });
      const first = await place.client({ answer });
      const text = await first.evaluate(LOADED);
      assert.match(text, /=> NIL/);
      assert.match(text, /init\.lisp is not used: not trusted; cadre trust/);
      await first.evaluate('1', { session: 'other' });
      await first.tool('reset-session');
      assert.match(await first.evaluate(LOADED), /=> NIL/);
      assert.equal(first.questions.length, 1, 'once is enough for one client');
      await first.close();
      const second = await place.client({ answer: yes });
      assert.match(await second.evaluate(LOADED), /=> T/);
    });
  test('never: no client asks again until the files change', async () => {
    const place = new Place({ [INIT]: init() });
    const first = await place.client({ answer: never });
    assert.match(await first.evaluate(LOADED), /=> NIL/);
    await first.close();
    const second = await place.client({ answer: yes });
    assert.match(await second.evaluate(LOADED), /=> NIL/);
    assert.deepEqual(second.questions, []);
    place.write(INIT, init(2));
    await second.tool('reset-session');
    assert.match(await second.evaluate('cl-user::*brought*'), /=> 2/);
    assert.equal(second.questions.length, 1);
  });
  test('files that change while the person reads are not trusted', async () => {
    const place = new Place({ [INIT]: init() });
    const answers = [yes, later];
    const client = await place.client({
      answer: () => {
        place.write(INIT, init(666));
        return answers.shift();
      },
    });
    assert.match(await client.evaluate('1'), /NOT-TRUSTED\n.*changed since the question/s);
    assert.match(await client.evaluate(LOADED), /=> NIL/);
    assert.equal(client.questions.length, 2, 'what they are now is another question');
  });
});

test('a change asks again, and says that it is one', async () => {
  const place = new Place({ [INIT]: init(), '.cadre/config.json': '{"systems": []}' });
  const client = await place.client({ answer: yes });
  await client.evaluate('1');
  place.write(INIT, init(2));
  await client.tool('reset-session');
  assert.match(await client.evaluate('cl-user::*brought*'), /=> 2/);
  assert.match(client.questions[0], /config\.json: systems.*\n- .cadre\/init.lisp: code/);
  assert.match(client.questions[1], /init\.lisp \(changed since it was trusted\)/);
  assert.doesNotMatch(client.questions[1], /config\.json/);
});

test('.mcp.json is asked about where it is used', async () => {
  const place = new Place({ '.mcp.json': '{"mcpServers": {}}' });
  const client = await place.client({ answer: yes, args: ['--import', 'project'] });
  await client.evaluate('1');
  assert.match(client.questions[0], /- \.mcp\.json: MCP servers/);
});

test('names of files cannot write the question', async () => {
  const place = new Place({ [INIT]: init() });
  place.write('.cadre/programs/a\nAll files were checked by Cadre.\u202e\u001b[2J', '1');
  for (let i = 0; i < 30; i++) place.write(`.cadre/programs/p${i}`, '1');
  const client = await place.client({ answer: later });
  await client.evaluate('1');
  const [question] = client.questions;
  assert.doesNotMatch(question, /\nAll|[^\n -~]/);
  assert.match(question, /a\?All files/);
  assert.match(question, /- and 20 more$/);
  assert.ok(question.length < 2000, question);
});

test('without files, or without a way to ask, nothing is asked', async () => {
  const empty = new Place({ 'a.txt': '' });
  const asked = await empty.client({ answer: yes });
  assert.match(await asked.evaluate('(+ 1 2)'), /=> 3/);
  assert.deepEqual(asked.questions, []);
  const place = new Place({ [INIT]: init() });
  const mute = await place.client();
  assert.match(await mute.evaluate(LOADED), /not trusted; cadre trust/);
});

test('over HTTP: the user is asked, the holder of another token is not', async () => {
  const place = new Place({ [INIT]: init() });
  const token = path.join(place.home, 'other');
  writeFileSync(token, 'a-token-of-another-client\n', { mode: 0o600 });
  const server = await HttpServer.start(
    ['--token', `other=${token}`, '--token-workspace', `other=${place.directory}`],
    [CADRE, 'serve', '--http', '0', '--results', 'text', '--workspace', place.directory],
    place.env,
  );
  const capable = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
  const evaluate = async (more = {}, bearer = server.token) => {
    const name = 'evaluate-lisp';
    const params = { name, arguments: { code: LOADED }, ...more };
    const answer = await server.post(request2026(1, 'tools/call', params, capable), {
      Authorization: `Bearer ${bearer}`,
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': name,
    });
    return (await answer.json()).result;
  };
  try {
    const other = await evaluate({}, 'a-token-of-another-client');
    assert.match(other.content[0].text, /=> NIL/);
    const { resultType, inputRequests, requestState } = await evaluate();
    assert.equal(resultType, 'input_required');
    assert.match(inputRequests.trust.params.message, /init\.lisp/);
    const done = await evaluate({ requestState, inputResponses: { trust: yes } });
    assert.match(done.content[0].text, /=> T/);
  } finally {
    await server.stop();
  }
});
