// Concurrency, progress, cancellation, and how a server begins and ends.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  CADRE,
  eventually,
  expectResult,
  Server,
  sleep,
  temporaryDirectory,
  useServer,
} from './support.mjs';
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

describe('order and concurrency', () => {
  const server = useServer();
  test('calls on one session run in order of arrival', async () => {
    await server.value('(defvar *order* nil)');
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        server.evaluate(`(progn (sleep ${i % 3 ? 0 : 0.02}) (push ${i} *order*) ${i})`),
      ),
    );
    assert.deepEqual(
      answers.map(({ text }) => text),
      Array.from({ length: 30 }, (_, i) => `=> ${i}`),
    );
    assert.equal(
      await server.value('(equal (reverse *order*) (loop for i below 30 collect i))'),
      '=> T',
    );
  });
  test('20 calls in 5 sessions, each right', async () => {
    await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        const { structured } = await server.evaluate(
          `(progn (sleep ${(20 - i) / 200}) (* ${i} ${i}))`,
          { session: `p${i % 5}` },
        );
        assert.deepEqual(structured.values, [String(i * i)]);
      }),
    );
  });
  test('tools that only read records never wait', async () => {
    const busy = server.evaluate('(sleep 1) 1');
    await sleep(50);
    const started = performance.now();
    await server.call('session-info');
    await server.call('configure-limits');
    await server.call('describe-last-error');
    await server.call('list-errors');
    await server.call('get-backtrace');
    assert.ok(performance.now() - started < 800, 'waited for the evaluation');
    await busy;
  });
  test('ping is answered while an evaluation runs', async () => {
    const busy = server.evaluate('(sleep 1) 1');
    const started = performance.now();
    await server.client.ping();
    assert.ok(performance.now() - started < 500);
    await busy;
  });
  test('a queue that is full answers busy', async () => {
    const busy = server.evaluate('(sleep 1) 1', { session: 'p0' });
    const answers = await Promise.all(
      Array.from({ length: 70 }, () => server.evaluate('1', { session: 'p0' })),
    );
    await busy;
    const codes = answers.map(({ structured }) => structured.error?.code ?? 'ok');
    assert.ok(
      codes.includes('busy') && codes.filter((code) => code === 'ok').length >= 60,
      JSON.stringify(codes),
    );
  });
});

describe('a machine with one processor', () => {
  // Where the server must not keep the processor from its workers while it waits for them.
  test('evaluations and programs are answered', async () => {
    const server = await Server.start({ command: ['taskset', '-c', '0', CADRE] });
    for (let i = 0; i < 10; i++) assert.equal(await server.value(`(* ${i} 2)`), `=> ${i * 2}`);
    const { structured } = await server.call('run-program', { source: '(reduce + (range 5))' });
    assert.equal(structured.return, 10);
    await server.stop();
  });
});

describe('a session that has worked for a while', () => {
  const server = useServer();
  test('has few pages for a clone to copy, and all of its state', async () => {
    await server.value('(defvar *all* nil)');
    for (let i = 1; i <= 40; i++) await server.value(`(first (push (list ${i} "text") *all*))`);
    const pid = Number((await server.value('(sb-unix:unix-getpid)')).slice(3));
    const cards = readFileSync(`/proc/${pid}/smaps`, 'utf8').split('memfd:cards')[1];
    const kilobytes = (name) => Number(new RegExp(`^${name}: +(\\d+) kB`, 'm').exec(cards)[1]);
    assert.ok(kilobytes('Rss') < kilobytes('Size') / 4, cards);
    const sums =
      '(progn (gc :full t) (list (length *all*) (reduce (function +) *all* :key (function first))))';
    assert.equal(await server.value(sums), '=> (40 820)');
    await server.call('rollback-session', { to: 38 });
    assert.equal(await server.value(sums), '=> (37 703)');
  });
});

describe('progress', () => {
  const server = useServer();
  test('elapsed time and the newest output of a long evaluation', async () => {
    const seen = [];
    const { text } = await server.evaluate(
      '(dotimes (i 25) (format t "line ~d~%" i) (finish-output) (sleep 0.1)) :done',
      {},
      { onprogress: (progress) => seen.push(progress) },
    );
    assert.ok(text.endsWith('=> :DONE'));
    assert.ok(seen.length >= 1, 'no progress arrived');
    for (let i = 1; i < seen.length; i++)
      assert.ok(seen[i].progress > seen[i - 1].progress, JSON.stringify(seen));
    assert.ok(
      seen.some((progress) => /line \d+/.test(progress.message ?? '')),
      JSON.stringify(seen),
    );
  });
  test('none without a token', async () => {
    const before = server.transport.messages;
    await server.evaluate('(sleep 1.5) 1');
    assert.equal(server.transport.messages, before + 1);
  });
});

describe('cancellation', () => {
  const server = useServer();
  const cancelled = async (code, parameters, after) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort('enough'), after);
    await assert.rejects(server.evaluate(code, parameters, { signal: controller.signal }));
  };
  test('of a running evaluation: the session answers within a second', async () => {
    await server.value('(defvar *kept* 42)');
    await cancelled('(loop)', {}, 200);
    const started = performance.now();
    const { text } = await server.evaluate('*kept*');
    assert.ok(text.endsWith('=> 42'), text);
    assert.ok(performance.now() - started < 1000);
  });
  test('of one that cannot be interrupted', async () => {
    await cancelled('(setf *kept* 43) (sb-sys:without-interrupts (loop))', {}, 200);
    const started = performance.now();
    const { text } = await server.evaluate('*kept*');
    assert.ok(text.endsWith('=> 42'), text);
    assert.match(text, /^\[Notice\]\nevaluation \d+ was cancelled and rolled back/);
    assert.ok(performance.now() - started < 1500);
  });
  test('of a queued evaluation: it never runs', async () => {
    const first = server.evaluate('(sleep 0.8) :first');
    await cancelled('(setf *kept* :queued)', {}, 200);
    assert.equal((await first).text, '=> :FIRST');
    assert.equal(await server.value('*kept*'), '=> 42');
  });
  test('in a copy', async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort('enough'), 200);
    await assert.rejects(
      server.call(
        'compile-form',
        { code: '(macrolet ((m () (loop))) (m))' },
        { signal: controller.signal },
      ),
    );
    assert.ok((await server.evaluate('*kept*')).text.endsWith('=> 42'));
  });
  test('nothing arrives late', async () => {
    await sleep(500);
    server.assertClean();
  });
});

