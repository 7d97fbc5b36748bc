// Programs over MCP servers of the user: real ones from npm, and ones that misbehave.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Machine } from './daemon_support.mjs';
import { CADRE, readProc, sleep, temporaryDirectory, useServer } from './support.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const modules = path.resolve(here, '../node_modules/@modelcontextprotocol');
const directory = temporaryDirectory();

// What tools may be called is not asked here: that is what program_tools.test.mjs tests.
function configure(name, servers) {
  const file = path.join(directory, `${name}.json`);
  writeFileSync(file, JSON.stringify({ mcpServers: servers, policies: { '*': 'allow' } }));
  return file;
}
const node = (...args) => ({ command: process.execPath, args });
const hostile = (behaviour, more = {}) => ({
  ...node(path.join(here, 'hostile_server.mjs'), behaviour),
  ...more,
});

async function run(server, source, limits) {
  const { structured, text, isError } = await server.call('run-program', {
    source,
    ...(limits && { limits }),
  });
  return { value: structured.return, failure: structured.fail?.message, text, isError, structured };
}

describe('servers from npm', () => {
  const files = path.join(directory, 'files');
  mkdirSync(files);
  for (let i = 0; i < 200; i++)
    writeFileSync(path.join(files, `${i}.txt`), `kind-${i % 7}\n${'line\n'.repeat(100)}`);
  const config = configure('real', {
    files: node(path.join(modules, 'server-filesystem/dist/index.js'), files),
    everything: node(path.join(modules, 'server-everything/dist/index.js'), 'stdio'),
    memory: {
      ...node(path.join(modules, 'server-memory/dist/index.js')),
      env: { MEMORY_FILE_PATH: path.join(directory, 'memory.jsonl') },
    },
  });
  // The filesystem server asks for the roots, which replace its arguments: the workspace it is.
  const server = useServer({ args: ['--mcp-config', config], cwd: files });

  test('200 files are read, grouped and counted by one program', async () => {
    const { value, text, failure } = await run(
      server,
      `(->> (range 200)
            (pmap (fn [i] (:content (files/read-text-file {:path (str "${files}/" i ".txt")}))))
            (map (fn [text] (first (str/split-lines text))))
            frequencies)`,
    );
    assert.equal(failure, undefined);
    assert.deepEqual(value, {
      'kind-0': 29,
      'kind-1': 29,
      'kind-2': 29,
      'kind-3': 29,
      'kind-4': 28,
      'kind-5': 28,
      'kind-6': 28,
    });
    assert.ok(text.length < 1000, text);
  });
  test('names are spelled with - or _, and by call', async () => {
    const { value } = await run(
      server,
      '[(everything/echo {:message "a"}) (call "everything/echo" {:message "b"}) (everything/get_sum {:a 1 :b 2})]',
    );
    assert.match(value[0], /a/);
    assert.match(value[1], /b/);
    assert.match(value[2], /3/);
  });
  test('arguments are checked before the call', async () => {
    const { failure } = await run(server, '(everything/echo {:message 5})');
    assert.match(failure, /tool everything\/echo: message: expected string, got int 5/);
  });
  test('a name that is none has a suggestion', async () => {
    const { failure } = await run(server, '(everything/ecko {:message "a"})');
    assert.match(failure, /the server everything has no such tool, did you mean echo\?/);
  });
  test("a failing call is the tool's error", async () => {
    const { failure } = await run(server, '(files/read-text-file {:path "/nowhere"})');
    assert.match(failure, /tool 'files\/read-text-file' failed: .*Access denied/);
  });
  test('images stay out of the program', async () => {
    const { value } = await run(server, '(everything/get-tiny-image {})');
    const image = value.find((block) => block.type === 'image');
    assert.deepEqual(
      [image.mime_type, image.bytes > 100, image.data],
      ['image/png', true, undefined],
    );
  });
  test('a server keeps its state; memory/ is a namespace of the language', async () => {
    const entity = '{:name "x" :entityType "t" :observations ["o"]}';
    await run(server, `(mcp-memory/create-entities {:entities [${entity}]})`);
    const { value } = await run(server, '(map :name (:entities (mcp-memory/read-graph {})))');
    assert.deepEqual(value, ['x']);
  });
  test('list-program-tools lists them', async () => {
    const { text } = await server.call('list-program-tools', {});
    assert.match(text, /^files\/read-text-file \(path :string/m);
    assert.match(text, /^mcp-memory\/create-entities/m);
  });
  const found = async (args) => {
    const { structured } = await server.call('list-program-tools', args);
    return structured.tools.map(({ name }) => name);
  };
  test('and finds them by words, server and number', async () => {
    const readers = await found({ query: 'read the text of a file', limit: 3 });
    assert.ok(readers.includes('files/read-text-file'), `${readers}`);
    assert.equal((await found({ query: 'add numbers: sum' }))[0], 'everything/get-sum');
    assert.equal((await found({ query: 'entities', server: 'files' })).length, 0);
    const some = await found({ server: 'everything', limit: 3 });
    assert.equal(some.length, 3);
    assert.ok(some.every((name) => name.startsWith('everything/')));
    const { text } = await server.call('list-program-tools', { limit: 1 });
    assert.match(text, /\n\.\.\. \d+ more; `query` finds them/);
    const refused = await server.call('list-program-tools', { limit: 0 });
    assert.match(refused.text, /between 1 and 5000/);
  });
});

describe('servers that misbehave', () => {
  const servers = {
    good: hostile('good', { env: { GIVEN_TOKEN: 'given' } }),
    hang: hostile('hang', { timeout_ms: 300 }),
    stateless: hostile('stateless'),
    missing: { command: '/nonexistent/server' },
    'hang-initialize': hostile('hang-initialize'),
    flaky: hostile('flaky', { retry: { times: 2, backoff_ms: 1, on: ['error'] } }),
    'gives-up': hostile('flaky', { retry: { times: 1, backoff_ms: 1, on: ['error'] } }),
    small: hostile('huge', { max_result: 1000 }),
  };
  for (const name of [
    'die',
    'huge',
    'line',
    'ids',
    'noise',
    'failing',
    'refusing',
    'names',
    'bomb',
    'flood',
    'many',
    'random',
  ])
    servers[name] = hostile(name);
  servers.exit = hostile('exit');
  servers.version = hostile('version');
  servers.secret = hostile('print-secret', { env: { API_KEY: 'very-secret-value' } });
  const server = useServer({
    args: ['--mcp-config', configure('hostile', servers)],
    env: { SOME_TOKEN: 'hidden' },
  });
  const good = '(good/add {:a 1 :b 2})';

  const rows = [
    ['hang/work-hard', /no answer from the server hang within 300 ms/],
    ['gives-up/work-hard', /failed: not yet/],
    ['small/work-hard', /its result is larger than 1000 bytes \(max_result\)/],
    ['die/work-hard', /the server die failed: it ended with exit status 3/],
    ['huge/work-hard', /its result is larger than 8388608 bytes \(max_result\)/],
    ['line/work-hard', /the server line failed: it sent a message of more than 64 MiB/],
    ['failing/work-hard', /failed: no such thing/],
    ['refusing/work-hard', /failed: not like that/],
    ['exit/work-hard', /the server exit failed: it ended with exit status 1/],
    ['version/work-hard', /speaks no known version/],
    ['missing/anything', /cannot run \/nonexistent\/server: No such file/],
    ['secret/work-hard', /cannot log in with \*+ *$/],
  ];
  for (const [name, expected] of rows)
    test(name, async () => {
      const { failure, structured } = await run(server, `(${name} {})`);
      assert.match(failure ?? '', expected);
      assert.ok(!JSON.stringify(structured).includes('very-secret-value'));
      const { value } = await run(server, good);
      assert.deepEqual(value, [3]);
    });
  test('a program over servers has a second for its own work', async () => {
    const { fail } = (await run(server, `${good} (loop [] (recur))`)).structured;
    assert.deepEqual(fail.details.limit, {
      name: 'max_compute',
      value: 1000,
      option: 'max_compute',
    });
    assert.equal(fail.reason, 'timeout');
  });
  test('wrong and repeated ids are no answers', async () => {
    assert.equal((await run(server, '(ids/work-hard {})')).value, 'right');
  });
  test('what is no message is passed over', async () => {
    assert.equal((await run(server, '(noise/work-hard {})')).value, 'heard');
  });
  test('names that are none or collide are left out, long descriptions cut', async () => {
    const { structured } = await server.call('list-program-tools', {});
    const tools = structured.tools.filter((tool) => tool.name.startsWith('names/'));
    assert.deepEqual(
      tools.map((tool) => tool.name),
      ['names/add', 'names/env', 'names/work-hard', 'names/long'],
    );
    assert.ok(tools.every((tool) => (tool.description ?? '').length <= 4096));
    assert.ok(structured.tools.some((tool) => tool.name === 'bomb/bomb'));
    const missing = structured.tools.find((tool) => tool.name === 'missing/*');
    assert.match(missing.problem, /cannot run \/nonexistent\/server/);
  });
  test('a server that hangs at initialize costs those who call it', async () => {
    const { failure } = await run(server, '(hang-initialize/work-hard {})', { timeout: 300 });
    assert.match(failure ?? '', /the server hang-initialize|time/);
    assert.deepEqual((await run(server, good)).value, [3]);
  });
  test('endless notifications cost the server its own time', async () => {
    assert.equal((await run(server, '(flood/work-hard {})')).value, 'heard');
    assert.deepEqual((await run(server, good)).value, [3]);
  });
  test('4,000 tools', async () => {
    assert.equal((await run(server, '(many/tool-3999 {})')).value, 'tool_3999');
    const { structured } = await server.call('list-program-tools', { server: 'many', limit: 5000 });
    assert.equal(structured.tools.length, 4003);
    const query = { query: 'number 1234', limit: 1 };
    const found = await server.call('list-program-tools', query);
    assert.equal(found.structured.tools[0].name, 'many/tool-1234');
  });
  test('a server that ends at random is started again or rests; nothing else happens', async () => {
    for (let i = 0; i < 8; i++) {
      const { value, failure } = await run(server, '(random/work-hard {})');
      if (failure === undefined) assert.equal(value, 'alive');
      else assert.match(failure, /the server random failed: it ended with exit status 5/);
      assert.deepEqual((await run(server, good)).value, [3]);
    }
  });
  test('a failing call is made again where its entry says so', async () => {
    assert.equal((await run(server, '(flaky/work-hard {})')).value, 'after 3 calls');
  });
  test('a server of 2026-07-28', async () => {
    assert.deepEqual((await run(server, '(stateless/add {:a 2 :b 3})')).value, [5]);
  });
  test('it gets the variables of its entry, and no secrets', async () => {
    const { value } = await run(
      server,
      '[(good/env {:name "GIVEN_TOKEN"}) (good/env {:name "SOME_TOKEN"})]',
    );
    assert.deepEqual(value, ['given', 'unset']);
  });
  test('after five starts in a minute it rests', async () => {
    let failure;
    for (let i = 0; i < 40 && !/within a minute/.test(failure ?? ''); i++)
      ({ failure } = await run(server, '(die/work-hard {})'));
    assert.match(failure, /it was started 5 times within a minute/);
  });
  test('a run that ends cancels its calls', async () => {
    const { failure } = await run(server, '(hang/work-hard {})', { timeout: 100 });
    assert.match(failure, /time/);
    assert.deepEqual((await run(server, good)).value, [3]);
  });
  test('only what is allowed', async () => {
    const { structured } = await server.call('run-program', { source: good, tools: ['die'] });
    assert.ok(structured.fail, JSON.stringify(structured));
    const allowed = await server.call('run-program', { source: good, tools: ['good'] });
    assert.deepEqual(allowed.structured.return, [3]);
  });
});

describe('the lives of real servers', () => {
  const playwright = path.resolve(here, '../node_modules/@playwright/mcp/cli.js');
  const config = configure('lives', {
    everything: node(path.join(modules, 'server-everything/dist/index.js'), 'stdio'),
    thinking: node(path.join(modules, 'server-sequential-thinking/dist/index.js')),
    playwright: node(playwright, '--headless', '--browser', 'no-such-browser'),
  });
  const server = useServer({ args: ['--mcp-config', config] });
  const long = '(everything/trigger-long-running-operation {:duration 60 :steps 2})';
  const pid = () =>
    server
      .processes()
      .find((each) => readProc(each, 'cmdline').includes('server-everything/dist/index.js'));

  test('sequential-thinking keeps its thoughts', async () => {
    const think = (i) =>
      `(thinking/sequentialthinking {:thought "t${i}" :nextThoughtNeeded true
                                     :thoughtNumber ${i} :totalThoughts 2})`;
    const { value, failure } = await run(server, `[${think(1)} ${think(2)}]`);
    assert.equal(failure, undefined);
    assert.deepEqual(
      value.map((each) => each.thoughtHistoryLength),
      [1, 2],
    );
  });
  test('playwright has many tools; one without its browser fails as a tool', async () => {
    const { structured } = await server.call('list-program-tools', { server: 'playwright' });
    assert.ok(structured.tools.length > 20, `${structured.tools.length}`);
    const { failure } = await run(server, '(playwright/browser-navigate {:url "about:blank"})');
    assert.match(failure ?? '', /tool 'playwright\/browser-navigate' failed/);
  });
  test('a run that ends cancels a long call; the server is kept', async () => {
    assert.match((await run(server, '(everything/echo {:message "a"})')).value, /a/);
    const before = pid();
    assert.match((await run(server, long, { timeout: 300 })).failure, /time/);
    assert.match((await run(server, '(everything/echo {:message "b"})')).value, /b/);
    assert.equal(pid(), before);
  });
  test('death in mid-call fails the call, and the next one starts the server again', async () => {
    const before = pid();
    const call = run(server, long, { timeout: 60_000 });
    await sleep(200);
    process.kill(before, 'SIGKILL');
    assert.match((await call).failure, /the server everything failed: it was ended by signal 9/);
    assert.match((await run(server, '(everything/echo {:message "c"})')).value, /c/);
    assert.notEqual(pid(), before);
  });
});

describe('examples', () => {
  const root = path.resolve(here, '../..');
  test('servers: a real server, installed already instead of fetched by npx', () => {
    const servers = path.join(root, 'examples/servers');
    const { files } = JSON.parse(
      readFileSync(path.join(servers, 'servers.json'), 'utf8'),
    ).mcpServers;
    const [yes, name, ...rest] = files.args;
    assert.deepEqual([files.command, yes], ['npx', '-y']);
    const script = path.resolve(modules, '..', name, 'dist/index.js');
    const config = configure('example', { files: { ...files, ...node(script, ...rest) } });
    const options = ['--mcp-config', config, '--context', path.join(servers, 'context.json')];
    const { stdout, stderr } = spawnSync(
      CADRE,
      ['run', path.join(servers, 'headings.ptc'), ...options, '--value', '--json'],
      { cwd: root, encoding: 'utf8', timeout: 120_000 },
    );
    const docs = readdirSync(path.join(root, 'docs'), { recursive: true })
      .filter((file) => file.endsWith('.md'))
      .map((file) => ({
        file: path.basename(file),
        headings: readFileSync(path.join(root, 'docs', file), 'utf8').match(/^#/gm)?.length ?? 0,
      }))
      .sort((a, b) => b.headings - a.headings || (a.file < b.file ? -1 : 1));
    assert.deepEqual(JSON.parse(stdout || 'null'), docs.slice(0, 3), stderr);
  });
});

describe('the command line', () => {
  const cadre = (...args) => spawnSync(CADRE, args, { encoding: 'utf8', timeout: 120_000 });
  const config = configure('cli', { good: hostile('good'), exit: hostile('exit') });
  test('check says which answer', () => {
    const { stdout, status } = cadre('tools', 'check', '--mcp-config', config);
    assert.match(stdout, /^good: 3 tools, protocol 2025-06-18/m);
    assert.match(stdout, /^exit: the server exit failed: it ended with exit status 1/m);
    assert.equal(status, 1);
  });
  test('list has the signatures, also as JSON', () => {
    const { stdout } = cadre('tools', 'list', '--mcp-config', config);
    assert.match(stdout, /^ {2}good\/add \(a :float, b :float\) -> :any$/m);
    const [good] = JSON.parse(cadre('tools', 'list', '--json', '--mcp-config', config).stdout);
    assert.equal(good.tools[2].program_name, 'work-hard');
  });
  test('call prints the value', () => {
    const call = (...args) => cadre('tools', 'call', '--mcp-config', config, ...args);
    assert.deepEqual(call('good/add', '{"a": 1, "b": 2}').stdout, '[3]\n');
    assert.match(call('good/none').stderr, /there is no such tool/);
    assert.match(call('none/add').stderr, /there is no server none/);
    assert.equal(call('good/add', '[]').status, 2);
  });
  test('images reach programs where the entry asks for them', () => {
    const everything = node(path.join(modules, 'server-everything/dist/index.js'), 'stdio');
    const whole = configure('whole', { whole: { ...everything, data: true } });
    const { stdout } = cadre('tools', 'call', '--mcp-config', whole, 'whole/get-tiny-image', '{}');
    const { data, bytes } = JSON.parse(stdout).find((block) => block.type === 'image');
    const png = Buffer.from(data, 'base64');
    assert.deepEqual([png.length, png.toString('latin1', 1, 4)], [bytes, 'PNG']);
  });
  test('cadre run takes them, too', () => {
    const { stdout } = cadre(
      'run',
      '--mcp-config',
      config,
      '--value',
      '--json',
      '-e',
      '(good/add {:a 1 :b 2})',
    );
    assert.equal(stdout, '[3]\n');
  });
  test('a file that is wrong is named', () => {
    const wrong = configure('wrong', { a: {} });
    const { stderr, status } = cadre('tools', 'check', '--mcp-config', wrong);
    assert.match(stderr, /wrong\.json: server a: needs command or url/);
    assert.equal(status, 2);
  });
});

describe('through the daemon', () => {
  const machine = new Machine();
  after(() => machine.stop());
  test('programs call them there, with the variables of the client', async () => {
    const servers = { good: hostile('good', { env: { A: '${OF_THE_CLIENT}' } }) };
    const args = ['--mcp-config', configure('daemon', servers)];
    const client = await machine.client({ args, env: { OF_THE_CLIENT: 'yes' } });
    const source = '[(good/add {:a 1 :b 2}) (good/env {:name "A"})]';
    const text = await client.tool('run-program', { source });
    assert.equal(text.split('\n').at(-1), '=> [[3] "yes"]');
    await client.close();
  });
  test('and those that another client of the user has', async () => {
    const config = path.join(directory, 'config of the client');
    mkdirSync(path.join(config, 'Claude'), { recursive: true });
    writeFileSync(
      path.join(config, 'Claude/claude_desktop_config.json'),
      JSON.stringify({ mcpServers: { imported: hostile('good'), cadre: { command: CADRE } } }),
    );
    const args = ['--import', 'claude-desktop'];
    const client = await machine.client({ args, env: { XDG_CONFIG_HOME: config } });
    // Nobody has allowed it: the run pauses, and can go on in every set of tools.
    const paused = await client.tool('run-program', { source: '(imported/add {:a 1 :b 2})' });
    const [, run] = paused.match(/resume-program \{"run": "([^"]+)", "approve": "yes"\}$/);
    const text = await client.tool('resume-program', { run, approve: 'yes' });
    assert.equal(text.split('\n').at(-1), '=> [3]');
    await client.close();
  });
});
