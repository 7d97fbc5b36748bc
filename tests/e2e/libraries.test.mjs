// Systems that a package manager has put on the machine, and those of the workspace, are found and loaded.
import assert from 'node:assert/strict';
import { mkdirSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Server, temporaryDirectory } from './support.mjs';

const home = realpathSync(temporaryDirectory());
const work = path.join(home, 'work');

function write(name, text) {
  const file = path.join(home, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `${text}\n`);
  return file;
}

// A system whose one function, of its own name, returns `value`.
function system(directory, name, value, more = '') {
  write(
    `${directory}/${name}.asd`,
    `(defsystem "${name}" :version "1.2" ${more} :components ((:file "${name}-code")))`,
  );
  write(`${directory}/${name}-code.lisp`, `(defun ${name} () ${value})`);
}

// A system as Quicklisp installs it: `dist` is a directory of dists in `top`.
function installed(top, dist, name, value) {
  system(`${top}/dists/${dist}/software/${name}-1`, name, value);
  write(
    `${top}/dists/${dist}/installed/systems/${name}.txt`,
    `dists/${dist}/software/${name}-1/${name}.asd`,
  );
}

function quicklisp(top, dist, version) {
  write(`${top}/setup.lisp`, '(error "this file is not to be loaded")');
  write(`${top}/dists/${dist}/enabled.txt`, '');
  write(`${top}/dists/${dist}/distinfo.txt`, `name: ${dist}\nversion: ${version}`);
}

let server;
const start = async (env = {}) => {
  server = await Server.start({
    args: ['--tools', 'full', '--workspace', work],
    env: { HOME: home, XDG_DATA_HOME: path.join(home, 'data'), ...env },
    cwd: work,
    sandboxed: true,
  });
};
const load = async (name) => (await server.call('load-system', { system: name })).text;

before(async () => {
  mkdirSync(work);
  // ASDF lists these directories once.
  system('common-lisp/twice', 'twice', 3);
  system('common-lisp/users', 'users', 1);
  await start();
});
after(() => server.stop());

describe('a system is found', () => {
  test('in the homes of Quicklisp, qlot and ocicl, and its origin is said', async () => {
    quicklisp('quicklisp', 'quicklisp', '2024-10-12');
    installed('quicklisp', 'quicklisp', 'ql-one', 1);
    system('quicklisp/local-projects/mine/deep', 'ql-local', 2);
    quicklisp('work/.qlot', 'pinned', '7');
    installed('work/.qlot', 'pinned', 'qlot-one', 3);
    system('work/ocicl/o-1', 'ocicl-one', 4);
    write('work/ocicl.csv', 'ocicl-one, ghcr.io/ocicl/o@sha256:1, o-1/ocicl-one.asd');
    const all = '"ql-one" "ql-local" "qlot-one" "ocicl-one"';
    system(
      'work',
      'app',
      '(list (ql-one) (ql-local) (qlot-one) (ocicl-one))',
      `:depends-on (${all})`,
    );
    const text = await load('app');
    assert.match(text, /^Loaded: app \(version 1\.2\), 5 files compiled\nFrom /);
    for (const origin of [
      'quicklisp (quicklisp 2024-10-12): ql-one',
      'quicklisp (local project): ql-local',
      'qlot (pinned 7): qlot-one',
      'ocicl: ocicl-one',
      'the workspace: app',
    ])
      assert.ok(text.includes(`rom ${origin}`), `${origin} in ${text}`);
    assert.match(await server.value('(app)'), /=> \(1 2 3 4\)/);
  });

  test('three levels below the workspace; nearer ones and those of the workspace come first', async () => {
    system('work/a/b/c', 'nested', 1);
    system('work/a/b/c/d', 'too-deep', 1);
    assert.match(await load('nested'), /, from the workspace$/);
    assert.match(await load('too-deep'), /"too-deep" not found.*quicklisp in /s);
    system('work/z/y', 'twice', 1);
    system('work/z', 'twice', 2);
    installed('work/.qlot', 'pinned', 'twice', 4);
    await load('twice');
    assert.match(await server.value('(twice)'), /=> 2/);
    installed('quicklisp', 'quicklisp', 'users', 2);
    assert.match(await load('users'), /, from \S+\/common-lisp\/$/);
  });

  test('by the preferred dist; one that is not enabled does not count', async () => {
    for (const dist of ['aaa', 'zzz', 'off']) {
      quicklisp('quicklisp', dist, '1');
      installed('quicklisp', dist, 'chosen', `:${dist}`);
    }
    installed('quicklisp', 'off', 'unused', 1);
    write('quicklisp/dists/zzz/preference.txt', '5');
    renameSync(
      path.join(home, 'quicklisp/dists/off/enabled.txt'),
      path.join(home, 'quicklisp/dists/off/was.txt'),
    );
    await load('chosen');
    assert.match(await server.value('(chosen)'), /=> :ZZZ/);
    assert.match(await load('unused'), /"unused" not found/);
  });

  test('by asdf in code, too', async () => {
    installed('quicklisp', 'quicklisp', 'by-code', ':yes');
    const code = '(progn (asdf:load-system "by-code") (uiop:symbol-call :cl-user :by-code))';
    assert.match(await server.value(code), /=> :YES/);
  });

  test('where $QUICKLISP_HOME and ocicl keep what is for all projects', async () => {
    await server.stop();
    quicklisp('elsewhere', 'd', '1');
    installed('elsewhere', 'd', 'far', ':far');
    system('data/ocicl/ocicl/g', 'global', ':global');
    write('data/ocicl/ocicl.csv', 'global, x@sha256:1, g/global.asd');
    await start({ QUICKLISP_HOME: path.join(home, 'elsewhere') });
    assert.match(await load('far'), /, from quicklisp \(d 1\)$/);
  });
});

