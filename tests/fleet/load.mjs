// Load on a cluster while faults happen to it, and the history of what its clients have seen.
import { sleep } from '../e2e/support.mjs';
import { readJournal } from './nats.mjs';

const ITEMS_MAX = 40; // a store keeps the newest 50
const CALM_MS = 10_000; // after a fault every workspace must have answered within this

// One client: evaluations and context items in one workspace, through the balancer, one at a time.
async function work(fleet, workspace, history, state) {
  for (let turn = 0; !state.ended; turn++) {
    const token = `${workspace}-${turn}.`;
    const isItem = turn % 7 === 3 && turn < ITEMS_MAX * 7;
    const began = performance.now();
    try {
      const answer = isItem
        ? await fleet.call('all', workspace, 'add-context', { content: token, type: 'text' })
        : await fleet.evaluate('all', workspace, `(progn "${token}" (+ 1 2 3))`);
      if (answer.ok) {
        history.answers.push({
          workspace,
          kind: isItem ? 'item' : 'evaluation',
          token,
          number: isItem ? undefined : answer.value?.evaluation,
          owner: answer.owner,
          epoch: answer.epoch,
          began,
          ended: performance.now(),
        });
        state.seen.set(workspace, performance.now());
      } else {
        state.errors++;
      }
    } catch (error) {
      state.errors++;
      if (/hangs/.test(error.message)) history.problems.push(`${token}: ${error.message}`);
    }
    await sleep(isItem ? 50 : 300);
  }
}

// Every workspace answers again in time.
async function expectAnswers(state, history, what) {
  const since = performance.now();
  const silent = () => [...state.seen].filter(([, seen]) => seen < since).map(([name]) => name);
  while (silent().length > 0 && performance.now() - since < 3 * CALM_MS) await sleep(50);
  const took = performance.now() - since;
  state.say(`${what}: every workspace has answered again after ${(took / 1000).toFixed(1)} s`);
  if (took > CALM_MS)
    history.problems.push(`${what}: ${silent().length || 'some'} workspaces took ${took} ms`);
}

function faults(fleet) {
  return [
    ['a node is killed', () => fleet.kill(fleet.nodes[0]), () => fleet.startNode(0)],
    ['a node is cut off', () => fleet.cutOff(1), () => fleet.connectAgain(1), 20_000],
    ['a NATS server is killed', () => fleet.kill(fleet.servers[2]), () => fleet.startServer(2)],
    [
      'a node drains',
      () => fleet.run(0, 'cluster', 'drain', 'n2'),
      async () => {
        await fleet.kill(fleet.nodes[1], 'SIGTERM');
        fleet.startNode(1);
      },
    ],
  ];
}

export async function runFaults(fleet, { workspaces, seconds, say }) {
  const names = Array.from({ length: workspaces }, (_, index) => `w${index}`);
  const history = { answers: [], journals: new Map(), items: new Map(), problems: [] };
  const state = { ended: false, errors: 0, seen: new Map(), say };
  for (const name of names)
    await fleet.call('all', name, 'add-context', { content: 'first', type: 'text' });
  const clients = names.map((name) => work(fleet, name, history, state));
  while (state.seen.size < workspaces) await sleep(100);
  const pause = (seconds * 1000) / 10;
  await sleep(pause);
  for (const [what, begin, end, lasts = pause] of faults(fleet)) {
    await begin();
    await expectAnswers(state, history, what);
    await sleep(lasts);
    await end();
    await sleep(pause);
  }
  state.ended = true;
  await Promise.all(clients);
  say(`${history.answers.length} answers, ${state.errors} errors`);
  await collect(fleet, names, history);
  return history;
}

async function collect(fleet, names, history) {
  const nats = await fleet.nats(0);
  for (const name of names) {
    history.journals.set(name, await readJournal(nats, name));
    let rendered = {};
    for (let tries = 0; tries < 30 && !rendered.ok; tries++) {
      if (tries > 0) await sleep(1000);
      rendered = await fleet.call('all', name, 'render-context', {}).catch(() => ({}));
    }
    history.items.set(name, (rendered.shown ?? '').split('\n'));
  }
  nats.close();
}
