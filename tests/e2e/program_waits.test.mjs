// Programs over Lisp functions, sessions that are busy, memories whose disk is slow, many at once.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { open, readFile, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import {
  CADRE,
  Server,
  residentBytes,
  sleep,
  temporaryDirectory,
  useServer,
  memoriesIn,
} from './support.mjs';

const shell = (script, more = {}) => ({ command: { argv: ['sh', '-c', script], ...more } });

// Tools of a file of their own, and runs over them.
// A disk that takes its time: saving a memory waits while the pipe is there, until it is written to.
const slowDisk = (pipe) => ({
  LD_PRELOAD: path.join(path.dirname(CADRE), '../../tests/e2e/slow_fsync.so'),
  ASAN_OPTIONS: `verify_asan_link_order=0:${process.env.ASAN_OPTIONS ?? ''}`,
  SLOW_FSYNC: pipe,
});
const makePipe = (file) => assert.equal(spawnSync('mkfifo', [file]).status, 0);

function useTools(tools, files = {}) {
  const place = temporaryDirectory();
  for (const [name, content] of Object.entries({ ...files, 'tools.json': JSON.stringify(tools) }))
    writeFileSync(path.join(place, name), content);
  const server = useServer({
    args: ['--program-tools', path.join(place, 'tools.json')],
    env: { XDG_STATE_HOME: place, ...slowDisk(path.join(place, 'disk')) },
  });
  const run = (source, parameters = {}) =>
    server.call('run-program', { source, limits: { timeout: 10000 }, ...parameters });
  const value = async (source, parameters) => {
    const result = await run(source, parameters);
    assert.ok(!result.isError, result.text);
    return result.structured.return;
  };
  return { server, run, value, place };
}

describe('Lisp functions that are not there', () => {
  const { server, run } = useTools(
    {
      package: { lisp: 'nopkg:nofn' },
      function: { lisp: 'misspelt' },
      macro: { lisp: 'cl:when' },
      garbage: { lisp: '))((' },
      nofile: { lisp: { function: 'shop:price', file: 'missing.lisp' } },
      broken: { lisp: { function: 'shop:cost', file: 'broken.lisp' } },
      described: {
        lisp: 'nowhere',
        signature: '() -> :int',
        description: 'Described but not there',
      },
    },
    { 'broken.lisp': '(defvar *before* 1)\n(car *before*)\n' },
  );
  const expected = {
    package: /nopkg:nofn: Package NOPKG not found/,
    function: /misspelt: Symbol MISSPELT not found/,
    macro: /cl:when: COMMON-LISP::WHEN is not a function/,
    garbage: /\)\)\(\(: Symbol \)\)\(\( not found/,
    nofile: /shop:price: .*loading .*missing\.lisp failed: .*does not exist/,
    broken: /shop:cost: .*broken\.lisp failed: The value\s+1\s+is not of type LIST/,
    described: /nowhere: Symbol NOWHERE not found/,
  };
  test('fail when they are called, and say why', async () => {
    for (const [tool, message] of Object.entries(expected)) {
      const { structured } = await run(`(tool/${tool})`);
      assert.equal(structured.fail?.reason, 'tool_error', tool);
      assert.match(structured.fail.message, message);
    }
  });
  test('are listed with the reason', async () => {
    const { structured, text } = await server.call('list-program-tools');
    for (const tool of structured.tools) assert.match(tool.problem, expected[tool.name]);
    assert.match(text, /tool\/macro\n {4}\[problem\] cl:when: COMMON-LISP::WHEN is not a function/);
  });
});

describe('files of Lisp tools', () => {
  const counter = '(defvar *n* 0) (setf *n* 0) (defun next-number () (incf *n*))';
  const { server, value, run, place } = useTools(
    {
      next: { lisp: { function: 'next-number', file: 'counter.lisp' } },
      wrong: { lisp: { function: 'next-numbr', file: 'counter.lisp' } },
    },
    { 'counter.lisp': counter },
  );
  test('are loaded once, also when they lack a function', async () => {
    assert.equal(await value('(tool/next)'), 1);
    assert.match((await run('(tool/wrong)')).structured.fail.message, /NEXT-NUMBR not found/);
    assert.equal(await value('(if false (tool/wrong) (tool/next))'), 2);
    await server.call('list-program-tools');
    assert.equal(await value('(tool/next)'), 3);
  });
  test('are loaded again after a reset, and when they changed and the function is missing', async () => {
    await server.call('reset-session', { confirm: true });
    assert.equal(await value('(tool/next)'), 1);
    await sleep(1100); // dates of files are in seconds
    writeFileSync(path.join(place, 'counter.lisp'), `${counter} (defun next-numbr () :found)`);
    assert.equal(await value('(tool/wrong)'), 'found');
  });
});

