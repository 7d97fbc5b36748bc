// HTTP clients that take their time, and more sessions than there is room for.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import net from 'node:net';
import { HttpServer, events, request2024, request2026, sleep, within } from './mcp_support.mjs';

const LONG = process.env.CADRE_LONG === '1'; // then also a client that sends a byte now and then

let server;
before(async () => {
  server = await HttpServer.start();
});
after(() => server.stop());

// Milliseconds until the server closes the connection; `write` is called every 200 ms.
function untilClosed(write) {
  return new Promise((resolve) => {
    const start = Date.now();
    const socket = net.connect(server.port, '127.0.0.1');
    let turn = 0;
    const timer = setInterval(() => write(socket, turn++), 200);
    socket.on('error', () => {});
    socket.resume();
    socket.on('close', () => {
      clearInterval(timer);
      resolve(Date.now() - start);
    });
  });
}

test('requests that never end are cut off, streams that are only quiet are not', {
  timeout: 70000,
}, async () => {
  const quiet = await server.post2026(
    request2026('s', 'subscriptions/listen', { notifications: { toolsListChanged: true } }),
  );
  const stream = events(quiet);
  await stream.next();
  const [silent, half, dribbling] = await Promise.all([
    untilClosed(() => {}),
    untilClosed((socket, turn) => {
      if (turn === 0)
        socket.write('POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{');
    }),
    LONG ? untilClosed((socket) => socket.write('X')) : undefined,
  ]);
  for (const ms of [silent, half]) assert.ok(ms > 8000 && ms < 15000, `${ms}`);
  if (LONG) assert.ok(dribbling > 35000 && dribbling < 45000, `${dribbling}`);
  const comment = await within(20000, stream.next(), 'sign of life');
  assert.equal(comment.value.raw, ':');
});

test('the longest idle session makes room for a new one', async () => {
  const first = await server.openSession();
  const second = await server.openSession();
  for (let i = 0; i < 255; i++) {
    await server.openSession();
    if (i % 50 === 0) assert.equal((await server.post(request2024(1, 'ping'), second)).status, 200);
    await sleep(1);
  }
  assert.equal((await server.post(request2024(1, 'ping'), first)).status, 404);
  assert.equal((await server.post(request2024(1, 'ping'), second)).status, 200);
});
