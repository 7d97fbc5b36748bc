// Configuration files, their precedence, and what a workspace may decide.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import Ajv from 'ajv';
import { CADRE, temporaryDirectory } from './support.mjs';

// A home with a project in it, and cadre run there.
function newHome() {
  const home = temporaryDirectory();
  const project = path.join(home, 'project');
  mkdirSync(path.join(project, '.cadre'), { recursive: true });
  mkdirSync(path.join(home, '.config/cadre'), { recursive: true });
  const files = {
    user: path.join(home, '.config/cadre/config.json'),
    workspace: path.join(project, '.cadre/config.json'),
    list: path.join(home, '.local/state/cadre/trust.json'),
  };
  const run = (args, { env = {}, cwd = project } = {}) => {
    const { XDG_CONFIG_HOME, XDG_STATE_HOME, CADRE_CONTEXT_DB, ...rest } = process.env;
    return spawnSync(CADRE, args, { cwd, env: { ...rest, HOME: home, ...env }, encoding: 'utf8' });
  };
  const write = (file, content) =>
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  const settings = (options) => {
    const answer = run(['config', '--json'], options);
    assert.equal(answer.status, 0, answer.stderr);
    return JSON.parse(answer.stdout);
  };
  const value = (name, options) => settings(options).settings[name];
  const trust = (...args) => {
    const answer = run(['trust', ...args]);
    assert.equal(answer.status, 0, answer.stderr);
    return answer.stdout;
  };
  return { home, project, files, run, write, settings, value, trust };
}

describe('precedence', () => {
  test('default, user, workspace, environment, option', () => {
    const { project, files, run, write, value, trust } = newHome();
    assert.deepEqual(value('timeout'), { value: 30, from: 'default' });
    write(files.user, { timeout: 60 });
    assert.deepEqual(value('timeout'), { value: 60, from: files.user });
    write(files.workspace, { timeout: 50 });
    assert.deepEqual(value('timeout'), { value: 60, from: files.user });
    trust(project);
    assert.deepEqual(value('timeout'), { value: 50, from: files.workspace });
    const env = { CADRE_TIMEOUT: '1' };
    assert.deepEqual(value('timeout', { env }), { value: 1, from: 'CADRE_TIMEOUT' });
    assert.match(run(['eval', '(loop)'], { env }).stderr, /timeout of 1 second/);
    assert.match(run(['eval', '--timeout', '2', '(loop)'], { env }).stderr, /timeout of 2 seconds/);
    assert.equal(run(['config', 'timeout'], { env }).stdout, '1\n');
  });
  test('the workspace is found from below, or named', () => {
    const { home, project, files, write, run, trust } = newHome();
    write(files.workspace, { snapshots: 3 });
    trust(project);
    const below = path.join(project, 'a/b');
    mkdirSync(below, { recursive: true });
    assert.equal(run(['config', 'snapshots'], { cwd: below }).stdout, '3\n');
    assert.equal(run(['config', 'snapshots'], { cwd: home }).stdout, '16\n');
    assert.equal(run(['config', '--workspace', project, 'snapshots'], { cwd: home }).stdout, '3\n');
  });
  test('lists, flags of the shell, paths', () => {
    const { home, files, write, value } = newHome();
    write(files.user, { 'allow-host': ['a', 'b'], 'context-db': '~/x.db', 'token-file': 'token' });
    assert.deepEqual(value('allow-host').value, ['a', 'b']);
    assert.equal(value('context-db').value, path.join(home, 'x.db'));
    assert.equal(path.normalize(value('token-file').value), path.join(home, '.config/cadre/token'));
    const env = { CADRE_ALLOW_HOST: 'c,d' };
    assert.deepEqual(value('allow-host', { env }).value, ['c', 'd']);
  });
  test('what is configured for HTTP does not trouble standard input/output', () => {
    const { files, write, run } = newHome();
    write(files.user, { 'allow-host': 'example.com' });
    assert.deepEqual([run(['serve']).status, run(['serve', '--allow-host', 'x']).status], [0, 2]);
  });
  test('the context store is the configured one', () => {
    const { home, files, write, run } = newHome();
    write(files.user, { 'context-db': '~/items.db' });
    assert.equal(run(['context', 'add', 'x']).status, 0);
    assert.ok(statSync(path.join(home, 'items.db')).size > 0);
  });
});

