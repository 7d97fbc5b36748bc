// What real clients hand to their model of an answer: handed_over.mjs CADRE FOLDER, where FOLDER has
// Claude Code and Codex as npm installs them. The model is fake_model.mjs; nothing leaves this machine.
// Prints a line per check, then `N passed, N failed`.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startModel } from './fake_model.mjs';

const [cadre, folder] = process.argv.slice(2);
const scratch = mkdtempSync(path.join(tmpdir(), 'cadre-clients-'));
// A client may still be writing when it has been told to end.
const removal = { recursive: true, force: true, maxRetries: 10, retryDelay: 300 };
process.on('exit', () => rmSync(scratch, removal));

const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

const CALLS = [
  ['a value', { code: '(+ 1 2)' }, '=> 3'],
  [
    'an image and a table',
    { code: `(cadre:show (vector ${[...GIF].join(' ')})) (cadre:show '((1 2)) :columns '(a b)) 1` },
    '=> 1\n<image>\n| A | B |\n|---|---|\n| 1 | 2 |',
  ],
  [
    'an error',
    { code: '(defun f (x) (/ x 0)) (f 1)' },
    '[ERROR] DIVISION-BY-ZERO\narithmetic error DIVISION-BY-ZERO signalled\nOperation was (/ 1 0).\n' +
      '(in form 2, line 1, column 23; the forms before it took effect)\n\n' +
      '[Backtrace]\n0: (/ 1 0)\n1: (F 1)\n2: (EVAL (F 1))\n\n' +
      '[Debug]\nError 1 is frozen; restarts: 1 RETRY, 2 ABORT',
  ],
];

function runClient(name, args, env) {
  const home = mkdtempSync(path.join(scratch, 'home-'));
  const work = path.join(home, 'work');
  mkdirSync(work);
  const child = spawn(path.join(folder, 'node_modules/.bin', name), args, {
    cwd: work,
    env: { PATH: process.env.PATH, HOME: home, TERM: 'dumb', ...env(home) },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      output += data;
    });
  return new Promise((resolve) => child.on('close', () => resolve(output)));
}

const server = { command: cadre, args: ['serve', '--context-db', ':memory:'] };

function claudeCode(port) {
  const file = path.join(scratch, 'mcp.json');
  writeFileSync(file, JSON.stringify({ mcpServers: { cadre: { type: 'stdio', ...server } } }));
  const args = ['-p', 'go', '--mcp-config', file, '--strict-mcp-config'];
  args.push('--allowedTools', 'mcp__cadre__evaluate-lisp');
  return runClient('claude', args, () => ({
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
    ANTHROPIC_API_KEY: 'none',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  }));
}

function codex(port) {
  const settings = {
    model: '"fake"',
    model_provider: '"fake"',
    'model_providers.fake': `{name="fake", base_url="http://127.0.0.1:${port}/v1", wire_api="responses", env_key="FAKE_KEY"}`,
    'mcp_servers.cadre': `{command=${JSON.stringify(server.command)}, args=${JSON.stringify(server.args)}}`,
  };
  const args = ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
  for (const [name, value] of Object.entries(settings)) args.push('-c', `${name}=${value}`);
  return runClient('codex', [...args, 'go'], (home) => {
    const codexHome = path.join(home, '.codex');
    mkdirSync(codexHome);
    return { CODEX_HOME: codexHome, FAKE_KEY: 'none' };
  });
}

// What clients add to the blocks of an answer: Codex the time it took, Claude Code where it keeps an image.
const ADDED = /^(Wall time: [\d.]+ seconds\nOutput:|\[Image: source: .*\])$/;

// What the model reads: the texts of blocks, images as their type.
function readable(content) {
  const blocks = Array.isArray(content) ? content : [{ text: content }];
  return blocks
    .map((block) => block.text ?? `<${block.type.replace('input_', '')}>`)
    .filter((text) => !ADDED.test(text))
    .join('\n');
}

let passed = 0;
let failed = 0;
function report(name, ok, ...details) {
  console.log(`${ok ? 'ok   ' : 'FAIL '} ${name}`);
  if (ok) passed++;
  else {
    failed++;
    for (const detail of details)
      console.log(`      ${String(detail).replaceAll('\n', '\n      ')}`);
  }
}

for (const [client, run] of Object.entries({ 'claude-code': claudeCode, codex }))
  for (const [name, call, expected] of CALLS) {
    const model = await startModel(call);
    const output = await run(model.port);
    model.close();
    const read = model.seen.map(readable);
    report(
      `${client} hands the text of ${name} to the model`,
      read.length > 0 && read.every((text) => text === expected),
      `read: ${JSON.stringify(model.seen)}`,
      `requests: ${JSON.stringify(model.requests).slice(0, 600)}`,
      output.slice(-1500),
    );
  }

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
