// The inspector: how soon an event is told, how soon the page shows something, and what a page that only
// waits costs the server. The page needs Chromium and the npm packages of the tests; without them its
// rows are left out.
import { readFileSync } from 'node:fs';
import { HttpServer, sample } from './clients.mjs';

export const title = 'inspector';

const EVALUATIONS = 200;
const IDLE_MS = 5000;
const CLOCK_TICK_MS = 10; // of /proc, on every Linux

class Client {
  constructor(port) {
    this.address = `http://127.0.0.1:${port}`;
    this.id = 0;
  }

  async request(method, params) {
    const response = await fetch(`${this.address}/mcp`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': '2025-11-25',
        ...(this.session ? { 'Mcp-Session-Id': this.session } : {}),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++this.id, method, params }),
    });
    this.session ??= response.headers.get('Mcp-Session-Id');
    await response.text();
  }

  async open() {
    await this.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'bench', version: '1' },
    });
    return this;
  }

  evaluate(code) {
    return this.request('tools/call', { name: 'evaluate-lisp', arguments: { code } });
  }
}

// Calls `on` with each event and the time at which it came, until the server ends.
async function readEvents(address, on) {
  const response = await fetch(`${address}/events`);
  let rest = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      const data = block.match(/^data: ?(.*)$/m)?.[1];
      if (data) on(JSON.parse(data), performance.now());
    }
  }
}

// From the answer of an evaluation to the event that tells of its end; before it: 0.
async function eventDelays(client) {
  let told;
  const waiting = [];
  readEvents(client.address, (event, at) => {
    if (event.type !== 'ended') return;
    told = at;
    waiting.shift()?.();
  }).catch(() => {}); // the server ends
  const delays = [];
  for (let i = 0; i < EVALUATIONS; i++) {
    const came = new Promise((resolve) => waiting.push(resolve));
    await client.evaluate(`(+ ${i} 1)`);
    const answered = performance.now();
    await came;
    delays.push(Math.max(0, told - answered));
  }
  return delays;
}

function processorMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_MS;
}

async function idle(pid) {
  const before = processorMs(pid);
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  return ((processorMs(pid) - before) / IDLE_MS) * 1000;
}

async function openBrowser() {
  const { openBrowser: open } = await import('../tests/e2e/inspector_support.mjs');
  return open();
}

async function measurePage(bench, server, client) {
  let browser;
  try {
    browser = await openBrowser();
  } catch (error) {
    bench.skip('the page', `no browser: ${error.message.split('\n')[0]}`);
    return;
  }
  try {
    const context = await browser.newContext();
    const show = async () => {
      const page = await context.newPage();
      await page.goto(`${client.address}/#/s/main`);
      await page.locator('.row').first().waitFor();
      // Of the page's own clock: what the browser needs for a new tab is not ours.
      const ms = await page.evaluate(() => performance.now());
      await page.close();
      return ms;
    };
    const times = [];
    await sample(12, async () => times.push(await show()), 2);
    bench.row('first view, 200 evaluations', times.slice(2), { target: 100 });
    const page = await context.newPage();
    await page.goto(`${client.address}/#/s/main`);
    await page.locator('.row').first().waitFor();
    bench.row(
      'processor time of the server, per second that a page waits',
      await idle(server.child.pid),
    );
  } finally {
    await browser.close();
  }
}

export async function measure(bench) {
  const server = await new HttpServer().start(bench.cadre);
  try {
    const client = await new Client(server.port).open();
    bench.row('from the answer to the event of its end', await eventDelays(client), {
      target: 50,
    });
    await measurePage(bench, server, client);
  } finally {
    server.stop();
  }
}
