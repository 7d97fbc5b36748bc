// Which calls programs may make, and runs that pause until a person has answered.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { configure, fileOf, run, takeCalls } from './listing_support.mjs';
import { CADRE, eventually, Server, temporaryDirectory, useServer } from './support.mjs';

const state = temporaryDirectory();
const env = { XDG_STATE_HOME: state };
const tools = [
  { name: 'look', annotations: { readOnlyHint: true }, answer: { n: 1 } },
  { name: 'write' },
  { name: 'erase' },
  { name: 'slow', delay_ms: 3000 },
];
const entry = { tools, trust_hints: true };
const server = (name) => useServer({ args: ['--tools', 'full', '--mcp-config', name], env });

async function resume(client, token, answer) {
  const {
    structured,
    text: shown,
    isError,
  } = await client.call('resume-program', {
    run: token,
    ...answer,
  });
  return { ...structured, shown, isError };
}
const paused = (step) => {
  assert.equal(step.isError, false, step.shown);
  assert.deepEqual([step.return, step.fail, step.ok], [null, null, true], step.shown);
  assert.match(step.paused.until, /^\d{4}-\d\d-\d\dT/);
  return step.paused;
};

describe('policies', () => {
  const config = configure(
    'policies',
    {
      a: {
        ...entry,
        tools: [
          ...tools,
          { name: 'late' },
          { name: 'change', annotations: { readOnlyHint: true } },
        ],
      },
      b: { tools, policy: 'deny' },
      c: { tools },
    },
    { policies: { '*/erase': 'deny', 'c/wr*': { policy: 'allow', effect: 'read' } } },
  );
  const client = server(config);

  test('reads of a server whose hints are trusted go through', async () => {
    assert.deepEqual((await run(client, '(a/look {})')).return, { n: 1 });
  });
  test('unknown tools are writes, and asked about', async () => {
    const { call } = paused(await run(client, '(a/write {:x 1})'));
    assert.deepEqual(call, { name: 'a/write', args: { x: 1 } });
    paused(await run(client, '(c/look {})'));
    assert.deepEqual(takeCalls('policies', 'a'), [['look', {}]]);
    assert.deepEqual(takeCalls('policies', 'c'), []);
  });
  test('the heavier rule holds; a program can catch a refusal', async () => {
    assert.equal((await run(client, '(c/write {})')).ok, true);
    const { fail } = await run(client, '(c/erase {})');
    assert.equal(fail.message, "tool 'c/erase' failed: the policy */erase denies it");
    const caught = await run(client, '(:error (attempt (b/look {})))');
    assert.match(caught.return.message, /the policy b\/\* denies it/);
  });
  test('a dry run makes no writes and lists them', async () => {
    takeCalls('policies', 'a');
    const step = await run(client, '[(a/look {}) (a/write {:x 1}) (a/late {:y 2})]', {
      dry_run: true,
    });
    assert.deepEqual(step.return, [{ n: 1 }, null, null]);
    assert.deepEqual(step.writes, [
      { name: 'a/write', args: { x: 1 } },
      { name: 'a/late', args: { y: 2 } },
    ]);
    assert.match(step.shown, /\[not made: dry run\]\na\/write \{"x":1\}/);
    assert.deepEqual(takeCalls('policies', 'a'), [['look', {}]]);
  });
  test('a hint that changes asks again', async () => {
    const file = fileOf('policies', 'a');
    const listing = JSON.parse(readFileSync(file));
    listing.tools[0].description = 'Now it looks elsewhere';
    writeFileSync(file, JSON.stringify(listing));
    await run(client, '(a/change {})');
    let step;
    await eventually(async () => (step = await run(client, '(a/look {})')).paused, 20);
    assert.equal((await resume(client, paused(step).token, { approve: true })).ok, true);
    assert.equal((await run(client, '(a/look {})')).ok, true);
    assert.equal((await run(client, '(a/look {})')).paused, undefined);
  });
});

