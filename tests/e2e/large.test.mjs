// Answers larger than one message: cut, and said so, in the text and in the structured form.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Server } from './support.mjs';

test('output and values beyond one message are cut to fit', async (t) => {
  const server = await Server.start();
  t.after(() => server.stop());
  await server.call('configure-limits', { 'max-output': 4000000 });
  const { text, structured, isError } = await server.evaluate(
    '(dotimes (i 200000) (print i)) (make-string 2000000 :initial-element #\\x)',
  );
  assert.ok(!isError);
  assert.ok(Buffer.byteLength(text) < 2 * 1024 * 1024);
  assert.match(
    text.slice(-200),
    /\[truncated: \d+ characters omitted; one answer holds 4194304 bytes\]$/,
  );
  assert.equal(structured.stdout.length + structured.omitted.stdout, 200000 * 2 + 1088890);
  assert.equal(structured.values[0].length + structured.omitted.values, 2000002);
  assert.equal(await server.value('(+ 1 2)'), '=> 3');
});
