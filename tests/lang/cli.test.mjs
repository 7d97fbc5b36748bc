// `cadre run` as a command: inputs, outputs, exit status. And the example of the C API.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), '../..');
const CADRE = process.env.CADRE ?? path.join(ROOT, 'build/release/src/cli/cadre');
const BUILD = process.env.CADRE_BUILD ?? path.join(ROOT, 'build/release');
const folder = mkdtempSync(path.join(tmpdir(), 'cadre-run-'));
after(() => rmSync(folder, { recursive: true }));

function run(args, input = '') {
  const answer = spawnSync(CADRE, ['run', ...args], { input, encoding: 'utf8' });
  return {
    ...answer,
    step:
      answer.stdout.startsWith('{') && !args.includes('--value')
        ? JSON.parse(answer.stdout.split('\n')[0])
        : null,
  };
}

function file(name, text) {
  const full = path.join(folder, name);
  writeFileSync(full, text);
  return full;
}

test('a program from the argument, a file, standard input', () => {
  const program = file('p.lisp', '(+ 1 2)');
  for (const answer of [run(['-e', '(+ 1 2)']), run([program]), run(['-'], '(+ 1 2)')]) {
    assert.equal(answer.status, 0);
    assert.equal(answer.step.return, 3);
    assert.equal(answer.stdout.split('\n').length, 2);
  }
});

test('context, memory and tools from files', () => {
  const context = file('c.edn', '{:n 4}');
  const memory = file('m.json', '{"x": 10}');
  const tools = file('t.json', '{"t": {"echo": true}}');
  const answer = run([
    '-e',
    '[(+ ctx/n x) (tool/t {:a 1})]',
    '--context',
    context,
    '--memory',
    memory,
    '--tools',
    tools,
  ]);
  assert.equal(answer.step.printed, '[14 {"a" 1}]');
  const written = file('t.edn', '{:t {:constant_edn "[:a]" :cache true} "u" {"echo" true}}');
  assert.equal(run(['-e', '[(tool/t) (tool/u)]', '--tools', written]).step.printed, '[[:a] {}]');
});

test('signature, validation, limits and other options', () => {
  const context = file('c.json', '{"n": "4"}');
  const args = ['-e', 'ctx/n', '--context', context, '--signature', '(n :int) -> :int'];
  assert.equal(run(args).step.return, 4);
  assert.equal(run([...args, '--validation', 'strict']).step.fail.reason, 'validation_error');
  assert.equal(run(['-e', '(loop [] (recur))', '--timeout', '20']).step.fail.reason, 'timeout');
  assert.equal(
    run(['-e', '(range 100000)', '--max-memory', '1000']).step.fail.reason,
    'memory_exceeded',
  );
  assert.equal(run(['-e', '1.239', '--float-precision', '2']).step.return, 1.24);
  assert.deepEqual(run(['-e', '{:a 1}', '-o', 'memory=explicit']).step.memory_delta, {});
});

test('a failed step is printed, status 1', () => {
  const answer = run(['-e', '(/ 1 0)']);
  assert.equal(answer.status, 1);
  assert.equal(answer.step.fail.details.kind, 'arithmetic_error');
});

test('an error for a person has the source line and a caret', () => {
  const answer = run(['--human', '-e', '(let [x 1]\n  (foo x))']);
  assert.equal(answer.status, 1);
  assert.match(answer.stderr, /undefined variable: foo/);
  assert.match(answer.stderr, / 2 \| {3}\(foo x\)\)\n +\| {4}\^/);
});

test('the same when the program runs in a worker, for tools that need a host', () => {
  const tools = file('command.json', '{"t": {"command": {"argv": ["true"]}, "skip": true}}');
  const answer = run(['--human', '-e', '(let [x 1]\n  (+ x (tool/t {}) "a"))', '--tools', tools]);
  assert.equal(answer.status, 1);
  assert.match(
    answer.stderr,
    /^error: .*\n {2}at line 2, column \d+\n {2}2 \| {3}\(\+ x \(tool\/t \{\}\) "a"\)\)\n +\| +\^\n$/,
  );
});

test('the caret stands below wide characters and combining marks', () => {
  const answer = run(['--human', '-e', '["\u4f60\u597d" "e\u0301" (foo)]']);
  assert.match(answer.stderr, /\n +\| {14}\^/);
});

test('check parses and analyses only', () => {
  assert.equal(run(['--check', '-e', '(/ 1 0)']).status, 0);
  assert.equal(run(['--check', '-e', '(foo)']).status, 1);
});

