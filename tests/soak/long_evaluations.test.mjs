// Evaluations that last longer than their client waits for an answer: one in each of eight sessions at
// once, each with a call queued behind it. They are asked for input, watched, fed; four end by
// themselves, four are interrupted. The client gives up on any call after a minute, as many do.
// A few seconds each, or ten minutes with CADRE_LONG=1.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LONG, expectResult, useServer } from '../e2e/support.mjs';

const SECONDS = LONG ? 600 : 4;
const CLIENT_TIMEOUT_MS = 60_000;
const names = Array.from({ length: 8 }, (_, i) => `long-${i}`);
const EARLY = LONG ? 20 : 1; // seconds until a call is answered early
// Prints a number each second: none may be lost or come twice.
const codeThat = (ends) => `(format t "name? ") (finish-output)
  (let ((name (read-line)))
    (dotimes (i ${SECONDS}) (sleep 1) (format t "<~d>" i) (finish-output))
    ${ends ? '(list name :done)' : '(loop (sleep 1))'})`;

const server = useServer();
const call = (tool, parameters) =>
  server.call(tool, parameters, { timeout: CLIENT_TIMEOUT_MS, resetTimeoutOnProgress: false });
const number = (text) => Number(/"evaluation": (\d+)/.exec(text)?.[1]);

// The whole text of an evaluation, from one answer to the next, until `isEnough` of it is there.
async function watch(session, evaluation, isEnough) {
  let text = '';
  do {
    const answer = await call('wait', { session, evaluation, timeout: EARLY });
    text += answer.text;
    assert.ok(!answer.isError, text);
  } while (!isEnough(text));
  return text;
}

test(`eight evaluations of ${SECONDS} s at once, in a client that waits for a minute`, async () => {
  const outcomes = await Promise.all(
    names.map(async (session, i) => {
      const isStopped = i % 2 === 1;
      const started = await call('evaluate-lisp', {
        code: codeThat(!isStopped),
        session,
        interactive: true,
        timeout: 0,
        yield: EARLY,
      });
      assert.ok(!started.isError, started.text);
      const evaluation = number(started.text);
      if (!started.text.includes('[Waiting for input]'))
        await watch(session, evaluation, (text) => text.includes('[Waiting for input]'));
      const queued = await call('evaluate-lisp', { code: `(list ${i})`, session, yield: EARLY });
      assert.match(queued.text, /^\[Queued\]/);
      const fed = await call('wait', { session, evaluation, input: `n${i}\n`, timeout: EARLY });
      const last = isStopped ? `<${SECONDS - 1}>` : ':DONE';
      const isEnough = (text) => text.includes(last);
      const text = isEnough(fed.text) ? '' : await watch(session, evaluation, isEnough);
      let end = '';
      if (isStopped) end = (await call('wait', { session, evaluation, interrupt: true })).text;
      const behind = await watch(session, number(queued.text), (given) => given.includes('=>'));
      return { i, text: fed.text + text, end, behind, isStopped };
    }),
  );
  for (const { i, text, end, behind, isStopped } of outcomes) {
    const ticks = [...(text + end).matchAll(/<(\d+)>/g)].map(([, tick]) => Number(tick));
    assert.deepEqual(ticks, [...ticks.keys()]);
    assert.equal(behind, `=> (${i})`);
    if (isStopped) assert.match(end, /\[ERROR\] EVALUATION-INTERRUPTED/);
    else assert.match(text, new RegExp(`=> \\("n${i}" :DONE\\)`));
  }
  expectResult(await server.call('session-info', { session: names[0] }), { has: 'State: idle' });
});
