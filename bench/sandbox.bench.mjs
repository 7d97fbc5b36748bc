// What the sandbox costs: the same work under --sandbox workspace and, as the floor, off, by turns.
import { expect, sample, StdioServer } from './clients.mjs';

export const title = 'sandbox';

const TURNS = 10;
const MODES = ['off', 'workspace'];

async function evaluate(server, code, expected) {
  return expect(await server.call('evaluate-lisp', { code }), expected);
}

const open = (bench, mode) => new StdioServer(bench.cadre, ['--sandbox', mode]);

const middle = (samples) => samples.toSorted((a, b) => a - b)[samples.length >> 1];

// Each turn asks both, so that they see the same machine. `allowed` gives what it may cost from the floor.
async function compare(count, work, allowed) {
  const samples = { off: [], workspace: [] };
  for (let turn = 0; turn < TURNS; turn++)
    for (const mode of turn % 2 ? MODES : MODES.toReversed())
      samples[mode].push(...(await sample(count, () => work(mode), 1)));
  const target = allowed && Number(allowed(middle(samples.off)).toFixed(3));
  return [samples.workspace, { floor: samples.off, target }];
}

async function starts(bench) {
  const start = async (mode) => {
    const server = open(bench, mode);
    try {
      await server.initialize();
      await evaluate(server, '1', '=> 1');
    } finally {
      server.stop();
    }
  };
  bench.row('start to the first evaluation', ...(await compare(4, start, (floor) => floor + 4)));
}

export async function measure(bench) {
  await starts(bench);
  const servers = Object.fromEntries(MODES.map((mode) => [mode, open(bench, mode)]));
  try {
    for (const mode of MODES) await servers[mode].initialize();
    const ask = (mode) => evaluate(servers[mode], '(+ 1 2 3)', '=> 6');
    bench.row('(+ 1 2 3)', ...(await compare(50, ask, (floor) => 1.05 * floor)));
    const program = '(sb-ext:process-exit-code (sb-ext:run-program "/bin/true" nil))';
    const run = (mode) => evaluate(servers[mode], program, '=> 0');
    bench.row('run-program', ...(await compare(10, run)));
  } finally {
    for (const mode of MODES) servers[mode].stop();
  }
}
