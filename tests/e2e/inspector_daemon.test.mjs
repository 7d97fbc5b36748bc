// The inspector's page of the daemon: what agents on standard input/output do, several workspaces, and
// `cadre ui`, which finds the page or has it opened.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { Machine } from './daemon_support.mjs';
import { openBrowser, openPage } from './inspector_support.mjs';
import { Listener } from './listener.mjs';
import { CADRE, eventually } from './support.mjs';

const PATIENCE = 60;

let browser;
before(async () => {
  browser = await openBrowser();
});
after(() => browser?.close());

let machine;
beforeEach(() => {
  machine = new Machine({ DISPLAY: '', WAYLAND_DISPLAY: '', BROWSER: '' });
});
afterEach(() => machine.stop());

function addWorkspace(name) {
  const directory = path.join(machine.home, name);
  mkdirSync(path.join(directory, '.git'), { recursive: true });
  return directory;
}

function findPage(options) {
  const run = machine.run(['ui', '--print'], options);
  assert.equal(run.status, 0, run.stderr);
  const url = new URL(run.stdout.trim());
  const given = new URLSearchParams(url.hash.slice(1));
  return {
    address: url.origin,
    hash: url.hash,
    token: given.get('token'),
    workspace: given.get('workspace'),
  };
}

const open = (found, route) => openPage(browser, found, { entrance: found.hash, route });
const row = (page, number) => page.locator(`.row[data-number="${number}"]`);

