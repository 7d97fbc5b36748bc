// run-program and list-program-tools: programs in locked workers over real tools (Lisp functions,
// commands, constants), named memories, hostile tools; and the examples, through the command line.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { HttpServer, allEvents, call, request2026 } from './mcp_support.mjs';
import {
  CADRE,
  Server,
  eventually,
  sleep,
  temporaryDirectory,
  useServer,
  memoriesIn,
} from './support.mjs';

const EXAMPLES = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../examples');
const directory = temporaryDirectory();
const shell = (script, more = {}) => ({ command: { argv: ['sh', '-c', script], ...more } });

const TOOLS = {
  rates: { constant: { eur: 1.1 } },
  echo: { echo: true },
  double: { program: '(fn [args] (* 2 (get args "n")))', signature: '(n :int) -> :int' },
  refuse: { error: 'not today' },
  upper: {
    ...shell(`sed 's/.*"text":"\\([^"]*\\)".*/\\1/' | tr a-z A-Z | sed 's/.*/{"text":"&"}/'`),
    signature: '(text :string) -> {text :string}',
    description: 'Upper-cases a text',
  },
  liar: { constant: 'no number', signature: '() -> :int' },
  count: { ...shell(`echo x >> ${directory}/calls; wc -l < ${directory}/calls`), cache: true },
  slow: shell('sleep 0.4; echo 1'),
  hang: shell('sleep 60', { timeout_ms: 60000 }),
  late: shell('sleep 60', { timeout_ms: 150 }),
  crash: shell('kill -SEGV $$'),
  failing: shell('echo "no such order" >&2; exit 4'),
  garbage: shell('echo "{oops"'),
  silent: shell('true'),
  binary: shell(String.raw`printf '"\377\376"'`),
  flood: shell('yes'),
  gigabyte: shell('head -c 1000000000 /dev/zero', { max_output: 67108864 }),
  deaf: shell('exec 0<&-; echo 7'),
  add: { lisp: 'add-numbers' },
  explode: { lisp: { function: 'explode', session: 'main' } },
  die: { lisp: 'die' },
  wait: { lisp: 'wait-long' },
};
const toolsFile = path.join(directory, 'tools.json');
writeFileSync(toolsFile, JSON.stringify(TOOLS));

const LISP = `
(declaim (ftype (function (integer &key (:times integer)) integer) add-numbers))
(defun add-numbers (n &key (times 1)) "Adds N to itself" (* n (1+ times)))
(defun explode (x) (error "cannot use ~a" x))
(defun die () (sb-ext:exit :code 3 :abort t))
(defun wait-long () (sleep 30))
(defvar *kept* 42)`;

