// Evaluations that take longer than a client waits: answered early, watched, fed with input,
// interrupted. No test depends on how long something takes: what must go on waits for a file, and
// what must be over is waited for.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { expectResult, temporaryDirectory, useServer } from './support.mjs';

const directory = temporaryDirectory();
let gates = 0;

// A file that code can wait for.
function newGate() {
  const file = path.join(directory, `gate-${gates++}`);
  return {
    wait: `(loop until (probe-file ${JSON.stringify(file)}) do (sleep 0.02))`,
    open: () => writeFileSync(file, ''),
    touch: `(with-open-file (s ${JSON.stringify(`${file}-here`)} :direction :output) (terpri s))`,
    reached: async () => {
      while (!existsSync(`${file}-here`)) await new Promise((resolve) => setTimeout(resolve, 20));
    },
  };
}

describe('an evaluation that takes long', () => {
  const server = useServer();
  const start = (code, more = {}) => server.evaluate(code, { yield: 1, timeout: 600, ...more });
  const wait = (more) => server.call('wait', { timeout: 600, ...more });

  test('answers with its output so far, then with the rest and its values', async () => {
    const gate = newGate();
    const first = await start(`(format t "one~%") (finish-output) ${gate.wait} (print 2) :done`);
    const { evaluation } = first.structured;
    assert.equal(
      first.text,
      `[stdout]\none\n\n[Running] evaluation ${evaluation} goes on: wait {"evaluation": ${evaluation}}`,
    );
    assert.equal(first.isError, false);
    assert.equal(first.structured.state, 'running');
    const short = await wait({ evaluation, timeout: 0 });
    assert.equal(
      short.text,
      `[Running] evaluation ${evaluation} goes on: wait {"evaluation": ${evaluation}}`,
    );
    gate.open();
    expectResult(await wait({ evaluation }), {
      has: ['[stdout]\n', '2', '=> :DONE'],
      lacks: 'one',
    });
    expectResult(await wait({ evaluation }), { ok: false, code: 'no-such-evaluation' });
    expectResult(await server.evaluate('(+ 1 2)'), '=> 3');
  });

  test('the result is kept until it is asked for, and the next answer says so', async () => {
    const gate = newGate();
    const { structured } = await start(`${gate.wait} (values 1 2)`);
    gate.open();
    const next = await server.evaluate(':next');
    assert.equal(
      next.text,
      `=> :NEXT\n\n[Notice]\nevaluation ${structured.evaluation} has ended: wait {"evaluation": ${structured.evaluation}}`,
    );
    const result = await wait({});
    assert.equal(result.text, '=> 1\n=> 2');
    assert.deepEqual(result.structured.values, ['1', '2']);
  });

  test('an error is an error, and frozen', async () => {
    const gate = newGate();
    const { structured } = await start(
      `(defun late (x) ${gate.wait} (error "x is ~a" x)) (late 41)`,
    );
    gate.open();
    const result = await wait({ evaluation: structured.evaluation });
    expectResult(result, { ok: false, type: 'SIMPLE-ERROR', has: 'x is 41' });
    expectResult(await server.call('eval-in-frame', { frame: 1, code: 'x' }), { has: '=> 41' });
  });

  test('is interrupted', async () => {
    const { structured } = await start('(loop (sleep 0.1))');
    const result = await wait({ evaluation: structured.evaluation, interrupt: true });
    expectResult(result, { ok: false, code: 'interrupted' });
    expectResult(await server.evaluate('(+ 1 2)'), { has: '=> 3' });
  });

  test('its time limit holds after the early answer', async () => {
    const { structured } = await start('(loop (sleep 0.1))', { timeout: 2 });
    expectResult(await wait({ evaluation: structured.evaluation }), { ok: false, code: 'timeout' });
  });

  test('calls behind it are queued, and answer with their numbers', async () => {
    const gate = newGate();
    const session = 'queue';
    const first = await start(gate.wait, { session });
    const [second, third] = await Promise.all([
      start(':second', { session }),
      start(':third', { session }),
    ]);
    const { evaluation } = first.structured;
    assert.deepEqual(
      [second, third].map(({ structured }) => [structured.state, structured.evaluation]),
      [
        ['queued', evaluation + 1],
        ['queued', evaluation + 2],
      ],
    );
    assert.equal(
      second.text,
      `[Queued] evaluation ${evaluation + 1} waits for its turn: wait {"session": "queue", "evaluation": ${evaluation + 1}}`,
    );
    gate.open();
    expectResult(await wait({ session, evaluation: evaluation + 2 }), { has: '=> :THIRD' });
    expectResult(await wait({ session, evaluation: evaluation + 1 }), { has: '=> :SECOND' });
    expectResult(await wait({ session, evaluation }), { has: '=> NIL' });
  });

  test('a crash is reported to the one who waits', async () => {
    const gate = newGate();
    const { structured } = await start(`${gate.wait} (sb-ext:exit :code 3 :abort t)`);
    gate.open();
    expectResult(await wait({ evaluation: structured.evaluation }), {
      ok: false,
      has: '[Rollback]',
    });
  });

  test('one that nobody knows', async () => {
    expectResult(await wait({ evaluation: 99999 }), { ok: false, code: 'no-such-evaluation' });
    expectResult(await wait({ session: 'nobody' }), { ok: false, code: 'no-such-evaluation' });
  });
});

