// `cadre fix` and `cadre hook`: files, standard input, git, and mutations of real files.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { CADRE, LONG, Server } from './support.mjs';

const LISP = new URL('../../lisp/', import.meta.url).pathname;
const folder = () => mkdtempSync(path.join(tmpdir(), 'fix-'));
const cadre = (args, options = {}) => spawnSync(CADRE, args, { encoding: 'utf8', ...options });

const BROKEN = '(defun f (x)\n  (when x\n    (print x)\n  (g x))\n';
const RIGHT = '(defun f (x)\n  (when x\n    (print x))\n  (g x))\n';

function fileWith(text, name = 'a.lisp', directory = folder()) {
  const file = path.join(directory, name);
  writeFileSync(file, text);
  return file;
}

function repository(files) {
  const directory = folder();
  const git = (...args) =>
    execFileSync('git', ['-C', directory, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args]);
  git('init', '-q', '.');
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(directory, name), text);
  git('add', '.');
  git('commit', '-qm', 'files');
  return directory;
}

const hasGit = spawnSync('git', ['--version']).status === 0;

describe('cadre fix', () => {
  test('repairs a file, shows a diff, keeps its mode and a link to it', () => {
    const file = fileWith(BROKEN);
    const link = path.join(path.dirname(file), 'link.lisp');
    execFileSync('chmod', ['640', file]);
    symlinkSync(file, link);
    const answer = cadre(['fix', link]);
    assert.equal(answer.status, 0, answer.stderr);
    assert.match(answer.stdout, /^--- .*link\.lisp\n\+\+\+ .*link\.lisp\n@@ -1,4 \+1,4 @@\n/);
    assert.match(answer.stdout, /\n- {4}\(print x\)\n\+ {4}\(print x\)\)\n/);
    assert.match(answer.stderr, /link\.lisp:3: added a \)\n/);
    assert.equal(readFileSync(file, 'utf8'), RIGHT);
    assert.equal(statSync(file).mode & 0o777, 0o640);
  });
  test('--check changes nothing and ends with 1; of a right file with 0', () => {
    const file = fileWith(BROKEN);
    const answer = cadre(['fix', '--check', file]);
    assert.equal(answer.status, 1);
    assert.match(answer.stdout, /\+ {4}\(print x\)\)/);
    assert.equal(readFileSync(file, 'utf8'), BROKEN);
    assert.deepEqual(
      [cadre(['fix', '--check', fileWith(RIGHT)])].map(({ status, stdout }) => [status, stdout]),
      [[0, '']],
    );
  });
  test('standard input goes to standard output', () => {
    assert.equal(cadre(['fix', '-'], { input: BROKEN }).stdout, RIGHT);
    const refused = cadre(['fix', '-'], { input: '(f "a)\n' });
    assert.equal(refused.status, 1);
    assert.equal(refused.stdout, '(f "a)\n');
    assert.match(refused.stderr, /standard input:1: a string that begins here.*\n.*not changed/);
  });
  test('what cannot be decided is left alone, with its place', () => {
    const text = '(defun f (a b)\n  (if (not a b\n      1))\n';
    const file = fileWith(text);
    const answer = cadre(['fix', file]);
    assert.equal(answer.status, 1);
    assert.match(answer.stderr, /a\.lisp:\d: .*\n.*a\.lisp: not changed/);
    assert.equal(readFileSync(file, 'utf8'), text);
  });
  test('usage', () => {
    assert.equal(cadre(['fix']).status, 2);
    assert.match(cadre(['fix', '/nowhere.lisp']).stderr, /no such file: \/nowhere\.lisp/);
    assert.equal(cadre(['fix', '--base', 'a', 'b', 'c']).status, 2);
  });
  test('an earlier version decides within a line: --base, or git', { skip: !hasGit }, () => {
    const text = '(defun f (x)\n  (if (< x 1) (g x) (h x)))\n';
    const broken = text.replace('1)', '1');
    const base = fileWith(text);
    const file = fileWith(broken);
    assert.equal(cadre(['fix', '--base', base, file]).status, 0);
    assert.equal(readFileSync(file, 'utf8'), text);
    const directory = repository({ 'b.lisp': text });
    const tracked = fileWith(broken, 'b.lisp', directory);
    assert.equal(cadre(['fix', 'b.lisp'], { cwd: directory }).status, 0);
    assert.equal(readFileSync(tracked, 'utf8'), text);
  });
  // git would run it to fetch an object that is missing, and to see which files have changed.
  test('a command of the configuration of a repository is not run', { skip: !hasGit }, () => {
    const directory = repository({ 'c.lisp': RIGHT });
    const git = (...args) => execFileSync('git', ['-C', directory, ...args], { encoding: 'utf8' });
    const object = git('rev-parse', 'HEAD:c.lisp').trim();
    rmSync(path.join(directory, '.git/objects', object.slice(0, 2), object.slice(2)));
    for (const [name, setting] of Object.entries({
      'core.repositoryFormatVersion': '1',
      'extensions.partialClone': 'origin',
      'remote.origin.promisor': 'true',
      'remote.origin.url': `ext::touch ${directory}/fetched`,
      'protocol.ext.allow': 'always',
      'core.fsmonitor': `touch ${directory}/monitored`,
    }))
      git('config', name, setting);
    fileWith(BROKEN, 'c.lisp', directory);
    assert.equal(cadre(['fix', 'c.lisp'], { cwd: directory }).status, 0);
    assert.deepEqual(
      readdirSync(directory).filter((name) => name !== '.git'),
      ['c.lisp'],
    );
  });
});

