// Runs the console examples of README.md and the documents: blocks that begin with ```console hold commands after
// "$ " and exactly what they print, standard output and standard error together. The blocks of one
// document run in order, in one directory that is empty at first, with a context store of its own.
// And checks the tables of tools and options in mcp.md against the program.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CADRE, Server, temporaryDirectory, titleOf } from './support.mjs';

const DOCS = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../docs');
const README = path.join(DOCS, '../README.md');

// A block ends with the fence it began with; one of four backticks may hold output with fences.
function consoleExamples(text) {
  const examples = [];
  for (const [, , block] of text.matchAll(/^(```+)console\n([\s\S]*?)^\1$/gm)) {
    for (const line of block.trimEnd().split('\n')) {
      if (line.startsWith('$ ')) examples.push({ command: line.slice(2), expected: '' });
      else examples.at(-1).expected += `${line}\n`;
    }
  }
  return examples;
}

// A shell in an empty directory, where `cadre` is the program under test.
function newShell() {
  const directory = temporaryDirectory();
  const bin = path.join(directory, 'bin');
  const work = path.join(directory, 'work');
  mkdirSync(bin);
  mkdirSync(work);
  symlinkSync(CADRE, path.join(bin, 'cadre'));
  const env = {
    ...process.env,
    HOME: directory,
    PATH: `${bin}:${process.env.PATH}`,
    CADRE_CONTEXT_DB: path.join(directory, 'context.db'),
    XDG_STATE_HOME: path.join(directory, 'state'),
    XDG_RUNTIME_DIR: directory,
  };
  return (command) =>
    spawnSync('sh', ['-c', `{ ${command}\n} 2>&1`], {
      cwd: work,
      env,
      encoding: 'utf8',
      input: '',
    });
}

const documents = readdirSync(DOCS, { recursive: true })
  .filter((name) => name.endsWith('.md'))
  .sort()
  .map((name) => path.join(DOCS, name));
for (const document of [README, ...documents]) {
  const examples = consoleExamples(readFileSync(document, 'utf8'));
  if (examples.length === 0) continue;
  describe(path.relative(path.dirname(DOCS), document), () => {
    const shell = newShell();
    after(() => shell('cadre daemon stop'));
    for (const { command, expected } of examples) {
      test(titleOf(command), () => {
        const { stdout } = shell(command);
        // Output without a line end at its end looks the same on a page.
        assert.equal(stdout === '' || stdout.endsWith('\n') ? stdout : `${stdout}\n`, expected);
      });
    }
  });
}

describe('reference/language.md', () => {
  const text = readFileSync(path.join(DOCS, 'reference/language.md'), 'utf8');

  test('has every builtin', () => {
    const { stdout } = spawnSync(CADRE, ['run', '--builtins'], { encoding: 'utf8' });
    const builtins = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' ')[0]);
    assert.ok(builtins.length > 200);
    // Members of a class may stand in a list without it: `Math/sin cos tan`.
    const words = new Set(
      [...text.matchAll(/`([^`\n]+)`/g)].flatMap(([, code]) => code.split(' ')),
    );
    const members = new Set([...words].map((word) => word.replace(/^[A-Z]\w*\//, '')));
    const isNamed = (name) => words.has(name) || members.has(name.replace(/^[A-Z]\w*\//, ''));
    assert.deepEqual(
      builtins.filter((name) => !isNamed(name)),
      [],
    );
  });

  test('has every kind of failure', () => {
    const source = path.resolve(DOCS, '../src/program/run/failure_kind.h');
    const kinds = [...readFileSync(source, 'utf8').matchAll(/^ {4}X\(\w+, "(\w+)", "(\w+)"\)/gm)];
    assert.ok(kinds.length > 30);
    const names = kinds.flatMap(([, kind, reason]) => [kind, reason]);
    assert.deepEqual(
      names.filter((name) => !text.includes(`\`${name}\``)),
      [],
    );
  });
});

describe('mcp.md', () => {
  const text = readFileSync(path.join(DOCS, 'mcp.md'), 'utf8');
  const named = (cell) => [...cell.matchAll(/`([a-z-]+)`/g)].map((match) => match[1]);

  test('has every tool with its arguments', async () => {
    const server = await Server.start();
    const expected = new Map(
      server.tools.map(({ name, inputSchema }) => [
        name,
        Object.keys(inputSchema.properties ?? {}),
      ]),
    );
    await server.stop();
    const rows = text
      .slice(text.indexOf('## Tools'), text.indexOf('Resources: '))
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    for (const [, tools, parameters] of rows.map((row) => row.split('|'))) {
      for (const tool of tools.split(',')) {
        const [name] = named(tool);
        const common = ['session', ...(/ T\b/.test(tool) ? ['timeout'] : [])];
        assert.ok(expected.has(name), `${name} is no tool`);
        if (!parameters.includes('](')) {
          assert.deepEqual(
            named(parameters).sort(),
            expected
              .get(name)
              .filter((parameter) => !common.includes(parameter))
              .sort(),
            name,
          );
        }
        expected.delete(name);
      }
    }
    assert.deepEqual([...expected.keys()], []);
  });

  test('has every option of cadre serve', () => {
    const { stdout } = spawnSync(CADRE, ['serve', '--help'], { encoding: 'utf8' });
    const options = [...stdout.matchAll(/^ {2}(--[a-z-]+)/gm)]
      .map((match) => match[1])
      .filter((option) => option !== '--help');
    assert.ok(options.length > 10);
    assert.deepEqual(
      options.filter((option) => !text.includes(`\`${option}`)),
      [],
    );
  });
});