describe('run-program', () => {
  const server = useServer({
    args: ['--program-tools', toolsFile],
    env: { XDG_STATE_HOME: directory },
  });
  const run = (source, parameters = {}) => server.call('run-program', { source, ...parameters });
  const value = async (source, parameters) => {
    const result = await run(source, parameters);
    assert.ok(!result.isError, result.text);
    return result.structured.return;
  };
  const failure = async (source, parameters) => {
    const result = await run(source, parameters);
    assert.ok(result.isError, result.text);
    assert.equal(result.structured.memory_delta ?? null, null);
    return { ...result, fail: result.structured.fail, calls: result.structured.tool_calls };
  };

  test('gives value, text and Step', async () => {
    const { text, structured } = await run('(println "hi") {:a (+ 1 2)}', { context: {} });
    assert.equal(text, '[prints]\nhi\n\n=> {:a 3}');
    assert.deepEqual(structured.return, { a: 3 });
    assert.deepEqual(structured.prints, ['hi']);
    assert.equal(structured.fail, null);
    assert.ok(structured.usage.steps >= 1);
  });

  test('reads context, memory and checks the signature', async () => {
    assert.equal(await value('(+ ctx/n x)', { context: { n: 2 }, memory: { x: 40 } }), 42);
    const { fail, text } = await failure('1', {
      context: { user_id: 'abc' },
      signature: '(user_id :int) -> :int',
    });
    assert.equal(fail.message, 'user_id: expected int, got string "abc"');
    assert.match(text, /^\[ERROR\] validation_error\nuser_id: expected int, got string "abc"/);
    assert.equal(
      (await failure('{:orders [{:id nil}]}', { signature: '{orders [{id :int}]}' })).fail.message,
      'orders[0].id: expected int, got nil',
    );
    assert.equal(await value('"x"', { signature: ':int', validation: 'disabled' }), 'x');
  });

  test('names line and column of an error, with a suggestion', async () => {
    const { text, structured } = await run('(let [a 1]\n  (fitler even? [a]))');
    assert.match(text, /did you mean filter\?/);
    assert.match(text, /\(line 2, column 4\)$/);
    assert.equal(structured.error.code, 'unbound_var');
  });

  test('stops at its limits', async () => {
    assert.equal(
      (await failure('(loop [] (recur))', { limits: { timeout: 100 } })).fail.reason,
      'timeout',
    );
    assert.equal((await failure('(vec (range 10000000))')).fail.reason, 'memory_exceeded');
    assert.equal(
      (await failure('(map tool/echo (repeat-not-there))')).fail.reason,
      'analysis_error',
    );
    assert.equal(
      (await run('1', { limits: { timeout: -1 } })).structured.error.code,
      'invalid-argument',
    );
    assert.equal(
      (await run('1', { limits: { max_memory: 2 ** 40 } })).structured.error.code,
      'invalid-argument',
    );
    assert.equal(await value('(+ 1 1)'), 2);
  });

  test('lists the tools as a program sees them', async () => {
    await server.value(LISP);
    const { text, structured } = await server.call('list-program-tools');
    assert.match(text, /tool\/upper \(text :string\) -> \{text :string\}\n {4}Upper-cases a text/);
    const add = structured.tools.find((tool) => tool.name === 'add');
    assert.equal(add.signature, '(n :int, times :int?) -> :int');
    assert.equal(add.description, 'Adds N to itself');
  });

  test('calls constants, programs, commands and Lisp functions', async () => {
    assert.equal(await value('(:eur (tool/rates))'), 1.1);
    assert.deepEqual(await value('(tool/echo {:user-id 1 :tags #{:a}})'), {
      user_id: 1,
      tags: ['a'],
    });
    assert.equal(await value('(tool/double :n 21)'), 42);
    assert.equal(await value('(:text (tool/upper {:text "hey"}))'), 'HEY');
    assert.equal(await value('(tool/add {:n 7 :times 2})'), 21);
    assert.equal(await value('(tool/deaf)'), 7);
  });

  test('keeps the ledger, also of a failed run', async () => {
    const { calls, fail } = await failure('(do (tool/rates) (tool/refuse {:a 1}) (tool/rates))');
    assert.equal(fail.reason, 'tool_error');
    assert.equal(fail.op, 'refuse');
    assert.equal(fail.message, "tool 'refuse' failed: not today");
    assert.deepEqual(
      calls.map(({ name, args, error }) => ({ name, args, error })),
      [
        { name: 'rates', args: {}, error: null },
        { name: 'refuse', args: { a: 1 }, error: 'not today' },
      ],
    );
  });

  test('the text has a line per tool, not the ledger or the memory', async () => {
    const { text } = await run(
      `(def seen (mapv (fn [i] (tool/echo {:i i :data (join (map (constantly "x") (range 10000)))})) (range 50)))
       (tool/rates)
       (mapv :i seen)`,
      { limits: { timeout: 60000, max_memory: 100000000 } },
    );
    const lines = text.split('\n');
    assert.match(lines[1], /^echo: 50 calls, \d+ ms$/);
    assert.match(lines[2], /^rates: 1 call, \d+ ms$/);
    assert.match(lines[0], /^\[program \d+\]$/);
    assert.match(lines[4], /^=> \[0 1 2 3 /);
    assert.equal(lines.length, 5);
    assert.ok(text.length <= 200, text);
    const failed = await run('(do (tool/rates) (tool/refuse {:a 1}))');
    assert.match(failed.text, /\nrefuse: 1 call, 1 failed, \d+ ms\n/);
  });

  test('caches what is marked so, within one run', async () => {
    const { structured } = await run('[(tool/count) (tool/count)]', { limits: { timeout: 5000 } });
    assert.deepEqual(structured.return, [1, 1]);
    assert.deepEqual(
      structured.tool_calls.map((call) => call.cached),
      [false, true],
    );
    assert.deepEqual(await value('(tool/count)'), 2);
  });

  test('runs tools of pmap side by side', async () => {
    const { structured, isError } = await run('(pmap (fn [_] (tool/slow)) [1 2 3 4 5 6])', {
      limits: { timeout: 20000 },
    });
    assert.ok(!isError);
    assert.deepEqual(structured.return, [1, 1, 1, 1, 1, 1]);
    const spent = structured.tool_calls.reduce((sum, call) => sum + call.duration_ms, 0);
    assert.ok(structured.usage.duration_ms < spent, 'the calls overlapped');
  });

  test('validates arguments and results of tools', async () => {
    assert.equal(
      (await failure('(tool/double {:n "x"})')).fail.message,
      'tool double: n: expected int, got string "x"',
    );
    const { fail } = await failure('(tool/liar)');
    assert.equal(fail.details.phase, 'tool_result');
    assert.match(fail.message, /^tool liar: return: expected int, got string "no number"$/);
    const { structured } = await run('(tool/double {:n "21"})');
    assert.equal(structured.return, 42);
    assert.deepEqual(structured.warnings, ['tool double: n: coerced string "21" to int']);
    assert.match(
      (await failure('1', { validation: 'strict', tools: ['rates'] })).fail.message,
      /strict validation requires a signature/,
    );
    const lenient = await run('(tool/liar)', { validation: 'warn_only' });
    assert.equal(lenient.structured.return, 'no number');
  });

  test('allows only the tools named', async () => {
    assert.equal(
      (await failure('(tool/rates)', { tools: ['echo'] })).fail.details.kind,
      'unknown_tool',
    );
    assert.equal((await run('1', { tools: ['nothing'] })).structured.error.code, 'unknown-tool');
  });

  const hostile = [
    ['late', 500, /took longer than its time limit of 150 ms \(timeout_ms\)/],
    ['crash', 5000, /signal 11/],
    ['failing', 5000, /exit status 4: no such order/],
    ['garbage', 5000, /not JSON/],
    ['silent', 5000, /not JSON/],
    ['binary', 5000, /not JSON/],
    ['flood', 10000, /longer than 1048576 bytes \(max_output\)/],
    ['gigabyte', 20000, /max_output|not JSON/],
    ['explode {:x 1}', 10000, /SIMPLE-ERROR: cannot use 1/],
    ['die', 10000, /PROCESS-EXIT/],
  ];
  for (const [call, timeout, message] of hostile) {
    test(`a tool that misbehaves: ${call}`, async () => {
      const { fail, calls } = await failure(`(tool/${call})`, { limits: { timeout } });
      assert.equal(fail.reason, 'tool_error', fail.message);
      assert.match(fail.message, message);
      assert.ok(!fail.message.includes('\n'));
      assert.equal(calls.length, 1);
      assert.equal(await value('(tool/double {:n 4})'), 8);
    });
  }

  test('a tool that hangs ends with the run', async () => {
    for (const call of ['hang', 'wait']) {
      const { fail, seconds } = await failure(`(tool/${call})`, { limits: { timeout: 300 } });
      assert.equal(fail.reason, 'tool_error');
      assert.match(fail.message, /no answer within the time limit of the run/);
      assert.ok(seconds < 5, `took ${seconds} s`);
      assert.equal(await value('(+ 1 2)'), 3);
    }
    assert.match(await server.value('*kept*'), /=> 42$/);
    assert.ok(
      await eventually(
        () =>
          server
            .processes()
            .every((pid) => !readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('sleep 60')),
        3,
      ),
    );
  });

  test('cancellation stops the run', async () => {
    const controller = new AbortController();
    const pending = server.client.callTool(
      { name: 'run-program', arguments: { source: '(tool/hang)', limits: { timeout: 60000 } } },
      { signal: controller.signal, timeout: 60000 },
    );
    await sleep(300);
    controller.abort();
    await assert.rejects(pending);
    assert.equal(await value('(+ 1 2)'), 3);
  });

  test('many at once are all answered', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        value(`(reduce + (range ${i * 100}))`, { limits: { timeout: 20000 } }),
      ),
    );
    assert.deepEqual(
      answers,
      Array.from({ length: 40 }, (_, i) => (i === 0 ? 0 : (i * 100 * (i * 100 - 1)) / 2)),
    );
  });

  test('an explicit memory comes back changed only on success', async () => {
    const { structured } = await run('(def n (inc n)) {:m 1}', { memory: { n: 1 } });
    assert.deepEqual(structured.memory, { n: 2, m: 1 });
    const failed = await run('(def n 5) (/ 1 0)', { memory: { n: 1 } });
    assert.deepEqual(failed.structured.memory, { n: 1 });
  });

  test('a named memory is changed by success only', async () => {
    await value('(def n 1) (defn sq [x] (* x x)) (def rates {:eur 1.5 "b" [1 nil :k]}) nil', {
      memory: 'work',
    });
    assert.deepEqual(
      await value('[(sq (inc n)) (:eur rates) (get rates "b")]', { memory: 'work' }),
      [4, 1.5, [1, null, 'k']],
    );
    await failure('(def n 100) (/ 1 0)', { memory: 'work' });
    assert.equal(await value('n', { memory: 'work' }), 1);
    const { structured } = await run('(def add3 (partial + 3)) nil', { memory: 'work' });
    assert.deepEqual(structured.warnings, ['memory: add3 holds a function that cannot be kept']);
    const error = await failure('(do\n  (nope))', { memory: 'work' });
    assert.equal(error.fail.details.line, 2);
    assert.equal((await run('1', { memory: 'No Name' })).structured.error.code, 'invalid-argument');
  });

  test('a memory outlives the tools that its functions name', async () => {
    const memory = 'tools-gone',
      source = '(defn ask [x] (tool/echo {:x x})) (defn twice [x] (* 2 x)) nil';
    assert.equal(await value(source, { memory }), null);
    assert.equal(await value('(twice 4)', { memory, tools: [] }), 8);
    const { fail } = await failure('(ask 1)', { memory, tools: [] });
    assert.equal(fail.details.kind, 'unknown_tool');
    assert.equal(fail.message, "unknown tool 'echo' in a function kept in memory");
    assert.equal(
      (await failure('(tool/echo {})', { memory, tools: [] })).fail.reason,
      'analysis_error',
    );
    assert.deepEqual(await value('(ask 1)', { memory }), { x: 1 });
  });

  test('a memory that cannot be read refuses each run, and nothing else suffers', async () => {
    await run('(def n 1)', { memory: 'broken' });
    writeFileSync(path.join(memoriesIn(directory), 'broken.json'), '{oops');
    const calls = Array.from({ length: 5 }, () => run('n', { memory: 'broken' }));
    for (const { structured, text } of await Promise.all(calls)) {
      assert.equal(structured.error.code, 'memory-unavailable');
      assert.match(text, /broken\.json is damaged/);
    }
    assert.equal(await value('(+ 1 2)'), 3);
  });

  test('runs that share a memory get it while commands of other runs are started', async () => {
    const count = { source: '(def n (inc (or n 0)))', memory: 'beside-commands' };
    const commands = {
      source: '(pmap (fn [i] (tool/deaf {:i i})) (range 4))',
      limits: { timeout: 60000 },
    };
    for (let round = 0; round < 10; round++) {
      const calls = Array.from({ length: 20 }, (_, i) =>
        server.call('run-program', i % 2 ? commands : count),
      );
      for (const { isError, text } of await Promise.all(calls)) assert.ok(!isError, text);
    }
    assert.equal(await value('n', { memory: 'beside-commands' }), 100);
  });

  test('an answer nests no deeper than clients can read: what is deeper is text', async () => {
    const nest = (levels) => `(reduce (fn [inside i] {:i i :inside inside}) nil (range ${levels}))`;
    const chain = (object) => (object && typeof object === 'object' ? 1 + chain(object.inside) : 0);
    assert.equal(chain(await value(nest(99))), 99);
    let end = await value(nest(150));
    assert.equal(chain(end), 99);
    while (typeof end === 'object') end = end.inside;
    assert.match(end, /^\{"i" 50 "inside" \{"i" 49 .*\{"i" 0 "inside" nil\}{51}$/);
    const { structured, text } = await run(nest(20000), { limits: { max_memory: 100000000 } });
    assert.equal(structured.error.code, 'result-too-large');
    assert.match(text, /nested too deeply \(at most 10000 levels\)/);
  });

  test('a named memory keeps all data, whatever its names, its size and its depth', async () => {
    const { structured } = await run(
      `(def f (reduce * (range 1 101)))
      (def deep (reduce (fn [inside _] [inside]) f (range 500))) {"New York" 5 "größe" [1]}`,
      { memory: 'data' },
    );
    assert.deepEqual(structured.warnings, []);
    assert.deepEqual(
      await value(
        '[(= f (reduce * (range 1 101)) (first (flatten deep))) (memory/get "New York") (memory/get "größe")]',
        { memory: 'data' },
      ),
      [true, 5, [1]],
    );
  });
});

