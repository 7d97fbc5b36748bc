// (cadre:show x): images, SVG, Markdown and tables beside the text of an answer.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import zlib from 'node:zlib';
import { initialize, request2024 } from './mcp_support.mjs';
import {
  askStdio,
  CADRE,
  eventually,
  expectResult,
  readProc,
  temporaryDirectory,
  useServer,
} from './support.mjs';

const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
const directory = temporaryDirectory();

// A grey PNG with these pixels, rows with their filters.
function pngOf(width, height, pixels, { depth = 8, colour = 0, interlaced = 0 } = {}) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const frame = Buffer.alloc(8);
    frame.writeUInt32BE(data.length);
    frame.writeUInt32BE(zlib.crc32(body), 4);
    return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  header.set([depth, colour, 0, 0, interlaced], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]),
    chunk('IHDR', header),
    chunk('IDAT', zlib.deflateSync(pixels)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

// With `noise` its pixels cannot be compressed.
function png(width, height, noise = false) {
  const pixels = Buffer.alloc((width + 1) * height);
  if (noise)
    for (let i = 0, x = 1; i < pixels.length; i++) {
      x = (Math.imul(x, 1103515245) + 12345) >>> 0;
      pixels[i] = i % (width + 1) ? x >> 16 : 0;
    }
  return pngOf(width, height, pixels);
}

function patched(bytes, at, value) {
  const copy = Buffer.from(bytes);
  copy[at] = value;
  return copy;
}

function saved(name, content) {
  const file = path.join(directory, name);
  writeFileSync(file, content);
  return JSON.stringify(file);
}

const octets = (bytes) => `(vector ${[...bytes].join(' ')})`;
const imageBlock = (mimeType, bytes) => ({
  type: 'image',
  data: bytes.toString('base64'),
  mimeType,
});

describe('cadre:show', () => {
  const server = useServer();
  const show = async (code) => (await server.evaluate(code)).content;

  test('a file becomes an image', async () => {
    const bytes = png(3, 2);
    const { content, structured } = await server.evaluate(
      `(cadre:show (pathname ${saved('a.png', bytes)})) :done`,
    );
    assert.deepEqual(content, [{ type: 'text', text: '=> :DONE' }, imageBlock('image/png', bytes)]);
    assert.deepEqual(structured.shown, [
      { kind: 'image', mime_type: 'image/png', width: 3, height: 2, bytes: bytes.length },
    ]);
  });
  test('the name of a file that is there does, too', async () =>
    assert.deepEqual(
      (await show(`(cadre:show ${saved('b.gif', GIF)})`))[1],
      imageBlock('image/gif', GIF),
    ));
  test('octets, in the order they are shown', async () => {
    const bytes = png(1, 1);
    assert.deepEqual(await show(`(cadre:show ${octets(GIF)}) (cadre:show ${octets(bytes)}) 1`), [
      { type: 'text', text: '=> 1' },
      imageBlock('image/gif', GIF),
      imageBlock('image/png', bytes),
    ]);
  });
  test('what is no whole image is named, and not shown', async () => {
    for (const [bytes, message] of [
      [GIF.subarray(0, 30), 'The GIF image is cut off or damaged.'],
      [Buffer.from([1, 2, 3]), 'The bytes are no PNG, JPEG, GIF or WebP image.'],
      [png(2001, 1), 'The image is 2001 × 1 pixels, and a side may have 2000 at most.'],
    ])
      assert.deepEqual(await show(`(cadre:show ${octets(bytes)}) 1`), [
        { type: 'text', text: `=> 1\n\n[not shown] ${message}` },
      ]);
  });
  test('one whose pixels are not all there is not shown either', async () => {
    const broken = {
      'a row too few': pngOf(4, 3, Buffer.alloc(5 * 2)),
      'a row too many': pngOf(4, 3, Buffer.alloc(5 * 4)),
      'a filter that is none': pngOf(4, 3, patched(Buffer.alloc(5 * 3), 5, 9)),
      'a palette that is missing': pngOf(4, 3, Buffer.alloc(5 * 3), { colour: 3 }),
      'a depth that colours have not': pngOf(4, 3, Buffer.alloc(5 * 3), { depth: 4, colour: 2 }),
      'interlaced, but the rows are not': pngOf(3, 3, Buffer.alloc(4 * 3), { interlaced: 1 }),
      'a code that stands for nothing': patched(GIF, 39, 0x3c),
      'a pixel of two': patched(GIF, 32, 2),
    };
    for (const [name, bytes] of Object.entries(broken)) {
      const format = name.includes('code') || name.includes('pixel') ? 'GIF' : 'PNG';
      assert.deepEqual(
        await show(`(cadre:show ${octets(bytes)}) 1`),
        [
          {
            type: 'text',
            text: `=> 1\n\n[not shown] The ${format} image is cut off or damaged.`,
          },
        ],
        name,
      );
    }
  });
  test('while they are decoded, by another process, no session waits', async () => {
    const worker = () =>
      server.processes().find((pid) => readProc(pid, 'cmdline').includes('picture-worker'));
    const rows = Buffer.alloc((2000 * 8 + 1) * 2000);
    const file = saved('slow.png', pngOf(2000, 2000, rows, { depth: 16, colour: 6 }));
    const shown = server.evaluate(`(dotimes (i 8) (cadre:show (pathname ${file})))`);
    assert.ok(await eventually(worker, 60), 'there is no such process');
    process.kill(worker(), 'SIGSTOP');
    assert.match(await server.value('(+ 1 2)', { session: 'patient' }), /=> 3/);
    process.kill(worker(), 'SIGCONT');
    assert.equal((await shown).content.length, 9);
    const killed = server.evaluate(`(dotimes (i 8) (cadre:show (pathname ${file})))`);
    assert.ok(await eventually(worker, 60));
    process.kill(worker(), 'SIGKILL');
    assert.match((await killed).text, /\[not shown\] The image could not be looked at: .*signal 9/);
  });
  test('decoders run locked up, and say what is wrong with each image', () => {
    const broken = png(4, 3).subarray(0, -20);
    const { stdout, status } = spawnSync(CADRE, ['picture-worker'], {
      input: [png(1, 1), broken, GIF].map((bytes) => `${bytes.toString('base64')}\n`).join(''),
      encoding: 'utf8',
    });
    assert.deepEqual([stdout, status], ['\nThe PNG image is cut off or damaged\n\n', 0]);
  });
  test('PNG of every kind is shown', async () => {
    for (const [rowBytes, options] of [
      [1, { depth: 1 }],
      [6, { depth: 16 }],
      [9, { colour: 2 }],
      [18, { depth: 16, colour: 2 }],
      [6, { colour: 4 }],
      [24, { depth: 16, colour: 6 }],
    ]) {
      const bytes = pngOf(3, 5, Buffer.alloc((rowBytes + 1) * 5), options);
      const blocks = await show(`(cadre:show ${octets(bytes)}) 1`);
      assert.equal(blocks.at(-1).type, 'image', JSON.stringify([options, blocks]));
    }
    const interlaced = pngOf(3, 3, Buffer.alloc(15), { interlaced: 1 });
    const blocks = await show(`(cadre:show ${octets(interlaced)}) 1`);
    assert.equal(blocks.at(-1).type, 'image', JSON.stringify(blocks));
  });
  test('the limits of size', async () => {
    const large = png(1000, 990, true); // a little below 1 MB
    assert.ok(large.length < 1000000 && large.length > 980000, `${large.length}`);
    const file = saved('large.png', large);
    const { content, text } = await server.evaluate(
      `(dotimes (i 4) (handler-case (cadre:show ${file}) (error (c) (princ c))))`,
    );
    assert.equal(content.filter((block) => block.type === 'image').length, 3);
    assert.match(text, /The images of one answer have at most 3,145,728 bytes together\./);
    const tooLarge = saved('too-large.png', png(1000, 1010, true));
    expectResult(await server.evaluate(`(cadre:show ${tooLarge})`), {
      ok: false,
      has: 'one shown file has at most 1,000,000.',
    });
  });
  test('SVG becomes a resource', async () => {
    const svg = '<?xml version="1.0"?> <svg xmlns="http://www.w3.org/2000/svg"><g/></svg>';
    const [, link] = await show(`(cadre:show ${JSON.stringify(svg)})`);
    assert.equal(link.type, 'resource_link');
    assert.equal(link.mimeType, 'image/svg+xml');
    const { contents } = await server.client.readResource({ uri: link.uri });
    assert.deepEqual(contents, [{ uri: link.uri, mimeType: 'image/svg+xml', text: svg }]);
    const [, second] = await show(`(cadre:show (pathname ${saved('c.svg', svg)}))`);
    assert.notEqual(second.uri, link.uri);
    await assert.rejects(server.client.readResource({ uri: 'cadre://shown/99' }), /not found/);
  });
  test('Markdown stays Markdown', async () => {
    assert.deepEqual(await show('(cadre:show "# A title")'), [
      { type: 'text', text: '; No values' },
      { type: 'text', text: '# A title' },
    ]);
    assert.equal((await show(`(cadre:show ${saved('d.md', '*yes*\n')})`))[1].text, '*yes*\n');
  });
  for (const [name, code, table] of [
    [
      'headings',
      `(cadre:show '(("a|b" 1) ("c" 2.5)) :columns '("name" "n"))`,
      '| name | n |\n|---|---|\n| a\\|b | 1 |\n| c | 2.5 |',
    ],
    [
      'headings in the first row',
      `(cadre:show '((x y) (1 2)) :columns t)`,
      '| X | Y |\n|---|---|\n| 1 | 2 |',
    ],
    [
      'property lists',
      `(cadre:show '((:x 1 :y 2) (:x 3)))`,
      '| x | y |\n|---|---|\n| 1 | 2 |\n| 3 |  |',
    ],
    ['arrays', '(cadre:show #2A((1 2) (3 4)))', '|  |  |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |'],
    ['vectors', '(cadre:show (vector (vector 1) (vector 2)))', '|  |\n|---|\n| 1 |\n| 2 |'],
  ])
    test(`rows become a table: ${name}`, async () =>
      assert.equal((await show(code))[1].text, table));
  test('a long table is cut at a row', async () => {
    const [, { text }] = await show(
      `(cadre:show (loop for i below 10000 collect (list i (* i i))))`,
    );
    assert.ok(text.length <= 20100, `${text.length}`);
    const shown = text.split('\n').filter((line) => /^\| \d+ \|/.test(line)).length;
    assert.ok(text.endsWith(`|\n\n[${10000 - shown} more rows]`), text.slice(-60));
  });
  test('anything else is an error', async () =>
    expectResult(await server.evaluate('(cadre:show 42)'), {
      ok: false,
      has: '42 cannot be shown',
    }));
  test('what was shown before an error is there', async () => {
    const { content, isError } = await server.evaluate('(cadre:show "before") (error "x")');
    assert.equal(isError, true);
    assert.equal(content[1].text, 'before');
  });
  test('an evaluation that is waited for', async () => {
    const { structured } = await server.evaluate(`(sleep 1.5) (cadre:show ${octets(GIF)}) :late`, {
      yield: 1,
      session: 'waited',
    });
    const { content } = await server.call('wait', {
      session: 'waited',
      evaluation: structured.evaluation,
      timeout: 600,
    });
    assert.deepEqual(content.slice(-1), [imageBlock('image/gif', GIF)]);
  });
  test('a corrupted agent cannot show what is no image', async () => {
    const { text } = await server.evaluate(
      `(sb-ext:with-unlocked-packages ("CADRE-AGENT")
         (push (list :object "kind" "image" "data" "!!") (cadre-agent::call-shown cadre-agent::*call*))) 1`,
      { session: 'corrupted' },
    );
    assert.match(text, /\[not shown\] The image is no base64\.$/);
  });
});

test('a client of 2025-03-26 gets the address of an SVG as text', () => {
  const [, answer] = askStdio(
    [
      initialize('2025-03-26'),
      request2024(1, 'tools/call', {
        name: 'evaluate-lisp',
        arguments: { code: '(cadre:show "<svg/>") 1' },
      }),
    ],
    ['--context-db', ':memory:'],
  );
  assert.deepEqual(answer.result.content, [
    { type: 'text', text: '=> 1' },
    { type: 'text', text: 'cadre://shown/1' },
  ]);
});

test('cadre eval prints tables, and says what an image is', () => {
  const code = `(cadre:show '((1 2))) (cadre:show ${octets(GIF)}) :end`;
  const { stdout } = spawnSync(CADRE, ['eval', code], { encoding: 'utf8' });
  assert.equal(
    stdout,
    '=> :END\n\n|  |  |\n|---|---|\n| 1 | 2 |\n\n[image/gif, 1 × 1 pixels, 42 bytes]\n',
  );
});