describe('mistakes', () => {
  for (const [content, message] of [
    [{ timeot: 3 }, /unknown name 'timeot'; did you mean 'timeout'\?/],
    [{ package: 'X' }, /'package' is given on the command line only/],
    [{ xyzzy: 3 }, /unknown name 'xyzzy'; cadre config lists them/],
    [{ timeout: '30' }, /timeout takes a whole number; got "30"/],
    [{ timeout: 1e9 }, /timeout takes a whole number from 0 to 86400; got '1000000000'/],
    [{ timeout: 1.5 }, /timeout takes a whole number; got 1\.5/],
    [{ 'log-level': 'loud' }, /log-level takes one of error, warning, info, debug; got 'loud'/],
    [{ 'allow-host': [1] }, /allow-host takes a string; got 1/],
    [{ tools: ['core'] }, /tools takes a string/],
    [[], /must contain an object/],
    ['{"timeout": 3,}', /config\.json:1:15: /],
    ['{"timeout": 3, "timeout": 4}', /config\.json:1:\d+: /],
    ['', /config\.json:1:1: /],
  ])
    test(JSON.stringify(content), () => {
      const { files, write, run } = newHome();
      write(files.user, content);
      for (const command of [['eval', '1'], ['config'], ['serve'], ['context', 'list']]) {
        const answer = run(command);
        assert.equal(answer.status, 2, command.join(' '));
        assert.ok(answer.stderr.startsWith(`cadre ${command[0]}: ${files.user}`), answer.stderr);
        assert.match(answer.stderr, message);
        assert.equal(answer.stdout, '');
      }
      assert.equal(run(['eval', '--help']).status, 0);
    });
  test('in the environment', () => {
    const { run, settings } = newHome();
    const wrong = run(['eval', '1'], { env: { CADRE_TIMEOUT: 'soon' } });
    assert.equal(wrong.status, 2);
    assert.match(wrong.stderr, /CADRE_TIMEOUT in the environment: timeout takes a whole number/);
    assert.deepEqual(settings({ env: { CADRE_TIMEOT: '3' } }).notes, [
      'CADRE_TIMEOT in the environment is not used; did you mean CADRE_TIMEOUT?',
    ]);
    assert.deepEqual(settings({ env: { CADRE_SOMETHING_ELSE: '3', CADRE_TIMEOUT: '' } }).notes, []);
    assert.equal(run(['config', 'timeot']).status, 1);
    assert.match(run(['config', 'timeot']).stderr, /did you mean timeout\?/);
  });
});

test('the schema agrees with the program', () => {
  const { files, write, run, settings } = newHome();
  const schema = JSON.parse(run(['config', '--schema']).stdout);
  const check = new Ajv({ strict: true, allowUnionTypes: true }).compile(schema);
  assert.deepEqual(
    Object.keys(schema.properties).toSorted(),
    ['$schema', ...Object.keys(settings().settings)].toSorted(),
  );
  for (const content of [
    {},
    { $schema: 'x', timeout: 0 },
    { timeout: 86401 },
    { timeout: '1' },
    { 'auto-context': 'errors' },
    { 'auto-context': 'some' },
    { 'allow-host': 'a' },
    { 'allow-host': ['a'] },
    { 'allow-host': [1] },
    { nonsense: 1 },
  ]) {
    write(files.user, content);
    assert.equal(run(['config']).status === 0, check(content), JSON.stringify(content));
  }
});

