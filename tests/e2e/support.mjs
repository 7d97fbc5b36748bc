// What the end-to-end tests share: a server under test, driven by an official MCP client, and the
// checks that hold for every test. A server's standard output may hold nothing but JSON-RPC, every
// structuredContent must be valid under its tool's outputSchema, and a server that has ended must
// leave no process behind; `stop()` fails otherwise.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import Ajv from 'ajv/dist/2020.js';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const CADRE = process.env.CADRE ?? path.join(ROOT, 'build/debug/src/cli/cadre');
// Servers of the tests have their sessions to themselves. With CADRE_THROUGH=daemon those on standard
// input/output are relays, each to a daemon of its own, which ends with them.
process.env.CADRE_PRIVATE ??= 'true';
export const THROUGH_DAEMON = process.env.CADRE_THROUGH === 'daemon';
export const LONG = process.env.CADRE_LONG === '1';
const REQUEST_TIMEOUT_MS = 120_000;
const PATIENCE = 30; // seconds, on a busy machine

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// A directory that is gone when the test process ends.
export function temporaryDirectory(parent = tmpdir()) {
  const directory = mkdtempSync(path.join(parent, 'cadre-e2e-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

// Waits until `condition()` is true; false when it was not within `seconds`.
export async function eventually(condition, seconds = 2) {
  const end = Date.now() + seconds * 1000;
  while (Date.now() < end) {
    if (await condition()) return true;
    await sleep(20);
  }
  return Boolean(await condition());
}

// --- processes ---------------------------------------------------------------------------------

// A file of a process; empty when it has ended.
export function readProc(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}

// The pids of all live processes (zombies are not) whose environment holds `text`.
export function processesWith(text) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => readProc(pid, 'environ').includes(text))
    .filter((pid) => !/^State:\s+Z/m.test(readProc(pid, 'status')))
    .map(Number);
}

export function residentBytes(pid) {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readProc(pid, 'status'))?.[1] ?? 0) * 1024;
}

