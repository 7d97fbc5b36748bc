// A terminal in which `cadre repl` runs: tmux types, and shows what a person would see.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after } from 'node:test';
import { CADRE, eventually, sleep, temporaryDirectory } from './support.mjs';

const PATIENCE = 60;

export const home = temporaryDirectory();
// libedit never frees the names of the functions added to it.
const suppressions = path.join(home, 'leaks-of-libedit');
writeFileSync(suppressions, 'leak:wcsdup\n');
export const hasTmux = spawnSync('tmux', ['-V']).status === 0;

export class Terminal {
  // `env`: arguments of env(1).
  constructor(args = [], env = '', { directory = '.', homeDirectory = home } = {}) {
    this.socket = `cadre-${randomUUID().slice(0, 8)}`;
    this.id = randomUUID();
    const command = `cd '${directory}'; env ${env} HOME='${homeDirectory}' LSAN_OPTIONS='suppressions=${suppressions}:print_suppressions=0' CADRE_TEST_ID=${this.id} TERM=screen '${CADRE}' repl ${args.join(' ')}; echo "status $?"; sleep 600`;
    const { status, stderr } = this.tmux(
      '-f',
      '/dev/null',
      'new-session',
      '-d',
      '-x',
      '120',
      '-y',
      '50',
      command,
    );
    assert.equal(status, 0, String(stderr));
  }

  tmux(...args) {
    return spawnSync('tmux', ['-L', this.socket, ...args], { encoding: 'utf8' });
  }
  screen() {
    return this.tmux('capture-pane', '-p', '-S', '-200').stdout.replace(/\n+$/, '');
  }
  // With the sequences for colours and the like.
  styled() {
    return this.tmux('capture-pane', '-p', '-e', '-J').stdout;
  }
  keys(...keys) {
    this.tmux('send-keys', ...keys);
  }
  cursor() {
    return Number(this.tmux('display-message', '-p', '#{cursor_x}').stdout);
  }
  type(text) {
    this.tmux('send-keys', '-l', text);
  }

  // Waits until the screen matches.
  async shows(pattern, seconds = 10) {
    const found = await eventually(() => pattern.test(this.screen()), seconds);
    assert.ok(found, `${pattern} is not on the screen:\n${this.screen()}`);
  }

  // Types a line and waits for the next prompt after it; gives what appeared in between.
  async enter(line, prompt = /^\S+> $/) {
    this.tmux('clear-history');
    this.keys('C-l');
    await sleep(30);
    this.type(line);
    this.keys('Enter');
    let text = '';
    const done = await eventually(() => {
      text = this.tmux('capture-pane', '-p', '-J').stdout.trimEnd();
      const lines = text.split('\n');
      return lines.length > 1 && prompt.test(`${lines.at(-1)} `.replace(/ +$/, ' '));
    }, 10);
    assert.ok(done, `no prompt after ${line}:\n${this.screen()}`);
    return text;
  }

  close() {
    this.tmux('kill-server');
  }
}

// A REPL that reads a pipe, with what it has printed so far.
export class PipedRepl {
  constructor(machine, args = []) {
    this.child = spawn(CADRE, ['repl', ...args], { cwd: machine.workspace, env: machine.env });
    this.text = '';
    for (const stream of [this.child.stdout, this.child.stderr])
      stream.setEncoding('utf8').on('data', (data) => (this.text += data));
    after(() => this.child.kill('SIGKILL'));
    this.ended = new Promise((resolve) => this.child.on('close', resolve));
  }

  type(line) {
    this.child.stdin.write(`${line}\n`);
  }

  async shows(pattern) {
    assert.ok(
      await eventually(() => pattern.test(this.text), PATIENCE),
      `${pattern}: ${this.text}`,
    );
  }

  async close() {
    this.child.stdin.end();
    return this.ended;
  }
}