describe('a session that is busy', () => {
  const { server, run, value } = useTools({
    quick: { lisp: 'quick' },
    fresh: { lisp: 'fresh' },
    one: { constant: 1 },
  });
  test('delays only the programs that call it', async () => {
    await server.value('(declaim (ftype (function () integer) quick)) (defun quick () 7)');
    assert.equal(await value('(tool/quick)', { tools: ['quick'] }), 7);
    const busy = server.call('evaluate-lisp', { code: '(defun fresh () 8) (sleep 3) :slept' });
    await sleep(200);
    const plain = await run('(+ 1 (tool/one))', { limits: { timeout: 100 } });
    assert.ok(!plain.isError && plain.seconds < 1.5, `${plain.seconds} s: ${plain.text}`);
    const listed = await server.call('list-program-tools');
    assert.ok(listed.seconds < 1.5, `${listed.seconds} s`);
    const tools = Object.fromEntries(listed.structured.tools.map((tool) => [tool.name, tool]));
    assert.equal(tools.quick.signature, '() -> :int');
    assert.match(tools.fresh.problem, /busy/);
    const late = await run('(tool/fresh)', { limits: { timeout: 100 } });
    assert.equal(late.structured.fail.reason, 'timeout');
    assert.deepEqual(late.structured.fail.details.limit, {
      name: 'timeout',
      value: 100,
      option: 'timeout',
    });
    assert.ok(late.seconds < 1.5, `${late.seconds} s`);
    assert.match((await busy).text, /:SLEPT/);
    assert.equal(await value('(tool/fresh)'), 8);
  });
});

describe('runs that wait', () => {
  const { server, value } = useTools({
    never: { lisp: 'never' },
    hang: shell('sleep 60', { timeout_ms: 60000 }),
  });
  // Starts a run; the function that is returned cancels it.
  const start = (source, more) => {
    const controller = new AbortController();
    const pending = server.client.callTool(
      { name: 'run-program', arguments: { source, limits: { timeout: 60000 }, ...more } },
      { signal: controller.signal, timeout: 60000 },
    );
    return async () => {
      controller.abort();
      await assert.rejects(pending);
    };
  };
  test('for a memory can be cancelled, and so can the one they wait for', async () => {
    const cancelFirst = start('(tool/hang)', { memory: 'shared', tools: ['hang'] });
    await sleep(200);
    const cancelSecond = start('(def x 1)', { memory: 'shared', tools: [] });
    const third = value('(def x 2)', { memory: 'shared', tools: [] });
    await sleep(200);
    await cancelSecond();
    await cancelFirst();
    await third;
    assert.equal(await value('x', { memory: 'shared' }), 2);
  });
  test('for a session can be cancelled', async () => {
    const busy = server.call('evaluate-lisp', { code: '(sleep 1.5) (defun never () 1)' });
    await sleep(200);
    const cancel = start('(tool/never)');
    await sleep(200);
    await cancel();
    await busy;
    assert.equal(await value('(tool/never)'), 1);
  });
});

describe('while a memory waits for its file', () => {
  const { server, run, value, place } = useTools({});
  const fileOf = (name) => path.join(memoriesIn(place), name);
  const expectService = async () => {
    for (let i = 0; i < 10; i++) {
      await server.client.ping();
      assert.equal(await value(`(+ ${i} 1)`), i + 1);
    }
  };

  test('to be written, others are served; the reply says how it ended, the next run has its turn then', async () => {
    const disk = path.join(place, 'disk');
    await value('(def n 1)', { memory: 'written' });
    for (const [word, after] of [
      ['fail', 1],
      ['done', 2],
    ]) {
      makePipe(disk);
      let ended = false;
      const saving = run('(def n 2)', { memory: 'written' }).finally(() => {
        ended = true;
      });
      await expectService();
      assert.ok(!ended);
      const pipe = await open(disk, 'w'); // the save has begun
      const next = value('n', { memory: 'written' });
      await unlink(disk);
      await pipe.write(word);
      await pipe.close();
      const { structured, text } = await saving;
      if (word === 'fail') {
        assert.equal(structured.error.code, 'memory-unavailable');
        assert.match(text, /cannot write .*written\.json: Input\/output error/);
      } else assert.equal(structured.ok, true);
      assert.equal(await next, after);
    }
    assert.deepEqual(
      readdirSync(fileOf('')).filter((name) => /^written/.test(name)),
      ['written.json', 'written.json.lock'],
    );
  });

  test('a link in the place of the file is not followed', async () => {
    await value('(def n 1)', { memory: 'linked' });
    const victim = path.join(place, 'victim');
    writeFileSync(victim, 'mine');
    for (const name of ['linked.json.new', 'linked.json']) {
      rmSync(fileOf(name), { force: true });
      symlinkSync(victim, fileOf(name));
    }
    assert.equal(
      (await run('n', { memory: 'linked' })).structured.error.code,
      'memory-unavailable',
    );
    assert.equal(await readFile(victim, 'utf8'), 'mine');
  });

  test('to be read, others are served, and it can be cancelled', async () => {
    await value('(def n 7)', { memory: 'read' });
    const content = await readFile(fileOf('read.json'), 'utf8');
    await unlink(fileOf('read.json'));
    makePipe(fileOf('read.json'));
    const controller = new AbortController();
    const cancelled = server.client.callTool(
      { name: 'run-program', arguments: { source: '(def n 8)', memory: 'read' } },
      { signal: controller.signal },
    );
    const next = value('n', { memory: 'read' });
    await expectService();
    controller.abort();
    await assert.rejects(cancelled);
    const pipe = await open(fileOf('read.json'), 'w');
    await unlink(fileOf('read.json'));
    await writeFile(fileOf('read.json'), content);
    await pipe.close();
    assert.equal(await next, 7);
    assert.equal(await value('n', { memory: 'read' }), 7);
  });
});

