// A well-behaved MCP server whose tools a test describes: its argument is a file of JSON {log, tools}, read
// anew for each tools/list. A tool is {name, description, inputSchema, annotations, outputSchema} and, for the
// server alone, {answer, delay_ms}. Every call is a line of the log. The tool `change` announces that the file
// has changed.
import { appendFileSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [file] = process.argv.slice(2);
const read = () => JSON.parse(readFileSync(file, 'utf8'));
const send = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

async function call(id, { name, arguments: given }) {
  const { log, tools } = read();
  const tool = tools.find((each) => each.name === name);
  if (log) appendFileSync(log, `${JSON.stringify([name, given])}\n`);
  await new Promise((resolve) => setTimeout(resolve, tool?.delay_ms ?? 0));
  if (name === 'change') send({ method: 'notifications/tools/list_changed' });
  const value = tool?.answer ?? given;
  send({ id, result: { content: [{ type: 'text', text: JSON.stringify(value) }] } });
}

const methods = {
  initialize: (id, { protocolVersion }) =>
    send({
      id,
      result: {
        protocolVersion,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'listing', version: '1' },
      },
    }),
  'tools/list': (id) =>
    send({
      id,
      result: {
        tools: read().tools.map(({ answer, delay_ms, ...tool }) => ({
          inputSchema: { type: 'object' },
          ...tool,
        })),
      },
    }),
  'tools/call': call,
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  methods[method]?.(id, params);
});