describe('while an evaluation runs', () => {
  const server = useServer({ args: ['--yield', '1'] });
  const start = (code, more = {}) => server.evaluate(code, { yield: 1, timeout: 600, ...more });
  const wait = (more) => server.call('wait', { timeout: 600, ...more });

  test('the next answer of another session reports it, once', async () => {
    const gate = newGate();
    await server.value('1', { session: 'other' });
    const { evaluation } = (await start(gate.wait)).structured;
    const other = () => server.value('(+ 1 2)', { session: 'other' });
    assert.equal(
      await other(),
      `=> 3\n\n[Notice]\nevaluation ${evaluation} goes on: wait {"evaluation": ${evaluation}}`,
    );
    assert.equal(await other(), '=> 3');
    gate.open();
    expectResult(await wait({ evaluation }), { has: '=> NIL' });
    assert.equal(await other(), '=> 3');
  });

  test('what the server knows is answered at once, a form to inspect is queued', async () => {
    const gate = newGate();
    const { evaluation } = (await start(gate.wait)).structured;
    expectResult(await server.call('session-info'), { has: 'State: running' });
    const queued = await server.call('inspect', { value: '(list 1)' });
    const { job } = queued.structured;
    assert.equal(queued.text, `[Queued] job ${job} waits for its turn: wait {"job": ${job}}`);
    gate.open();
    await wait({ evaluation });
    expectResult(await wait({ job }), { has: '= (1)' });
    expectResult(await wait({ job }), { ok: false, code: 'no-such-job' });
  });

  test('what is queued is interrupted before its turn, and the evaluation goes on', async () => {
    const gate = newGate();
    const { evaluation } = (await start(gate.wait)).structured;
    const queued = await start('(error "never")');
    const number = queued.structured.evaluation;
    const { job } = (await server.call('compile-form', { code: '(list 1)' })).structured;
    for (const target of [{ evaluation: number }, { job }])
      expectResult(await wait({ ...target, interrupt: true }), { ok: false, code: 'interrupted' });
    expectResult(await wait({ evaluation, timeout: 0 }), { has: '[Running]' });
    gate.open();
    expectResult(await wait({ evaluation }), { has: '=> NIL' });
  });
});

