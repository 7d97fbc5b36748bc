// A process that listens on HTTP for tests of the daemon: `cadre serve --http`, `cadre daemon --http`.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after } from 'node:test';
import { CADRE, eventually } from './support.mjs';

const VERSION = '2026-07-28';
const PATIENCE = 60;

export class Listener {
  constructor(machine, args) {
    this.machine = machine;
    this.child = spawn(CADRE, args, { cwd: machine.workspace, env: machine.env });
    after(() => this.child.kill('SIGKILL'));
    this.stderr = '';
    this.child.stderr.setEncoding('utf8').on('data', (data) => (this.stderr += data));
    this.ended = new Promise((resolve) => this.child.on('close', resolve));
  }

  async open() {
    const address = /listening on (http:\/\/[\d.:]+\/mcp)/;
    assert.ok(await eventually(() => address.test(this.stderr), PATIENCE), this.stderr);
    this.url = address.exec(this.stderr)[1];
    this.token = readFileSync(
      path.join(this.machine.home, '.local/state/cadre/token'),
      'utf8',
    ).trim();
    return this;
  }

  async evaluate(code, { workspace, token = this.token } = {}) {
    const response = await fetch(this.url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': VERSION,
        'mcp-method': 'tools/call',
        'mcp-name': 'evaluate-lisp',
        ...(workspace && { 'cadre-workspace': workspace }),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'evaluate-lisp',
          arguments: { code },
          _meta: {
            'io.modelcontextprotocol/protocolVersion': VERSION,
            'io.modelcontextprotocol/clientCapabilities': {},
            'io.modelcontextprotocol/clientInfo': { name: 'browser', version: '1' },
          },
        },
      }),
    });
    const { result, error } = await response.json();
    return result ? result.content[0].text : error.message;
  }

  answers() {
    return fetch(this.url).then(
      () => true,
      () => false,
    );
  }

  async close(signal = 'SIGINT') {
    this.child.kill(signal);
    return this.ended;
  }
}