describe('beginning and end', () => {
  for (const [sdk, era] of [
    ['v1', 'legacy'],
    ['v2', 'legacy'],
    ['v2', 'auto'],
    ['v2', '2026-07-28'],
  ]) {
    test(`${sdk} ${era}: evaluate, fail, EOF`, async () => {
      const server = await Server.start({ sdk, era });
      assert.equal(await server.value('(+ 1 2 3)'), '=> 6');
      expectResult(await server.evaluate('(/ 1 0)'), { type: 'DIVISION-BY-ZERO' });
      await server.stop();
    });
  }
  test('EOF during an evaluation', async () => {
    const server = await Server.start();
    await server.value('(+ 1 1)');
    server.evaluate('(loop)').catch(() => {});
    await sleep(100);
    const started = performance.now();
    await server.stop();
    assert.ok(performance.now() - started < 2500, 'the end took too long');
  });
  test('SIGTERM', async () => {
    const server = await Server.start();
    await server.evaluate('(error "frozen")');
    process.kill(server.pid, 'SIGTERM');
    await server.ended;
    server.assertClean();
    assert.ok(await eventually(() => server.processes().length === 0), server.describeProcesses());
  });
  test('kill -9 leaves no process', async () => {
    const server = await Server.start();
    await server.value(`(sb-ext:run-program "/bin/sleep" '("600") :wait nil) 1`);
    await server.evaluate('(error "frozen")', { session: 'other' });
    server.evaluate('(unwind-protect (loop) (loop))').catch(() => {});
    await sleep(200);
    assert.ok(server.processes().length > 4, server.describeProcesses());
    process.kill(server.pid, 'SIGKILL');
    await server.ended;
    const ours = () =>
      server.processes().filter(
        (pid) =>
          !/sleep/.test(
            server
              .describeProcesses()
              .split('\n')
              .find((line) => line.startsWith(`${pid}:`)) ?? '',
          ),
      );
    assert.ok(await eventually(() => ours().length === 0), server.describeProcesses());
    for (const pid of server.processes()) process.kill(pid, 'SIGKILL'); // what user code started
  });
  test('the initialize answer does not wait for SBCL', async () => {
    const server = await Server.start({ args: ['--sbcl', '/nonexistent/sbcl'] });
    expectResult(await server.evaluate('1'), { code: 'sbcl-missing', has: 'sbcl' });
    await server.stop();
  });
  test('a small heap: the limit of memory fits it, its core is built once, whatever the directories are called', async () => {
    const odd = path.join(temporaryDirectory(), "it's [an] odd* name");
    mkdirSync(odd);
    const args = ['--heap', '512', '--log-level', 'error'];
    const settings = { args, env: { TMPDIR: odd, XDG_CACHE_HOME: odd } };
    for (let i = 0; i < 2; i++) {
      const server = await Server.start(settings);
      expectResult(await server.evaluate('(sb-ext:dynamic-space-size)'), `=> ${512 << 20}`);
      expectResult(await server.call('configure-limits'), { match: /max-memory.*\b230\b/ });
      await server.stop();
      assert.deepEqual(readdirSync(odd), ['cadre']);
      assert.equal(
        readdirSync(path.join(odd, 'cadre')).filter((name) => name.endsWith('.core')).length,
        1,
      );
    }
  });
  test('a core that is being built when the server ends: nobody builds on, and the next server is not hindered', async () => {
    const cache = temporaryDirectory();
    const args = ['--sbcl', 'sbcl', '--heap', '300', '--log-level', 'error'];
    const start = () => Server.start({ args, env: { XDG_CACHE_HOME: cache } });
    for (const end of ['kill', 'stop']) {
      const server = await start();
      const pending = server.evaluate('1').catch(() => {});
      assert.ok(
        await eventually(() => server.describeProcesses().includes('build.lisp'), 10),
        server.describeProcesses(),
      );
      await server[end]();
      await pending;
    }
    const server = await start();
    expectResult(await server.evaluate('(+ 1 2)'), '=> 3');
    await server.stop();
    const names = readdirSync(path.join(cache, 'cadre')).filter((name) => name !== 'workspaces');
    assert.deepEqual(names.map((name) => name.replace(/^.*\.core/, '.core')).sort(), [
      '.core',
      '.core.lock',
    ]);
  });
  test('a client that vanishes without EOF of its own', async () => {
    const child = spawn(CADRE, ['serve'], { stdio: ['pipe', 'pipe', 'ignore'] });
    child.stdin.write(
      '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}\n',
    );
    await new Promise((resolve) => child.stdout.once('data', resolve));
    child.stdout.destroy();
    child.stdin.end();
    const [status] = await new Promise((resolve) =>
      child.on('exit', (...ending) => resolve(ending)),
    );
    assert.equal(status, 0);
  });
});