test('commands are heard though they got the descriptors of connections that have closed', async () => {
  const server = await HttpServer.start(
    ['--program-tools', toolsFile],
    [CADRE, 'serve', '--results', 'structured', '--http', '0'],
  );
  try {
    const answer = server.post2026(
      call(request2026, 1, 'run-program', {
        source: '(distinct (pmap (fn [_] (tool/upper {:text "a"})) (range 200)))',
        limits: { timeout: 60000 },
      }),
    );
    let answered = false;
    answer.finally(() => {
      answered = true;
    });
    while (!answered) {
      const asked = Array.from({ length: 10 }, () =>
        server.raw('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'),
      );
      await Promise.all(asked);
      await sleep(20);
    }
    const response = await answer;
    const message = response.headers.get('content-type').startsWith('application/json')
      ? await response.json()
      : (await allEvents(response)).at(-1).message;
    assert.deepEqual(message.result.structuredContent.return, [{ text: 'A' }]);
  } finally {
    await server.stop();
  }
});

test('a named memory survives the server', async () => {
  const options = { env: { XDG_STATE_HOME: temporaryDirectory() } };
  let server = await Server.start(options);
  const call = (source) => server.call('run-program', { source, memory: 'long.term' });
  assert.ok(!(await call('(def total 5) (defn twice [x]\n  (* 2 x)) nil')).isError);
  await server.kill();
  server = await Server.start(options);
  assert.equal((await call('(twice total)')).structured.return, 10);
  assert.deepEqual((await call('(def total 6) nil')).structured.memory_delta, { total: 6 });
  await server.stop();
});

