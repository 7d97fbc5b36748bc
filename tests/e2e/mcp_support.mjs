// Drives an MCP server at the level of bytes: lines on stdio, raw sockets and fetch on HTTP.
// The server is the one of the conformance fixtures, which holds the same library as `cadre serve`.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { CADRE, THROUGH_DAEMON } from './support.mjs';

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), '../..');
const BUILD = path.resolve(process.env.CADRE_BUILD ?? path.join(ROOT, 'build/debug'));
export const FIXTURES = path.join(BUILD, 'tests/conformance/conformance-server');
// Its options on standard input/output.
export const ON_STDIO = THROUGH_DAEMON ? ['--relay', CADRE] : ['--stdio'];
export const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
export const VERSIONS_2024 = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const within = (ms, promise, what) => {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing within ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

export const initialize = (version, id = 0, capabilities = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'initialize',
  params: { protocolVersion: version, capabilities, clientInfo: { name: 'test', version: '1' } },
});
export const request2024 = (id, method, params = {}) => ({ jsonrpc: '2.0', id, method, params });
export const request2026 = (id, method, params = {}, meta = {}) => ({
  jsonrpc: '2.0',
  id,
  method,
  params: { ...params, _meta: { ...META, ...meta } },
});
export const call = (make, id, name, args = {}, ...rest) =>
  make(id, 'tools/call', { name, arguments: args }, ...rest);

// --- stdio ------------------------------------------------------------------------------------------

export class StdioServer {
  constructor(command = [FIXTURES, ...ON_STDIO]) {
    this.child = spawn(command[0], command.slice(1), { stdio: ['pipe', 'pipe', 'pipe'] });
    this.messages = [];
    this.waiting = [];
    this.stderr = '';
    this.rest = '';
    this.garbage = [];
    this.child.stderr.on('data', (d) => {
      this.stderr += d;
    });
    this.child.stdin.on('error', () => {});
    this.child.stdout.setEncoding('utf8');
    this.child.stdout.on('data', (d) => this.take(d));
    this.exit = new Promise((resolve) =>
      this.child.on('close', (code, signal) => resolve({ code, signal })),
    );
  }

  take(text) {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop();
    for (const line of lines) {
      let message;
      try {
        message = JSON.parse(line);
      } catch {
        this.garbage.push(line);
        continue;
      }
      this.messages.push(message);
    }
    this.waiting = this.waiting.filter((w) => !w());
  }

  write(text) {
    this.child.stdin.write(text);
  }
  send(...messages) {
    for (const m of messages) this.write(JSON.stringify(m) + '\n');
  }

  // The first message that satisfies the test, now or later; it is taken out of the list.
  wait(test, what = 'message', ms = 10000) {
    const take = (resolve) => {
      const index = this.messages.findIndex(test);
      if (index < 0) return false;
      resolve(this.messages.splice(index, 1)[0]);
      return true;
    };
    return within(
      ms,
      new Promise((resolve) => {
        if (!take(resolve)) this.waiting.push(() => take(resolve));
      }),
      what,
    );
  }

  answer(id, ms) {
    return this.wait((m) => m.id === id && m.method === undefined, `answer to ${id}`, ms);
  }
  async ask(message, ms) {
    this.send(message);
    return this.answer(message.id, ms);
  }
  async open(version = '2025-11-25', capabilities = {}) {
    const answer = await this.ask(initialize(version, 'init', capabilities));
    this.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return answer;
  }

  // Ends the input; the server must leave by itself.
  async close(ms = 5000) {
    this.child.stdin.end();
    const result = await within(ms, this.exit, 'exit').catch((e) => {
      this.child.kill('SIGKILL');
      throw e;
    });
    if (result.code !== 0) throw new Error(`exit ${JSON.stringify(result)}: ${this.stderr}`);
    if (this.garbage.length) throw new Error(`not protocol: ${this.garbage[0]}`);
    return result;
  }
}

// --- HTTP -------------------------------------------------------------------------------------------