async function ask(found, method, params, headers = {}) {
  const response = await fetch(`${found.address}/mcp`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': method,
      'Mcp-Name': params.uri,
      Authorization: `Bearer ${found.token}`,
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return { status: response.status, text: await response.text() };
}

describe("the daemon's page", () => {
  it('shows what an agent on standard input/output has done, and does', async () => {
    const agent = await machine.client();
    await agent.evaluate('(progn (print :before) (list 1 2))');
    await agent.tool('run-program', { source: '(println "early") (+ 40 2)' });
    const found = findPage();
    assert.equal(found.workspace, machine.workspace);
    const page = await open(found, 's/main/1');
    await page.locator('.part', { hasText: 'Output' }).getByText(':BEFORE').waitFor();
    assert.match(await row(page, 1).textContent(), /test \(pid \d+\)/);
    await agent.evaluate('(+ 1 1)');
    await row(page, 2).waitFor();
    await page.getByRole('link', { name: 'Programs' }).click();
    await page.locator('.main', { hasText: '(println "early")' }).waitFor();
    await agent.tool('run-program', { source: '(str "late" "r")' });
    await page.locator('.main', { hasText: '(str "late" "r")' }).waitFor();
    assert.deepEqual(page.faults, []);
  });

  it('leads from one workspace to the others, and to those that are only kept', async () => {
    const blog = addWorkspace('blög & co');
    const shop = await machine.client();
    const writer = await machine.client({ cwd: blog });
    await shop.evaluate('(defvar *shop* 1)');
    await writer.evaluate('(defvar *blog* 2)');
    const page = await open(findPage());
    await page.locator('.overview h1', { hasText: 'project' }).waitFor();
    await page.locator('.other', { hasText: '1 session, 1 live' }).click();
    await page.locator('.overview h1', { hasText: 'blög & co' }).waitFor();
    await page.locator('.side', { hasText: 'main' }).click();
    await page.locator('.row', { hasText: '*blog*' }).waitFor();
    await page.locator('.prompt textarea').fill('(list :from-the-page *blog*)');
    await page.locator('.prompt textarea').press('Enter');
    await page.locator('.row[data-number="2"]').waitFor();
    assert.match(await writer.evaluate('(first /)'), /\(:FROM-THE-PAGE 2\)/);
    await page.close();
    await shop.close();
    await writer.close();
    machine.run(['daemon', 'stop']);

    const later = await open(findPage());
    const other = later.locator('.other', { hasText: 'blög & co' });
    await other.waitFor();
    assert.match(await other.textContent(), /1 session$/);
    await later.locator('.card', { hasText: 'hibernated' }).waitFor();
    await later.locator('.side', { hasText: 'blög & co' }).click();
    await later.locator('.overview h1', { hasText: 'blög & co' }).waitFor();
    await later.locator('.card', { hasText: 'hibernated' }).waitFor();
    assert.deepEqual(later.faults, []);
  });

  it('shows a workspace whose sessions were made with other options', async () => {
    const agent = await machine.client({ args: ['--no-network'] });
    await agent.evaluate('(defvar *alone* 3)');
    const page = await open(findPage(), 's/main');
    await page.locator('.row', { hasText: '*alone*' }).waitFor();
  });
});

describe('cadre ui', () => {
  it('opens one page for all, which counts as no client', () => {
    const first = findPage();
    const second = findPage({ cwd: addWorkspace('other') });
    assert.equal(second.address, first.address);
    assert.equal(second.workspace, path.join(machine.home, 'other'));
    assert.match(machine.run(['daemon', 'status']).stdout, /clients: 0/);
  });

  it('finds the listener of a server, but not one with other options', async () => {
    const listener = await new Listener(machine, ['serve', '--http', '0']).open();
    assert.equal(findPage().address, new URL(listener.url).origin);
    const closed = addWorkspace('closed');
    const agent = await machine.client({ cwd: closed, args: ['--no-network'] });
    await agent.evaluate('1');
    const found = findPage({ cwd: closed });
    assert.notEqual(found.address, new URL(listener.url).origin);
    const headers = { 'Cadre-Workspace': closed };
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    };
    const read = ['resources/read', { uri: 'cadre://workspaces', _meta: meta }, headers];
    assert.equal((await ask(found, ...read)).status, 200);
    const refused = await ask({ ...found, address: new URL(listener.url).origin }, ...read);
    assert.equal(refused.status, 403);
    await listener.close();
  });

  it('says on the page that a workspace is not shown, and leads back', async () => {
    const found = findPage();
    const nowhere = path.join(machine.home, 'nowhere');
    const page = await open({
      ...found,
      hash: `#token=${found.token}&workspace=${encodeURIComponent(nowhere)}`,
    });
    await page.getByText('This server does not show the workspace').waitFor();
    await page.getByText(nowhere).waitFor();
    await page.getByRole('button', { name: "The server's workspace" }).click();
    await page.locator('.overview h1', { hasText: 'project' }).waitFor();
  });

  // A daemon that ends a second after nobody needs it any more.
  async function startDaemon() {
    const child = spawn(CADRE, ['daemon', '--linger', '1'], {
      cwd: machine.workspace,
      env: machine.env,
      stdio: 'ignore',
    });
    const daemon = { isEnded: false };
    daemon.ended = new Promise((resolve) => child.on('close', resolve)).then((status) => {
      daemon.isEnded = true;
      return status;
    });
    assert.ok(await eventually(() => machine.run(['daemon', 'status']).status === 0, PATIENCE));
    return daemon;
  }

  it('goes on with the next daemon, when it is open', async () => {
    const agent = await machine.client();
    await agent.evaluate('(defvar *before* 1)');
    const page = await open(findPage(), 's/main');
    await row(page, 1).waitFor();
    process.kill(machine.lockFile().pid, 'SIGKILL');
    await page.getByText('What is shown may be old').waitFor();
    const { stdout } = machine.run(['eval', '--session', 'main', '(list :after 2)']);
    assert.match(stdout, /\(:AFTER 2\)/);
    await page.locator('.row', { hasText: '(list :after 2)' }).waitFor();
    await page.locator('.connection', { hasText: 'live' }).waitFor();

    // one that ends while nobody reads the page leaves nothing
    await page.close();
    const file = path.join(machine.home, '.local/state/cadre/page.json');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.ok(!readFileSync(file, 'utf8').includes(machine.marker));
    await agent.close();
    machine.run(['daemon', 'stop']);
    assert.equal(existsSync(file), false);
  });

  it('does not keep the daemon', async () => {
    const daemon = await startDaemon();
    findPage();
    assert.equal(await daemon.ended, 0);
  });

  it('keeps the daemon while the page is open', async () => {
    const daemon = await startDaemon();
    const agent = await machine.client();
    const page = await open(findPage());
    await page.locator('.connection', { hasText: 'live' }).waitFor();
    await agent.close();
    await new Promise((resolve) => setTimeout(resolve, 3000));
    assert.equal(daemon.isEnded, false);
    await page.close();
    assert.ok(await eventually(() => daemon.isEnded, PATIENCE));
  });
});
