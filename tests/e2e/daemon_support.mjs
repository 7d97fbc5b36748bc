// A machine of its own for tests of the daemon: a home, a runtime directory, a workspace; and clients
// that speak to `cadre serve` as lines.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { CADRE, processesWith, readProc, temporaryDirectory } from './support.mjs';

const ANSWER_MS = 120_000;

export class Machine {
  constructor(env = {}) {
    this.clients = [];
    this.home = temporaryDirectory();
    this.workspace = path.join(this.home, 'project');
    const runtime = path.join(this.home, 'run');
    mkdirSync(path.join(this.workspace, '.git'), { recursive: true });
    mkdirSync(runtime, { mode: 0o700 });
    const { CADRE_PRIVATE, XDG_STATE_HOME, XDG_CACHE_HOME, ...rest } = process.env;
    this.marker = `CADRE_TEST_MACHINE=${this.home}`;
    this.env = {
      ...rest,
      HOME: this.home,
      XDG_RUNTIME_DIR: runtime,
      CADRE_TEST_MACHINE: this.home,
      ...env,
    };
  }

  run(args, { input, env, cwd = this.workspace } = {}) {
    return spawnSync(CADRE, args, {
      cwd,
      env: { ...this.env, ...env },
      input,
      encoding: 'utf8',
      timeout: ANSWER_MS,
    });
  }

  lockFile() {
    return JSON.parse(
      readFileSync(path.join(this.home, '.local/state/cadre/daemon.lock'), 'utf8') || '{}',
    );
  }

  // Where a session of the workspace is kept.
  sessionPlace(name) {
    const workspaces = path.join(this.home, '.local/state/cadre/workspaces');
    const [home] = readdirSync(workspaces).filter((each) => each.startsWith('project-'));
    return path.join(workspaces, home, 'sessions', name);
  }

  // The pids of the daemons of this machine. Only root can read the environment of a daemon, and so tell
  // them from those of other machines, whose tests run at the same time; for others the list is empty.
  daemons() {
    return processesWith(this.marker).filter((pid) =>
      readProc(pid, 'cmdline').endsWith('cadre\0daemon\0'),
    );
  }

  async client(options) {
    const client = new LineClient(this, options);
    this.clients.push(client);
    await client.open();
    return client;
  }

  stop() {
    for (const client of this.clients) client.child.kill('SIGKILL');
    this.run(['daemon', 'stop']);
  }
}

export class LineClient {
  constructor(machine, { args = [], env, cwd = machine.workspace, capabilities = {}, roots } = {}) {
    this.capabilities = capabilities;
    this.roots = roots; // answers roots/list
    this.child = spawn(CADRE, ['serve', ...args], {
      cwd,
      env: { ...machine.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.last = 0;
    this.pending = new Map();
    this.notifications = [];
    this.stderr = '';
    let rest = '';
    this.child.stderr.setEncoding('utf8').on('data', (data) => {
      this.stderr += data;
    });
    this.child.stdin.on('error', () => {});
    this.child.stdout.setEncoding('utf8').on('data', (data) => {
      const lines = (rest + data).split('\n');
      rest = lines.pop();
      for (const line of lines) this.take(JSON.parse(line));
    });
    this.ended = new Promise((resolve) => this.child.on('close', resolve));
    this.ended.then(() => {
      for (const { reject } of this.pending.values())
        reject(new Error(`cadre serve has ended: ${this.stderr}`));
    });
  }

  take(message) {
    if (message.method) {
      this.notifications.push(message);
      if (message.method === 'roots/list' && this.roots) this.roots(message);
      return;
    }
    const waiter = this.pending.get(message.id);
    assert.ok(waiter, `an answer to no request: ${JSON.stringify(message)}`);
    this.pending.delete(message.id);
    waiter.resolve(message);
  }

  send(method, params) {
    const id = ++this.last;
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return id;
  }

  reply(id, result) {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
  }

  request(method, params) {
    const id = this.send(method, params);
    return new Promise((resolve, reject) => this.pending.set(id, { resolve, reject }));
  }

  async open() {
    const { result } = await this.request('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: this.capabilities,
      clientInfo: { name: 'test', version: '1' },
    });
    assert.ok(result);
    this.child.stdin.write(
      `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`,
    );
  }

  async tool(name, args) {
    const answer = await this.request('tools/call', { name, arguments: args });
    assert.ok(answer.result, JSON.stringify(answer));
    return answer.result.content.map(({ text }) => text).join('\n');
  }

  evaluate(code, args = {}) {
    return this.tool('evaluate-lisp', { code, ...args });
  }

  async close() {
    this.child.stdin.end();
    return this.ended;
  }
}
