// The installed tree: it needs nothing but glibc, brings its SBCL, and works wherever it is moved to.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const ROOT = path.resolve(import.meta.dirname, '../..');
const BUILD = process.env.CADRE_BUILD ?? path.join(ROOT, 'build/release');
const directory = mkdtempSync(path.join(os.tmpdir(), 'cadre-tree-'));
const tree = path.join(directory, 'a moved tree');
const cache = path.join(directory, 'cache');
const lib = path.join(tree, 'lib/cadre');

// What every machine with glibc has.
const SYSTEM = ['ld-linux-x86-64.so.2', 'libc.so.6', 'libm.so.6', 'linux-vdso.so.1'];

// No sbcl in PATH, and an SBCL_HOME that belongs to something else.
function cadre(...args) {
  return spawnSync(path.join(tree, 'bin/cadre'), args, {
    encoding: 'utf8',
    env: {
      PATH: '/nonexistent:/usr/bin/nothing',
      HOME: directory,
      XDG_CACHE_HOME: cache,
      SBCL_HOME: '/nonexistent',
    },
  });
}

function evaluated(code, ...options) {
  const { stdout, stderr } = cadre('eval', ...options, code);
  assert.equal(stderr, '');
  return stdout;
}

// Runs with a part of the tree replaced.
function withFile(name, content, body) {
  const file = path.join(lib, name),
    kept = `${file}.kept`;
  renameSync(file, kept);
  try {
    if (content !== null) writeFileSync(file, content, { mode: 0o755 });
    body(readFileSync(kept));
  } finally {
    rmSync(file, { force: true });
    renameSync(kept, file);
  }
}

before(() => {
  const staged = path.join(directory, 'staged');
  execFileSync('meson', ['install', '-C', BUILD, '--no-rebuild', '--quiet', '--destdir', staged]);
  const installed = execFileSync('find', [staged, '-path', '*/bin/cadre'], { encoding: 'utf8' });
  renameSync(path.resolve(installed.trim(), '../..'), tree);
});
after(() => rmSync(directory, { recursive: true, force: true }));

