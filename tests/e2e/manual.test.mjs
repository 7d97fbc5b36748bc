// Manual pages and completions of shells: complete, and accepted by the programs that read them.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { CADRE } from './support.mjs';

const BUILD = process.env.CADRE_BUILD ?? path.resolve(CADRE, '../../..');
const made = (name) => path.join(BUILD, 'src/cli', name);
const help = (...args) => execFileSync(CADRE, [...args, '--help'], { encoding: 'utf8' });
const hasProgram = (name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0;

const commands = [...help().matchAll(/^ {2}([a-z]+) {2,}/gm)].map((match) => match[1]);
const optionsOf = (command) => [
  ...new Set([...help(command).matchAll(/^ {2,6}(--?[a-z][a-z-]*)/gm)].map((match) => match[1])),
];

test('help lists the commands', () => {
  for (const name of ['serve', 'eval', 'repl', 'run', 'context', 'doctor'])
    assert.ok(commands.includes(name), name);
});

describe('manual pages', () => {
  for (const command of ['', ...commands]) {
    const page = made(command ? `cadre-${command}.1` : 'cadre.1');
    test(path.basename(page), { skip: !hasProgram('man') && 'no man' }, () => {
      const shown = spawnSync('man', ['--warnings', '-E', 'UTF-8', '-l', page], {
        encoding: 'utf8',
        env: { ...process.env, MANWIDTH: '100', LC_ALL: 'C.UTF-8' },
      });
      assert.equal(shown.status, 0, shown.stderr);
      assert.equal(shown.stderr, '');
      for (const heading of ['NAME', 'SYNOPSIS', 'DESCRIPTION'])
        assert.match(shown.stdout, new RegExp(`^${heading}$`, 'm'));
      const expected = command ? optionsOf(command) : commands.map((name) => `cadre-${name}(1)`);
      for (const name of expected) assert.ok(shown.stdout.includes(name), `${page} lacks ${name}`);
    });
  }
});

// What bash offers for the last of the words.
function bash(...words) {
  const script = `source ${made('cadre.bash')}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cadre
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['--norc', '-c', script, 'bash', ...words], {
    encoding: 'utf8',
    cwd: made(''),
  })
    .split('\n')
    .filter(Boolean);
}

describe('completions', () => {
  test('bash completes commands, options, choices and files', () => {
    assert.deepEqual(
      bash('cadre', 'se').filter((word) => word === 'serve'),
      ['serve'],
    );
    for (const command of commands) assert.ok(bash('cadre', '').includes(command), command);
    assert.deepEqual(bash('cadre', 'serve', '--log-l'), ['--log-level']);
    assert.deepEqual(bash('cadre', 'serve', '--log-level', 'w'), ['warning']);
    assert.deepEqual(bash('cadre', 'serve', '--log-level', '=', 'd'), ['debug']);
    assert.deepEqual(bash('cadre', 'serve', '--timeout', ''), []);
    assert.deepEqual(bash('cadre', 'context', 'ren'), ['render']);
    assert.deepEqual(bash('cadre', 'context', 'render', '--st'), ['--style']);
    assert.deepEqual(bash('cadre', 'context', 'list', '--st'), []);
    assert.ok(bash('cadre', 'run', 'cadre.fi').includes('cadre.fish'));
  });
  test('bash knows every option of the help', () => {
    for (const command of commands) {
      const subcommands = bash('cadre', command, '').filter((word) => /^[a-z]+$/.test(word));
      const places = [[command], ...subcommands.map((subcommand) => [command, subcommand])];
      for (const option of optionsOf(command))
        assert.ok(
          places.some((words) => bash('cadre', ...words, option).includes(option)),
          `${command} ${option}`,
        );
    }
  });
  for (const [shell, file] of [
    ['bash', 'cadre.bash'],
    ['zsh', '_cadre'],
    ['fish', 'cadre.fish'],
  ])
    test(`${shell} parses ${file}`, { skip: !hasProgram(shell) && `no ${shell}` }, () => {
      execFileSync(shell, ['-n', made(file)]);
    });
  test('fish and zsh have every option', () => {
    assert.ok(existsSync(made('_cadre')));
    const [zsh, fish] = [made('_cadre'), made('cadre.fish')].map((file) =>
      readFileSync(file, 'utf8'),
    );
    for (const command of commands)
      for (const option of optionsOf(command)) {
        assert.ok(zsh.includes(`'${option}`) || zsh.includes(`*${option}`), `${command} ${option}`);
        assert.match(fish, new RegExp(`from ${command}.*' -[ls] ${option.replace(/^-+/, '')} `));
      }
  });
  test('fish completes', { skip: !hasProgram('fish') && 'no fish' }, () => {
    const fish = (line) =>
      execFileSync(
        'fish',
        ['--no-config', '-c', `source ${made('cadre.fish')}; complete -C '${line}'`],
        {
          encoding: 'utf8',
        },
      )
        .split('\n')
        .map((each) => each.split('\t')[0])
        .filter(Boolean);
    assert.deepEqual(fish('cadre serve --log-level w'), ['warning']);
    assert.deepEqual(fish('cadre context ren'), ['render']);
    for (const command of commands) assert.ok(fish('cadre ').includes(command), command);
  });
});