describe('runs that pause', () => {
  const client = server(configure('pausing', { a: entry }));
  const calls = () => takeCalls('pausing', 'a');

  test('approved, the run goes on where it was', async () => {
    const source = `(let [before (a/look {}) t (System/currentTimeMillis) r (rand-int 1000000)
                          w (a/write {:t t :r r})]
                      [before (= w {"t" t "r" r})])`;
    const { token } = paused(await run(client, source));
    assert.deepEqual(calls(), [['look', {}]]);
    const step = await resume(client, token, { approve: true });
    assert.deepEqual(step.return, [{ n: 1 }, true], step.shown);
    assert.deepEqual(
      calls().map(([name]) => name),
      ['write'],
    );
    assert.deepEqual(
      step.tool_calls.map(({ name }) => name),
      ['a/look', 'a/write'],
    );
  });
  test('a token is claimed once, tampered and foreign ones are refused', async () => {
    const { token } = paused(await run(client, '(a/write {})'));
    const flipped = token.slice(0, -1) + (token.endsWith('0') ? '1' : '0');
    for (const wrong of [flipped, '../../etc/passwd', token.toUpperCase(), '0'.repeat(65), ''])
      assert.match((await resume(client, wrong, { approve: true })).shown, /UNKNOWN-RUN/);
    const other = await Server.start({
      args: ['--tools', 'full'],
      env: { XDG_STATE_HOME: temporaryDirectory() },
    });
    assert.match((await resume(other, token, { approve: true })).shown, /UNKNOWN-RUN/);
    await other.stop();
    const both = await Promise.all([1, 2].map(() => resume(client, token, { approve: true })));
    assert.deepEqual(both.map(({ ok }) => ok).sort(), [false, true]);
    assert.equal(calls().length, 1);
  });
  test('refused, the call is an error of the program', async () => {
    for (const approve of [false, 'no']) {
      const { token } = paused(await run(client, '(try (a/write {}) (catch e (ex-message e)))'));
      const { return: value } = await resume(client, token, { approve });
      assert.match(value, /a person refused this call/);
    }
    assert.deepEqual(calls(), []);
    const { token } = paused(await run(client, '(a/write {})'));
    for (const approve of ['maybe', 'YES', 1, null, ''])
      assert.equal((await resume(client, token, { approve })).isError, true);
    assert.equal((await resume(client, token, { approve: 'yes' })).ok, true);
    assert.equal(calls().length, 1);
  });
  test('one approval for all of a tool; another tool asks again', async () => {
    const source = '(doseq [i (range 3)] (a/write {:i i})) (a/erase {}) :done';
    const first = paused(await run(client, source));
    const second = paused(await resume(client, first.token, { approve: 'all' }));
    assert.equal(second.call.name, 'a/erase');
    assert.equal(calls().length, 3);
    assert.equal((await resume(client, second.token, { approve: true })).return, 'done');
    assert.equal(calls().length, 1);
  });
  test('results from elsewhere', async () => {
    const source = '(try (:v (a/write {})) (catch e (ex-message e)))';
    const one = paused(await run(client, source));
    const given = await resume(client, one.token, { results: [{ value: { v: [1] } }] });
    assert.deepEqual(given.return, [1]);
    const two = paused(await run(client, source));
    const failed = await resume(client, two.token, { results: [{ error: 'no such account' }] });
    assert.match(failed.return, /no such account/);
    assert.deepEqual(calls(), []);
    const three = paused(await run(client, source));
    assert.match((await resume(client, three.token, {})).shown, /INVALID-ARGUMENT/);
    assert.equal((await resume(client, three.token, { approve: false })).ok, true);
  });
  test('calls of pmap that were made are not made again', async () => {
    const source = `(pmap (fn [i] (if (= i 5) (a/write {:i i}) (a/look {:i i}))) (range 12))`;
    const { token } = paused(await run(client, source));
    const before = calls().length;
    assert.ok(before >= 1 && before < 12, `${before}`);
    const step = await resume(client, token, { approve: true });
    assert.deepEqual(step.return.length, 12, step.shown);
    assert.equal(before + calls().length, 12);
  });
  test('a write that was begun and never answered is unknown, and not repeated', async () => {
    const source = '(pmap (fn [f] (f)) [#(a/slow {}) #(do (a/look {}) (a/write {}))])';
    const again = paused(await run(client, source, { limits: { timeout: 1000 } }));
    assert.equal(again.call.name, 'a/slow');
    // Approved, it is under way while the other asks; the time is over before it answers.
    const second = paused(await resume(client, again.token, { approve: true }));
    assert.equal(second.call.name, 'a/write');
    calls();
    const step = await resume(client, second.token, { approve: true });
    const third = paused(step);
    assert.deepEqual([third.call.name, third.call.state], ['a/slow', 'unknown']);
    assert.match(step.shown, /not known whether this call was made/);
    const { return: value } = await resume(client, third.token, { results: [{ value: 7 }] });
    assert.deepEqual(value, [7, {}]);
    assert.deepEqual(
      calls().map(([name]) => name),
      ['write'],
    );
  });
  test('a failed run lists the writes that did happen', async () => {
    const { token } = paused(await run(client, '(a/write {:x 1}) (a/look {}) (/ 1 0)'));
    const { fail, writes, shown } = await resume(client, token, { approve: true });
    assert.match(fail.message, /zero/);
    assert.deepEqual(writes, [{ name: 'a/write', args: { x: 1 } }]);
    assert.match(shown, /\[made before the failure\]\na\/write \{"x":1\}/);
  });
  test('a named memory is written by the end of the run, unless it has changed', async () => {
    const more = { memory_name: 'kept' };
    const source = '(def n (inc (or memory/n 0))) (a/write {}) n';
    const one = paused(await run(client, source, more));
    assert.equal((await run(client, 'memory/n', more)).return, null);
    assert.equal((await resume(client, one.token, { approve: true })).return, 1);
    const two = paused(await run(client, source, more));
    await run(client, '(def n 10)', more);
    const conflict = await resume(client, two.token, { approve: true });
    assert.match(conflict.shown, /MEMORY-CONFLICT/);
    assert.equal((await run(client, 'memory/n', more)).return, 10);
  });
  test('another server goes on, from a file that only the user reads', async () => {
    const { token } = paused(await run(client, '(let [x (a/look {})] (a/write {}) x)'));
    const folder = readdirSync(state, { recursive: true }).find((name) => /paused$/.test(name));
    const file = path.join(state, folder, `${token.slice(0, 32)}.json`);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const other = await Server.start({
      args: ['--tools', 'full', '--mcp-config', configure('other', { a: entry })],
      env,
    });
    const step = await resume(other, token, { approve: true });
    assert.deepEqual(step.return, { n: 1 }, step.shown);
    await other.stop();
    // What was changed in the file is not run.
    const next = paused(await run(client, '(a/write {})'));
    const changed = path.join(state, folder, `${next.token.slice(0, 32)}.json`);
    chmodSync(changed, 0o600);
    writeFileSync(changed, readFileSync(changed, 'utf8').replace('a/write', 'a/erase'));
    assert.match((await resume(client, next.token, { approve: true })).shown, /does not fit/);
  });
});

