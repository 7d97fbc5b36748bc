// The official SDK clients against the server: v1, and v2 in its three modes, over stdio and HTTP.
// A client reports everything unexpected (a late message, an unknown id) as an `error` event: there must
// be none.
import { test, describe, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types1 from '@modelcontextprotocol/sdk/types.js';
import {
  Client as Client2,
  StreamableHTTPClientTransport as Http2,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { FIXTURES, HttpServer, ON_STDIO, sleep, within } from './mcp_support.mjs';

const MODES = [
  { name: 'v1', sdk: 1 },
  { name: 'v2 legacy', sdk: 2, mode: 'legacy' },
  { name: 'v2 auto', sdk: 2, mode: 'auto' },
  { name: 'v2 2026-07-28', sdk: 2, mode: { pin: '2026-07-28' } },
];
const NOTES1 = {
  'notifications/resources/updated': 'ResourceUpdatedNotificationSchema',
  'notifications/tools/list_changed': 'ToolListChangedNotificationSchema',
};

let http;
before(async () => {
  http = await HttpServer.start();
});
after(() => http.stop());

async function connect({ sdk, mode }, transport, capabilities = {}) {
  const client =
    sdk === 1
      ? new Client1({ name: 'test', version: '1' }, { capabilities })
      : new Client2({ name: 'test', version: '1' }, { capabilities, versionNegotiation: { mode } });
  const errors = [];
  client.onerror = (e) => errors.push(e);
  const notes = [];
  for (const [method, schema] of Object.entries(NOTES1))
    client.setNotificationHandler(sdk === 1 ? types1[schema] : method, (n) => {
      notes.push(n);
    });
  const [Stdio, Http] = sdk === 1 ? [Stdio1, Http1] : [Stdio2, Http2];
  await client.connect(
    transport === 'stdio'
      ? new Stdio({ command: FIXTURES, args: ON_STDIO, stderr: 'inherit' })
      : new Http(new URL(http.url)),
  );
  return {
    client,
    errors,
    notes,
    era: client.getProtocolEra?.() ?? 'legacy',
    call: (name, args, options) =>
      sdk === 1
        ? client.callTool({ name, arguments: args }, undefined, options)
        : client.callTool({ name, arguments: args }, options),
  };
}

async function withClient(mode, transport, run, capabilities) {
  const c = await connect(mode, transport, capabilities);
  let errors;
  // Closing makes some clients report their own open streams as aborted: look before.
  try {
    await run(c);
  } finally {
    errors = c.errors.map((e) => e.message);
    await c.client.close();
  }
  assert.deepEqual(errors, []);
}

for (const mode of MODES)
  for (const transport of ['stdio', 'http'])
    describe(`${mode.name} over ${transport}`, () => {
      test('the era is the right one', () =>
        withClient(mode, transport, async (c) => {
          assert.equal(c.era, mode.sdk === 1 || mode.mode === 'legacy' ? 'legacy' : 'modern');
          assert.match(JSON.stringify(c.client.getServerCapabilities()), /listChanged/);
          assert.equal(c.client.getServerVersion()?.name, 'cadre-conformance');
        }));
      test('lists, calls, resources, prompts, completion', () =>
        withClient(mode, transport, async (c) => {
          assert.equal((await c.client.listTools()).tools[0].name, 'test_simple_text');
          assert.equal((await c.call('greet', { name: 'SDK' })).content[0].text, 'Hello, SDK!');
          assert.equal((await c.call('greet', {})).isError, true);
          assert.equal((await c.client.listResources()).resources.length, 3);
          assert.equal((await c.client.listResourceTemplates()).resourceTemplates.length, 1);
          const read = await c.client.readResource({ uri: 'test://template/a%20b/data' });
          assert.equal(JSON.parse(read.contents[0].text).id, 'a b');
          await assert.rejects(c.client.readResource({ uri: 'test://none' }));
          assert.equal((await c.client.listPrompts()).prompts.length, 5);
          const prompt = await c.client.getPrompt({
            name: 'test_prompt_with_arguments',
            arguments: { arg1: 'a', arg2: 'b' },
          });
          assert.match(prompt.messages[0].content.text, /arg1='a', arg2='b'/);
          const completion = await c.client.complete({
            ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
            argument: { name: 'arg1', value: 'par' },
          });
          assert.deepEqual(completion.completion.values, ['paris', 'park', 'party']);
        }));
      test('progress arrives', () =>
        withClient(mode, transport, async (c) => {
          const seen = [];
          await c.call('test_tool_with_progress', {}, { onprogress: (p) => seen.push(p.progress) });
          assert.deepEqual(seen, [0, 50, 100]);
        }));
      test('cancellation is quick and nothing comes late', () =>
        withClient(mode, transport, async (c) => {
          const abort = new AbortController();
          const start = performance.now();
          const pending = c.call('slow_compute', { seconds: 1 }, { signal: abort.signal });
          setTimeout(() => abort.abort('test'), 100);
          await assert.rejects(pending);
          assert.ok(performance.now() - start < 900);
          await sleep(1200);
          assert.match((await c.call('greet', { name: 'again' })).content[0].text, /again/);
        }));
      test('20 calls at once', () =>
        withClient(mode, transport, async (c) => {
          const answers = await Promise.all(
            Array.from({ length: 20 }, (_, i) =>
              c.call('slow_compute', { seconds: (20 - i) / 100, label: `${i}` }),
            ),
          );
          answers.forEach((a, i) => assert.equal(a.content[0].text, `Computed: ${i}`));
        }));
      test('a change is announced', () =>
        withClient(mode, transport, async (c) => {
          const uri = 'test://watched-resource';
          if (c.era === 'modern')
            await c.client.listen({ resourceSubscriptions: [uri], toolsListChanged: true });
          else await c.client.subscribeResource({ uri });
          await c.call('touch_resource', {});
          await c.call('test_trigger_tool_change', {});
          await within(
            3000,
            (async () => {
              while (c.notes.length < 2) await sleep(20);
            })(),
            'notifications',
          );
          assert.deepEqual(c.notes.map((n) => n.method).sort(), [
            'notifications/resources/updated',
            'notifications/tools/list_changed',
          ]);
        }));
      test('the client is asked', () =>
        withClient(
          mode,
          transport,
          async (c) => {
            c.client.setRequestHandler(
              mode.sdk === 1 ? types1.ElicitRequestSchema : 'elicitation/create',
              async () => ({ action: 'accept', content: { name: 'Ada' } }),
            );
            const answer = await c.call('test_input_required_result_elicitation', {});
            assert.equal(answer.content[0].text, 'Hello, Ada!');
          },
          { elicitation: mode.sdk === 1 ? {} : { form: {} } },
        ));
    });
