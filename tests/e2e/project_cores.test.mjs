// The project of a workspace: loaded when a session starts, kept as a core, and never from a core that
// is older than what it was made from.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { CADRE, LONG, sleep, temporaryDirectory, useServer } from './support.mjs';

const ROUNDS = LONG ? 50 : 6;

// A home, a library outside the workspace, and a workspace with a project that uses it.
class Project {
  constructor() {
    this.home = temporaryDirectory();
    this.workspace = path.join(this.home, 'work');
    for (const each of ['work/.cadre', 'work/src', 'common-lisp/lib'])
      mkdirSync(path.join(this.home, each), { recursive: true });
    this.env = {
      ...process.env,
      HOME: this.home,
      XDG_CACHE_HOME: path.join(this.home, '.cache'),
      XDG_STATE_HOME: path.join(this.home, '.state'),
      XDG_CONFIG_HOME: path.join(this.home, '.config'),
      XDG_RUNTIME_DIR: path.join(this.home, '.run'),
    };
    this.lock = 1;
    this.names = { a: new Map([['one', 1]]), b: new Map([['two', 2]]) };
    this.depends = 10;
    this.init = 100;
    this.write('work/app.asd', this.definition());
    this.write('common-lisp/lib/lib.asd', '(defsystem "lib" :components ((:file "lib")))');
    this.write('work/.cadre/config.json', '{"systems": ["app"]}');
    this.writeAll();
    this.trust();
  }

  write(name, text) {
    writeFileSync(path.join(this.home, name), text);
  }

  definition() {
    return `(defsystem "app" :depends-on ("lib") :pathname "src/"
 :components ((:file "a") (:file "b" :depends-on ("a"))))`;
  }

  functions(file) {
    return [...this.names[file]].map(([name, value]) => `(defun ${name} () ${value})\n`).join('');
  }

  writeAll() {
    this.write(
      'common-lisp/lib/lib.lisp',
      `(defpackage :lib (:use :cl)) (in-package :lib) (defmacro base () ${this.depends})`,
    );
    this.write(
      'work/src/a.lisp',
      `(defpackage :app (:use :cl)) (in-package :app)\n${this.functions('a')}`,
    );
    this.write(
      'work/src/b.lisp',
      `(in-package :app)\n(defun based () (lib::base))\n${this.functions('b')}`,
    );
    this.write('work/.cadre/init.lisp', `(defparameter *init* ${this.init})`);
    this.write('work/qlfile.lock', `version ${this.lock}\n`);
  }

  run(args, options = {}) {
    return spawnSync(CADRE, args, {
      cwd: this.workspace,
      env: this.env,
      encoding: 'utf8',
      timeout: 120_000,
      ...options,
    });
  }

  trust() {
    assert.equal(this.run(['trust', this.workspace]).status, 0);
  }

  // What a new session has: each function of the project with its value.
  state() {
    const { stdout, stderr } = this.run([
      'eval',
      `(list* *init* (sort (loop for s being the present-symbols of :app
         when (fboundp s) collect (format nil "~(~a~) ~a" s (funcall s))) #'string<))`,
    ]);
    return { text: stdout.trim().replace(/\s+/g, ' '), notices: stderr };
  }

  expected() {
    const all = [...this.names.a, ...this.names.b, ['based', this.depends]];
    const texts = all.map(([name, value]) => `"${name} ${value}"`).sort();
    return `=> (${[this.init, ...texts].join(' ')})`;
  }

  get cores() {
    const top = path.join(this.home, '.cache/cadre/projects');
    const found = [];
    for (const label of existsSync(top) ? readdirSync(top) : [])
      for (const key of readdirSync(path.join(top, label)))
        found.push(
          ...readdirSync(path.join(top, label, key)).filter((name) => name.endsWith('.core')),
        );
    return found.sort();
  }
}

test('a project is loaded, kept as a core, and started from it', () => {
  const project = new Project();
  const first = project.state();
  assert.equal(first.text, project.expected());
  assert.match(first.notices, /the project was loaded \(app, \.cadre\/init\.lisp\) in/);
  const warm = project.run(['sessions', 'warm']);
  assert.match(warm.stdout, /^the core of the project was made/);
  assert.equal(project.cores.length, 2);
  assert.deepEqual(project.state(), { text: project.expected(), notices: '' });
  assert.match(project.run(['sessions', 'warm']).stdout, /is as it should be/);
  // What is compiled into the project from a library changes with it.
  project.depends = 11;
  project.names.b.delete('two');
  project.writeAll();
  const stale = project.state();
  assert.equal(stale.text, project.expected());
  assert.match(stale.notices, /its core is stale: \S+ has changed/);
});

// A user namespace in which no mount namespace can be made, as in a container.
const WITHOUT_MOUNTS = [
  '--user',
  '--map-root-user',
  'sh',
  '-c',
  'echo 0 >/proc/sys/user/max_mnt_namespaces && exec "$0" "$@"',
];
const canUnshare = spawnSync('unshare', [...WITHOUT_MOUNTS, 'true']).status === 0;