describe('a person who can be asked', () => {
  const config = configure('asking', { a: entry });
  const calls = () => takeCalls('asking', 'a');
  const source = '[(:n (a/look {})) (:x (a/write {:x 1})) (:x (a/write {:x 2}))]';
  // The answers of the person, one for each question; the last one for all that follow.
  async function ask(era, answers) {
    const mode = era === 'legacy' ? era : { pin: era };
    const client = new Client(
      { name: 'test', version: '1' },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
    );
    const questions = [];
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      questions.push(params.message);
      return answers[Math.min(questions.length, answers.length) - 1];
    });
    await client.connect(
      new StdioClientTransport({
        command: CADRE,
        args: ['serve', '--mcp-config', config],
        env: { ...process.env, ...env },
        stderr: 'ignore',
      }),
    );
    const { content, isError } = await client.callTool({
      name: 'run-program',
      arguments: { source },
    });
    await client.close();
    return { questions, text: content[0].text, isError };
  }
  const accept = (answer) => ({ action: 'accept', content: answer ? { answer } : {} });
  const question = (x) => `A program wants to make this call. Allow it?\na/write {"x":${x}}`;

  for (const era of ['legacy', '2026-07-28']) {
    test(`${era}: is shown each call`, async () => {
      const { questions, text } = await ask(era, [accept('once')]);
      assert.deepEqual(questions, [question(1), question(2)]);
      assert.match(text, /=> \[1 1 2\]$/);
      assert.deepEqual(calls(), [
        ['look', {}],
        ['write', { x: 1 }],
        ['write', { x: 2 }],
      ]);
    });
    test(`${era}: allows all calls of a tool at once`, async () => {
      const { questions, text } = await ask(era, [accept('all')]);
      assert.deepEqual(questions, [question(1)]);
      assert.match(text, /=> \[1 1 2\]$/);
      assert.equal(calls().length, 3);
    });
    for (const [name, answer] of [
      ['refuses', accept('refuse')],
      ['declines', { action: 'decline' }],
      ['cancels', { action: 'cancel' }],
    ])
      test(`${era}: ${name}`, async () => {
        const { text, isError } = await ask(era, [accept('once'), answer]);
        assert.equal(isError, true);
        assert.match(text, /tool 'a\/write' failed: a person refused this call/);
        assert.deepEqual(calls(), [
          ['look', {}],
          ['write', { x: 1 }],
        ]);
      });
  }
});

