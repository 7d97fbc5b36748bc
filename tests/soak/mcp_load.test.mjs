// 200 HTTP clients at once, 50 of them slow or broken: every request of the others is answered, and when
// they are gone the server holds no more descriptors and hardly more memory than before.
// 8 s, or 60 s with CADRE_LONG=1.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { HttpServer, META, sleep } from '../e2e/mcp_support.mjs';

const SECONDS = process.env.CADRE_LONG === '1' ? 60 : 8;
const GOOD = 150,
  BAD = 50;
const HEADERS = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
  'MCP-Protocol-Version': '2026-07-28',
  'Mcp-Method': 'tools/call',
};

const descriptors = (pid) => readdirSync(`/proc/${pid}/fd`).length;
const resident = (pid) =>
  +readFileSync(`/proc/${pid}/status`, 'latin1').match(/VmRSS:\s+(\d+)/)[1] / 1024;

function request(agent, port, name, args) {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 0,
    method: 'tools/call',
    params: { name, arguments: args, _meta: META },
  });
  return new Promise((resolve, reject) => {
    const r = http.request(
      {
        agent,
        port,
        host: '127.0.0.1',
        path: '/mcp',
        method: 'POST',
        timeout: 20000,
        headers: { ...HEADERS, 'Mcp-Name': name, 'Content-Length': Buffer.byteLength(body) },
      },
      (response) => {
        let text = '';
        response.on('data', (d) => {
          text += d;
        });
        response.on('end', () => resolve({ status: response.statusCode, text }));
        response.on('error', reject);
      },
    );
    r.on('timeout', () => r.destroy(new Error('no answer within 20 s')));
    r.on('error', reject);
    r.end(body);
  });
}

async function goodClient(port, number, until, tally) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  while (Date.now() < until) {
    const slow = Math.random() < 0.1;
    const label = `${number}-${tally.answered}`;
    const { status, text } = slow
      ? await request(agent, port, 'slow_compute', { seconds: 0.05, label })
      : await request(agent, port, 'greet', { name: label });
    assert.equal(status, 200, text);
    assert.ok(text.includes(slow ? `Computed: ${label}` : `Hello, ${label}!`), text);
    tally.answered++;
    await sleep(Math.random() * 20);
  }
  agent.destroy();
}

const lines = (more) =>
  [
    'POST /mcp HTTP/1.1',
    'Host: localhost',
    ...Object.entries(HEADERS).map(([k, v]) => `${k}: ${v}`),
    ...more,
    '',
    '',
  ].join('\r\n');
const body = (name, args) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: args, _meta: META },
  });
const BAD_WAYS = [
  async (s, until) => {
    for (const c of lines(['X: y'])) {
      if (Date.now() > until) break;
      s.write(c);
      await sleep(100);
    }
  }, // dribbles
  async (s) => {
    s.write(lines(['Content-Length: 1000']) + '{');
    await sleep(500);
    s.resetAndDestroy();
  }, // breaks off
  async (s) => {
    s.write(Buffer.from(Array.from({ length: 500 }, () => Math.random() * 256)));
    await sleep(200);
  }, // rubbish
  async (s) => {
    const b = body('slow_compute', { seconds: 30 }); // leaves
    s.write(lines(['Mcp-Name: slow_compute', `Content-Length: ${b.length}`]) + b);
    await sleep(100);
    s.destroy();
  },
  async (s) => {
    const b = body('test_tool_with_progress', {}); // does not read
    s.pause();
    s.write(
      (lines(['Mcp-Name: test_tool_with_progress', `Content-Length: ${b.length}`]) + b).repeat(20),
    );
    await sleep(1000);
  },
  async () => {
    await sleep(2000);
  }, // says nothing
];

async function badClient(port, number, until) {
  while (Date.now() < until) {
    const socket = net.connect(port, '127.0.0.1');
    socket.on('error', () => {});
    await BAD_WAYS[number % BAD_WAYS.length](socket, until);
    socket.destroy();
    await sleep(10);
  }
}

test(`200 clients for ${SECONDS} s`, { timeout: (SECONDS + 60) * 1000 }, async () => {
  const server = await HttpServer.start();
  try {
    const { pid } = server.child;
    const tally = { answered: 0 };
    const crowd = (seconds) => {
      const until = Date.now() + seconds * 1000;
      return Promise.all([
        ...Array.from({ length: GOOD }, (_, i) => goodClient(server.port, i, until, tally)),
        ...Array.from({ length: BAD }, (_, i) => badClient(server.port, i, until)),
      ]);
    };
    const fresh = descriptors(pid);
    await crowd(2); // warm
    await sleep(2500);
    const before = { descriptors: descriptors(pid), memory: resident(pid) };
    await crowd(SECONDS);
    await sleep(2500);
    const after = { descriptors: descriptors(pid), memory: resident(pid) };
    console.log(`${tally.answered} requests answered`, { fresh, before, after });
    assert.ok(tally.answered > GOOD * SECONDS);
    assert.ok(after.descriptors <= fresh + 2, 'descriptors grew');
    assert.ok(after.memory < before.memory + 16, 'memory grew');
  } finally {
    await server.stop();
  }
});