describe('shared libraries', () => {
  const needed = (file) =>
    execFileSync('ldd', [file], { encoding: 'utf8' })
      .trim()
      .split('\n')
      .map((line) => line.trim().match(/^(\S+)(?: => (.+) \(0x)?/))
      .map(([, name, found]) => [path.basename(name), found]);
  const foreign = (file) => needed(file).filter(([name]) => !SYSTEM.includes(name));

  test('the program needs glibc alone', () => {
    assert.deepEqual(foreign(path.join(tree, 'bin/cadre')), []);
  });
  test('what else SBCL needs lies beside it and is found there', () => {
    const runtime = path.join(lib, 'sbcl/sbcl');
    assert.deepEqual(foreign(runtime), [['libzstd.so.1', path.join(lib, 'sbcl/libzstd.so.1')]]);
    assert.deepEqual(foreign(path.join(lib, 'sbcl/libzstd.so.1')), []);
  });
});

describe('a moved tree on a machine without its SBCL', () => {
  test('evaluates', () => assert.equal(evaluated('(+ 1 2)'), '=> 3\n'));
  test('uses the runtime it brings', () =>
    assert.equal(
      evaluated('(native-namestring sb-ext:*runtime-pathname*)'),
      `=> "${lib}/sbcl/sbcl"\n`,
    ));
  test('finds its modules, and leaves the environment alone', () => {
    assert.match(evaluated('(require :asdf) (require :sb-bsd-sockets)'), /^=> \(.*SB-BSD-SOCKETS/);
    assert.equal(evaluated('(sb-ext:posix-getenv "SBCL_HOME")'), '=> "/nonexistent"\n');
  });
  test('doctor finds no problem and names the files', () => {
    const { stdout, status } = cadre('doctor');
    assert.match(stdout, new RegExp(`^ok +sbcl +${lib}/sbcl/sbcl, which comes with Cadre$`, 'm'));
    assert.match(stdout, new RegExp(`^ok +core +${lib}/cadre\\.core$`, 'm'));
    assert.match(stdout, /^ok +modules /m);
    assert.match(stdout, /\n0 problems, \d+ notes?\n$/);
    assert.equal(status, 0);
  });
});

describe('--sbcl', () => {
  const sbcl = execFileSync('sh', ['-c', 'command -v sbcl'], { encoding: 'utf8' }).trim();
  test('builds the core of another SBCL once, and says so', () => {
    const copy = path.join(directory, 'other sbcl');
    execFileSync('sh', [
      '-c',
      'printf \'#!/bin/sh\\nexec "%s" "$@"\\n\' "$0" > "$1"; chmod 755 "$1"',
      sbcl,
      copy,
    ]);
    const env = { ...process.env, XDG_CACHE_HOME: cache };
    const run = () =>
      spawnSync(path.join(tree, 'bin/cadre'), ['eval', '--sbcl', copy, '(+ 1 2)'], {
        encoding: 'utf8',
        env,
      });
    const first = run();
    assert.equal(first.stdout, '=> 3\n');
    assert.equal(
      first.stderr,
      `cadre: building the Lisp core for ${copy} with a heap of 2560 MB; this is done once\n`,
    );
    const second = run();
    assert.equal(second.stdout + second.stderr, '=> 3\n');
  });
  test('names a program that is not there, or no SBCL', () => {
    const absent = cadre('eval', '--sbcl', '/nonexistent/sbcl', '1');
    assert.match(absent.stderr, /^\[ERROR\] SBCL-MISSING\nThere is no program \/nonexistent\/sbcl/);
    const wrong = cadre('doctor', '--sbcl', '/bin/false');
    assert.match(wrong.stdout, /^FAIL +evaluation +The Lisp core was not built[\s\S]*\n1 problem/m);
    assert.equal(wrong.status, 1);
  });
});

describe('a damaged tree', () => {
  const problem = (pattern) => {
    const { stdout, status } = cadre('doctor');
    assert.match(stdout, pattern);
    assert.match(stdout, /\n1 problem, /);
    assert.doesNotMatch(stdout, /^ok +(sbcl|core|evaluation)/m);
    assert.equal(status, 1);
  };
  test('doctor names a core that another SBCL has saved', () => {
    const core = readFileSync(path.join(lib, 'cadre.core'));
    // In the header, the only text: HOST-BUILD-TIME.
    const id = core
      .subarray(0, 256)
      .toString('latin1')
      .match(/[\x20-\x7e]{12,}/);
    assert.ok(id, 'the core has a build id');
    core.write('X'.repeat(id[0].length), id.index, 'latin1');
    withFile('cadre.core', core, () =>
      problem(/^FAIL +core +.*cadre\.core does not fit .*sbcl\/sbcl:\n[\s\S]*install Cadre again/m),
    );
  });
  test('doctor names a runtime that does not run', () => {
    withFile('sbcl/sbcl', '#!/bin/sh\necho broken >&2; exit 3\n', () =>
      problem(/^FAIL +evaluation +The Lisp process did not start: broken\n/m),
    );
  });
  test('doctor names missing modules', () => {
    withFile('sbcl/contrib/sb-md5.fasl', 'nonsense', () => {
      const { stdout, status } = cadre('doctor');
      assert.match(stdout, /^FAIL +modules +\(require :sb-md5\) failed: /m);
      assert.equal(status, 1);
    });
  });
});

test('a core of another heap size is saved from the one that is there', async () => {
  // A machine with the usual commands, but no SBCL.
  const commands = path.join(directory, 'commands');
  mkdirSync(commands);
  for (const name of ['sh', 'dirname', 'basename', 'flock', 'rm', 'mkdir', 'mv', 'cat', 'chmod'])
    execFileSync('sh', ['-c', 'ln -s "$(command -v "$0")" "$1"', name, path.join(commands, name)]);
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StdioClientTransport({
      command: path.join(tree, 'bin/cadre'),
      args: ['serve', '--private', '--heap', '512'],
      env: { PATH: commands, HOME: directory, XDG_CACHE_HOME: cache },
      stderr: 'ignore',
    }),
  );
  const reply = await client.callTool({
    name: 'evaluate-lisp',
    arguments: { code: '(sb-ext:dynamic-space-size)' },
  });
  await client.close();
  assert.equal(reply.content[0].text, `=> ${512 << 20}`);
});

test('make uninstall removes what make install has installed, and nothing else', () => {
  const staged = path.join(directory, 'uninstalled');
  const prefix = path.join(staged, 'usr/local');
  mkdirSync(path.join(prefix, 'share/man/man1'), { recursive: true });
  writeFileSync(path.join(prefix, 'share/man/man1/other.1'), '');
  execFileSync(path.join(ROOT, 'scripts/install'), [BUILD, '/usr/local', staged], {
    stdio: 'pipe',
  });
  assert.ok(
    readFileSync(path.join(prefix, 'lib/cadre/installed-files'), 'utf8').includes('bin/cadre\n'),
  );
  execFileSync(path.join(ROOT, 'scripts/uninstall'), ['/usr/local', staged], { stdio: 'pipe' });
  const left = execFileSync('find', [staged, '!', '-type', 'd'], { encoding: 'utf8' });
  assert.equal(left, `${path.join(prefix, 'share/man/man1/other.1')}\n`);
  const again = spawnSync(path.join(ROOT, 'scripts/uninstall'), ['/usr/local', staged], {
    encoding: 'utf8',
  });
  assert.equal(again.status, 1);
  assert.match(again.stderr, /no Cadre in /);
});