describe('a command that has no answer yet', () => {
  const answer = path.join(temporaryDirectory(), 'answer');
  const file = path.join(temporaryDirectory(), 'tools.json');
  const script = `echo x >> ${answer}.asked; cat ${answer} 2>/dev/null || exit 75`;
  writeFileSync(file, JSON.stringify({ job: { command: { argv: ['sh', '-c', script] } } }));
  const client = useServer({ args: ['--program-tools', file], env });
  const asked = () => readFileSync(`${answer}.asked`, 'utf8').length / 2;
  const source = '[(rand-int 1000) (tool/job {:n 1})]';

  test('pauses the run; resumed, it is asked again, or answered from elsewhere', async () => {
    const first = paused(await run(client, source, { limits: { seed: 3, timeout: 20_000 } }));
    assert.deepEqual(first.call, { name: 'job', args: { n: 1 } });
    const again = paused(await resume(client, first.token, { approve: 'yes' }));
    assert.deepEqual(again.call, { name: 'job', args: { n: 1 } });
    assert.equal(asked(), 2);
    const given = await resume(client, again.token, { results: [{ value: 8 }] });
    assert.equal(given.return[1], 8, given.shown);
    assert.equal(asked(), 2);
    const other = paused(await run(client, source, { limits: { seed: 3, timeout: 20_000 } }));
    writeFileSync(answer, '{"done": true}');
    const done = await resume(client, other.token, { approve: 'yes' });
    assert.deepEqual(done.return, [given.return[0], { done: true }]);
  });
});

describe('what is kept', () => {
  const client = server(configure('kept', { a: entry }));
  const pause = async () => paused(await run(client, '(a/write {})')).token;
  const fileOfRun = (token) => {
    const folder = readdirSync(state, { recursive: true }).find((name) => /paused$/.test(name));
    return path.join(state, folder, `${token.slice(0, 32)}.json`);
  };
  test('for seven days, and of more than 100 the newest', async () => {
    const old = await pause();
    const days = (n) => new Date(Date.now() - n * 86_400_000);
    utimesSync(fileOfRun(old), days(7.1), days(7.1));
    assert.match((await resume(client, old, { approve: 'no' })).shown, /older than 7 days/);
    const first = await pause();
    assert.equal(existsSync(fileOfRun(old)), false);
    utimesSync(fileOfRun(first), days(6.9), days(6.9));
    const folder = path.dirname(fileOfRun(first));
    for (let i = readdirSync(folder).length; i < 100; i++)
      writeFileSync(path.join(folder, `${String(i).padStart(32, '0')}.json`), '');
    assert.equal(existsSync(fileOfRun(first)), true);
    const last = await pause();
    assert.equal(readdirSync(folder).length, 100);
    assert.match((await resume(client, first, { approve: 'no' })).shown, /no such paused run/);
    assert.equal((await resume(client, last, { approve: 'yes' })).ok, true);
  });
});

