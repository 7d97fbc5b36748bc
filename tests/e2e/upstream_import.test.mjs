// --import: the MCP servers that other clients have.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CADRE, temporaryDirectory } from './support.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const home = temporaryDirectory();
const workspace = path.join(home, 'a workspace');
mkdirSync(workspace);

function write(name, content) {
  const file = path.join(home, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
}
const good = (more = {}) => ({
  command: process.execPath,
  args: [path.join(here, 'hostile_server.mjs'), 'good'],
  ...more,
});

function cadre(args, env = {}) {
  const { PATH, ASAN_OPTIONS, TMPDIR } = process.env;
  const variables = { PATH, TMPDIR, HOME: home, XDG_STATE_HOME: path.join(home, 'state'), ...env };
  if (ASAN_OPTIONS) variables.ASAN_OPTIONS = ASAN_OPTIONS;
  const options = { encoding: 'utf8', cwd: workspace, env: variables, timeout: 120_000 };
  return spawnSync(CADRE, args, options);
}
const check = (client, env) => cadre(['tools', 'check', '--import', client], env);

describe('import', () => {
  test('claude-code: the servers of the workspace before those of the user', () => {
    write('.claude.json', {
      mcpServers: { shared: good(), own: { command: '/nonexistent' }, cadre: { command: 'cadre' } },
      projects: {
        [workspace]: { mcpServers: { own: good() } },
        '/elsewhere': { mcpServers: { other: good() } },
      },
    });
    const { stdout, stderr, status } = check('claude-code');
    assert.match(stderr, /^claude-code: 2 servers from .*\/\.claude\.json: own, shared$/m);
    assert.match(stderr, /^left out: .*server cadre: is Cadre itself$/m);
    assert.match(stdout, /^own: 3 tools/m);
    assert.match(stdout, /^shared: 3 tools/m);
    assert.equal(status, 0);
  });
  test('claude-code: from the directory that its variable names', () => {
    write('elsewhere/.claude.json', { mcpServers: { there: good() } });
    const { stdout } = check('claude-code', { CLAUDE_CONFIG_DIR: path.join(home, 'elsewhere') });
    assert.match(stdout, /^there: 3 tools/m);
  });
  test('claude-desktop', () => {
    write('.config/Claude/claude_desktop_config.json', { mcpServers: { desktop: good() } });
    assert.match(check('claude-desktop').stdout, /^desktop: 3 tools/m);
  });
  test('cursor: with comments, its way to name variables, and what cannot be used', () => {
    write(
      '.cursor/mcp.json',
      `{ // servers
        "mcpServers": {
          "here": ${JSON.stringify(good({ env: { GIVEN: '${env:SOME_VALUE}' }, cwd: '${userHome}' }))},
          "old": {"type": "sse", "url": "https://example.com/sse"},
          "unset": {"url": "https://example.com/mcp", "headers": {"A": "\${env:NOT_SET}"}},
          "npx": {"command": "npx", "args": ["-y", "cadre-mcp", "serve"]}, /* ours */
        },
      }`,
    );
    const { stdout, stderr } = check('cursor', { SOME_VALUE: 'x' });
    assert.match(stdout, /^here: 3 tools/m);
    assert.match(stderr, /server old: the SSE transport of 2024-11-05 is not supported/);
    assert.match(stderr, /server unset: the variable NOT_SET is not set/);
    assert.match(stderr, /server npx: is Cadre itself/);
    const call = cadre(['tools', 'call', '--import', 'cursor', 'here/env', '{"name": "GIVEN"}'], {
      SOME_VALUE: 'of the user',
    });
    assert.equal(call.stdout, '"of the user"\n');
  });
  test('vscode: `servers`, and values that the editor asks for', () => {
    write(
      '.config/Code/User/mcp.json',
      `{"inputs": [{"id": "key", "type": "promptString"}],
        "servers": {
          "editor": ${JSON.stringify(good({ type: 'stdio', cwd: '${workspaceFolder}' }))},
          "asks": {"type": "http", "url": "https://example.com", "headers": {"K": "\${input:key}"}},
        } // trailing comma
      }`,
    );
    const { stdout, stderr } = check('vscode');
    assert.match(stdout, /^editor: 3 tools/m);
    assert.match(stderr, /server asks: \$\{input:key\} asks the user, which only the editor does/);
  });
  test('project: only when it is trusted', () => {
    write('a workspace/.mcp.json', { mcpServers: { project: good() } });
    const refused = check('project');
    assert.match(refused.stderr, /\.mcp\.json is not trusted; to use it: cadre trust /);
    assert.equal(refused.status, 2);
    assert.equal(cadre(['trust', workspace]).status, 0);
    assert.match(check('project').stdout, /^project: 3 tools/m);
    write('a workspace/.mcp.json', { mcpServers: { project: good(), another: good() } });
    assert.match(check('project').stderr, /is changed since it was trusted/);
  });
  test('what is not there or wrong is said, and the rest is taken', () => {
    write('.cursor/mcp.json', '{"mcpServers": ');
    const { stdout, stderr, status } = cadre(
      ['tools', 'check', '--import', 'cursor', '--import', 'claude-desktop'],
      {},
    );
    assert.match(stderr, /^cursor: .*mcp\.json:1:\d+: /m);
    assert.match(stdout, /^desktop: 3 tools/m);
    assert.equal(status, 0);
    const nothing = check('vscode', { XDG_CONFIG_HOME: path.join(home, 'empty') });
    assert.match(nothing.stderr, /vscode: there is no .*\/empty\/Code\/User\/mcp\.json/);
    assert.equal(check('emacs').status, 2);
  });
  test('programs call them', () => {
    const policies = path.join(home, 'policies.json');
    writeFileSync(policies, JSON.stringify({ mcpServers: {}, policies: { 'desktop/*': 'allow' } }));
    const args = ['run', '--import', 'claude-desktop', '--value', '--json'];
    const program = ['-e', '(desktop/add {:a 1 :b 2})'];
    assert.match(cadre([...args, ...program]).stderr, /asked|ask/);
    assert.equal(cadre([...args, '--mcp-config', policies, ...program]).stdout, '[3]\n');
  });
});