export function descriptors(pid) {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`);
      } catch {
        return '';
      }
    });
  } catch {
    return [];
  }
}

// Clock ticks the process has used so far.
export function processorTicks(pid) {
  const fields = readProc(pid, 'stat')
    .replace(/^.*\) /, '')
    .split(' ');
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
}

// The answers to the requests, in their order, of one server on standard input/output.
export function askStdio(requests, options = [], env = {}) {
  const { stdout, stderr, status } = spawnSync(CADRE, ['serve', ...options], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
    input: requests.map((message) => `${JSON.stringify(message)}\n`).join(''),
    timeout: 120_000,
  });
  assert.deepEqual([stderr, status], ['', 0]);
  const messages = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  return requests.map((each) => messages.find((message) => message.id === each.id));
}

// --- daemon ------------------------------------------------------------------------------------

// The places of a daemon that serves one relay; `env` may name others.
class OwnDaemon {
  constructor(env) {
    const home = temporaryDirectory();
    this.env = { XDG_STATE_HOME: home, XDG_RUNTIME_DIR: home };
    const { HOME, XDG_STATE_HOME } = { ...process.env, ...this.env, ...env };
    this.state = XDG_STATE_HOME || path.join(HOME, '.local/state');
  }

  // undefined: none has run.
  get pid() {
    try {
      return JSON.parse(readFileSync(path.join(this.state, 'cadre/daemon.lock'), 'utf8')).pid;
    } catch {
      return undefined;
    }
  }

  end() {
    try {
      process.kill(this.pid, 'SIGKILL');
    } catch {
      /* it has ended */
    }
  }
}

// --- transport ---------------------------------------------------------------------------------

// Client transport that forgives nothing: each line of the server's standard output is one JSON-RPC
// message. (The official one skips what is not JSON, which is what these tests look for.)
class StrictTransport {
  constructor({ command: [program, ...before], args, env, cwd, sandboxed }) {
    this.strays = [];
    this.stderr = '';
    this.messages = 0;
    this.marker = `CADRE_TEST_ID=${randomUUID()}`;
    const [name, value] = this.marker.split('=');
    // The files of tests are not in the workspace, which is the source tree.
    const allowed = sandboxed ? [] : ['--allow-write', tmpdir()];
    this.daemon = THROUGH_DAEMON && !args.includes('--private') ? new OwnDaemon(env) : undefined;
    const { CADRE_PRIVATE, ...shared } = process.env;
    const places = this.daemon ? { ...shared, ...this.daemon.env } : process.env;
    const shown = ['--results', 'structured', '--tools', 'full', '--yield', '0'];
    this.process = spawn(program, [...before, 'serve', ...shown, ...allowed, ...args], {
      cwd,
      env: { ...places, ...env, [name]: value },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.ended = new Promise((resolve) =>
      this.process.on('close', (status, signal) => resolve({ status, signal })),
    );
  }

  // Of the process that has the sessions.
  get pid() {
    return this.daemon?.pid ?? this.process.pid;
  }

  async start() {
    let rest = '';
    this.process.on('error', (error) => this.onerror?.(error));
    this.process.stdin.on('error', (error) => this.onerror?.(error));
    this.process.stdout.setEncoding('utf8');
    this.process.stdout.on('data', (data) => {
      const lines = (rest + data).split('\n');
      rest = lines.pop();
      for (const line of lines) this.take(line);
    });
    this.process.stderr.setEncoding('utf8');
    this.process.stderr.on('data', (data) => {
      this.stderr += data;
    });
    this.process.on('close', () => {
      if (rest) this.strays.push(rest);
      this.onclose?.();
    });
  }

  take(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      /* reported below */
    }
    if (message?.jsonrpc !== '2.0') {
      this.strays.push(line);
      return;
    }
    this.messages++;
    this.onmessage?.(message);
  }

  async send(message) {
    this.process.stdin.write(`${JSON.stringify(message)}\n`);
  }

  async close() {
    this.process.stdin.end();
    await this.ended;
  }
}

// --- server ------------------------------------------------------------------------------------

async function newClient(sdk, era) {
  const information = { name: 'cadre-tests', version: '1.0.0' };
  if (sdk === 'v1') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    return new Client(information, { capabilities: {} });
  }
  const { Client } = await import('@modelcontextprotocol/client');
  const mode = ['legacy', 'auto'].includes(era) ? era : { pin: era };
  return new Client(information, { capabilities: {}, versionNegotiation: { mode } });
}

export class Server {
  static async start({
    sdk = 'v2',
    era = 'legacy',
    command = [CADRE],
    args = [],
    env = {},
    cwd,
    sandboxed = false, // true: no file of the test is reachable unless `args` say so
  } = {}) {
    const server = new Server();
    server.sdk = sdk;
    server.transport = new StrictTransport({ command, args, env, cwd, sandboxed });
    server.client = await newClient(sdk, era);
    server.errors = [];
    server.client.onerror = (error) => server.errors.push(error);
    await server.client.connect(server.transport, { timeout: REQUEST_TIMEOUT_MS });
    await server.readSchemas();
    return server;
  }

  get pid() {
    return this.transport.pid;
  }
  get ended() {
    return this.transport.ended;
  }

  // All live processes that belong to this server, itself included.
  processes() {
    return processesWith(this.transport.marker);
  }

  async readSchemas() {
    const ajv = new Ajv({ strict: false, allErrors: true });
    this.tools = (await this.client.listTools()).tools;
    this.validators = new Map(
      this.tools.map((tool) => [tool.name, ajv.compile(tool.outputSchema)]),
    );
  }

  // Calls a tool: {text, content, structured, isError, seconds}. A protocol error is thrown.
  async call(tool, parameters = {}, options = {}) {
    const request = { name: tool, arguments: parameters };
    const settings = { timeout: REQUEST_TIMEOUT_MS, ...options };
    const started = performance.now();
    const result =
      this.sdk === 'v1'
        ? await this.client.callTool(request, undefined, settings)
        : await this.client.callTool(request, settings);
    return this.checked(tool, result, (performance.now() - started) / 1000);
  }

  checked(tool, result, seconds) {
    const { shown: given } = result.structuredContent ?? {};
    const shown = Array.isArray(given) ? given.filter(({ kind }) => kind !== 'refused') : [];
    assert.equal(result.content?.length, 1 + shown.length, `${tool}: content blocks`);
    assert.equal(result.content[0].type, 'text');
    assert.ok(result.structuredContent, `${tool}: structuredContent is missing`);
    const validate = this.validators.get(tool);
    assert.ok(
      validate(result.structuredContent),
      `${tool}: structuredContent is invalid: ` +
        `${JSON.stringify(validate.errors)} in ${JSON.stringify(result.structuredContent).slice(0, 2000)}`,
    );
    const isError = result.isError === true;
    assert.equal(result.structuredContent.ok, !isError, `${tool}: ok and isError disagree`);
    const { content, structuredContent: structured } = result;
    return { text: content[0].text, content, structured, isError, seconds };
  }

  evaluate(code, parameters = {}, options = {}) {
    return this.call('evaluate-lisp', { code, ...parameters }, options);
  }

  // Evaluates code that is expected to succeed and gives its whole text.
  async value(code, parameters = {}) {
    const { text, isError } = await this.evaluate(code, parameters);
    assert.ok(!isError, `${code}\n${text}`);
    return text;
  }

  // The checks that hold for every server, then the end: EOF, exit status 0, nothing left.
  async stop() {
    await this.client.close();
    const { status, signal } = await this.ended;
    this.transport.daemon?.end();
    this.assertClean();
    assert.deepEqual({ status, signal }, { status: 0, signal: null }, this.transport.stderr);
    assert.ok(
      await eventually(() => this.processes().length === 0, PATIENCE),
      `processes left behind: ${this.describeProcesses()}`,
    );
  }

  async kill() {
    this.transport.process.kill('SIGKILL');
    await this.ended;
    this.transport.daemon?.end();
    assert.ok(
      await eventually(() => this.processes().length === 0, PATIENCE),
      `processes left behind: ${this.describeProcesses()}`,
    );
  }

  describeProcesses() {
    return this.processes()
      .map(
        (pid) =>
          `${pid}: ${readProc(pid, 'cmdline').replaceAll('\0', ' ')} ${/^State:.*/m.exec(readProc(pid, 'status'))}`,
      )
      .join('\n');
  }

  assertClean() {
    assert.deepEqual(
      this.transport.strays,
      [],
      'standard output holds something else than JSON-RPC',
    );
    assert.deepEqual(this.errors.map(String), [], 'the client reported errors');
    assert.equal(this.transport.stderr, '', 'the server wrote to standard error');
  }
}

// A server for the tests of one `describe`. Gives an object that becomes the server before the first.
export function useServer(options = {}) {
  const holder = {};
  const proxy = new Proxy(holder, {
    get(target, name) {
      const member = target.server?.[name];
      return typeof member === 'function' ? member.bind(target.server) : member;
    },
  });
  before(async () => {
    holder.server = await Server.start(options);
  });
  after(async () => {
    await holder.server?.stop();
  });
  return proxy;
}

// --- expectations ------------------------------------------------------------------------------

// Checks a result against what a table row says:
//   'text'              success with exactly this text
//   /pattern/           success whose text matches
//   { is, has, lacks, match, type, message, frames, lastFrame, code, seconds, ok }
//   a function          called with the result
// `has`, `lacks`: strings; `type`, `message` (beginning), `frames` (the first calls) of the error,
// any of which makes it an expected failure; `ok: false` alone expects a failure.
export function expectResult(result, expected) {
  if (typeof expected === 'function') return expected(result);
  if (typeof expected === 'string') return expectResult(result, { is: expected });
  if (expected instanceof RegExp) return expectResult(result, { match: expected });
  const { text, structured, isError, seconds } = result;
  const shown = `\n--- text\n${text}\n---`;
  const fails =
    expected.ok === false ||
    ['type', 'message', 'frames', 'code', 'phase'].some((key) => expected[key] !== undefined);
  assert.equal(isError, fails, `isError is ${isError}${shown}`);
  if (expected.is !== undefined) assert.equal(text, expected.is);
  if (expected.match) assert.match(text, expected.match);
  for (const part of [expected.has ?? []].flat())
    assert.ok(text.includes(part), `lacks ${JSON.stringify(part)}${shown}`);
  for (const part of [expected.lacks ?? []].flat())
    assert.ok(!text.includes(part), `has ${JSON.stringify(part)}${shown}`);
  if (expected.seconds) {
    const [least, most] = expected.seconds;
    assert.ok(
      seconds >= least && seconds <= most,
      `took ${seconds} s, not ${least} to ${most}${shown}`,
    );
  }
  if (fails) expectError(structured.error, text, expected, shown);
}

function expectError(error, text, expected, shown) {
  assert.ok(error, `no error in structuredContent${shown}`);
  assert.ok(error.message.length > 0, 'empty message');
  if (expected.code) assert.equal(error.code, expected.code, shown);
  if (expected.phase) assert.equal(error.phase, expected.phase, shown);
  if (expected.type) {
    assert.equal(error.type, expected.type, shown);
    assert.ok(text.includes(`[ERROR] ${expected.type}\n`), `no [ERROR] ${expected.type}${shown}`);
  }
  if (expected.message !== undefined) {
    assert.ok(
      error.message.startsWith(expected.message),
      `message ${JSON.stringify(error.message)} does not begin with ${JSON.stringify(expected.message)}`,
    );
    assert.ok(text.includes(expected.message), `the text lacks the message${shown}`);
  }
  const calls = (error.frames ?? []).map((frame) => frameCall(frame));
  for (const [index, call] of (expected.frames ?? []).entries()) {
    if (call instanceof RegExp) assert.match(calls[index] ?? '', call);
    else assert.equal(calls[index], call, `frame ${index} of ${JSON.stringify(calls)}`);
  }
  if (expected.lastFrame) assert.equal(calls.at(-1), expected.lastFrame);
}

// A frame as people write the call.
export const frameCall = (frame) => `(${[frame.function, ...(frame.arguments ?? [])].join(' ')})`;

// A name for a test of some code: one line, not too long.
export function titleOf(code) {
  const line = String(code).replace(/\s+/g, ' ').trim();
  return line.length > 90 ? `${line.slice(0, 87)}...` : line || '(empty)';
}

// Describes rows [code, expected, parameters]: what evaluate-lisp answers, one server for all.
export function evaluationTable(name, rows) {
  describe(name, () => {
    const server = useServer();
    for (const [code, expected, parameters] of rows) {
      test(titleOf(code), async () =>
        expectResult(await server.evaluate(code, parameters), expected),
      );
    }
  });
}

// Describes rows [tool, parameters, expected].
export function callTable(name, rows) {
  describe(name, () => {
    const server = useServer();
    for (const [tool, parameters, expected] of rows) {
      test(titleOf(`${tool} ${JSON.stringify(parameters)}`), async () =>
        expectResult(await server.call(tool, parameters), expected),
      );
    }
  });
}

// Where the only workspace of a state directory has its named memories.
export function memoriesIn(state) {
  const workspaces = path.join(state, 'cadre/workspaces');
  return path.join(workspaces, readdirSync(workspaces)[0], 'memories');
}
