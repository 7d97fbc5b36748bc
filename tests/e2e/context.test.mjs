// The context domain over MCP: tools, resources, template, completion, prompt, notifications, feeding.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import Ajv from 'ajv';
import { errorCases, renderCases, warningCases } from './context_cases.mjs';
import { CADRE, Server, eventually, sleep, temporaryDirectory } from './support.mjs';

const ITEM_SCHEMA = {
  type: 'object',
  title: 'Context Item',
  properties: {
    id: { type: 'string', pattern: '^ctx-[0-9]+$' },
    type: { type: 'string', enum: ['code', 'text', 'file', 'repl-history', 'error', 'custom'] },
    content: { type: 'string' },
    metadata: {
      type: ['object', 'null'],
      properties: {
        filename: { type: 'string' },
        start_line: { type: 'integer', minimum: 1 },
        end_line: { type: 'integer', minimum: 1 },
        package: { type: 'string' },
      },
      additionalProperties: true,
    },
    timestamp: { type: 'integer', minimum: 0 },
  },
  required: ['id', 'type', 'content', 'timestamp'],
  additionalProperties: false,
};
const isItem = new Ajv({ strict: false }).compile(ITEM_SCHEMA);

function assertItem(item) {
  assert.ok(isItem(item), JSON.stringify(isItem.errors));
  assert.deepEqual(Object.keys(item), ['id', 'type', 'content', 'metadata', 'timestamp']);
}

function storeFile() {
  return path.join(temporaryDirectory(), 'context.db');
}

function cli(file, ...args) {
  const answer = spawnSync(CADRE, ['context', '--context-db', file, ...args], { encoding: 'utf8' });
  assert.equal(answer.status, 0, answer.stderr);
  return answer.stdout;
}

// A server over a store in memory; each test begins with an empty one, though ids go on.
function useStore(options = {}) {
  const holder = {};
  before(async () => {
    holder.server = await Server.start({
      ...options,
      env: { CADRE_CONTEXT_DB: ':memory:', ...options.env },
    });
  });
  after(async () => {
    await holder.server?.stop();
  });
  return {
    get server() {
      return holder.server;
    },
    call: (tool, parameters) => holder.server.call(tool, parameters),
    clear: () => holder.server.call('clear-context', { include_pinned: true }),
  };
}

async function readText(server, uri) {
  const { contents } = await server.client.readResource({ uri });
  assert.equal(contents.length, 1);
  return contents[0];
}

describe('context tools: rendering', () => {
  const store = useStore();
  for (const [name, items, parameters, document] of renderCases) {
    test(name, async () => {
      await store.clear();
      for (const item of items)
        assert.equal((await store.call('add-context', item)).isError, false);
      const { text, structured } = await store.call('render-context', parameters);
      assert.equal(text, document);
      assert.equal(structured.markdown, document);
      assert.equal(structured.characters, [...document].length);
      if (Object.keys(parameters).length === 0) {
        const resource = await readText(store.server, 'context://rendered');
        assert.equal(resource.text, document);
        assert.equal(resource.mimeType, 'text/markdown');
      }
    });
  }
});

