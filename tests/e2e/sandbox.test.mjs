// What a session may reach (docs/security.md): every row of the table, with Landlock as this kernel has it and as older
// ones do.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { CADRE, temporaryDirectory } from './support.mjs';

// A workspace, a directory beside it, and a home.
function newPlace() {
  const base = temporaryDirectory();
  const place = Object.fromEntries(
    ['work', 'beside', 'home'].map((name) => [name, path.join(base, name)]),
  );
  for (const directory of Object.values(place)) mkdirSync(directory);
  mkdirSync(path.join(place.work, '.git/hooks'), { recursive: true });
  writeFileSync(path.join(place.work, '.git/config'), 'config\n');
  writeFileSync(path.join(place.beside, 'secret.txt'), 'secret\n');
  return place;
}

const place = newPlace();

function evaluate(code, options = [], env = {}) {
  const { stdout, stderr } = spawnSync(CADRE, ['eval', ...options, code], {
    cwd: place.work,
    env: { ...process.env, HOME: place.home, ...env },
    encoding: 'utf8',
  });
  return stdout + stderr;
}

const shell = (command) =>
  `(sb-ext:run-program "/bin/sh" '("-c" ${JSON.stringify(command)}) :output *standard-output* :error *standard-output*)`;
const read = (file) => `(with-open-file (s "${file}") (read-line s))`;
const write = (file) =>
  `(with-open-file (s "${file}" :direction :output :if-exists :supersede :if-does-not-exist :create) (write-line "x" s) 1)`;
const secret = path.join(place.beside, 'secret.txt');

describe('always', () => {
  for (const mode of ['off', 'workspace', 'strict']) {
    const options = ['--sandbox', mode];
    test(`${mode}: the server cannot be looked into or ended`, () => {
      const said = evaluate(
        shell(
          'S=$(awk "/PPid/{print \\$2}" /proc/$PPID/status); cat /proc/$S/environ; ls /proc/$S/fd; kill -9 $S; kill -9 -1; true',
        ),
        options,
      );
      assert.match(said, /environ: Permission denied/);
      assert.match(said, /Operation not permitted/);
    });
    test(`${mode}: no capabilities`, () => {
      const said = evaluate(shell('grep -E "^Cap(Eff|Prm|Bnd):" /proc/self/status'), options);
      assert.match(said, /CapPrm:\s+0{16}/);
      assert.match(said, /CapEff:\s+0{16}/);
    });
    test(`${mode}: secrets of the environment`, () => {
      const env = {
        CADRE_TOKEN: 'the-token',
        MY_API_KEY: 'the-key',
        OTHER_KEY: 'passed',
        GIT_AUTHOR_NAME: 'author',
      };
      const pass = ['--pass-env', 'OTHER_KEY', '--pass-env', 'CADRE_TOKEN'];
      const said = evaluate(shell('env'), [...options, ...pass], env);
      assert.doesNotMatch(said, /the-token|the-key/);
      assert.match(said, /OTHER_KEY=passed/);
      assert.match(said, /GIT_AUTHOR_NAME=author/);
    });
    test(`${mode}: the channel cannot be shut down`, () => {
      const call =
        '(sb-alien:alien-funcall (sb-alien:extern-alien "shutdown" (function sb-alien:int sb-alien:int sb-alien:int)) 240 2)';
      assert.match(evaluate(call, options), /=> -1/);
    });
  }
});

for (const abi of ['', '1', '2', '3', '5']) {
  const env = abi ? { CADRE_LANDLOCK_ABI: abi } : {};
  describe(`workspace, ${abi ? `ABI ${abi}` : 'this kernel'}`, () => {
    const run = (code, options) => evaluate(code, options, env);
    test('writes the workspace and its temporary directory', () => {
      assert.match(run(write(path.join(place.work, 'a.txt'))), /=> 1/);
      assert.match(
        run(
          '(with-open-file (s (format nil "~a/t" (sb-posix:getenv "TMPDIR")) :direction :output) 1)',
        ),
        /=> 1/,
      );
      assert.match(run(shell('echo a > b && mv b c && cat c')), /^a$/m);
    });
    test('reads nothing beside it, and says which option would allow it', () => {
      const said = run(read(secret));
      assert.match(said, /Permission denied/);
      if (!abi)
        assert.match(said, /sandbox \(workspace\) does not let this session read .*--allow-read/);
      assert.match(run(read(secret), ['--allow-read', place.beside]), /=> "secret"/);
    });
    test('writes and truncates nothing beside it', () => {
      assert.match(run(write(path.join(place.beside, 'new.txt'))), /Permission denied/);
      run(
        shell(
          `truncate -s 0 ${secret}; perl -e 'use Fcntl; sysopen(F, "${secret}", O_RDONLY|O_TRUNC)'`,
        ),
        ['--allow-read', place.beside],
      );
      assert.equal(readFileSync(secret, 'utf8'), 'secret\n');
      assert.match(
        run(write(path.join(place.beside, 'new.txt')), ['--allow-write', place.beside]),
        /=> 1/,
      );
    });
    test('does not change what decides for other programs', () => {
      const hook = path.join(place.work, '.git/hooks/pre-commit');
      const said = run(write(hook));
      if (!/not protected here/.test(said)) {
        assert.match(said, /Read-only file system/);
        assert.ok(!existsSync(hook));
      }
      assert.match(run(read(path.join(place.work, '.git/config'))), /=> "config"/);
    });
  });
}

describe('network and kernel', () => {
  const socket = (family) =>
    `(sb-alien:alien-funcall (sb-alien:extern-alien "socket" (function sb-alien:int sb-alien:int sb-alien:int sb-alien:int)) ${family} 1 0)`;
  const rows = [
    [[], 2, true],
    [[], 10, true],
    [[], 1, false],
    [[], 40, false],
    [['--allow-unix-sockets'], 1, true],
    [['--no-network'], 2, false],
    [['--no-network'], 10, false],
    [['--sandbox', 'strict'], 2, false],
    [['--sandbox', 'off'], 1, true],
  ];
  for (const [options, family, allowed] of rows)
    test(`${options.join(' ')} family ${family}`, () => {
      const said = evaluate(socket(family), options);
      assert.match(said, allowed ? /=> \d+/ : /=> -1/);
    });
  test('no namespaces', () => {
    assert.match(evaluate(shell('unshare -U true; unshare -m true')), /Operation not permitted/);
  });
  test('strict writes only its temporary directory', () => {
    assert.match(
      evaluate(write(path.join(place.work, 'z')), ['--sandbox', 'strict']),
      /Permission denied/,
    );
    assert.match(
      evaluate(
        '(with-open-file (s (format nil "~a/t" (sb-posix:getenv "TMPDIR")) :direction :output) 1)',
        ['--sandbox', 'strict'],
      ),
      /=> 1/,
    );
  });
});
