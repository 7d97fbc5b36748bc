// Output that is too long for an answer is kept and read in pages.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectResult, useServer } from './support.mjs';

describe('output that is too long for an answer', () => {
  const server = useServer();
  const read = (more) => server.call('read-output', more);
  let number;

  test('is named in the answer', async () => {
    const { text, structured } = await server.evaluate(
      '(dotimes (i 60000) (format t "line ~a~%" i))',
    );
    number = structured.evaluation;
    const expected = new RegExp(
      `\\n\\n=> NIL\\n\\n\\[output ${number}: 648,890 characters, lines 1–[1-9],\\d{3} and 5\\d,\\d{3}–60,000 shown; ` +
        `read-output \\{"output": ${number}, "from": \\d+\\}\\]$`,
    );
    assert.match(text, expected);
    assert.ok(text.length <= 20300, `${text.length} characters`);
  });
  test('is read from a line on', async () => {
    const { text, structured } = await read({ output: number, from: 30001, lines: 2 });
    assert.equal(
      text,
      `line 30000\nline 30001\n\n[output ${number}: 60,000 lines; read-output {"output": ${number}, "from": 30003}]`,
    );
    assert.equal(structured.next, 30003);
  });
  test('page by page it is whole', async () => {
    const lines = [];
    for (let from = 1; from; ) {
      const { text, structured } = await read({ output: number, from, lines: 10000 });
      lines.push(...text.slice(0, text.lastIndexOf('\n\n[output ')).split('\n'));
      from = structured.next;
    }
    assert.deepEqual(
      lines,
      Array.from({ length: 60000 }, (_, i) => `line ${i}`),
    );
  });
  test('is a resource, as much of it as one answer holds', async () => {
    const { contents } = await server.client.readResource({ uri: `cadre://output/main/${number}` });
    assert.equal(contents[0].mimeType, 'text/plain');
    assert.equal(contents[0].text.split('\n').length, 60001);
    for (const uri of ['cadre://output/other/1', 'cadre://output/main/99', 'cadre://output/main/x'])
      await assert.rejects(server.client.readResource({ uri }), /not found/);
  });
  test('is searched', async () => {
    const { text } = await read({ output: number, match: '9999' });
    assert.deepEqual(text.split('\n').slice(0, 6), [
      '10000: line 9999',
      '20000: line 19999',
      '30000: line 29999',
      '40000: line 39999',
      '50000: line 49999',
      '60000: line 59999',
    ]);
    expectResult(await read({ output: number, match: 'nowhere' }), { has: '(no such lines)' });
  });
  test('the newest is the default; beyond the end there is nothing', async () => {
    expectResult(await read({ from: 59999 }), { has: 'line 59998\nline 59999\n\n[output' });
    expectResult(await read({ from: 70000 }), { has: '(no more lines)' });
  });
  test('a line without an end, longer than a page', async () => {
    const { structured } = await server.evaluate(
      '(write-string (make-string 300000 :initial-element #\\é))',
    );
    const { text } = await read({ output: structured.evaluation });
    assert.match(text, /^é+\[truncated: a line of 600000 bytes\]/);
  });
  test('a value that is too long shows its beginning and its end', async () => {
    const { text, structured } = await server.evaluate(
      '(coerce (loop for i below 9000 append (list #\\a (code-char (+ 48 (mod i 10))) #\\Newline)) (quote string))',
    );
    const shown =
      /^=> "a0\n[\s\S]*\[truncated: 7002 characters omitted; max-output 20000\]\n[\s\S]*a9\n"\n\n\[output (\d+): 27,005 characters, lines 1–4,999 and 7,334–9,001 shown; read-output \{"output": \d+, "from": 5000\}\]$/;
    assert.match(text, shown);
    const page = await read({ output: structured.evaluation, from: 5000, lines: 2 });
    assert.match(page.text, /^a9\na0\n\n\[output/);
    const found = await read({ output: structured.evaluation, match: '=> ' });
    assert.match(found.text, /^1: => "a0/);
  });
  test('output and values share the limit and are kept together', async () => {
    const { text, structured } = await server.evaluate(
      '(dotimes (i 30000) (write-char #\\o)) (make-string 30000 :initial-element #\\v)',
    );
    assert.deepEqual(structured.omitted, { stdout: 20000, values: 20002 });
    assert.ok(text.length < 20300, `${text.length} characters`);
    const { text: last } = await read({ output: structured.evaluation, from: 3 });
    assert.match(last, /^=> "v+/);
  });
  test('short output is not kept', async () => {
    const { text, structured } = await server.evaluate('(princ 1)');
    assert.doesNotMatch(text, /\[output/);
    expectResult(await read({ output: structured.evaluation }), {
      ok: false,
      code: 'no-such-output',
    });
  });
  test('of each session the newest 64 MB', async () => {
    const flood = async () =>
      (
        await server.evaluate(
          `(let ((line (make-string 1000 :initial-element #\\x))) (dotimes (i 30000) (write-line line)))`,
          { session: 'flood', timeout: 300 },
        )
      ).structured.evaluation;
    const numbers = [await flood(), await flood(), await flood()];
    const kept = await Promise.all(
      numbers.map(async (output) => !(await read({ session: 'flood', output, lines: 1 })).isError),
    );
    assert.deepEqual(kept, [false, true, true]);
    expectResult(await read({ output: number, lines: 1 }), { has: 'line 0' });
  });
});