describe('context tools: errors and warnings', () => {
  const store = useStore();
  for (const [name, tool, parameters, code, message] of errorCases) {
    test(name, async () => {
      const { text, structured, isError } = await store.call(tool, parameters);
      assert.equal(isError, true);
      assert.deepEqual(structured, { ok: false, error: { code, message } });
      assert.equal(text, `[ERROR] ${code}\n${message}`);
      assert.equal((await store.call('list-context', {})).text, 'No context items.');
    });
  }
  for (const [name, metadata, expected] of warningCases) {
    test(name, async () => {
      const { structured } = await store.call('add-context', { content: 'x', metadata });
      assertItem(structured.item);
      assert.deepEqual(structured.item.metadata, metadata);
      assert.deepEqual(
        structured.warnings.map((warning) => [warning.code, warning.key, warning.expected]),
        expected ? [['metadata-near-miss', ...expected]] : [],
      );
      await store.clear();
    });
  }
  test('an unknown parameter is refused', async () => {
    const refused = await store.server.client
      .callTool({ name: 'add-context', arguments: { content: 'x', timestamp: 1 } })
      .then(
        (result) => result.isError && result.content[0].text,
        (error) => error.message,
      );
    assert.match(refused, /timestamp/);
    assert.equal((await store.call('list-context', {})).text, 'No context items.');
  });
  test('hints', () => {
    const hints = Object.fromEntries(
      store.server.tools
        .filter((tool) => tool.name.endsWith('-context'))
        .map(({ name, annotations }) => [
          name,
          [
            annotations.readOnlyHint,
            annotations.destructiveHint,
            annotations.idempotentHint,
            annotations.openWorldHint,
          ]
            .map((hint) => (hint ? 'T' : 'F'))
            .join(''),
        ]),
    );
    assert.deepEqual(hints, {
      'add-context': 'FFFF',
      'list-context': 'TFTF',
      'remove-context': 'FTTF',
      'clear-context': 'FTTF',
      'render-context': 'TFTF',
    });
  });
});

describe('context tools: the window', () => {
  const store = useStore();
  test('W1 and W2: eviction is reported, pinned items stay', async () => {
    for (let i = 0; i < 50; i++) await store.call('add-context', { content: `item ${i}` });
    const pinned = await store.call('add-context', { id: 'ctx-1', pinned: true });
    assert.equal(pinned.text, 'Pinned ctx-1.');
    const { text, structured } = await store.call('add-context', { content: 'one more' });
    assert.equal(
      text,
      'Added ctx-51 (code, 8 characters). 50 of 50 items.\nEvicted ctx-2 (code): item 1',
    );
    assert.deepEqual(
      structured.evicted.map((item) => item.id),
      ['ctx-2'],
    );
    structured.evicted.forEach(assertItem);
    const listed = await store.call('list-context', { limit: 2, content: true });
    assert.equal(
      listed.text,
      '2 shown, 50 of 50 items\n- ctx-50 code (7 characters): item 49\n' +
        '- ctx-51 code (8 characters): one more',
    );
    listed.structured.items.forEach(assertItem);
    assert.deepEqual(
      { ...listed.structured, summaries: undefined, items: undefined },
      { ok: true, summaries: undefined, items: undefined, count: 2, total: 50, max_items: 50 },
    );
  });
  test('W5: clear keeps what is pinned', async () => {
    const { text, structured } = await store.call('clear-context', {});
    assert.equal(text, 'Removed 49 items. Kept 1 pinned item.');
    assert.deepEqual(structured, { ok: true, removed: 49, kept_pinned: 1 });
    const removed = await store.call('remove-context', { id: 'ctx-1' });
    assert.equal(removed.text, 'Removed ctx-1. 0 of 50 items.');
    assertItem(removed.structured.removed);
  });
  test('large content travels whole, larger content is refused', async () => {
    const content = 'é\u0000😀`'.repeat(100_000);
    const { structured } = await store.call('add-context', { content });
    assert.equal(structured.item.content, content);
    await store.clear();
  });
});