describe('cadre run', () => {
  const config = configure('shell', { a: entry });
  const file = path.join(temporaryDirectory(), 'run.json');
  const cadre = (...args) =>
    spawnSync(CADRE, ['run', '--mcp-config', config, ...args], {
      encoding: 'utf8',
      env: { ...process.env, ...env },
    });
  const step = ({ stdout }) => JSON.parse(stdout);
  const calls = () => takeCalls('shell', 'a').map(([name]) => name);
  const source = `(let [x (a/look {}) r (rand-int 1000000) a (a/write {:r r}) b (a/write {:r (inc r)})]
                    [x (= (inc (:r a)) (:r b) (inc r))])`;

  test('without --pause a call to be asked about fails', () => {
    const failed = cadre('-e', '(a/write {})');
    assert.equal(failed.status, 1);
    assert.match(step(failed).fail.message, /it needs the approval of a person/);
    assert.deepEqual(calls(), []);
  });
  test('keeps a run that needs an answer, and goes on with it in another process', () => {
    const first = cadre('--pause', file, '-e', source);
    assert.equal(first.status, 3, first.stderr);
    const { return: value, fail, paused: waits } = step(first);
    assert.deepEqual([value, fail, waits.call.name, waits.token], [null, null, 'a/write', file]);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(calls(), ['look']);
    const second = cadre('--resume', file, '--approve', 'yes');
    assert.equal(second.status, 3, second.stderr);
    assert.deepEqual(calls(), ['write']);
    const last = cadre('--resume', file, '--approve', 'yes', '--value', '--json');
    assert.deepEqual([last.status, last.stdout], [0, '[{"n":1},true]\n'], last.stderr);
    assert.deepEqual(calls(), ['write']);
    assert.equal(existsSync(file), false);
    assert.equal(cadre('--resume', file, '--approve', 'yes').status, 2);
  });
  test('all calls of a tool, none, and results from elsewhere', () => {
    const pause = () => assert.equal(cadre('--pause', file, '-e', source).status, 3);
    pause();
    assert.equal(cadre('--resume', file, '--approve', 'all').status, 0);
    pause();
    const refused = cadre('--resume', file, '--approve', 'no');
    assert.match(step(refused).fail.message, /a person refused this call/);
    pause();
    const given = cadre('--resume', file, '--results', '[{"value": {"r": 1}}]');
    assert.equal(given.status, 3, given.stderr);
    const shown = cadre('--resume', file, '--results', '[{"value": {"r": 2}}]', '--value');
    assert.match(shown.stdout, /^\[\{"n" 1\} false\]\n$/);
    calls();
  });
  test('says on standard error what it waits for', () => {
    const { stdout, stderr, status } = cadre('--pause', file, '--value', '-e', '(a/write {:x 1})');
    assert.deepEqual([stdout, status], ['', 3]);
    assert.equal(
      stderr,
      `waits for a/write {"x":1}\ncadre run --resume ${file} --approve yes|no|all\n`,
    );
  });
  test('a file that is none, that others can write, or without an answer', () => {
    const other = path.join(path.dirname(file), 'other.json');
    copyFileSync(file, other);
    assert.match(cadre('--resume', other).stderr, /--resume needs --approve/);
    assert.match(cadre('--resume', other, '--results', '[1]').stderr, /--resume needs/);
    chmodSync(other, 0o666);
    assert.match(cadre('--resume', other, '--approve', 'yes').stderr, /only you|writ/);
    writeFileSync(other, '{"head": {"version": 1, "record": 7}, "calls": []}');
    chmodSync(other, 0o600);
    const { stderr, status } = cadre('--resume', other, '--approve', 'yes');
    assert.match(stderr, /is no paused run/);
    assert.equal(status, 1);
    assert.deepEqual(calls(), []);
  });
  test('goes on with a run of the server', async () => {
    const server = await Server.start({ args: ['--tools', 'full', '--mcp-config', config], env });
    const { token } = paused(await run(server, '(a/look {}) (:x (a/write {:x 5}))'));
    await server.stop();
    const folder = readdirSync(state, { recursive: true }).find((name) => /paused$/.test(name));
    const kept = path.join(state, folder, `${token.slice(0, 32)}.json`);
    const { stdout } = cadre('--resume', kept, '--approve', 'yes', '--value');
    assert.equal(stdout, '5\n');
    assert.deepEqual(calls(), ['look', 'write']);
  });
});