describe('trust', () => {
  test('a file counts as it was trusted, and no longer when it changes', () => {
    const { project, files, run, write, value, settings, trust } = newHome();
    write(files.workspace, { timeout: 5 });
    assert.equal(value('timeout').value, 30);
    assert.match(run(['eval', '1']).stderr, /not used: not trusted; cadre trust /);
    assert.equal(trust(project), `trusted ${project}\n  .cadre/config.json\n`);
    assert.equal(value('timeout').value, 5);
    assert.equal(run(['eval', '1']).stderr, '');
    assert.equal(statSync(files.list).mode & 0o777, 0o600);
    write(files.workspace, { timeout: 6 });
    assert.equal(value('timeout').value, 30);
    assert.match(settings().notes[0], /changed since it was trusted/);
    assert.match(trust('--list'), /\.cadre\/config\.json +changed since/);
    trust(project);
    assert.equal(value('timeout').value, 6);
    assert.match(trust('--list'), new RegExp(`^${project}\n  \\.cadre/config\\.json +trusted\n$`));
    trust('--remove', project);
    assert.equal(value('timeout').value, 30);
    assert.equal(run(['trust', '--remove', project]).status, 1);
    assert.equal(trust('--list'), '');
  });
  test('another directory with the same files is not trusted', () => {
    const { project, files, write, value, trust } = newHome();
    write(files.workspace, { timeout: 5 });
    trust(project);
    renameSync(project, `${project}-moved`);
    assert.equal(value('timeout', { cwd: `${project}-moved` }).value, 30);
  });
  test('a workspace decides nothing that widens what a session may do', () => {
    const { project, files, write, settings, trust } = newHome();
    write(files.workspace, {
      timeout: 5,
      http: '0.0.0.0:80',
      'token-file': 'x',
      'allow-host': ['evil'],
      'allow-origin': ['evil'],
      'program-tools': 'tools.json',
      'context-db': 'x.db',
    });
    trust(project);
    const { settings: found, notes } = settings();
    assert.equal(found.timeout.value, 5);
    for (const name of [
      'http',
      'token-file',
      'allow-host',
      'allow-origin',
      'program-tools',
      'context-db',
    ]) {
      assert.equal(found[name].from, 'default', name);
      assert.ok(
        notes.some((note) => note.includes(`${name} is not used: a workspace may not`)),
        name,
      );
    }
  });
  test('a workspace may allow less than its user does', () => {
    const { project, files, write, settings, trust } = newHome();
    for (const [user, workspace, sandbox, noNetwork] of [
      [{}, { sandbox: 'strict', 'no-network': true }, 'strict', true],
      [{}, { sandbox: 'off', 'no-network': false }, 'workspace', false],
      [{ sandbox: 'off' }, { sandbox: 'workspace' }, 'workspace', false],
      [
        { sandbox: 'strict', 'no-network': true },
        { sandbox: 'off', 'no-network': false },
        'strict',
        true,
      ],
    ]) {
      write(files.user, user);
      write(files.workspace, { ...workspace, 'allow-write': '/', 'pass-env': 'SECRET' });
      trust(project);
      const { settings: found } = settings();
      assert.equal(found.sandbox.value, sandbox);
      assert.equal(found['no-network'].value, noNetwork);
      assert.deepEqual([found['allow-write'].value, found['pass-env'].value], [[], []]);
    }
  });
  test('names that terminals would obey are shown as they are', () => {
    const { project, write, trust } = newHome();
    mkdirSync(path.join(project, '.cadre/programs'));
    write(path.join(project, '.cadre/programs/a\u001b[2K\u009b2K\n\u202eé'), '1');
    const shown = '.cadre/programs/a?[2K?2K??é';
    assert.equal(trust(project), `trusted ${project}\n  ${shown}\n`);
    assert.equal(trust('--list'), `${project}\n  ${shown} trusted\n`);
  });
  test('no more than a thousand programs', () => {
    const { project, write, run } = newHome();
    mkdirSync(path.join(project, '.cadre/programs'));
    for (let i = 0; i <= 1000; i++) write(path.join(project, `.cadre/programs/${i}`), '1');
    assert.match(run(['trust', project]).stderr, /holds more than 1000 files/);
  });
  test('programs and servers are trusted one by one', () => {
    const { project, write, trust } = newHome();
    mkdirSync(path.join(project, '.cadre/programs'));
    write(path.join(project, '.cadre/programs/b.ptc'), '1');
    write(path.join(project, '.cadre/programs/a.ptc'), '2');
    write(path.join(project, '.mcp.json'), {});
    write(path.join(project, '.cadre/init.lisp'), '1');
    assert.equal(
      trust(project),
      `trusted ${project}\n  .cadre/init.lisp\n  .mcp.json\n  .cadre/programs/a.ptc\n  .cadre/programs/b.ptc\n`,
    );
    rmSync(path.join(project, '.cadre/programs/a.ptc'));
    write(path.join(project, '.mcp.json'), { x: 1 });
    const listed = trust('--list');
    assert.match(listed, /a\.ptc +absent/);
    assert.match(listed, /b\.ptc +trusted/);
    assert.match(listed, /\.mcp\.json +changed/);
  });
  test('hostile files stop nothing', () => {
    const { home, project, files, run, value, write } = newHome();
    write(path.join(home, 'secret'), '{"timeout": 1}');
    for (const make of [
      () => symlinkSync(path.join(home, 'secret'), files.workspace),
      () => mkdirSync(files.workspace),
      () => spawnSync('mkfifo', [files.workspace]),
      () => write(files.workspace, ' '.repeat(2 << 20)),
    ]) {
      rmSync(files.workspace, { recursive: true, force: true });
      make();
      assert.equal(run(['eval', '1']).stdout, '=> 1\n');
      assert.equal(value('timeout').value, 30);
      assert.equal(run(['trust', project]).status, 1);
    }
    rmSync(path.join(project, '.cadre'), { recursive: true });
    symlinkSync(path.join(home, '.config/cadre'), path.join(project, '.cadre'));
    assert.equal(run(['trust', project]).status, 1);
    assert.equal(run(['eval', '1']).stdout, '=> 1\n');
  });
  test('a list that others can write is not believed', () => {
    const { project, files, write, run, value, trust } = newHome();
    write(files.workspace, { timeout: 5 });
    trust(project);
    chmodSync(files.list, 0o666);
    assert.equal(value('timeout').value, 30);
    assert.match(run(['trust', '--list']).stderr, /only you can write/);
    chmodSync(files.list, 0o600);
    const list = readFileSync(files.list, 'utf8');
    writeFileSync(files.list, list.slice(0, 20));
    assert.equal(run(['trust', '--list']).status, 1);
    assert.equal(value('timeout').value, 30);
  });
  test('usage', () => {
    const { project, home, run, trust } = newHome();
    assert.equal(run(['trust']).status, 2);
    assert.equal(run(['trust', '--list', project]).status, 2);
    assert.equal(run(['trust', path.join(home, 'absent')]).status, 1);
    assert.equal(run(['trust', CADRE]).status, 1);
    assert.match(trust(project), /has no files that need trust/);
  });
});