describe('context resources, completion and prompt', () => {
  const file = storeFile();
  let server;
  before(async () => {
    server = await Server.start({ args: ['--context-db', file] });
  });
  after(async () => {
    await server.stop();
  });

  test('an empty store', async () => {
    assert.deepEqual(JSON.parse((await readText(server, 'context://items')).text), {
      items: [],
      max_items: 50,
    });
    const rendered = await readText(server, 'context://rendered');
    assert.equal(rendered.text, '');
    const { messages } = await server.client.getPrompt({
      name: 'with-context',
      arguments: { request: 'Fix it' },
    });
    assert.deepEqual(messages, [{ role: 'user', content: { type: 'text', text: 'Fix it' } }]);
  });
  test('items, one item, an unknown item', async () => {
    for (let i = 1; i <= 12; i++)
      await server.call('add-context', { content: `c${i}`, type: i > 6 ? 'text' : 'code' });
    const whole = JSON.parse((await readText(server, 'context://items')).text);
    assert.equal(whole.items.length, 12);
    whole.items.forEach(assertItem);
    const one = await readText(server, 'context://items/ctx-3');
    assert.equal(one.mimeType, 'application/json');
    assert.deepEqual(JSON.parse(one.text), whole.items[2]);
    await assert.rejects(server.client.readResource({ uri: 'context://items/ctx-99' }));
    await assert.rejects(server.client.readResource({ uri: 'context://items/7' }));
    const { resources } = await server.client.listResources();
    const { resourceTemplates } = await server.client.listResourceTemplates();
    const uris = resources
      .map((resource) => resource.uri)
      .filter((uri) => uri.startsWith('context:'));
    assert.deepEqual(uris, ['context://items', 'context://rendered']);
    assert.ok(
      resourceTemplates.some((template) => template.uriTemplate === 'context://items/{id}'),
    );
  });
  test('completion of ids and types', async () => {
    const complete = async (ref, name, value) =>
      (await server.client.complete({ ref, argument: { name, value } })).completion.values;
    const template = { type: 'ref/resource', uri: 'context://items/{id}' };
    assert.deepEqual(await complete(template, 'id', 'ctx-1'), [
      'ctx-12',
      'ctx-11',
      'ctx-10',
      'ctx-1',
    ]);
    assert.deepEqual(await complete(template, 'id', 'x'), []);
    const prompt = { type: 'ref/prompt', name: 'with-context' };
    assert.deepEqual(await complete(prompt, 'types', 'code,t'), ['code,text']);
    assert.deepEqual(await complete(prompt, 'types', ''), [
      'code',
      'text',
      'file',
      'repl-history',
      'error',
      'custom',
    ]);
  });
  test('Q1: the prompt', async () => {
    await server.call('clear-context');
    await server.call('add-context', renderCases[0][1][0]);
    const prompt = async (parameters) =>
      (await server.client.getPrompt({ name: 'with-context', arguments: parameters })).messages[0]
        .content.text;
    assert.equal(await prompt({ request: 'Fix it' }), `${renderCases[0][3]}\n## Request\n\nFix it`);
    assert.equal(await prompt({ request: 'Fix it', types: 'text, error' }), 'Fix it');
    assert.equal(await prompt({ request: 'Fix it', limit: '0' }), 'Fix it');
    await assert.rejects(
      prompt({ request: 'x', max_chars: '10' }),
      /max_chars must be an integer >= 200; got 10/,
    );
    await assert.rejects(
      prompt({ request: 'x', limit: 'many' }),
      /limit must be an integer >= 0; got "many"/,
    );
    await assert.rejects(prompt({ request: 'x', types: 'cod' }), /INV-001/);
    await assert.rejects(prompt({}));
  });
});

// Notifications as each protocol delivers them.
async function subscribe(server, era, uris, seen) {
  if (era === 'legacy') {
    server.client.setNotificationHandler('notifications/resources/updated', ({ params }) =>
      seen.push(params.uri),
    );
    for (const uri of uris) await server.client.subscribeResource({ uri });
    return;
  }
  const raw = server.transport.onmessage;
  server.transport.onmessage = (message) => {
    if (message.method === 'notifications/resources/updated') seen.push(message.params.uri);
    if (message.id === 'listen' || message.method?.startsWith('notifications/')) return;
    raw(message);
  };
  await server.transport.send({
    jsonrpc: '2.0',
    id: 'listen',
    method: 'subscriptions/listen',
    params: {
      notifications: { resourceSubscriptions: uris },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
        'io.modelcontextprotocol/clientInfo': { name: 'cadre-tests', version: '1.0.0' },
      },
    },
  });
  await sleep(100);
}

