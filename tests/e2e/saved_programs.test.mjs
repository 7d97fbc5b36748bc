// Programs that are kept in the workspace and called like tools.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { configure, run, takeCalls } from './listing_support.mjs';
import { CADRE, temporaryDirectory, useServer } from './support.mjs';

const workspace = temporaryDirectory();
const env = { XDG_STATE_HOME: temporaryDirectory() };
mkdirSync(path.join(workspace, '.git'));
const tools = [
  { name: 'look', annotations: { readOnlyHint: true }, answer: { n: 1 } },
  { name: 'write' },
];
const config = configure('saved', { a: { tools, trust_hints: true } });
const calls = () => takeCalls('saved', 'a').map(([name]) => name);
const folder = path.join(workspace, '.cadre/programs');
const cadre = (...args) =>
  spawnSync(CADRE, args, { cwd: workspace, encoding: 'utf8', env: { ...process.env, ...env } });
// Writes files as a person would, and trusts them.
function keep(programs) {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(programs))
    writeFileSync(path.join(folder, `${name}.clj`), text);
  assert.equal(cadre('trust', workspace).status, 0);
}

describe('saved programs', () => {
  const server = useServer({ args: ['--mcp-config', config], env, cwd: workspace });
  const value = async (source, more) => {
    const step = await run(server, source, more);
    assert.equal(step.isError, false, step.shown);
    return step.return;
  };
  const failure = async (source, more) => (await run(server, source, more)).fail.message;
  const save = (args) => server.call('save-program', args);
  const total = '(reduce + ctx/xs)';

  test('only one that has run with success is saved', async () => {
    assert.equal((await save({ name: 'total', source: total })).structured.error.code, 'not-run');
    await run(server, total, { context: { xs: 'no numbers' } });
    assert.equal((await save({ name: 'total', source: total })).structured.error.code, 'not-run');
    assert.equal(await value(total, { context: { xs: [1, 2] } }), 3);
    const { text } = await save({
      name: 'total',
      source: total,
      description: 'Adds numbers.\nAll of them.',
      signature: '(xs [:int]) -> :int',
    });
    assert.equal(text, 'Saved: (saved/total {…}), .cadre/programs/total.clj');
    assert.equal(
      readFileSync(path.join(folder, 'total.clj'), 'utf8'),
      `;; Adds numbers.\n;; All of them.\n;; signature: (xs [:int]) -> :int\n${total}\n`,
    );
    assert.deepEqual(readdirSync(folder), ['total.clj']);
  });
  test('what cannot be a program is refused', async () => {
    for (const more of [{ name: '../x' }, { name: '' }, { name: 'x', signature: '(((' }]) {
      const { structured } = await save({ source: total, ...more });
      assert.equal(structured.error.code, 'invalid-argument');
    }
    assert.deepEqual(readdirSync(folder), ['total.clj']);
  });
  test('it is called like a tool, with its types', async () => {
    assert.equal(await value('(saved/total {:xs [1 2 3]})'), 6);
    assert.match(await failure('(saved/total {:xs ["a"]})'), /xs\[0\]: expected int/);
    assert.match(await failure('(saved/totl {})'), /did you mean saved\/total\?/);
    assert.equal(await value('(saved/total {:xs [1]})', { tools: ['saved/total'] }), 1);
    assert.match(
      await failure('(saved/total {:xs [1]})', { tools: ['a'] }),
      /unknown namespace saved\//,
    );
  });
  test('it is found and listed', async () => {
    const found = await value(`(map :name (tool/search "adds numbers"))`);
    assert.deepEqual(found, ['saved/total']);
    assert.equal(await value('(tool/call "saved/total" {:xs [4]})'), 4);
    const { text } = await server.call('list-program-tools', { server: 'saved' });
    assert.equal(text, 'saved/total (xs [:int]) -> :int\n    Adds numbers. All of them.');
  });
  test('it calls tools and other programs, whose calls are those of the run', async () => {
    keep({ twice: ';; Looks.\n(* 2 (saved/total {:xs [(:n (a/look {})) 10]}))\n' });
    const step = await run(server, '(inc (saved/twice {}))');
    assert.equal(step.return, 23);
    assert.deepEqual(
      step.tool_calls.map(({ name, result }) => [name, result]),
      [
        ['a/look', { n: 1 }],
        ['saved/total', 11],
        ['saved/twice', 22],
      ],
    );
    assert.deepEqual(calls(), ['look']);
    // What the run may not call, its programs may not either.
    assert.match(await failure('(saved/twice {})', { tools: ['saved'] }), /unknown namespace a\//);
    assert.deepEqual(calls(), []);
  });
  test('what it defines and prints is its own; limits are those of the run', async () => {
    keep({
      own: '(def kept 1) (println "inside") (inc kept)',
      forever: '(loop [] (recur))',
      self: '(saved/self {})',
      broken: '(+ 1',
    });
    const step = await run(server, '(do (saved/own {}) (println "outside") 7)');
    assert.deepEqual([step.return, step.prints, step.memory], [7, ['outside'], {}]);
    const limits = { timeout: 500 };
    const caught = await run(server, '(try (saved/forever {}) (catch e 1))', { limits });
    assert.equal(caught.fail.reason, 'timeout');
    assert.match(await failure('(saved/self {})'), /more than 8 deep/);
    assert.match(await failure('(saved/broken {})'), /unclosed/);
    assert.equal(await value('(saved/total {:xs [1]})'), 1);
  });
  test('a run pauses inside of it and goes on', async () => {
    keep({
      order: `(let [t (System/currentTimeMillis) a (a/write {:t t :r (rand-int 1000000)})]
                [(= t (:t a) (System/currentTimeMillis)) (:r a) (:n (a/look {}))])`,
    });
    calls();
    const source = '[(rand-int 1000000) (saved/order {}) (rand-int 1000000)]';
    const seeded = { limits: { seed: 7 } };
    let step = await run(server, source, seeded);
    assert.equal(step.paused.call.name, 'a/write', step.shown);
    const { structured } = await server.call('resume-program', {
      run: step.paused.token,
      approve: 'yes',
    });
    assert.equal(structured.return[1][0], true);
    assert.deepEqual(calls(), ['write', 'look']);
    // As in a run that need not wait.
    const allowed = configure('allowed', { a: { tools, policy: 'allow' } });
    const alone = cadre('run', '--mcp-config', allowed, '-o', 'seed=7', '-e', source);
    step = JSON.parse(alone.stdout);
    assert.deepEqual(step.return, structured.return);
    assert.equal(step.seed, structured.seed);
  });
  test('one that was changed by somebody is not called until it is trusted again', async () => {
    const file = path.join(folder, 'total.clj');
    writeFileSync(file, readFileSync(file, 'utf8').replace('+', '*'));
    assert.match(await failure('(saved/total {:xs [5 6]})'), /changed since it was trusted/);
    const { text } = await server.call('list-program-tools', { server: 'saved' });
    assert.match(text, /saved\/total\n {4}\[problem\] .*total\.clj is changed/);
    keep({});
    assert.equal(await value('(saved/total {:xs [5 6]})'), 30);
    symlinkSync('/etc/passwd', path.join(folder, 'linked.clj'));
    assert.match(await failure('(saved/linked {})'), /symbolic link/);
  });
  test('cadre run calls them, too', () => {
    const { stdout, stderr } = cadre('run', '--value', '-e', '(saved/total {:xs [5 7]})');
    assert.deepEqual([stdout, stderr], ['35\n', '']);
    const other = spawnSync(CADRE, ['run', '-e', '(saved/total {:xs [1]})'], {
      cwd: temporaryDirectory(),
      encoding: 'utf8',
      env: { ...process.env, ...env },
    });
    assert.match(other.stdout, /there is no such saved program/);
  });
});