describe('examples', () => {
  const run = (...args) => {
    const { stdout, stderr, status } = spawnSync(CADRE, ['run', ...args, '-o', 'timeout=20000'], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr + stdout);
    return JSON.parse(stdout).return;
  };
  const file = (name) => path.join(EXAMPLES, name);

  test('orders', () =>
    assert.deepEqual(
      run(
        file('orders/report.ptc'),
        '--tools',
        file('orders/tools.json'),
        '--context',
        file('orders/context.json'),
        '--signature',
        '(customer :string) -> {customer :string, orders :int, total :float, largest :string}',
      ),
      { customer: 'ada', orders: 2, total: 359.5, largest: 'desk' },
    ));
  test('lisp-tool', () =>
    assert.deepEqual(run(file('lisp-tool/prices.ptc'), '--tools', file('lisp-tool/tools.json')), {
      lamp: 99,
      desk: 620,
    }));
  test('command-tool', () =>
    assert.equal(
      run(file('command-tool/words.ptc'), '--tools', file('command-tool/tools.json')),
      6,
    ));
  test('every folder has its test', () =>
    assert.deepEqual(
      readdirSync(EXAMPLES, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map((entry) => entry.name)
        .sort(),
      ['command-tool', 'lisp-tool', 'orders', 'servers'],
    ));
});

test('a tools file that is wrong is refused at the start', () => {
  for (const [content, message] of [
    ['{', /tools\.json:1:/],
    ['[]', /must be an object/],
    ['{"a": {"command": {}}}', /tool a: command needs argv/],
    ['{"a": {"lisp": {}}}', /tool a: lisp needs a function name/],
    ['{"a": {"lisp": "f", "command": {"argv": ["x"]}}}', /both/],
  ]) {
    const name = path.join(temporaryDirectory(), 'tools.json');
    writeFileSync(name, content);
    const { status, stderr } = spawnSync(CADRE, ['serve', '--program-tools', name], {
      encoding: 'utf8',
      input: '',
    });
    assert.equal(status, 2);
    assert.match(stderr, message);
  }
});

describe('cadre run with commands', () => {
  const folder = temporaryDirectory();
  const file = (name, text) => {
    const full = path.join(folder, name);
    writeFileSync(full, text);
    return full;
  };
  const script = file('five.sh', '#!/bin/sh\ncat > /dev/null\necho 5\n');
  chmodSync(script, 0o755);
  const tools = file(
    'tools.json',
    JSON.stringify({
      five: { command: { argv: ['./five.sh'] }, signature: '() -> :int' },
      lost: { command: { argv: ['./absent.sh'] } },
      slow: { command: { argv: ['sleep', '100'] } },
    }),
  );
  const run = (args, input = '') =>
    spawnSync(CADRE, ['run', ...args, '--tools', tools], { cwd: '/', input, encoding: 'utf8' });

  test('a relative command is seen from the tools file', () => {
    assert.equal(run(['-e', '(tool/five {})', '--value']).stdout, '5\n');
    assert.match(
      JSON.parse(run(['-e', '(tool/lost {})']).stdout).fail.message,
      new RegExp(`cannot run ${folder}/\\./absent\\.sh: No such file`),
    );
  });
  test('a batch may use them', () => {
    const records = [
      { id: 1, program: '(tool/five {})' },
      { id: 'two', program: '(+ (tool/five {}) (tool/own {}))', tools: { own: { constant: 7 } } },
      { id: 3, program: '(tool/slow {})', options: { timeout: 100 } },
      { id: 4, program: '(+ 1', options: {} },
    ];
    const { stdout } = run(['--batch', '-'], records.map((r) => `${JSON.stringify(r)}\n`).join(''));
    const steps = stdout.trim().split('\n').map(JSON.parse);
    assert.deepEqual(
      steps.map(({ id, return: result }) => [id, result]),
      [
        [1, 5],
        ['two', 12],
        [3, null],
        [4, null],
      ],
    );
    assert.equal(steps[3].fail.reason, 'parse_error');
    const refused = spawnSync(CADRE, ['run', '--batch', '-'], {
      input: '{"program": "(tool/x {})", "tools": {"x": {"command": {"argv": ["true"]}}}}',
      encoding: 'utf8',
    });
    assert.match(JSON.parse(refused.stdout).fail.message, /command and lisp are for tools files/);
  });
  test('a run that exceeds its time has a Step, whatever its context', () => {
    const context = file(
      'large',
      JSON.stringify(Array.from({ length: 60000 }, (_, i) => ({ id: i, text: 'x'.repeat(100) }))),
    );
    const { stdout, status } = run([
      '-e',
      '(tool/slow {})',
      '--context',
      context,
      '--timeout',
      '300',
    ]);
    const step = JSON.parse(stdout);
    assert.ok(['timeout', 'tool_error'].includes(step.fail.reason), stdout);
    assert.equal(status, 1);
  });
});