export class HttpServer {
  // The token is the one that the server made; `env` may say where it is kept.
  static async start(options = [], command = [FIXTURES, '--http', '0'], env = {}) {
    const server = new HttpServer();
    server.child = spawn(command[0], [...command.slice(1), ...options], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...env },
    });
    server.stderr = '';
    server.exit = new Promise((resolve) =>
      server.child.on('close', (code, signal) => resolve({ code, signal })),
    );
    await within(
      10000,
      new Promise((resolve, reject) => {
        server.child.stderr.on('data', (d) => {
          server.stderr += d;
          const found = server.stderr.match(
            /listening on (http:\/\/\S+:(\d+)\/mcp)(?:\?token=(\S+))?(?: \(token in (.*)\))?\n/,
          );
          if (found) {
            server.url = found[1];
            server.port = +found[2];
            server.token = found[3] ?? (found[4] && readFileSync(found[4], 'utf8').trim());
            resolve();
          }
        });
        server.exit.then(() => reject(new Error(`did not start: ${server.stderr}`)));
      }),
      'start',
    );
    return server;
  }

  async stop(ms = 5000) {
    this.child.kill('SIGTERM');
    const result = await within(ms, this.exit, 'exit').catch((e) => {
      this.child.kill('SIGKILL');
      throw e;
    });
    if (result.code !== 0) throw new Error(`exit ${JSON.stringify(result)}: ${this.stderr}`);
  }

  get authorization() {
    return this.token ? { Authorization: `Bearer ${this.token}` } : {};
  }
  // As fetch(), of a path of the server.
  get(path, options = {}) {
    const headers = { ...this.authorization, ...options.headers };
    return fetch(new URL(path, this.url), { ...options, headers });
  }

  post(message, headers = {}, options = {}) {
    return fetch(this.url, {
      method: 'POST',
      body: typeof message === 'string' ? message : JSON.stringify(message),
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...this.authorization,
        ...headers,
      },
      ...options,
    });
  }

  // A request of the 2026 protocol with the headers that belong to it.
  post2026(message, headers = {}, options = {}) {
    const name = message.params?.name ?? message.params?.uri ?? message.params?.taskId;
    return this.post(
      message,
      {
        'MCP-Protocol-Version': '2026-07-28',
        'Mcp-Method': message.method,
        ...(name !== undefined && { 'Mcp-Name': name }),
        ...headers,
      },
      options,
    );
  }

  async openSession(version = '2025-11-25', capabilities = {}) {
    const response = await this.post(initialize(version, 'init', capabilities));
    const session = response.headers.get('mcp-session-id');
    await response.json();
    const headers = { 'Mcp-Session-Id': session, 'MCP-Protocol-Version': version };
    await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, headers);
    return headers;
  }

  // Bytes out, bytes in, until the server closes or `ms` of silence.
  raw(text, ms = 1000) {
    return new Promise((resolve, reject) => {
      let received = '';
      const socket = net.connect(this.port, '127.0.0.1', () => {
        if (text) socket.write(text);
      });
      socket.setTimeout(ms, () => socket.destroy());
      socket.on('data', (d) => {
        received += d;
      });
      socket.on('close', () => resolve(received));
      socket.on('error', (e) => (received ? resolve(received) : reject(e)));
    });
  }
  async rawStatus(text, ms) {
    return +((await this.raw(text, ms)).match(/^HTTP\/1\.1 (\d+)/)?.[1] ?? 0);
  }
}

// The events of an SSE response, one after the other.
export async function* events(response) {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
    rest = parts.pop();
    for (const part of parts) {
      const event = { raw: part };
      for (const line of part.split('\n')) {
        const [, name, text] = line.match(/^(\w*): ?(.*)$/) ?? [];
        if (name) event[name] = text;
      }
      if (event.data) event.message = JSON.parse(event.data);
      yield event;
    }
  }
}
export async function allEvents(response) {
  const list = [];
  for await (const event of events(response)) list.push(event);
  return list;
}
