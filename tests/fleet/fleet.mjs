// A cluster on one machine: NATS servers with JetStream, nodes (cadre daemon), and HAProxy in front of
// them. Each server stands with a node in a network namespace of its own, so that it can be cut off;
// where namespaces cannot be made, all are on the loopback.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, openSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { CADRE, sleep, temporaryDirectory } from '../e2e/support.mjs';
import { Nats } from './nats.mjs';

const BRIDGE = 'cadre-br';
const READY_MS = 60_000;
const network = (last) => `10.211.77.${last}`;

function ip(...words) {
  return spawnSync('ip', words, { encoding: 'utf8' });
}

export function canMakeNamespaces() {
  const name = `cadre-try-${process.pid}`;
  const made = ip('netns', 'add', name).status === 0;
  if (made) ip('netns', 'del', name);
  return made;
}

export const hasPrograms = (...names) =>
  names.every((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0);

function freePort() {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

export class Fleet {
  constructor({ count = 3, namespaces = false, balancer = false } = {}) {
    this.count = count;
    this.namespaces = namespaces;
    this.wantsBalancer = balancer;
    this.place = temporaryDirectory();
    this.ports = [];
    this.servers = [];
    this.nodes = [];
    this.indexes = Array.from({ length: count }, (_, index) => index);
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 256 });
  }

  // --- the network -------------------------------------------------------------------------------

  space(index) {
    return `cadre-n${index + 1}`;
  }

  host(index) {
    return this.namespaces ? network(index + 1) : '127.0.0.1';
  }

  port(kind, index) {
    return this.ports[index][kind];
  }

  url(index) {
    return `nats://${this.host(index)}:${this.port('client', index)}`;
  }

  makeNetwork() {
    this.removeNetwork();
    const steps = [
      ['link', 'add', BRIDGE, 'type', 'bridge'],
      ['addr', 'add', `${network(254)}/24`, 'dev', BRIDGE],
      ['link', 'set', BRIDGE, 'up'],
    ];
    for (const index of this.indexes) {
      const space = this.space(index);
      steps.push(
        ['netns', 'add', space],
        ['link', 'add', `${space}-a`, 'type', 'veth', 'peer', 'name', `${space}-b`],
        ['link', 'set', `${space}-b`, 'netns', space],
        ['link', 'set', `${space}-a`, 'master', BRIDGE],
        ['link', 'set', `${space}-a`, 'up'],
        ['-n', space, 'addr', 'add', `${this.host(index)}/24`, 'dev', `${space}-b`],
        ['-n', space, 'link', 'set', `${space}-b`, 'up'],
        ['-n', space, 'link', 'set', 'lo', 'up'],
      );
    }
    for (const step of steps) {
      const done = ip(...step);
      assert.equal(done.status, 0, `ip ${step.join(' ')}: ${done.stderr}`);
    }
  }

  removeNetwork() {
    for (const index of this.indexes) {
      ip('netns', 'del', this.space(index));
      ip('link', 'del', `${this.space(index)}-a`);
    }
    ip('link', 'del', BRIDGE);
  }

  cutOff(index) {
    assert.equal(ip('link', 'set', `${this.space(index)}-a`, 'down').status, 0);
  }

  connectAgain(index) {
    assert.equal(ip('link', 'set', `${this.space(index)}-a`, 'up').status, 0);
  }

  // --- processes ---------------------------------------------------------------------------------

  spawn(index, name, command, env = process.env) {
    const words =
      this.namespaces && index !== null
        ? ['ip', 'netns', 'exec', this.space(index), ...command]
        : command;
    const log = openSync(path.join(this.place, `${name}.log`), 'a');
    const child = spawn(words[0], words.slice(1), { stdio: ['ignore', log, log], env });
    child.ended = new Promise((resolve) => child.once('exit', resolve));
    return child;
  }

  startServer(index) {
    const routes = this.indexes
      .filter((other) => other !== index)
      .map((other) => `"nats://${this.host(other)}:${this.port('route', other)}"`);
    const file = path.join(this.place, `nats${index}.conf`);
    const cluster =
      this.count > 1
        ? `cluster { name: test, listen: "${this.host(index)}:${this.port('route', index)}", ` +
          `routes: [${routes.join(',')}] }\n`
        : '';
    writeFileSync(
      file,
      `server_name: s${index + 1}\nlisten: "${this.host(index)}:${this.port('client', index)}"\n` +
        `jetstream { store_dir: "${path.join(this.place, `js${index}`)}" }\n${cluster}`,
    );
    this.servers[index] = this.spawn(index, `nats${index}`, ['nats-server', '-c', file]);
  }

  nodeEnvironment(index) {
    const home = path.join(this.place, `n${index + 1}`);
    const run = path.join(home, 'run');
    mkdirSync(run, { recursive: true, mode: 0o700 });
    const { XDG_STATE_HOME, XDG_CACHE_HOME, XDG_CONFIG_HOME, ...rest } = process.env;
    return { ...rest, HOME: home, XDG_RUNTIME_DIR: run };
  }

  startNode(index, servers = this.indexes) {
    const token = path.join(this.place, 'token');
    writeFileSync(token, 'a-token-of-the-fleet\n', { mode: 0o600 });
    const options = ['daemon', '--cluster', servers.map((each) => this.url(each)).join(',')];
    options.push('--cluster-replicas', String(this.count), '--node', `n${index + 1}`);
    options.push('--http', `${this.host(index)}:${this.port('http', index)}`);
    options.push('--token-file', token, '--workspace', 'common', '--log-level', 'info');
    for (const name of [network(254), ...this.indexes.map((each) => this.host(each))])
      options.push('--allow-host', name);
    this.nodes[index] = this.spawn(
      index,
      `n${index + 1}`,
      [CADRE, ...options],
      this.nodeEnvironment(index),
    );
  }

  startBalancer() {
    const file = path.join(this.place, 'haproxy.cfg');
    const lines = this.indexes.map(
      (index) =>
        `  server n${index + 1} ${this.host(index)}:${this.port('http', index)} check inter 500 fall 2 rise 1 on-marked-down shutdown-sessions`,
    );
    writeFileSync(
      file,
      'defaults\n  mode http\n  timeout connect 1s\n  timeout client 60s\n  timeout server 60s\n' +
        '  retries 2\n  option redispatch\n' +
        `frontend all\n  bind ${this.namespaces ? network(254) : '127.0.0.1'}:${this.balancerPort}\n  default_backend nodes\n` +
        'backend nodes\n  balance roundrobin\n  option httpchk GET /healthz\n' +
        '  http-check send hdr Host localhost hdr Authorization "Bearer a-token-of-the-fleet"\n' +
        `${lines.join('\n')}\n`,
    );
    this.balancer = this.spawn(null, 'haproxy', ['haproxy', '-f', file]);
  }

  // Ports of the kernel's choice; the namespaces have all of theirs free.
  async choosePorts() {
    for (let index = 0; index <= Math.max(this.count, 2); index++) {
      const [client, route, http] = await Promise.all([freePort(), freePort(), freePort()]);
      this.ports.push({ client, route, http });
    }
    this.balancerPort = this.ports.at(-1).http;
  }

  async start() {
    await this.choosePorts();
    if (this.namespaces) this.makeNetwork();
    for (const index of this.indexes) this.startServer(index);
    for (const index of this.indexes) this.startNode(index);
    if (this.wantsBalancer) this.startBalancer();
    for (const index of this.indexes) await this.waitForNode(index);
  }

  async waitForNode(index) {
    const until = Date.now() + READY_MS;
    for (;;) {
      const text = await this.fetch(index, '/metrics').catch(() => '');
      if (text.includes('cadre_cluster_connected 1')) return;
      assert.ok(Date.now() < until, `node n${index + 1} is not ready: ${this.place}`);
      await sleep(100);
    }
  }

  async kill(child, signal = 'SIGKILL') {
    child.kill(signal);
    await child.ended;
  }

  async stop() {
    this.agent.destroy();
    const children = [...this.nodes, this.balancer, ...this.servers].filter((child) => child);
    for (const child of children) child.kill('SIGKILL');
    for (const child of children) await child.ended;
    if (this.namespaces) this.removeNetwork();
  }

  nats(index = 0) {
    return Nats.connect(this.host(index), this.port('client', index));
  }

  run(index, ...words) {
    return spawnSync(CADRE, words, { encoding: 'utf8', env: this.nodeEnvironment(index) });
  }

  // --- requests ----------------------------------------------------------------------------------

  // `to`: index of a node, or 'all' for the balancer.
  address(to) {
    if (to !== 'all') return { host: this.host(to), port: this.port('http', to) };
    return { host: this.namespaces ? network(254) : '127.0.0.1', port: this.balancerPort };
  }

  request(to, method, where, headers, body) {
    return new Promise((resolve, reject) => {
      const began = performance.now();
      const request = http.request(
        {
          ...this.address(to),
          method,
          path: where,
          agent: this.agent,
          headers: { Authorization: 'Bearer a-token-of-the-fleet', ...headers },
          timeout: 45_000,
        },
        (response) => {
          const parts = [];
          response.on('data', (part) => parts.push(part));
          response.on('error', reject);
          response.on('aborted', () => reject(new Error('the answer is not complete')));
          response.on('end', () =>
            resolve({
              status: response.statusCode,
              headers: response.headers,
              text: Buffer.concat(parts).toString(),
              began,
              ended: performance.now(),
            }),
          );
        },
      );
      request.on('timeout', () => request.destroy(new Error('it hangs')));
      request.on('error', reject);
      request.end(body);
    });
  }

  async fetch(to, where) {
    return (await this.request(to, 'GET', where, {})).text;
  }

  // A call of a tool, with the protocol that knows no sessions.
  async call(to, workspace, name, args) {
    const response = await this.request(
      to,
      'POST',
      '/mcp',
      {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': '2026-07-28',
        'Mcp-Method': 'tools/call',
        'Mcp-Name': name,
        'Cadre-Workspace': workspace,
      },
      JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name,
          arguments: args,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': {},
            'cadre/results': 'structured',
          },
        },
      }),
    );
    return { ...response, ...readAnswer(response) };
  }

  evaluate(to, workspace, code, more = {}) {
    return this.call(to, workspace, 'evaluate-lisp', { code, ...more });
  }
}

// {ok, value, owner, epoch}: of JSON, or of the last event of a stream.
function readAnswer({ status, headers, text }) {
  const [owner, epoch] = (headers['cadre-owner'] ?? ' ').split(' ');
  const events = [...text.matchAll(/^data: (.*)$/gm)];
  const json = headers['content-type']?.startsWith('text/event-stream') ? events.at(-1)?.[1] : text;
  let message = {};
  try {
    message = JSON.parse(json ?? '{}');
  } catch {
    return { ok: false, text };
  }
  const value = message.result?.structuredContent;
  const shown =
    message.result?.content?.map((part) => part.text).join('\n') ?? message.error?.message;
  return { ok: status === 200 && !!message.result, value, shown, owner, epoch: Number(epoch) };
}