for (const era of ['legacy', '2026-07-28']) {
  test(`notifications, ${era}`, async () => {
    const file = storeFile();
    const server = await Server.start({ era, args: ['--context-db', file] });
    await server.call('add-context', { content: 'first' });
    const seen = [];
    const uris = ['context://items', 'context://rendered', 'context://items/ctx-1'];
    await subscribe(server, era, uris, seen);
    await sleep(100);
    seen.length = 0;

    for (let i = 0; i < 5; i++) await server.call('add-context', { content: 'quick' });
    assert.ok(await eventually(() => seen.length >= 2), 'no notification');
    await sleep(150);
    assert.ok(
      seen.filter((uri) => uri === 'context://items').length <= 5,
      `not coalesced: ${seen}`,
    );
    assert.ok(!seen.includes('context://items/ctx-1'), 'ctx-1 was not touched');

    seen.length = 0;
    await server.call('add-context', { id: 'ctx-1', pinned: true });
    assert.ok(await eventually(() => uris.every((uri) => seen.includes(uri))), `only ${seen}`);

    // Another process writes.
    await sleep(600);
    seen.length = 0;
    cli(file, 'add', 'from elsewhere');
    assert.ok(
      await eventually(
        () => seen.includes('context://items') && seen.includes('context://rendered'),
      ),
      'not seen',
    );
    await server.stop();
  });
}

describe('auto-feed', () => {
  for (const mode of ['errors', 'all']) {
    test(
      mode === 'errors' ? 'A1: an error becomes an item' : 'A2: ten evaluations at most',
      async () => {
        const server = await Server.start({
          args: ['--context-db', storeFile(), '--auto-context', mode],
        });
        const byHand = await server.call('add-context', { content: 'by hand' });
        if (mode === 'errors') {
          const failed = await server.evaluate('(/ 1 0)');
          assert.deepEqual(failed.structured.context, { added: 'ctx-2', evicted: [] });
          const fine = await server.evaluate('(+ 1 2)');
          assert.equal(fine.structured.context, undefined);
          const { structured } = await server.call('list-context', {
            types: ['error'],
            content: true,
          });
          assert.equal(structured.items.length, 1);
          assert.equal(structured.items[0].metadata.condition, 'DIVISION-BY-ZERO');
          assert.equal(structured.items[0].metadata.form, '(/ 1 0)');
          assert.equal(structured.items[0].content, failed.text);
        } else {
          for (let i = 0; i < 30; i++) await server.evaluate(`(+ ${i} 1)`);
          const { structured } = await server.call('list-context', { content: true });
          assert.equal(structured.items[0].id, byHand.structured.item.id);
          const history = structured.items.filter((item) => item.type === 'repl-history');
          assert.equal(history.length, 10);
          assert.equal(history.at(-1).content, 'CL-USER> (+ 29 1)\n=> 30');
        }
        await server.stop();
      },
    );
  }
  test('history shows the package that the code was read in', async () => {
    const server = await Server.start({
      args: ['--context-db', storeFile(), '--auto-context', 'history'],
    });
    await server.value('(defpackage :shop (:use :cl)) (in-package :shop)');
    await server.value('(+ 1 2)');
    await server.value('(cl:+ 3 4)', { package: 'KEYWORD' });
    const {
      structured: { items },
    } = await server.call('list-context', { content: true });
    assert.deepEqual(
      items.map(({ content }) => content.replace(/\n=>.*/, '')),
      [
        'CL-USER> (defpackage :shop (:use :cl)) (in-package :shop)',
        'SHOP> (+ 1 2)',
        'KEYWORD> (cl:+ 3 4)',
      ],
    );
    assert.deepEqual(
      items.map(({ metadata }) => metadata.package),
      ['CL-USER', 'SHOP', 'KEYWORD'],
    );
    await server.stop();
  });
  test('off by default', async () => {
    const server = await Server.start({ args: ['--context-db', storeFile()] });
    await server.evaluate('(/ 1 0)');
    assert.equal((await server.call('list-context')).text, 'No context items.');
    await server.stop();
  });
  test('a store that cannot be used does not fail the evaluation', async () => {
    const server = await Server.start({
      args: ['--context-db', '/dev/null/c.db', '--auto-context', 'all'],
    });
    const { text, structured } = await server.evaluate('(+ 1 2)');
    assert.equal(text, '=> 3');
    assert.deepEqual(structured.context, { error: 'store-unavailable' });
    const listed = await server.call('list-context');
    assert.equal(listed.structured.error.code, 'store-unavailable');
    assert.match(listed.structured.error.message, /^\/dev\/null\/c\.db: /);
    await server.stop();
  });
});

