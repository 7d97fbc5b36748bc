// Runs that pause at random calls and are resumed, by approval or with the result from elsewhere, by the
// same server or another one: each ends in the Step of a run that never paused, and no call was made twice.
// 25 pauses, or 1,000 with CADRE_LONG=1; SEED chooses another run.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configure, run, takeCalls } from '../e2e/listing_support.mjs';
import { LONG, Server, temporaryDirectory } from '../e2e/support.mjs';

const PAUSES = LONG ? 1000 : 25;
const PAUSES_OF_A_SERVER = PAUSES / 5;
const env = { XDG_STATE_HOME: temporaryDirectory() };
const tools = [{ name: 'write' }, { name: 'look', annotations: { readOnlyHint: true } }];
const programs = [
  '(mapv (fn [n] (:n (a/write {:n n}))) (range 5))',
  '(pmap (fn [n] [(rand-int 1000) (:n (if (even? n) (a/write {:n n}) (a/look {:n n})))]) (range 8))',
  `(def seen (atom 0)) (doseq [n (shuffle (range 4))] (swap! seen + (* n (:n (a/write {:n n})))))
   (try (a/write {:n (/ @seen 0)}) (catch e [@seen (:n (a/write {:n 9}))]))`,
];
const limits = { seed: 11, timeout: 60_000 };

let state = Number(process.env.SEED ?? 1) >>> 0;
const random = (below) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return (state >>> 8) % below;
};
const start = (config) => Server.start({ args: ['--tools', 'full', '--mcp-config', config], env });

// What is the same in equal runs. Calls of `pmap` are listed as they were answered.
function essence({ structured = undefined, shown, isError, program, usage, tool_calls, ...step }) {
  const calls = tool_calls.map(({ duration_ms, ...call }) => JSON.stringify(call)).sort();
  return { ...step, calls, steps: usage.steps };
}

test(`${PAUSES} random pauses`, async () => {
  const asking = configure('asking', { a: { tools, trust_hints: true } });
  const free = await start(configure('free', { a: { tools, policy: 'allow' } }));
  const expected = [];
  const made = [];
  for (const source of programs) {
    expected.push(essence(await run(free, source, { limits })));
    made.push(
      takeCalls('free', 'a')
        .map((each) => JSON.stringify(each))
        .sort(),
    );
  }
  await free.stop();
  let server = await start(asking);
  let pauses = 0;
  for (let i = 0; pauses < PAUSES; i = (i + 1) % programs.length) {
    let step = await run(server, programs[i], { limits });
    const given = [];
    while (step.paused) {
      if (++pauses % PAUSES_OF_A_SERVER === 0) {
        await server.stop();
        server = await start(asking);
      }
      const { call, token } = step.paused;
      const answers = [{ approve: 'yes' }, { results: [{ value: call.args }] }];
      const chosen = random(2);
      if (chosen === 1) given.push(['write', call.args]);
      const { structured, text } = await server.call('resume-program', {
        run: token,
        ...answers[chosen],
      });
      step = { ...structured, shown: text, isError: false };
    }
    assert.deepEqual(essence(step), expected[i]);
    assert.deepEqual(
      [...takeCalls('asking', 'a'), ...given].map((each) => JSON.stringify(each)).sort(),
      made[i],
    );
  }
  await server.stop();
});
