// A client that sends requests and does not read the answers: the server keeps what it owes, reads no
// more requests until it is read, and loses nothing.
import assert from 'node:assert/strict';
import path from 'node:path';
import test from 'node:test';
import { StdioServer, call, initialize, request2024, sleep, within } from './mcp_support.mjs';

const CADRE = path.resolve(process.env.CADRE);
const COUNT = 4000; // about 100 MB of answers

// Until the server takes no more requests, or has ended.
const untilStill = async (server) => {
  for (let still = 0, before = -1; still < 20 && server.child.exitCode === null; ) {
    await sleep(100);
    const length = server.child.stdin.writableLength;
    still = length === before ? still + 1 : 0;
    before = length;
  }
};

test('a client that does not read loses no answer and no session', {
  timeout: 240000,
}, async () => {
  const server = new StdioServer([CADRE, 'serve']);
  await server.open();
  await server.ask(call(request2024, 1, 'evaluate-lisp', { code: '(defvar *kept* 42)' }), 60000);
  server.child.stdout.pause();
  for (let i = 0; i < COUNT; i++) server.send(request2024(1000 + i, 'tools/list'));
  server.send(call(request2024, 2, 'evaluate-lisp', { code: '*kept*' }));
  await untilStill(server);
  assert.equal(server.child.exitCode, null, server.stderr);
  assert.ok(server.child.stdin.writableLength > 0, 'it went on reading');
  server.child.stdout.resume();
  assert.match((await server.answer(2, 120000)).result.content[0].text, /=> 42/);
  const answered = new Set(server.messages.map((message) => message.id));
  for (let i = 0; i < COUNT; i++) assert.ok(answered.has(1000 + i), `request ${1000 + i}`);
  await server.close(20000);
});

test('the end of input does not cut off what a slow client still reads', {
  timeout: 240000,
}, async () => {
  const server = new StdioServer([CADRE, 'serve']);
  server.send(initialize('2025-06-18'));
  server.child.stdout.pause();
  for (let i = 0; i < 600; i++) server.send(request2024(1000 + i, 'tools/list'));
  server.child.stdin.end();
  // Slower than the time the server gives calls after the end of input.
  for (let i = 0; i < 8; i++) {
    await sleep(500);
    server.child.stdout.read();
  }
  server.child.stdout.resume();
  await within(60000, server.exit, 'exit');
  assert.equal(server.messages.length, 601);
});
