// Programs with slow tools: answered early, watched, interrupted; and what is kept of a program for
// read-output. What must go on waits for a file; what must be over is waited for.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { eventually, expectResult, temporaryDirectory, useServer } from './support.mjs';

const directory = temporaryDirectory();
const gate = (name) => path.join(directory, name);
const shell = (script) => ({ command: { argv: ['sh', '-c', script], timeout_ms: 600000 } });
const toolsFile = path.join(directory, 'tools.json');
writeFileSync(
  toolsFile,
  JSON.stringify({
    gated: shell(`while ! [ -e ${gate('open')} ]; do sleep 0.05; done; echo 7`),
    late: shell(`while ! [ -e ${gate('later')} ]; do sleep 0.05; done; echo 8`),
    shut: shell(`while ! [ -e ${gate('never')} ]; do sleep 0.05; done; echo 7`),
    quick: shell('echo 1'),
    echo: { echo: true },
  }),
);

const server = () =>
  useServer({ args: ['--program-tools', toolsFile], env: { XDG_STATE_HOME: directory } });
const limits = { timeout: 600000 };

describe('a program that takes long', () => {
  const cadre = server();
  const run = (source, more = {}) => cadre.call('run-program', { source, limits, ...more });
  const wait = (more) => cadre.call('wait', { timeout: 600, ...more });

  test('answers early, then with the same text as if it had come at once', async () => {
    const started = await run('(+ 1 (tool/quick) (tool/gated))', { yield: 1 });
    const { program } = started.structured;
    assert.equal(
      started.text,
      `[Running] program ${program} goes on (2 tool calls, last gated): wait {"program": ${program}}`,
    );
    assert.equal(started.isError, false);
    expectResult(await wait({ program, timeout: 0 }), { has: `wait {"program": ${program}}` });
    writeFileSync(gate('open'), '');
    const { text, structured } = await wait({ program });
    assert.match(
      text,
      new RegExp(
        `^\\[program ${program}\\]\\nquick: 1 call, \\d+ ms\\ngated: 1 call, \\d+ ms\\n\\n=> 9$`,
      ),
    );
    assert.equal(structured.return, 9);
    expectResult(await wait({ program }), { ok: false, code: 'no-such-program' });
  });

  test('is interrupted', async () => {
    const { structured } = await run('(tool/shut)', { yield: 1 });
    const result = await wait({ program: structured.program, interrupt: true });
    expectResult(result, { ok: false, code: 'interrupted', has: 'was interrupted' });
    assert.equal((await run('(+ 1 2)')).text, '=> 3');
  });

  test('one that nobody waits for is reported with the next answer, once', async () => {
    const { program } = (await run('(tool/shut)', { yield: 1 })).structured;
    assert.equal(
      (await run('(+ 1 2)')).text,
      `=> 3\n\n[Notice]\nprogram ${program} goes on: wait {"program": ${program}}`,
    );
    assert.equal((await run('(+ 1 2)')).text, '=> 3');
    await wait({ program, interrupt: true });
  });

  test('its result is kept, and the next answer says so', async () => {
    const { program } = (await run('(tool/late)', { yield: 1 })).structured;
    writeFileSync(gate('later'), '');
    const ended = async () => (await run('1')).text.includes(`program ${program} has ended`);
    assert.ok(await eventually(ended, 60));
    expectResult(await wait({ program }), { has: '=> 8' });
  });

  test('progress tells of its tools', async () => {
    const messages = [];
    const started = run('(tool/shut)', { yield: 4 });
    const watched = cadre.client.callTool(
      { name: 'run-program', arguments: { source: '(tool/shut)', limits, yield: 4 } },
      { timeout: 60000, onprogress: ({ message }) => messages.push(message) },
    );
    const programs = [await started, await watched].map(
      (result) => (result.structured ?? result.structuredContent).program,
    );
    assert.ok(messages.includes('1 tool call, last shut'), JSON.stringify(messages));
    for (const program of programs) await wait({ program, interrupt: true });
  });

  test('its own time limit holds after the early answer', async () => {
    const { structured } = await run('(tool/shut)', { yield: 1, limits: { timeout: 2500 } });
    expectResult(await wait({ program: structured.program }), {
      ok: false,
      has: '(option timeout)',
    });
  });

  test('a yield that is no number of seconds', async () =>
    expectResult(await run('1', { yield: -1 }), { ok: false, has: 'non-negative' }));
});

describe('what is kept of a program', () => {
  const cadre = server();
  const run = (source, more = {}) => cadre.call('run-program', { source, limits, ...more });
  const read = (more) => cadre.call('read-output', more);

  test('calls with arguments and results, memory, usage', async () => {
    const { text, structured } = await run('(def x [1 2]) (tool/echo {:a 1})');
    const { program } = structured;
    assert.doesNotMatch(text, /\[memory\]|tool_calls/);
    const kept = (await read({ program })).text;
    assert.match(kept, new RegExp(`^\\[program ${program}\\]\\necho: 1 call`));
    const line = (after) => kept.split(`[${after}]\n`)[1].split('\n')[0];
    assert.deepEqual(JSON.parse(line('tool_calls')).args, { a: 1 });
    assert.deepEqual(JSON.parse(line('memory')).x, [1, 2]);
    assert.ok(JSON.parse(line('usage')).steps > 0);
  });
  test('a long value, cut in the answer', async () => {
    const { text, structured } = await run('(vec (range 20000))');
    assert.ok(text.length < 20200, `${text.length}`);
    assert.match(
      text,
      new RegExp(
        `\\n\\[truncated: \\d+ characters omitted\\]\\n[^\\n]*19999\\]\\n\\n` +
          `\\[program ${structured.program}: 1\\d\\d,\\d{3} characters; ` +
          `read-output \\{"program": ${structured.program}, "from": 1\\}\\]$`,
      ),
    );
  });
  test('long output is read by lines', async () => {
    const { program } = (await run('(doseq [i (range 5000)] (println "line" i))')).structured;
    expectResult(await read({ program, from: 4002, lines: 2 }), {
      has: 'line 4000\nline 4001\n\n[program',
    });
  });
  test('nothing is kept of a small one', async () => {
    const { program } = (await run('(+ 1 2)')).structured;
    expectResult(await read({ program }), { ok: false, code: 'no-such-output' });
  });
});