test('a server ends though a memory waits for its file', async () => {
  const place = temporaryDirectory(),
    disk = path.join(place, 'disk');
  const server = await Server.start({ env: { XDG_STATE_HOME: place, ...slowDisk(disk) } });
  const call = (source) => server.call('run-program', { source, memory: 'stuck' });
  await call('(def n 1)');
  makePipe(disk);
  const lost = assert.rejects(call('(def n 2)'));
  const pipe = await open(disk, 'w'); // the save has begun
  process.kill(server.pid, 'SIGTERM');
  const { status } = await server.ended;
  await lost;
  await pipe.close();
  assert.equal(status, 0);
  assert.match(server.transport.stderr, /work on a file has not ended within 2 s and is abandoned/);
});

describe('values of Lisp tools', () => {
  const { server, value } = useTools(
    Object.fromEntries(
      ['rev', 'half', 'shout', 'side', 'rows', 'colours', 'record', 'none', 'wrong'].map((name) => [
        name,
        { lisp: name },
      ]),
    ),
  );
  test('arguments become what was declared, results lose nothing', async () => {
    await server.value(`(declaim (ftype (function (list) list) rev) (ftype (function (single-float) single-float) half)
        (ftype (function (keyword) t) shout) (ftype (function ((member :left :right)) t) side) (ftype (function () boolean) wrong)
        (ftype (function () list) none))
      (defun rev (l) (reverse l)) (defun half (x) (/ x 2)) (defun shout (k) (string k)) (defun side (s) (list :went s))
      (defun rows () (list (list "lamp" 3) (list "lamp" 5) (list "chair" 1))) (defun colours () (list :red :green))
      (defun record () (list :name "x" :size 2)) (defun none () nil) (defun wrong () nil)`);
    assert.deepEqual(await value('(tool/rev {:l [1 2]})'), [2, 1]);
    assert.equal(await value('(tool/half {:x 3})'), 1.5);
    assert.equal(await value('(tool/shout {:k :hey})'), 'HEY');
    assert.deepEqual(await value('(tool/side {:s "left"})'), ['went', 'left']);
    assert.deepEqual(await value('(tool/rows)'), [
      ['lamp', 3],
      ['lamp', 5],
      ['chair', 1],
    ]);
    assert.deepEqual(await value('(tool/colours)'), ['red', 'green']);
    assert.deepEqual(await value('(tool/record)'), { name: 'x', size: 2 });
    assert.deepEqual(await value('[(tool/none) (tool/wrong)]'), [[], false]);
  });
});

describe('programs in a crowd', () => {
  const { server, run, value } = useTools({});
  test('those of one memory take turns', async () => {
    const increments = Array.from({ length: 20 }, () =>
      value('(def n (inc (or n 0)))', { memory: 'counter' }),
    );
    await Promise.all(increments);
    assert.equal(await value('n', { memory: 'counter' }), 20);
  });
  test('200 at once are all answered', async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => value(`(+ ${i} 1)`)));
    assert.deepEqual(
      answers,
      Array.from({ length: 200 }, (_, i) => i + 1),
    );
  });
  test('a result too large to be sent is refused by its worker', async () => {
    const large = run('(reduce (fn [v _] [v v]) [0] (range 20))');
    assert.equal((await large).structured.error.code, 'result-too-large');
    assert.match((await large).text, /larger than 4 MiB/);
    assert.ok(residentBytes(server.pid) < 300e6, `${residentBytes(server.pid)} bytes`);
  });
  test('a worker that does not answer is answered for, as a Step', async () => {
    const { structured } = await run('(reduce (fn [v _] [v v]) [0] (range 40))', {
      limits: { timeout: 100 },
    });
    assert.equal(structured.fail.reason, 'timeout');
    assert.deepEqual(structured.fail.details.limit, {
      name: 'timeout',
      value: 100,
      option: 'timeout',
    });
    assert.ok(structured.usage.duration_ms >= 100);
    assert.deepEqual([structured.return, structured.memory, structured.tool_calls], [null, {}, []]);
  });
});
