// A small MCP server that misbehaves as its first argument says. Tools: add {a, b}, env {name}, and the
// ones of the behaviour.
import { createInterface } from 'node:readline';

const behaviour = process.argv[2] ?? 'good';
const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const text = (id, shown) =>
  send({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: shown }] } });

const number = { type: 'number' };
const tools = [
  {
    name: 'add',
    description: 'Adds two numbers',
    inputSchema: { type: 'object', properties: { a: number, b: number }, required: ['a', 'b'] },
  },
  { name: 'env', description: 'A variable', inputSchema: { type: 'object' } },
  {
    name: 'work_hard',
    description: 'Does what the behaviour says',
    inputSchema: { type: 'object' },
  },
];
if (behaviour === 'names')
  tools.push(
    { name: 'evil\u0000name', inputSchema: { type: 'object' } },
    { name: 'work-hard', inputSchema: { type: 'object' } },
    { name: 'a"b', inputSchema: { type: 'object' } },
    { name: 'long', description: 'x'.repeat(1_000_000), inputSchema: { type: 'object' } },
  );
if (behaviour === 'bomb') {
  let schema = { type: 'string' };
  for (let i = 0; i < 60; i++)
    schema = { type: 'object', properties: { a: schema, b: { $ref: '#' } } };
  tools.push({ name: 'bomb', inputSchema: schema });
}

if (behaviour === 'many')
  for (let i = 0; i < 4000; i++)
    tools.push({
      name: `tool_${i}`,
      description: `Gives the number ${i}`,
      inputSchema: { type: 'object', properties: { a: number } },
    });
if (behaviour === 'flood')
  setInterval(() => {
    for (let i = 0; i < 1000 && process.stdout.writableLength < 1 << 20; i++)
      send({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 'x'.repeat(1000) } });
  }, 1);

let calls = 0;
const behaviours = {
  flaky: (id) => {
    if (++calls < 3) send({ jsonrpc: '2.0', id, error: { code: -32603, message: 'not yet' } });
    else text(id, `after ${calls} calls`);
  },
  random: (id) => {
    if (Math.random() < 0.3) process.exit(5);
    else text(id, 'alive');
  },
  flood: (id) => text(id, 'heard'),
  hang: () => {},
  die: () => process.exit(3),
  'print-secret': () => {
    process.stderr.write(`cannot log in with ${process.env.API_KEY}\n`, () => process.exit(4));
  },
  huge: (id) => text(id, 'x'.repeat(9 << 20)),
  line: async () => {
    const block = 'x'.repeat(1 << 20);
    for (let i = 0; i < 100; i++)
      await new Promise((resolve) => process.stdout.write(block, resolve));
  },
  ids: (id) => {
    for (const wrong of [`${id}0`, Number(id), null, `-${id}`, 1.5, {}]) text(wrong, 'wrong');
    text(id, 'right');
    text(id, 'twice');
  },
  noise: (id) => {
    process.stdout.write('this is no message\n\n{"jsonrpc": "2.0"}\n[1]\n\u0007\n');
    send({ jsonrpc: '2.0', id: 'q', method: 'sampling/createMessage', params: {} });
    send({ jsonrpc: '2.0', id: 'r', method: 'roots/list' });
    for (let i = 0; i < 5000; i++)
      send({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: i } });
    text(id, 'heard');
  },
  failing: (id) =>
    send({
      jsonrpc: '2.0',
      id,
      result: { isError: true, content: [{ type: 'text', text: 'no such\nthing' }] },
    }),
  refusing: (id) => send({ jsonrpc: '2.0', id, error: { code: -32602, message: 'not like that' } }),
};

const methods = {
  initialize: (id) => {
    if (behaviour === 'hang-initialize') return;
    send({
      jsonrpc: '2.0',
      id,
      result:
        behaviour === 'version'
          ? { protocolVersion: '1999-01-01', capabilities: {} }
          : {
              protocolVersion: '2025-06-18',
              capabilities: { tools: {} },
              serverInfo: { name: 'hostile', version: '1' },
            },
    });
  },
  'tools/list': (id, { cursor }) => {
    const at = Number(cursor ?? 0);
    const end = at + (behaviour === 'many' ? 500 : 1);
    const nextCursor = end < tools.length ? String(end) : undefined;
    send({ jsonrpc: '2.0', id, result: { tools: tools.slice(at, end), nextCursor } });
  },
  'tools/call': (id, { name, arguments: given }) => {
    if (name === 'add') text(id, `[${given.a + given.b}]`);
    else if (name === 'env') text(id, process.env[given.name] ?? 'unset');
    else if (name.startsWith('tool_')) text(id, name);
    else behaviours[behaviour]?.(id);
  },
};

if (behaviour === 'exit') process.exit(1);
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (behaviour === 'stateless' && (method === 'initialize' || !params._meta)) {
    if (id !== undefined)
      send({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
    return;
  }
  methods[method]?.(id, params);
});