describe('cadre hook claude', () => {
  const hook = (tool, file) =>
    cadre(['hook', 'claude'], {
      input: JSON.stringify({ tool_name: tool, tool_input: { file_path: file } }),
    });
  test('a file that was written is repaired, and the model is told', () => {
    const file = fileWith(BROKEN);
    const answer = hook('Write', file);
    assert.equal(answer.status, 0, answer.stderr);
    const { decision, reason } = JSON.parse(answer.stdout);
    assert.equal(decision, 'block');
    assert.match(reason, /cadre repaired the parentheses[\s\S]*\+ {4}\(print x\)\)/);
    assert.equal(readFileSync(file, 'utf8'), RIGHT);
  });
  test('of a file that was edited the model is only told', () => {
    const file = fileWith(BROKEN);
    assert.match(JSON.parse(hook('Edit', file).stdout).reason, /not balanced[\s\S]*\(print x\)\)/);
    assert.equal(readFileSync(file, 'utf8'), BROKEN);
  });
  test('other files and balanced ones are passed over', () => {
    for (const file of [fileWith(RIGHT), fileWith('(', 'a.txt')])
      assert.deepEqual([hook('Write', file).status, hook('Write', file).stdout], [0, '']);
    assert.equal(cadre(['hook', 'claude'], { input: '{}' }).status, 0);
    assert.equal(cadre(['hook', 'claude'], { input: 'x' }).status, 1);
    assert.equal(cadre(['hook', 'vi']).status, 2);
  });
});

describe('answers', () => {
  test('of unbalanced code have the lines that would balance it', async () => {
    const server = await Server.start({ args: ['--tools', 'full'] });
    const text = async (tool, code) => {
      const { content } = await server.call(tool, { code });
      return content[0].text;
    };
    for (const tool of ['evaluate-lisp', 'check-syntax'])
      assert.match(
        await text(tool, BROKEN),
        /\n\n\[Repair\]\nAs it is indented .*\(not evaluated\):\nline 3: {5}\(print x\)\)$/,
      );
    assert.doesNotMatch(await text('evaluate-lisp', '(f "a)'), /Repair/);
    assert.doesNotMatch(await text('evaluate-lisp', '(car 1))'), /Repair/); // fails before that
    await server.stop();
  });
});

// Parentheses deleted, added and moved at random in the agent's own files.
describe('mutations', { skip: !hasGit }, () => {
  const names = readdirSync(LISP, { recursive: true }).filter((name) => name.endsWith('.lisp'));
  const files = Object.fromEntries(
    names.map((name) => [name.replaceAll('/', '_'), readFileSync(path.join(LISP, name), 'utf8')]),
  );
  let seed = 1;
  const random = (below) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor((seed / 2147483648) * below);
  };
  const places = (text, pattern) => [...text.matchAll(pattern)].map((match) => match.index);
  const without = (text, at) => text.slice(0, at) + text.slice(at + 1);
  const withOne = (text, at, one) => text.slice(0, at) + one + text.slice(at);
  function mutate(text) {
    const all = places(text, /[()]/g);
    const at = all[random(all.length)];
    const near = Math.min(text.length - 1, at + random(100));
    return [
      () => without(text, at),
      () => withOne(text, near, random(2) ? '(' : ')'),
      () => withOne(without(text, at), near, text[at]),
    ][random(3)]();
  }
  const tries = LONG ? 1000 : 40;

  test('with the version that git has: all right', () => {
    const directory = repository(files);
    for (let i = 0; i < tries; i++) {
      const name = Object.keys(files)[random(Object.keys(files).length)];
      const mutant = random(2) ? mutate(files[name]) : mutate(mutate(files[name]));
      const file = fileWith(mutant, name, directory);
      if (cadre(['fix', '--base', '/dev/null', '--check', file]).status === 0) continue; // balanced
      const answer = cadre(['fix', file]);
      assert.equal(answer.status, 0, answer.stderr);
      assert.equal(readFileSync(file, 'utf8'), files[name]);
    }
  });
  test('without one: parentheses at the ends of lines', () => {
    const tally = { right: 0, refused: 0, wrong: 0 };
    for (let i = 0; i < tries; i++) {
      const name = Object.keys(files)[random(Object.keys(files).length)];
      const ends = places(files[name], /(?<=^[^;"|]*)\)(?=\n)/gm);
      const at = ends[random(ends.length)];
      const mutant = random(2) ? without(files[name], at) : withOne(files[name], at, ')');
      const answer = cadre(['fix', '-'], { input: mutant });
      if (answer.status === 1) tally.refused++;
      else if (answer.stdout === files[name]) tally.right++;
      else tally.wrong++;
    }
    assert.ok(tally.right >= 0.9 * tries, JSON.stringify(tally));
    assert.ok(tally.wrong <= 0.02 * tries, JSON.stringify(tally));
  });
});