test('wrong usage: status 2, a message, nothing on standard output', () => {
  const wrong = [
    [],
    ['--nonsense'],
    ['/does/not/exist'],
    ['-e', '1', '-o', 'x'],
    ['-e', '1', '-o', 'nonsense=1'],
    ['-e', '1', '--timeout', 'soon'],
    ['-e', '1', '--validation', 'maybe'],
    ['-e', '1', '--context', file('bad.json', '{')],
    ['-e', '1', '--memory', file('list.json', '[1]')],
    ['-e', '1', '--memory', '/does/not/exist.json'],
    ['-e', '1', '--tools', file('bad-tools.json', '{"t": {}}')],
    ['--batch', '/does/not/exist'],
    ['--batch', path.dirname(file('good.json', '{}'))],
    ['--batch', '-', '--timeout', '5'],
    ['--batch', '-', '-e', '1'],
    ['-e', '1', '--context', file('good.json', '{}'), '--context', file('good.json', '{}')],
    ['a', 'b'],
  ];
  for (const args of wrong) {
    const answer = run(args);
    assert.equal(answer.status, 2, args.join(' '));
    assert.notEqual(answer.stderr, '', args.join(' '));
    assert.equal(answer.stdout, '', args.join(' '));
  }
});

test('a batch answers every line', () => {
  const lines = [
    '{"id": 1, "program": "(+ 1 2)"}',
    'not json',
    '',
    '[]',
    '{"id": 2}',
    '{"id": "z", "program": "(foo"}',
    '{"program": "ctx/a", "context": {"a": 1}}',
  ];
  const answer = run(['--batch', '-'], `${lines.join('\n')}\n`);
  const steps = answer.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(answer.status, 0);
  assert.deepEqual(
    steps.map((step) => step.id),
    [1, null, null, 2, 'z', null],
  );
  assert.deepEqual(
    steps.map((step) => step.fail?.details.kind),
    [undefined, 'invalid_record', 'invalid_record', 'invalid_record', 'parse_error', undefined],
  );
});

test('every builtin is listed with a signature and a line', () => {
  const { stdout } = run(['--builtins']);
  const lines = stdout.trim().split('\n');
  assert.ok(lines.length > 280);
  for (const line of lines) assert.match(line, /^\S+\s+\S.*\S\s+\S.*[.?]$/, line);
});