describe('a system that is not installed', () => {
  const offer = (top, dist, rows) => {
    write(`${top}/dists/${dist}/systems.txt`, rows.map(({ system }) => system).join('\n'));
    write(`${top}/dists/${dist}/releases.txt`, rows.map(({ release }) => release).join('\n'));
  };
  const row = (name, needs = '') => ({
    system: `${name} ${name} ${name} ${needs}`,
    release: `${name} http://dist.example/${name}.tgz 2048 md5 sha1 ${name}-1 ${name}.asd`,
  });

  test('is named with who offers it, and how the user has it fetched', async () => {
    offer('elsewhere', 'd', [row('needed', 'deeper asdf'), row('deeper')]);
    system('work', 'wants', 1, ':depends-on ("needed" "nobody-has")');
    const text = await load('wants');
    assert.match(text, /MISSING-DEPENDENCY/);
    assert.ok(
      text.includes('hint: needed is not installed, and a session cannot install it'),
      text,
    );
    assert.ok(
      text.includes(`sbcl --load ${home}/elsewhere/setup.lisp --eval '(ql:quickload "needed")'`),
    );
  });
  test('a dry run lists all that would be fetched, from where and whereto', async () => {
    const dry = async (name) =>
      (await server.call('load-system', { system: name, 'dry-run': true })).text;
    const text = await dry('wants');
    assert.match(text, /^To load wants, 2 releases have to be fetched, 4 KB:\n {2}needed {2}http:/);
    assert.ok(
      text.includes(`\n  deeper  http://dist.example/deeper.tgz\n    into ${home}/elsewhere/`),
    );
    assert.match(text, /\nNobody has: nobody-has$/);
    assert.equal(await dry('far'), 'To load far, nothing has to be fetched.');
  });
});

describe('list-systems', () => {
  test('says what is loaded, from where, and what was changed since', async () => {
    system('work', 'plain', 1);
    await load('plain');
    const before = (await server.call('list-systems')).text;
    assert.match(before, /^Loaded systems:\n.*^ {2}plain 1\.2 {2}from the workspace$/ms);
    assert.match(before, /^Not loaded:\n.*^ {2}nested {2}from the workspace$/ms);
    const file = write('work/plain-code.lisp', '(defun plain () 2)');
    assert.match(
      (await server.call('list-systems')).text,
      /^ {2}plain 1\.2 {2}from the workspace, changed since$/m,
    );
    const { text } = await server.call('list-systems', { system: 'plain' });
    assert.ok(text.includes(`\n  Changed since they were loaded: ${file}`), text);
    await load('plain');
    assert.doesNotMatch((await server.call('list-systems')).text, /changed since/);
  });
});
