// Five clients use one session at the same time while the daemon is killed now and then: every answer
// belongs to its request, and the journal has every evaluation once. `make kills` does it for a minute.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, it } from 'node:test';
import { CADRE, LONG, eventually, sleep } from './support.mjs';
import { Machine } from './daemon_support.mjs';
import { Listener } from './listener.mjs';
import { PipedRepl } from './repl_support.mjs';

const KILLS = LONG ? 20 : 2;
const MS_BETWEEN_KILLS = 3000;
const PATIENCE = 120; // seconds, on a busy machine
const ENDED = /daemon ended (while this (request was in flight|ran)|before it had read this)/;

const machine = new Machine();
after(() => machine.stop());

// A client asks until it is told to stop. `ask` gives its answer, or undefined where the connection was lost.
class Asker {
  constructor(name, ask) {
    this.name = name;
    this.ask = ask;
    this.asked = [];
    this.answered = new Set(); // codes
  }

  async run(isOver) {
    for (let n = 1; !isOver(); n++) {
      const code = `(list :${this.name} ${n})`;
      this.asked.push(code);
      const answer = await this.ask(code);
      if (answer === undefined || ENDED.test(answer)) continue;
      assert.match(answer, new RegExp(`(^|\\n)=> \\(:${this.name} ${n}\\)\\n?$`));
      this.answered.add(code);
    }
  }
}

async function overStdio() {
  const client = await machine.client();
  return async (code) => {
    const { error, result } = await client.request('tools/call', {
      name: 'evaluate-lisp',
      arguments: { code },
    });
    return error ? error.message : result.content[0].text;
  };
}

async function overHttp() {
  const listener = await new Listener(machine, ['serve', '--http', '127.0.0.1:0']).open();
  return async (code) => {
    try {
      return await listener.evaluate(code);
    } catch {
      await sleep(20); // nobody listens until there is another daemon
      return undefined;
    }
  };
}

// What is its own begins with "=> ", what others evaluate with "; ".
async function inRepl() {
  const repl = new PipedRepl(machine);
  const count = (pattern) => (repl.text.match(pattern) ?? []).length;
  return async (code) => {
    const before = [count(/^=> /gm), count(/DAEMON-ENDED/g)];
    repl.type(code);
    assert.ok(
      await eventually(
        () => count(/^=> .*\n/gm) > before[0] || count(/DAEMON-ENDED/g) > before[1],
        PATIENCE,
      ),
      `${code}\n${repl.text.slice(-2000)}`,
    );
    return count(/^=> /gm) > before[0] ? repl.text.match(/^=> .*$/gm).at(-1) : undefined;
  };
}

async function byCommand() {
  return (code) =>
    new Promise((resolve) => {
      const child = spawn(CADRE, ['eval', '--session', 'main', code], {
        cwd: machine.workspace,
        env: machine.env,
      });
      let stdout = '',
        stderr = '';
      child.stdout.on('data', (data) => (stdout += data));
      child.stderr.on('data', (data) => (stderr += data));
      child.on('close', (status) => {
        assert.ok(status === 0 || ENDED.test(stderr), stderr);
        resolve(status === 0 ? stdout : undefined);
      });
    });
}

function journal() {
  return ['journal.1.jsonl', 'journal.jsonl']
    .map((name) => path.join(machine.sessionPlace('main'), name))
    .filter((file) => existsSync(file))
    .flatMap((file) => readFileSync(file, 'utf8').trim().split('\n'))
    .map((line) => JSON.parse(line));
}

function checkJournal(askers) {
  const entries = journal();
  const started = entries.filter(({ event }) => event === 'started');
  const numbers = started.map(({ evaluation }) => evaluation);
  assert.equal(new Set(numbers).size, numbers.length, 'a number was used twice');
  const completed = new Map();
  for (const { evaluation, event } of entries)
    if (event === 'completed') completed.set(evaluation, (completed.get(evaluation) ?? 0) + 1);
  const numbersOf = new Map();
  for (const { evaluation, request } of started)
    numbersOf.set(request.code, [...(numbersOf.get(request.code) ?? []), evaluation]);
  for (const { asked, answered } of askers)
    for (const code of asked) {
      const list = numbersOf.get(code) ?? [];
      assert.ok(list.length <= 1, `${code} was evaluated ${list.length} times`);
      if (answered.has(code)) assert.equal(completed.get(list[0]), 1, `${code} is not completed`);
    }
}

it('gives each of five clients its own answers, whatever is killed', async () => {
  const [first, second, http, repl, command] = await Promise.all([
    overStdio(),
    overStdio(),
    overHttp(),
    inRepl(),
    byCommand(),
  ]);
  const askers = Object.entries({ A: first, B: second, HTTP: http, REPL: repl, EVAL: command }).map(
    ([name, ask]) => new Asker(name, ask),
  );
  let over = false;
  const running = Promise.all(askers.map((asker) => asker.run(() => over)));
  const answers = () => askers.map(({ answered }) => answered.size);
  for (let i = 0; i < KILLS; i++) {
    const before = answers();
    await sleep(Math.random() * MS_BETWEEN_KILLS);
    const all = () => answers().every((count, index) => count > before[index]);
    assert.ok(await Promise.race([eventually(all, PATIENCE), running]), `${before} ${answers()}`);
    process.kill(machine.lockFile().pid, 'SIGKILL');
  }
  over = true;
  await running;
  checkJournal(askers);
});
