// Programs over the user's MCP servers: what a call costs beside the server's own time, and how many
// characters go through the model when one program does what single calls would do.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { ask, expect, McpProcess, requestText, sample, StdioServer } from './clients.mjs';

export const title = 'programs over MCP servers';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const FILESYSTEM = path.join(
  HERE,
  '../tests/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js',
);
const CALLS = 2000;
const FILES = 200;

function configure(directory, servers) {
  const file = path.join(directory, 'servers.json');
  writeFileSync(file, JSON.stringify({ mcpServers: servers, policies: { '*': 'allow' } }));
  return ['--mcp-config', file];
}

// Milliseconds of one call: the difference of a program with many calls to one with none, by the number.
async function measureCalls(bench, directory) {
  execFileSync('ninja', ['--quiet', '-C', bench.build, 'bench/bench_echo'], { stdio: 'ignore' });
  const command = path.join(bench.build, 'bench/bench_echo');
  const server = new StdioServer(bench.cadre, configure(directory, { echo: { command } }));
  const program = (calls) => ({
    source: `(reduce (fn [n _] (+ n (count (echo/echo {:text "x"})))) 0 (range ${calls}))`,
    limits: { timeout: 60_000 },
  });
  try {
    await server.initialize();
    const floor = [];
    const calls = [];
    for (let turn = 0; turn < 6; turn++) {
      const question = (i) =>
        requestText('tools/call', { name: 'echo', arguments: { text: 'x' } }, i);
      floor.push(
        ...ask(bench, [command], { count: CALLS, pauseMs: 0, question, expected: 'echoed' }),
      );
      const none = await sample(5, () => server.call('run-program', program(0)), 1);
      const many = await sample(
        1,
        async () => expect(await server.call('run-program', program(CALLS)), `=> ${6 * CALLS}`),
        0,
      );
      calls.push((many[0] - Math.min(...none)) / CALLS);
    }
    const median = floor.sort((a, b) => a - b)[Math.floor(floor.length / 2)];
    bench.row('a call of an echo server', calls, { floor });
    bench.row(
      'the same without the server itself',
      calls.map((call) => call - median),
      { target: 0.15 },
    );
  } finally {
    server.stop();
  }
}

// What a model writes and reads: arguments of calls, texts of answers.
async function charactersOf(server, name, args) {
  const { result, error } = JSON.parse(await server.call(name, args));
  if (error) throw new Error(error.message);
  if (result.isError) throw new Error(result.content[0].text);
  const answer = result.content.map(({ text }) => text).join('');
  return name.length + JSON.stringify(args).length + answer.length;
}

async function measureCharacters(bench, directory) {
  const files = path.join(directory, 'files');
  mkdirSync(files);
  for (let i = 0; i < FILES; i++)
    writeFileSync(path.join(files, `${i}.txt`), `kind-${i % 7}\n${'a line of text\n'.repeat(20)}`);
  const command = { command: process.execPath, args: [FILESYSTEM, files] };
  const options = { cwd: files };
  const single = new McpProcess(command.command, command.args, options);
  const cadre = new StdioServer(bench.cadre, configure(directory, { files: command }), options);
  try {
    await single.initialize();
    let alone = 0;
    for (let i = 0; i < FILES; i++)
      alone += await charactersOf(single, 'read_text_file', { path: path.join(files, `${i}.txt`) });
    await cadre.initialize();
    const source = `(->> (range ${FILES})
     (pmap (fn [i] (:content (files/read-text-file {:path (str "${files}/" i ".txt")}))))
     (map (fn [text] (first (str/split-lines text))))
     frequencies)`;
    const together = await charactersOf(cadre, 'run-program', { source });
    bench.row(`${FILES} files read, grouped, counted by one program`, together, {
      unit: 'characters',
      floor: alone,
      target: Math.floor(alone / 20),
    });
    bench.note(
      'Characters: calls and answers that a model writes and reads; the floor is a call per file.',
    );
  } finally {
    single.stop();
    cadre.stop();
  }
}

export async function measure(bench) {
  const directory = mkdtempSync(path.join(tmpdir(), 'cadre-bench-'));
  try {
    await measureCalls(bench, directory);
    if (existsSync(FILESYSTEM)) await measureCharacters(bench, directory);
    else bench.skip('files read by one program', 'needs scripts/setup test');
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
