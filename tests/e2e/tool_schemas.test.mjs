// What models read: schemas that every model API takes, and texts that name only tools that are there.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { initialize, request2024 } from './mcp_support.mjs';
import { askStdio } from './support.mjs';

const SELECTIONS = ['core', 'default', 'full', 'run-program', 'evaluate-lisp,inspect'];

const answersOf = (args) =>
  askStdio(
    [
      initialize('2025-11-25'),
      request2024(1, 'tools/list'),
      request2024(2, 'resources/read', { uri: 'cadre://guide' }),
      request2024(3, 'prompts/get', { name: 'cadre-guide' }),
      request2024(4, 'resources/list'),
    ],
    args,
  ).map((message) => message.result);

// The parts of a schema, each with its path.
function* partsOf(schema, path = '') {
  yield [path, schema];
  for (const [name, property] of Object.entries(schema.properties ?? {}))
    yield* partsOf(property, `${path}.${name}`);
  if (schema.items) yield* partsOf(schema.items, `${path}[]`);
}

// The keywords that OpenAI (functions, not strict), Gemini (`parameters`, a subset of OpenAPI) and
// Anthropic take. Gemini knows no additionalProperties; its clients drop it at the top.
const KEYWORDS = ['type', 'description', 'properties', 'required', 'items', 'enum'];
const TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object'];

function checkSchema(tool) {
  for (const [path, part] of partsOf(tool.inputSchema)) {
    const where = `${tool.name}${path}`;
    assert.equal(typeof part.type, 'string', `${where} has one type`);
    assert.ok(TYPES.includes(part.type), where);
    if (part.type === 'array') assert.ok(part.items?.type, `${where} has items`);
    if (part.properties) assert.equal(part.type, 'object', where);
    if (part.enum) {
      assert.equal(part.type, 'string', `${where}: Gemini takes enums of strings`);
      assert.ok(
        part.enum.every((each) => typeof each === 'string' && each !== ''),
        where,
      );
    }
    for (const name of part.required ?? []) assert.ok(name in part.properties, `${where}.${name}`);
    for (const name of Object.keys(part.properties ?? {}))
      assert.match(name, /^[a-zA-Z0-9_.-]{1,64}$/, where);
    const allowed = path === '' ? [...KEYWORDS, 'additionalProperties'] : KEYWORDS;
    assert.deepEqual(
      Object.keys(part).filter((name) => !allowed.includes(name)),
      [],
      where,
    );
  }
}

describe('schemas that every model API takes', () => {
  for (const results of ['text', 'structured']) {
    const [, { tools }] = answersOf(['--tools', 'full', '--results', results]);
    for (const tool of tools)
      test(`${tool.name}, ${results}`, () => {
        assert.match(tool.name, /^[a-zA-Z0-9_-]{1,64}$/);
        assert.equal(tool.inputSchema.type, 'object');
        assert.ok(tool.description.length > 0 && tool.description.length <= 1024);
        checkSchema(tool);
      });
  }
});

test('the core tools are loaded at once, others on demand', () => {
  const [, { tools: core }] = answersOf(['--tools', 'core']);
  const [, { tools: full }] = answersOf(['--tools', 'full']);
  const names = core.map((tool) => tool.name);
  for (const name of [
    'evaluate-lisp',
    'eval-in-frame',
    'invoke-restart',
    'rollback-session',
    'run-program',
  ])
    assert.ok(names.includes(name), name);
  for (const tool of full)
    assert.deepEqual(
      tool._meta,
      names.includes(tool.name) ? { 'anthropic/alwaysLoad': true } : undefined,
      tool.name,
    );
});

describe('texts name only tools that are there', () => {
  const [, { tools: all }] = answersOf(['--tools', 'full']);
  const known = all.map((tool) => tool.name);
  for (const selection of SELECTIONS)
    test(selection, () => {
      const [{ instructions }, { tools }, guide, prompt, { resources }] = answersOf([
        '--tools',
        selection,
      ]);
      const there = tools.map((tool) => tool.name);
      const texts = [instructions, guide.contents[0].text, prompt.messages[0].content.text];
      for (const text of texts) {
        assert.doesNotMatch(text, /<<|>>/);
        const named = text.match(/(?<![\w-])[a-z]+(?:-[a-z]+)+(?![\w-])/g) ?? [];
        for (const name of named)
          if (known.includes(name)) assert.ok(there.includes(name), `${name} in: ${text}`);
        assert.ok(there.includes('inspect') || !/\binspect (shows|\{)/.test(text), text);
      }
      for (const name of there.filter((each) => ['evaluate-lisp', 'run-program'].includes(each)))
        assert.ok(instructions.includes(name), name);
      const uris = resources.map((resource) => resource.uri);
      assert.equal(uris.includes('cadre://guide/programs'), there.includes('run-program'));
      const size = resources.find((resource) => resource.uri === 'cadre://guide').size;
      assert.equal(size, Buffer.byteLength(texts[1]));
    });
});

test('the language of programs is a resource', () => {
  const [, read] = askStdio([
    initialize('2025-11-25'),
    request2024(1, 'resources/read', { uri: 'cadre://guide/programs' }),
  ]);
  assert.match(read.result.contents[0].text, /PTC-Lisp/);
});

test('what was accepted before is accepted', () => {
  const call = (id, name, args) => request2024(id, 'tools/call', { name, arguments: args });
  const code = '(defun f (x) (+ (car x) "a")) (f (list 10 20 (list 30)))';
  const answers = askStdio(
    [
      initialize('2025-11-25'),
      call(1, 'evaluate-lisp', { code }),
      call(2, 'inspect', { value: '(list 10 (vector 20 30))', path: [1, 0] }),
      call(3, 'inspect', { value: '(list 10 (vector 20 30))', path: ['1', '0'] }),
      call(4, 'inspect', { value: '(list 10 (vector 20 30))', path: ['7'] }),
      call(5, 'invoke-restart', { restart: 99 }),
      call(6, 'invoke-restart', { restart: '99' }),
      call(7, 'invoke-restart', { restart: true }),
      call(8, 'run-program', { source: '(+ n 1)', memory: { n: 1 } }),
      call(9, 'run-program', { source: '1', memory: {}, memory_name: 'x' }),
      call(10, 'run-program', { source: '1', memory_name: 'Not A Name' }),
      call(11, 'run-program', { source: '1', memory: 'Not A Name' }),
      call(12, 'add-context', { content: 'x', metadata: null }),
    ],
    ['--tools', 'full', '--context-db', ':memory:'],
  );
  const text = (id) => answers.find((answer) => answer.id === id).result.content[0].text;
  for (const id of [2, 3]) assert.match(text(id), /= 20\b/, text(id));
  assert.match(text(4), /no part 7/);
  for (const id of [5, 6])
    assert.match(text(id), /no.such.restart|There is no restart|99/i, text(id));
  assert.match(text(7), /must be a string or integer|restart/);
  assert.match(text(8), /=> 2/);
  assert.match(text(9), /memory or memory_name, not both/);
  for (const id of [10, 11]) assert.match(text(id), /named like a session/);
  assert.match(text(12), /ctx-1/);
});