// Another process that holds the write lock; the function returned makes it give the lock up.
async function lock(file) {
  const program = `import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
database.execute("COMMIT")`;
  const child = spawn('python3', ['-c', program, file], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return async () => {
    child.stdin.end();
    await once(child, 'exit');
  };
}

describe('a store that another process has locked', () => {
  const start = async (...args) => {
    const file = storeFile();
    const server = await Server.start({ args: ['--context-db', file, ...args] });
    await server.call('add-context', { content: 'first' });
    await server.evaluate('1');
    return { server, file };
  };
  const answersAtOnce = async (server) => {
    const started = performance.now();
    await server.client.ping();
    assert.equal((await server.call('evaluate-lisp', { code: '(+ 1 2)' })).text, '=> 3');
    assert.ok(performance.now() - started < 1000, `took ${performance.now() - started} ms`);
  };

  test('other requests are answered at once, the call when the lock is gone', async () => {
    const { server, file } = await start();
    const unlock = await lock(file);
    let added = false;
    const adding = server.call('add-context', { content: 'second' }).then((result) => {
      added = true;
      return result;
    });
    const listing = server.call('list-context');
    await answersAtOnce(server);
    await sleep(1000);
    await answersAtOnce(server);
    assert.equal(added, false);
    await unlock();
    assert.equal((await adding).structured.item.id, 'ctx-2');
    assert.equal((await listing).structured.count, 2, 'calls keep their order');
    await server.stop();
  });

  test('after 5 s the call fails', async () => {
    const { server, file } = await start();
    const unlock = await lock(file);
    const calls = [
      server.call('add-context', { content: 'never' }),
      server.call('remove-context', { id: 'ctx-1' }),
    ];
    await answersAtOnce(server);
    for (const { structured, seconds } of await Promise.all(calls)) {
      assert.deepEqual(structured.error, {
        code: 'store-busy',
        message: `${file}: another process kept it locked for 5 s`,
      });
      assert.ok(seconds > 4.5 && seconds < 8, `${seconds} s`);
    }
    await unlock();
    assert.equal((await server.call('list-context')).structured.count, 1);
    await server.stop();
  });

  test('evaluations are stored in their order, none is lost', async () => {
    const { server, file } = await start('--auto-context', 'all');
    const unlock = await lock(file);
    const evaluating = [1, 2, 3, 4].map((n) => server.evaluate(`(list ${n})`));
    await server.client.ping();
    await sleep(1500);
    await unlock();
    const results = await Promise.all(evaluating);
    assert.deepEqual(
      results.map(({ text }) => text),
      [1, 2, 3, 4].map((n) => `=> (${n})`),
    );
    assert.deepEqual(
      results.map(({ structured }) => structured.context.added),
      ['ctx-3', 'ctx-4', 'ctx-5', 'ctx-6'],
    );
    await server.stop();
  });

  test('a server that ends while calls wait ends cleanly', async () => {
    const { server, file } = await start('--auto-context', 'all');
    const unlock = await lock(file);
    const calls = [server.evaluate('(list 1)'), server.call('add-context', { content: 'second' })];
    await sleep(500);
    const stopping = server.stop();
    await Promise.allSettled(calls);
    await stopping;
    await unlock();
  });
});