test('every advice about a name of Clojure is given, and tried by hints.test', () => {
  const table = readFileSync(path.join(ROOT, 'src/program/compile/clojure_hints.c'), 'utf8');
  const tried = readFileSync(path.join(ROOT, 'tests/lang/hints.test'), 'utf8');
  const names = [...table.matchAll(/^ {4}\{"([^"]+)"/gm)].map((match) => match[1]);
  assert.ok(names.length > 40);
  const input = names.map((name) => `${JSON.stringify({ program: `(${name})` })}\n`).join('');
  const lines = run(['--batch', '-'], input).stdout.trim().split('\n');
  const steps = lines.map((line) => JSON.parse(line));
  names.forEach((name, i) => {
    assert.equal(steps[i].fail?.reason, 'analysis_error', name);
    assert.match(
      steps[i].fail.message,
      /(;|\() ?(use|there|strings|a name|it is|code|values|numbers)/,
      name,
    );
    assert.ok(tried.includes(name), `${name} is not in hints.test`);
  });
});

test('all problems are shown to a person', () => {
  const failed = run(['-e', '(if)\n(foo)', '--value']);
  assert.equal(failed.status, 1);
  assert.match(failed.stderr, /^1\. line 1, column 1: \(if\)\n {3}if: expected/m);
  assert.match(failed.stderr, /^2\. line 2, column 2: foo\n {3}undefined variable/m);
});

test('the guide fits a prompt', () => {
  const { stdout } = run(['--guide']);
  assert.match(stdout, /PTC-Lisp/);
  // Tokens are at least three characters long on average in text of this kind.
  assert.ok(stdout.length < 3600, `${stdout.length} characters`);
});

test('equal inputs give equal steps', () => {
  const program = '(reduce (fn [m x] (assoc m x (str x))) {} (shuffled))'.replace(
    '(shuffled)',
    '(map (fn [x] (mod (* x 7919) 1009)) (range 500))',
  );
  const clean = (step) => ({ ...step, usage: { ...step.usage, duration_ms: 0 } });
  assert.deepEqual(clean(run(['-e', program]).step), clean(run(['-e', program]).step));
});

const EMBED_OUTPUT =
  'value:  1100\nmemory: {"runs":1}\nvalue:  1100\nmemory: {"runs":2}\n' +
  'failed: undefined variable: flter (did you mean filter?) (unbound_var, line 2)\n';

test('the example of the C API', {
  skip: !existsSync(path.join(BUILD, 'src/program/embed')),
}, () => {
  const answer = spawnSync(path.join(BUILD, 'src/program/embed'), { encoding: 'utf8' });
  assert.equal(answer.status, 0);
  assert.equal(answer.stdout, EMBED_OUTPUT);
});

// With the libraries of the build instead of installed ones.
test('the commands of docs/embedding.md', {
  skip: !existsSync(path.join(BUILD, 'libcadre.a')),
}, () => {
  const env = {
    ...process.env,
    PKG_CONFIG_PATH: path.join(BUILD, 'meson-uninstalled'),
    C_INCLUDE_PATH: path.join(ROOT, 'include'),
    LD_LIBRARY_PATH: BUILD,
  };
  const shell = (command) =>
    spawnSync('sh', ['-c', command], { cwd: folder, env, encoding: 'utf8' });
  const commands = readFileSync(path.join(ROOT, 'docs/embedding.md'), 'utf8').match(
    /^cc main\.c .*/gm,
  );
  const sanitize = readFileSync(path.join(BUILD, 'libcadre.so')).includes('__asan_init')
    ? ' -fsanitize=address,undefined'
    : '';
  copyFileSync(path.join(ROOT, 'examples/embed.c'), path.join(folder, 'main.c'));
  const linked = commands.map((command) => {
    assert.equal(shell(command.replace('cc', `cc${sanitize}`)).stderr, '', command);
    assert.equal(shell('./main').stdout, EMBED_OUTPUT);
    return /libcadre/.test(shell('ldd main').stdout);
  });
  assert.deepEqual(linked, [true, false]);
});

test('--value prints the result alone', () => {
  const shows = (args, stdout, stderr = '') => {
    const answer = run([...args, '--value']);
    assert.deepEqual([answer.stdout, answer.stderr], [stdout, stderr]);
  };
  shows(['-e', '(+ 1 2)'], '3\n');
  shows(['-e', '"a\\nb"'], 'a\nb\n');
  shows(['-e', '{:a "x" :b [1 nil]}'], '{:a "x" :b [1 nil]}\n');
  shows(['-e', ':key'], ':key\n');
  shows(['-e', '(do (println "note") 1)'], '1\n', 'note\n');
  shows(['--json', '-e', '{:a "x"}'], '{"a":"x"}\n');
  shows(['--json', '-e', '"x"'], '"x"\n');
  const failed = run(['-e', '(/ 1 0)', '--value']);
  assert.equal(failed.stdout, '');
  assert.match(failed.stderr, /^error: Divide by zero/);
  assert.equal(failed.status, 1);
});

test('a context of any name and form', () => {
  const total = ['-e', '(sum-by :n ctx/input)', '--value', '--context'];
  const array = '[{"n": 3}, {"n": 4}]';
  const lines = '{"n": 3}\n\n{"n": 5}\n';
  for (const [name, text, expected] of [
    ['array.json', array, '7\n'],
    ['array', array, '7\n'],
    ['lines.jsonl', lines, '8\n'],
    ['lines.ndjson', '{"n": 2}', '2\n'],
    ['lines.txt', lines, '8\n'],
    ['vector.edn', '[{:n 1} {:n 2}]', '3\n'],
  ])
    assert.equal(run([...total, file(name, text)]).stdout, expected, name);
  assert.equal(run([...total, '-'], array).stdout, '7\n');
  assert.equal(run([...total, '-'], lines).stdout, '8\n');
  assert.equal(run(['-e', 'ctx/n', '--value', '--context', '-'], '{"n": 9}').stdout, '9\n');
  assert.match(run([...total, file('bad.jsonl', '{"n": 1}\n{"n"')]).stderr, /bad\.jsonl:2:\d+: /);
  assert.match(run([...total, '-'], 'not JSON').stderr, /^cadre run: standard input:1:1: /);
  assert.match(run(['-', '--context', '-'], '{}').stderr, /only once/);
  assert.match(run(['-e', '1', '--memory', file('m', '[1]')]).stderr, /must contain an object/);
});

test('a program in place of a file is told where it belongs', () => {
  const answer = run(['(+ 1 2)']);
  assert.equal(answer.status, 2);
  assert.match(answer.stderr, /follows -e/);
});
