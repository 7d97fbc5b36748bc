// The first five minutes: the steps of the set-up, `make run`, and the examples and pictures of README.md.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CADRE, eventually } from './support.mjs';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const BUILD = process.env.CADRE_BUILD ?? path.resolve(CADRE, '../../..');
const README = readFileSync(path.join(ROOT, 'README.md'), 'utf8');

describe('scripts/step', () => {
  const step = (text, script, env = {}) =>
    spawnSync(path.join(ROOT, 'scripts/step'), [text, 'sh', '-c', script], {
      encoding: 'utf8',
      env: { ...process.env, ...env },
    });

  test('says in one line what it did and how long it took', () => {
    const { status, stdout, stderr } = step('making tea', 'echo noise; echo more >&2');
    assert.equal(status, 0);
    assert.equal(stdout, '');
    assert.match(stderr, /^making tea \.\.\. \d+ s\n$/);
  });
  test('a failing step shows what it printed, and what to do', () => {
    step('before', 'echo of an earlier step');
    const { status, stderr } = step('making tea', 'echo the kettle is empty; exit 3', {
      STEP_ADVICE: 'Fill the kettle.',
    });
    assert.equal(status, 3);
    assert.match(stderr, /^making tea \.\.\. failed after \d+ s\n/);
    assert.match(stderr, /^ {4}the kettle is empty$/m);
    assert.match(stderr, /build\/setup\.log\. Fill the kettle\.\n$/);
    assert.doesNotMatch(stderr, /earlier step/);
  });
});

describe('make run', () => {
  const freePort = async () => {
    const server = createServer();
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { port: server.address().port, close: () => new Promise((r) => server.close(r)) };
  };
  const start = (port) => {
    const child = spawn(
      path.join(ROOT, 'scripts/run-server'),
      [path.relative(ROOT, BUILD), String(port)],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    child.text = '';
    child.stderr.setEncoding('utf8').on('data', (data) => {
      child.text += data;
    });
    child.ended = new Promise((resolve) => child.on('close', resolve));
    return child;
  };

  test('says that it listens when it does', async () => {
    const { port, close } = await freePort();
    await close();
    const child = start(port);
    assert.ok(await eventually(() => child.text.includes('Cadre listens on')), child.text);
    const answer = await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', body: '{' });
    assert.ok(answer.status >= 400, 'somebody answers');
    child.kill('SIGINT');
    assert.equal(await child.ended, 0, child.text);
  });
  test('does not say so when the port is taken', async () => {
    const { port, close } = await freePort();
    const child = start(port);
    assert.notEqual(await child.ended, 0);
    await close();
    assert.match(child.text, /cannot listen/);
    assert.doesNotMatch(child.text, /listens/);
  });
});

describe('README.md', () => {
  test('has the two commands in front', () => {
    assert.ok(README.indexOf('make run') < README.indexOf('## Install'));
    assert.ok(README.indexOf('make test') < README.indexOf('## Install'));
  });
  test('has six examples, which documents.test.mjs runs', () => {
    const [, section] = README.match(/^## Six examples\n([\s\S]*?)^## /m);
    assert.equal([...section.matchAll(/^```console$/gm)].length, 6);
  });
  test('its pictures are there', () => {
    const pictures = [...README.matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)].map((match) => match[1]);
    assert.ok(pictures.length > 0);
    for (const picture of pictures) assert.ok(existsSync(path.join(ROOT, picture)), picture);
  });
});