// Whatever a session works on for long is answered early, not evaluations alone.
describe('other calls that take long', () => {
  const server = useServer({ args: ['--yield', '1'] });
  const wait = (more) => server.call('wait', { timeout: 600, ...more });
  const early = async (tool, parameters) => {
    const result = await server.call(tool, { timeout: 600, ...parameters });
    const { state, job } = result.structured;
    assert.equal(state, 'running', result.text);
    assert.ok(result.text.endsWith(`[Running] job ${job} goes on: wait {"job": ${job}}`));
    return { job, text: result.text };
  };
  // Each waits for a gate; the first has printed before it.
  const rows = [
    [
      'eval-in-frame',
      (gate) => ({ frame: 1, code: `(princ "so far") (terpri) (finish-output) ${gate} x` }),
      '=> 41',
    ],
    [
      'invoke-restart',
      (gate) => ({ restart: 'RETRY', code: `(defun late (x) ${gate} (list x))` }),
      '=> (41)',
    ],
    ['compile-form', (gate) => ({ code: `(macrolet ((slow () ${gate} 1)) (slow))` }), 'Compil'],
    ['inspect', (gate) => ({ value: `(progn ${gate} (vector 7 8))` }), '#(7 8)'],
  ];

  for (const [tool, parameters, expected] of rows)
    test(`${tool} gives the rest to those who wait`, async () => {
      const gate = newGate();
      await server.evaluate('(defun late (x) (error "x is ~a" x)) (late 41)');
      const { job, text } = await early(tool, parameters(gate.wait));
      if (tool === 'eval-in-frame') assert.match(text, /^\[stdout\]\nso far\n\n\[Running\]/);
      expectResult(await wait({ job, timeout: 0 }), { has: '[Running] job', lacks: 'so far' });
      gate.open();
      expectResult(await wait({ job }), { has: expected, lacks: 'so far' });
    });

  test('is interrupted, and changes nothing', async () => {
    await server.evaluate('(defun late (x) (error "x is ~a" x)) (late 41)');
    for (const [tool, parameters] of [
      ['eval-in-frame', { frame: 1, code: '(loop (sleep 0.1))' }],
      ['invoke-restart', { restart: 'RETRY', code: '(defun late (x) (loop (sleep x)))' }],
      ['compile-form', { code: '(macrolet ((slow () (loop (sleep 0.1)))) (slow))' }],
    ]) {
      const { job } = await early(tool, parameters);
      expectResult(await wait({ job, interrupt: true }), { ok: false, code: 'interrupted' });
    }
    expectResult(await server.evaluate('(late 42)'), { ok: false, has: 'x is 42' });
  });

  test('one that restarts and is adopted', async () => {
    const gate = newGate();
    await server.evaluate('(defvar *result* nil) (setf *result* (late 41))');
    const code = `(defun late (x) ${gate.wait} (list :adopted x))`;
    const { job } = await early('invoke-restart', { restart: 'RETRY', code, adopt: true });
    gate.open();
    expectResult(await wait({ job }), { has: ['=> (:ADOPTED 41)', '[Adopted]'] });
    assert.equal(await server.value('*result*'), '=> (:ADOPTED 41)');
  });

  test('a rollback and a reset wait for their turn', async () => {
    for (const [tool, expected] of [
      ['rollback-session', 'Rolled back'],
      ['reset-session', 'reset'],
    ]) {
      const session = tool;
      await server.value('(defvar *x* 1)', { session });
      const gate = newGate();
      const { evaluation } = (await server.evaluate(gate.wait, { session, timeout: 600 }))
        .structured;
      const queued = await server.call(tool, { session });
      assert.equal(queued.structured.state, 'queued', queued.text);
      gate.open();
      await wait({ session, evaluation });
      expectResult(await wait({ session, job: queued.structured.job }), { has: expected });
    }
  });

  test('nothing it has printed is lost', async () => {
    await server.evaluate('(defun late (x) (error "x is ~a" x)) (late 41)');
    const code = '(dotimes (i 30000) (format t "line ~d~%" i)) :printed';
    const { text } = await server.call('eval-in-frame', { frame: 1, code });
    const [, number] = /\[output (\d+): /.exec(text) ?? assert.fail(text.slice(-300));
    expectResult(
      await server.call('read-output', { output: Number(number), match: 'line 15000' }),
      {
        has: 'line 15000',
      },
    );
  });
});

describe('questions while an evaluation runs', () => {
  const server = useServer();
  const start = (code, more = {}) => server.evaluate(code, { yield: 1, timeout: 600, ...more });
  const wait = (more) => server.call('wait', { timeout: 600, ...more });
  const ask = (tool, parameters) => server.call(tool, parameters);

  test('are answered from the newest snapshot, and say so', async () => {
    const gate = newGate();
    const before = (await server.evaluate('(defun old () "before" 1)')).structured.evaluation;
    const { evaluation } = (await start(`(defun old () "after" 2) ${gate.wait} :end`)).structured;
    const notice = `\n\n[Notice]\nevaluation ${evaluation} runs; this is the state before it`;
    const [symbol, value, definitions, found] = await Promise.all([
      ask('describe-symbol', { name: 'old' }),
      ask('inspect', { value: `$${before}` }),
      ask('list-definitions', {}),
      ask('describe-symbol', { pattern: 'old', type: 'function', package: 'cl-user' }),
    ]);
    expectResult(symbol, { has: ['before', notice], lacks: 'after' });
    assert.deepEqual(symbol.structured.notices, [
      `evaluation ${evaluation} runs; this is the state before it`,
    ]);
    expectResult(value, { has: [' = OLD', notice] });
    expectResult(definitions, { has: ['OLD ()', notice] });
    expectResult(found, { has: ['OLD', notice] });
    expectResult(await ask('describe-symbol', { name: 'no-such-name' }), { has: 'not found' });
    const behind = start(':behind');
    expectResult(await ask('describe-symbol', { name: 'old' }), { has: 'before' });
    gate.open();
    expectResult(await wait({ evaluation }), { has: '=> :END' });
    const last = await behind; // early, or within its second
    const given = last.structured.state ? await wait({ evaluation: evaluation + 1 }) : last;
    expectResult(given, { has: '=> :BEHIND' });
    expectResult(await ask('describe-symbol', { name: 'old' }), { has: 'after', lacks: notice });
  });

  test('do not move the files of the evaluation', async () => {
    const gate = newGate();
    const file = path.join(directory, 'written');
    const session = 'files';
    await server.value(
      `(defvar *s* (open ${JSON.stringify(file)} :direction :output :if-exists :supersede))
       (format *s* "one~%") (finish-output *s*)`,
      { session },
    );
    const { evaluation } = (
      await start(
        `(format *s* "two~%") (finish-output *s*) ${gate.touch} ${gate.wait}
         (format *s* "three~%") (close *s*) :written`,
        { session },
      )
    ).structured;
    await gate.reached();
    for (let i = 0; i < 3; i++)
      expectResult(await ask('describe-symbol', { name: '*s*', session }), { has: 'VARIABLE' });
    gate.open();
    expectResult(await wait({ session, evaluation }), { has: '=> :WRITTEN' });
    assert.equal(readFileSync(file, 'utf8'), 'one\ntwo\nthree\n');
  });

  test('one whose copy dies is refused, and the evaluation goes on', async () => {
    const gate = newGate();
    const session = 'dies';
    const code = `(defclass trap () ()) (defmethod print-object ((o trap) s)
                    (declare (ignore s)) (sb-ext:exit :code 3 :abort t))
                  (defvar *trap* (make-instance 'trap)) 1`;
    await server.value(code, { session });
    const { evaluation } = (await start(`${gate.wait} :alive`, { session })).structured;
    expectResult(await ask('describe-symbol', { name: '*trap*', session }), {
      ok: false,
      code: 'copy-ended',
    });
    expectResult(await ask('describe-symbol', { name: 'trap', session }), { has: 'TRAP' });
    gate.open();
    expectResult(await wait({ session, evaluation }), { has: '=> :ALIVE' });
  });

  test('a session that is closed meanwhile answers nothing more', async () => {
    const session = 'closed';
    await server.value('(defvar *slow* 1)', { session });
    await start('(loop (sleep 1))', { session });
    const asked = Promise.all(
      [1, 2, 3].map(() => ask('describe-symbol', { name: 'car', session })),
    );
    await server.call('close-session', { session });
    for (const result of await asked)
      assert.ok(!result.isError || /closed|nknown/.test(result.text), result.text);
  });
});

describe('many at once', () => {
  const server = useServer();
  const start = (code, more = {}) => server.evaluate(code, { yield: 1, timeout: 600, ...more });
  const wait = (more) => server.call('wait', { timeout: 600, ...more });

  test('one in each of 8 sessions at once', async () => {
    const names = Array.from({ length: 8 }, (_, i) => `many-${i}`);
    const gate = newGate();
    const started = await Promise.all(
      names.map((session, i) => start(`(print ${i}) ${gate.wait} (list ${i})`, { session })),
    );
    assert.ok(started.every(({ structured }) => /^(running|queued)$/.test(structured.state)));
    gate.open();
    const results = await Promise.all(names.map((session) => wait({ session })));
    results.forEach((result, i) => expectResult(result, { has: `=> (${i})` }));
  });

  test('in each of 8 sessions one is watched, fed with input and interrupted, with calls behind', async () => {
    const names = Array.from({ length: 8 }, (_, i) => `long-${i}`);
    const code =
      '(format t "name? ") (finish-output) (print (read-line)) (terpri) (loop (sleep 1))';
    const all = (each) => Promise.all(names.map(each));
    const started = await all((session) => start(code, { session, interactive: true }));
    const numbers = started.map(({ structured }) => structured.evaluation);
    // On a busy machine a session may not have come so far within a second.
    const asked = await all(async (session, i) => {
      let text = started[i].text;
      while (!text.includes('[Waiting for input]'))
        text += (await wait({ session, evaluation: numbers[i], timeout: 1 })).text;
      return text;
    });
    asked.forEach((text) => assert.ok(text.includes('name?'), text));
    const behind = await all((session, i) => start(`(list ${i})`, { session }));
    behind.forEach(({ text }, i) =>
      assert.ok(text.startsWith(`[Queued] evaluation ${numbers[i] + 1} waits for its turn`), text),
    );
    const watched = await all(async (session, i) => {
      let { text } = await wait({ session, evaluation: numbers[i], input: `n${i}\n`, timeout: 1 });
      while (!text.includes(`"n${i}"`))
        text += (await wait({ session, evaluation: numbers[i], timeout: 1 })).text;
      return text;
    });
    watched.forEach((text) => assert.match(text, /\[Running\]/));
    const stopped = await all((session, i) =>
      wait({ session, evaluation: numbers[i], interrupt: true }),
    );
    stopped.forEach((result) => expectResult(result, { ok: false, code: 'interrupted' }));
    const rest = await all((session, i) => wait({ session, evaluation: numbers[i] + 1 }));
    rest.forEach((result, i) => expectResult(result, { has: `=> (${i})` }));
  });
});

describe('input', () => {
  const server = useServer();
  const wait = (more) => server.call('wait', { timeout: 600, ...more });

  test('without any, reading ends', async () =>
    expectResult(await server.evaluate('(read-line)'), { ok: false, type: 'END-OF-FILE' }));

  test('as text of the call', async () => {
    expectResult(
      await server.evaluate(
        '(list (read-line) (read) (read-line *standard-input* nil) (read-line *standard-input* nil :end))',
        {
          input: 'first line\n42\n',
        },
      ),
      { has: '=> ("first line" 42 NIL :END)' },
    );
    expectResult(await server.evaluate('(read-line)', { input: '' }), {
      ok: false,
      type: 'END-OF-FILE',
    });
  });

  test('asked for: the question is shown, the answer is read', async () => {
    const asked = await server.evaluate('(if (y-or-n-p "Delete ~a?" 7) :yes :no)', {
      interactive: true,
    });
    const { evaluation, state } = asked.structured;
    assert.equal(state, 'input');
    expectResult(asked, {
      has: [
        'Delete 7?',
        `[Waiting for input] evaluation ${evaluation} reads: wait {"evaluation": ${evaluation}, "input": "…\\n"}`,
      ],
    });
    expectResult(await wait({ evaluation }), { has: '[Waiting for input]' });
    expectResult(await wait({ evaluation, input: 'y\n' }), { has: '=> :YES' });
  });

  test('several questions', async () => {
    const asked = await server.evaluate(
      '(loop for i below 3 collect (progn (format t "name ~a? " i) (finish-output) (read-line)))',
      { interactive: true },
    );
    const { evaluation } = asked.structured;
    expectResult(asked, { has: 'name 0?' });
    expectResult(await wait({ evaluation, input: 'ada\n' }), {
      has: ['name 1?', '[Waiting for input]'],
    });
    expectResult(await wait({ evaluation, input: 'bob\ncyd\n' }), {
      has: '=> ("ada" "bob" "cyd")',
    });
  });

  test('given before it is asked for', async () => {
    const gate = newGate();
    const { structured } = await server.evaluate(`${gate.wait} (read-line)`, {
      interactive: true,
      yield: 1,
    });
    const { evaluation } = structured;
    await wait({ evaluation, input: 'early\n', timeout: 0 });
    gate.open();
    expectResult(await wait({ evaluation }), { has: '=> "early"' });
  });
});
