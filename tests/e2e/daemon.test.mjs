// The daemon and the relay: sessions that outlive their clients, clients that outlive the daemon.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { CADRE, LONG, eventually } from './support.mjs';
import { Machine } from './daemon_support.mjs';

describe('relay and daemon', { concurrency: false }, () => {
  const machine = new Machine();
  after(() => machine.stop());

  it('keeps a session when its client ends', async () => {
    const first = await machine.client();
    assert.equal(await first.evaluate('(defun kept (x) (* 2 x))'), '=> KEPT');
    await first.close();
    const second = await machine.client();
    assert.equal(await second.evaluate('(kept 21)'), '=> 42');
    await second.close();
  });

  it('has one daemon per user, and says who it is', () => {
    const { status, stderr } = machine.run(['daemon']);
    assert.equal(status, 1);
    assert.match(stderr, /^cadre daemon: process \d+ is the daemon already/);
    assert.match(
      machine.run(['daemon', 'status']).stdout,
      /^cadre \S+ daemon, process \d+, \d+ s, clients: 0\n/,
    );
  });

  it('keeps its files private', () => {
    const state = path.join(machine.home, '.local/state/cadre');
    const [home] = readdirSync(path.join(state, 'workspaces'));
    assert.match(home, /^project-[0-9a-f]{8}$/);
    for (const name of ['', 'workspaces', `workspaces/${home}`])
      assert.equal(statSync(path.join(state, name)).mode & 0o777, 0o700, name);
    const { socket } = JSON.parse(readFileSync(path.join(state, 'daemon.lock'), 'utf8'));
    assert.equal(statSync(socket).mode & 0o777, 0o600);
    assert.equal(statSync(path.dirname(socket)).mode & 0o777, 0o700);
    const { path: workspace } = JSON.parse(
      readFileSync(path.join(state, 'workspaces', home, 'workspace.json'), 'utf8'),
    );
    assert.equal(workspace, machine.workspace);
  });

  it('keeps its log small', async () => {
    const log = path.join(machine.home, '.local/state/cadre/daemon.log');
    appendFileSync(log, 'a line\n'.repeat(1 << 18));
    assert.ok(await eventually(() => statSync(log).size < 1000, 60));
    assert.match(readFileSync(log, 'utf8'), /^\S.*the log was too long, and begins again\n$/m);
  });

  it('gives each workspace sessions of its own', async () => {
    const other = path.join(machine.home, 'other');
    mkdirSync(path.join(other, '.git'), { recursive: true });
    const here = await machine.client();
    const there = await machine.client({ cwd: other });
    assert.equal(await here.evaluate('(defvar *where* :here)'), '=> *WHERE*');
    assert.equal(await there.evaluate('(boundp (quote *where*))'), '=> NIL');
    await Promise.all([here.close(), there.close()]);
  });

  it('gives a session the environment and directory of the client that made it', async () => {
    const cwd = path.join(machine.workspace, 'inner');
    mkdirSync(cwd);
    const client = await machine.client({ env: { FLAVOUR: 'mint' } });
    assert.equal(
      await client.evaluate('(sb-posix:getenv "FLAVOUR")', { session: 'env' }),
      '[Notice]\nsession "env" was started\n\n=> "mint"',
    );
    await client.close();
  });

  it('refuses options that the sessions of the workspace were not made with', () => {
    const { status, stderr, stdout } = machine.run(['serve', '--heap', '512'], { input: '' });
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(stderr, /were made with other options/);
  });

  it('refuses connections of its own sessions', async () => {
    const client = await machine.client();
    const { socket } = machine.lockFile();
    const code = `(handler-case
      (let ((socket (make-instance (quote sb-bsd-sockets:local-socket) :type :stream)))
        (sb-bsd-sockets:socket-connect socket ${JSON.stringify(socket)}) :connected)
      (error () :refused))`;
    assert.equal(await client.evaluate(`(progn (require :sb-bsd-sockets) :ready)`), '=> :READY');
    assert.equal(await client.evaluate(code), '=> :REFUSED');
    await client.close();
  });

  it('lets an evaluation run on when its client goes away', async () => {
    const first = await machine.client();
    await first.evaluate('(defvar *done* nil)');
    const begun = path.join(machine.workspace, 'begun');
    const touch = `(close (open ${JSON.stringify(begun)} :direction :output))`;
    first.send('tools/call', {
      name: 'evaluate-lisp',
      arguments: { code: `(progn ${touch} (sleep 1) (setf *done* :yes))` },
    });
    assert.ok(await eventually(() => existsSync(begun), 60));
    first.child.kill('SIGKILL');
    const second = await machine.client();
    assert.match(await second.evaluate('*done*'), /=> :YES$/);
    await second.close();
  });

  it('costs one error per request in flight when the daemon is killed', async () => {
    const client = await machine.client();
    await client.evaluate('1');
    const running = [1, 2, 3].map(() =>
      client.request('tools/call', { name: 'evaluate-lisp', arguments: { code: '(sleep 60)' } }),
    );
    const { pid } = machine.lockFile();
    process.kill(pid, 'SIGKILL');
    for (const { error, result } of await Promise.all(running)) {
      assert.equal(result, undefined);
      assert.match(error.message, /^The Cadre daemon ended while this request was in flight/);
    }
    assert.match(await client.evaluate('(+ 40 2)'), /^=> 42$/m); // the session may be a restored one
    assert.notEqual(machine.lockFile().pid, pid);
    await client.close();
  });

  it('owes no answer to a request that was cancelled', async () => {
    const client = await machine.client();
    await client.evaluate('1');
    const id = client.send('tools/call', {
      name: 'evaluate-lisp',
      arguments: { code: '(sleep 60)' },
    });
    const cancelled = { method: 'notifications/cancelled', params: { requestId: id } };
    client.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...cancelled })}\n`);
    await client.request('ping');
    process.kill(machine.lockFile().pid, 'SIGKILL');
    await client.request('ping'); // this one may be lost with the daemon
    assert.match(await client.evaluate('(+ 40 3)'), /^=> 43$/m); // an answer to `id` would fail the client
    await client.close();
  });

  it('binds a lost socket anew', async () => {
    const { socket, pid } = machine.lockFile();
    unlinkSync(socket);
    assert.ok(await eventually(() => existsSync(machine.lockFile().socket), 10));
    const client = await machine.client();
    assert.equal(await client.evaluate('(+ 1 1)'), '=> 2');
    assert.equal(machine.lockFile().pid, pid);
    await client.close();
  });

  it('is replaced by a newer Cadre only', async () => {
    const ask = (version) =>
      new Promise((resolve, reject) => {
        let text = '';
        const socket = connect(machine.lockFile().socket, () =>
          socket.write(
            `${JSON.stringify({ cadre: 1, version, kind: 'control', client: 'test', request: { op: 'replace' } })}\n`,
          ),
        );
        socket.on('data', (data) => (text += data)).on('error', reject);
        socket.on('close', () => resolve(JSON.parse(text)));
      });
    const { pid } = machine.lockFile();
    assert.equal((await ask('0.1.0')).ok, false);
    assert.equal(machine.lockFile().pid, pid);
    const client = await machine.client();
    assert.equal((await ask('99.0.0')).ok, true);
    const isReplaced = () => (machine.lockFile().pid ?? pid) !== pid;
    assert.ok(await eventually(isReplaced, 60)); // the relay starts the next one
    assert.match(await client.evaluate('(+ 2 3)'), /^=> 5$/m); // the session may be a restored one
    await client.close();
  });

  it('closes connections that do not greet', async () => {
    for (const bytes of ['nonsense\n', '{"cadre":1}\n', '{"cadre":1,"kind":"mcp"}\nmore\n']) {
      const ended = await new Promise((resolve, reject) => {
        const socket = connect(machine.lockFile().socket, () => socket.write(bytes));
        socket.on('data', () => {}).on('error', reject);
        socket.on('close', () => resolve(true));
      });
      assert.ok(ended);
    }
    const client = await machine.client();
    assert.equal(await client.evaluate('1'), '=> 1');
    await client.close();
  });

  it('passes batches, garbage and a last line without newline', () => {
    const { stdout, status } = machine.run(['serve'], {
      input: `garbage\n[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]\n{"jsonrpc":"2.0","id":3,"method":"ping"}`,
    });
    assert.equal(status, 0);
    assert.equal(stdout.split('\n').filter(Boolean).length >= 3, true, stdout);
    assert.match(stdout, /"id":3,"result":\{\}/);
  });

  it('stops when it is told to', () => {
    assert.deepEqual(
      [machine.run(['daemon', 'stop']).status, machine.run(['daemon', 'status']).stdout],
      [0, 'no daemon runs\n'],
    );
  });
});

describe('start of the daemon', { concurrency: false }, () => {
  const machine = new Machine();
  after(() => machine.stop());

  it('starts one for several clients of the same instant', async () => {
    for (let i = 0; i < (LONG ? 20 : 3); i++) {
      const clients = await Promise.all([machine.client(), machine.client(), machine.client()]);
      const { pid } = machine.lockFile();
      assert.match(machine.run(['daemon', 'status']).stdout, new RegExp(`process ${pid},`));
      // Those that came too late for the lock end at once.
      const daemons = process.getuid() === 0 ? [pid] : [];
      const areLeft = () => isDeepStrictEqual(machine.daemons(), daemons);
      assert.ok(await eventually(areLeft, 20), `${machine.daemons()}`);
      await Promise.all(clients.map((client) => client.close()));
      machine.run(['daemon', 'stop']);
    }
  });

  it('replaces a stale socket', async () => {
    const client = await machine.client();
    process.kill(machine.lockFile().pid, 'SIGKILL');
    await client.close();
    assert.ok(existsSync(machine.lockFile().socket));
    const next = await machine.client();
    assert.equal(await next.evaluate('(+ 1 2)'), '=> 3');
    await next.close();
    machine.run(['daemon', 'stop']);
  });

  it('ends by itself', async () => {
    const child = spawn(CADRE, ['daemon', '--linger', '0'], { env: machine.env, stdio: 'ignore' });
    const status = await new Promise((resolve) => child.on('close', resolve));
    assert.equal(status, 0);
  });

  it('works with a long path and without XDG_RUNTIME_DIR', async () => {
    const state = path.join(machine.home, 'x'.repeat(120));
    mkdirSync(state);
    const client = await machine.client({ env: { XDG_RUNTIME_DIR: '', XDG_STATE_HOME: state } });
    assert.equal(await client.evaluate('(+ 1 2)'), '=> 3');
    await client.close();
    const { status } = spawnSync(CADRE, ['daemon', 'stop'], {
      env: { ...machine.env, XDG_RUNTIME_DIR: '', XDG_STATE_HOME: state },
    });
    assert.equal(status, 0);
  });

  it('moves the files of version 0.1 into the first workspace', async () => {
    const home = path.join(machine.home, 'old-state');
    mkdirSync(path.join(home, 'cadre/programs'), { recursive: true, mode: 0o700 });
    writeFileSync(path.join(home, 'cadre/programs/m.json'), '{}');
    const client = await machine.client({ env: { XDG_STATE_HOME: home } });
    await client.close();
    const [name] = readdirSync(path.join(home, 'cadre/workspaces'));
    assert.ok(existsSync(path.join(home, 'cadre/workspaces', name, 'memories/m.json')));
    spawnSync(CADRE, ['daemon', 'stop'], { env: { ...machine.env, XDG_STATE_HOME: home } });
  });
});
