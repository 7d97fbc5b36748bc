// A server with the inspector's page, an MCP client that plays the agent, and Debian's Chromium with
// the page open. Everything has directories of its own and is gone when `stop()` returns.
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { CADRE, temporaryDirectory } from './support.mjs';

export const TOKEN = 'inspector-test-token-0123456789';
export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const VERSION = '2025-11-25';

// --- the server ---

export class InspectedServer {
  constructor({ port = 0, args = [], cadre = CADRE, workspace } = {}) {
    this.directory = temporaryDirectory();
    this.workspace = workspace ?? path.join(this.directory, 'shop');
    mkdirSync(path.join(this.workspace, '.git'), { recursive: true });
    mkdirSync(path.join(this.directory, 'home'));
    this.tokenFile = path.join(this.directory, 'token');
    writeFileSync(this.tokenFile, `${TOKEN}\n`);
    chmodSync(this.tokenFile, 0o600);
    this.args = args;
    this.cadre = cadre;
    this.port = port;
  }

  get address() {
    return `http://127.0.0.1:${this.port}`;
  }

  get environment() {
    const own = (name) => path.join(this.directory, name);
    return {
      ...process.env,
      HOME: own('home'),
      XDG_STATE_HOME: own('state'),
      XDG_CACHE_HOME: own('cache'),
      XDG_RUNTIME_DIR: own('run'),
    };
  }

  async start() {
    mkdirSync(path.join(this.directory, 'run'), { recursive: true, mode: 0o700 });
    const args = ['serve', '--http', String(this.port), '--token-file', this.tokenFile];
    this.process = spawn(this.cadre, [...args, '--workspace', this.workspace, ...this.args], {
      cwd: this.workspace,
      env: this.environment,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.ended = new Promise((resolve) => this.process.on('close', resolve));
    this.stderr = '';
    this.process.stderr.setEncoding('utf8');
    await new Promise((resolve, reject) => {
      this.process.stderr.on('data', (text) => {
        this.stderr += text;
        const match = /listening on http:\/\/[^:]+:(\d+)/.exec(this.stderr);
        if (!match) return;
        this.port = Number(match[1]);
        resolve();
      });
      this.ended.then(() => reject(new Error(this.stderr)));
    });
    return this;
  }

  async stop() {
    this.process.kill('SIGTERM');
    await this.ended;
  }

  request(where, { token = TOKEN, headers = {}, ...more } = {}) {
    const authorization = token ? { Authorization: `Bearer ${token}` } : {};
    return fetch(`${this.address}${where}`, { headers: { ...authorization, ...headers }, ...more });
  }
}

// --- the agent ---

export class Agent {
  constructor(server, name = 'claude-code') {
    this.server = server;
    this.name = name;
    this.id = 0;
  }

  async post(message) {
    const response = await this.server.request('/mcp', {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': VERSION,
        ...(this.session ? { 'Mcp-Session-Id': this.session } : {}),
      },
      body: JSON.stringify(message),
    });
    this.session ??= response.headers.get('Mcp-Session-Id');
    const text = await response.text();
    const json = text.startsWith('{')
      ? text
      : (text.match(/^data: *(\{.*"id":.*)$/m)?.[1] ?? 'null');
    return JSON.parse(json);
  }

  async request(method, params) {
    const answer = await this.post({ jsonrpc: '2.0', id: ++this.id, method, params });
    if (answer.error) throw new Error(answer.error.message);
    return answer.result;
  }

  async open() {
    await this.request('initialize', {
      protocolVersion: VERSION,
      capabilities: {},
      clientInfo: { name: this.name, version: '1' },
      _meta: { 'cadre/results': 'structured', 'cadre/tools': 'full' },
    });
    return this;
  }

  async tool(name, args = {}) {
    return (await this.request('tools/call', { name, arguments: args })).structuredContent;
  }

  evaluate(code, more = {}) {
    return this.tool('evaluate-lisp', { code, ...more });
  }

  async resource(uri) {
    return JSON.parse((await this.request('resources/read', { uri })).contents[0].text);
  }
}

// --- the browser ---

export async function openBrowser() {
  const { chromium } = await import('playwright-core');
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

// `entrance`: the fragment of the address, where it is not the token alone.
export async function openPage(
  browser,
  server,
  { route = '', token = TOKEN, entrance = `#token=${token}`, ...options } = {},
) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.faults = [];
  page.on('pageerror', (error) => page.faults.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') page.faults.push(message.text());
  });
  await page.goto(`${server.address}/${entrance}`);
  if (route)
    await page.evaluate((hash) => {
      location.hash = hash;
    }, `#/${route}`);
  return page;
}