test('the core is kept where the sandbox is not complete', {
  skip: !canUnshare && 'there it never is complete',
}, () => {
  const project = new Project();
  assert.match(project.run(['sessions', 'warm']).stdout, /^the core of the project was made/);
  const { stdout, stderr } = spawnSync(
    'unshare',
    [...WITHOUT_MOUNTS, CADRE, 'eval', '(list *init* (app::one))'],
    { cwd: project.workspace, env: project.env, encoding: 'utf8', timeout: 120_000 },
  );
  assert.deepEqual([stdout, stderr], ['=> (100 1)\n', '']);
});

test('files that are not trusted do not count, and a change ends the trust', () => {
  const project = new Project();
  project.run(['sessions', 'warm']);
  project.write('work/.cadre/init.lisp', '(defparameter *init* :evil)');
  const changed = project.run(['eval', '(boundp (quote *init*))']);
  assert.match(changed.stdout, /=> NIL/);
  assert.match(changed.stderr, /init\.lisp is not used: changed since it was trusted; cadre trust/);
});

test('an init file that fails, hangs, exits or prints leaves a session without it', () => {
  const project = new Project();
  const cases = [
    [
      '(error "no luck")',
      /init\.lisp could not be loaded, and the session starts without it: no luck/,
    ],
    ['(sb-ext:exit :code 3)', /init\.lisp could not be loaded.*exit/is],
    ['(defvar *left* 1) (car 1)', /init\.lisp could not be loaded/],
  ];
  for (const [text, notice] of cases) {
    project.write('work/.cadre/init.lisp', text);
    project.trust();
    const { stdout, stderr } = project.run(['eval', '(list (boundp (quote *left*)) (app::one))']);
    assert.match(stdout, /=> \(NIL 1\)/);
    assert.match(stderr, notice);
  }
  project.write('work/.cadre/init.lisp', '(loop)');
  project.trust();
  const hung = project.run(['eval', '--timeout', '2', '(app::one)']);
  assert.match(hung.stdout, /=> 1/);
  assert.match(hung.stderr, /could not be loaded, and the session starts without it/);
  project.write('work/.cadre/init.lisp', '(defparameter *init* 1) (print :hello)');
  project.trust();
  const printed = project.run(['eval', '*init*']);
  assert.match(printed.stdout, /=> 1/);
  assert.match(printed.stderr, /init\.lisp printed:\s+:HELLO/);
});

test('a project that leaves a thread is loaded at each start', () => {
  const project = new Project();
  project.write(
    'work/.cadre/init.lisp',
    '(defparameter *init* 5) (sb-thread:make-thread (lambda () (sleep 1000)) :name "mine")',
  );
  project.trust();
  const warm = project.run(['sessions', 'warm']);
  assert.match(warm.stdout, /cannot be kept as a core: a thread runs \(.*mine/);
  const { stdout, stderr } = project.run([
    'eval',
    '(count "mine" (sb-thread:list-all-threads) :key (function sb-thread:thread-name) :test (function equal))',
  ]);
  assert.match(stdout, /=> 1/);
  assert.match(stderr, /cannot be kept as a core: a thread runs/);
});

test('no edit leaves a stale definition', async () => {
  const project = new Project();
  let seed = 7;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  const edits = {
    add: () => project.names[random(2) ? 'a' : 'b'].set(`f${random(1000)}`, random(100)),
    remove: () => {
      const names = project.names[random(2) ? 'a' : 'b'];
      if (names.size > 1) names.delete([...names.keys()][random(names.size)]);
    },
    change: () => project.names.a.set([...project.names.a.keys()][0], random(1000)),
    library: () => project.depends++,
    init: () => project.init++,
    lock: () => project.lock++,
    none: () => {},
  };
  for (let round = 0; round < ROUNDS; round++) {
    const names = Object.keys(edits);
    edits[names[round < names.length ? round : random(names.length)]]();
    project.writeAll();
    project.trust();
    if (round % 4 === 3) {
      // A build that is cut short.
      const warm = spawn(CADRE, ['sessions', 'warm'], {
        cwd: project.workspace,
        env: project.env,
        stdio: 'ignore',
      });
      await sleep(200 + random(1500));
      warm.kill('SIGKILL');
      await new Promise((resolve) =>
        warm.exitCode === null && warm.signalCode === null ? warm.once('exit', resolve) : resolve(),
      );
    } else if (random(3) > 0) project.run(['sessions', 'warm']);
    const { text, notices } = project.state();
    assert.equal(text, project.expected(), `round ${round}: ${notices}`);
  }
});

describe('over MCP', () => {
  const project = new Project();
  const server = useServer({
    env: project.env,
    cwd: project.workspace,
    args: ['--workspace', project.workspace],
  });

  test('the reply says what was loaded, and the core is made meanwhile', async () => {
    const first = await server.call('evaluate-lisp', { code: '(app::one)' });
    assert.match(first.text, /the project was loaded \(app, \.cadre\/init\.lisp\)/);
    const deadline = Date.now() + 60_000;
    while (project.cores.length < 2 && Date.now() < deadline) await sleep(50);
    assert.equal(project.cores.length, 2);
    const info = await server.call('session-info', {});
    assert.match(info.text, /Project: app, \.cadre\/init\.lisp/);
  });

  test('a reset starts from the core', async () => {
    await server.call('evaluate-lisp', { code: '(defun app::one () :changed)' });
    const reset = await server.call('reset-session', {});
    assert.doesNotMatch(reset.text, /the project was loaded/);
    const value = await server.call('evaluate-lisp', { code: '(app::one)' });
    assert.match(value.text, /=> 1/);
  });
});
