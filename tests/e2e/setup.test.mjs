// `cadre setup CLIENT`: entries that clients read, in files that otherwise stay as they are.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import YAML from 'yaml';
import { CADRE, temporaryDirectory } from './support.mjs';

const TOKEN = 'a-secret-token-of-more-than-32-characters';

// JSON with comments and trailing commas.
function parseCommented(text) {
  const string = '"(?:[^"\\\\]|\\\\.)*"';
  const bare = text
    .replace(/^\uFEFF/, '')
    .replace(new RegExp(`(${string})|//[^\\n]*|/\\*[^]*?\\*/`, 'g'), (_, kept) => kept ?? ' ')
    .replace(new RegExp(`(${string})|,(?=\\s*[}\\]])`, 'g'), (_, kept) => kept ?? '');
  return JSON.parse(bare.trim() || '{}');
}

const parseToml = (text) =>
  JSON.parse(
    execFileSync(
      'python3',
      ['-c', 'import sys, tomllib, json; print(json.dumps(tomllib.loads(sys.stdin.read())))'],
      { input: text, encoding: 'utf8' },
    ),
  );

const parsers = { '.toml': parseToml, '.yaml': YAML.parse };
const parse = (file) => (parsers[path.extname(file)] ?? parseCommented)(readFileSync(file, 'utf8'));

function newHome() {
  const home = temporaryDirectory();
  const run = (args, env = {}) => {
    const { XDG_CONFIG_HOME, XDG_STATE_HOME, CODEX_HOME, CLAUDE_CONFIG_DIR, ...rest } = process.env;
    return spawnSync(CADRE, ['setup', ...args], {
      cwd: home,
      env: { ...rest, HOME: home, ...env },
      encoding: 'utf8',
      input: '',
    });
  };
  const good = (args, env) => {
    const answer = run(args, env);
    assert.equal(answer.status, 0, answer.stderr);
    return answer.stdout;
  };
  const write = (name, text) => {
    const file = path.join(home, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  return { home, run, good, write };
}

const command = { command: CADRE, args: ['serve'] };
const bearer = { Authorization: `Bearer ${TOKEN}` };
const url = 'http://127.0.0.1:7433/mcp';
// name, the user's file, the object of servers, the entries for stdio and HTTP
const clients = [
  [
    'claude-code',
    '.claude.json',
    'mcpServers',
    { type: 'stdio', ...command },
    { type: 'http', url, headers: bearer },
  ],
  ['claude-desktop', '.config/Claude/claude_desktop_config.json', 'mcpServers', command],
  ['cursor', '.cursor/mcp.json', 'mcpServers', command, { url, headers: bearer }],
  [
    'vscode',
    '.config/Code/User/mcp.json',
    'servers',
    { type: 'stdio', ...command },
    { type: 'http', url, headers: bearer },
  ],
  ['codex', '.codex/config.toml', 'mcp_servers', command, { url, http_headers: bearer }],
  ['gemini', '.gemini/settings.json', 'mcpServers', command, { httpUrl: url, headers: bearer }],
  [
    'opencode',
    '.config/opencode/opencode.json',
    'mcp',
    { type: 'local', command: [CADRE, 'serve'], enabled: true },
    { type: 'remote', url, headers: bearer, enabled: true },
  ],
  ['zed', '.config/zed/settings.json', 'context_servers', command, { url, headers: bearer }],
  [
    'windsurf',
    '.codeium/windsurf/mcp_config.json',
    'mcpServers',
    command,
    { serverUrl: url, headers: bearer },
  ],
  [
    'copilot-cli',
    '.copilot/mcp-config.json',
    'mcpServers',
    { type: 'local', ...command, tools: ['*'] },
    { type: 'http', url, headers: bearer, tools: ['*'] },
  ],
  [
    'goose',
    '.config/goose/config.yaml',
    'extensions',
    {
      enabled: true,
      type: 'stdio',
      name: 'cadre',
      description: 'Live Common Lisp that cannot be lost',
      cmd: CADRE,
      args: ['serve'],
      envs: {},
      timeout: 300,
    },
    {
      enabled: true,
      type: 'streamable_http',
      name: 'cadre',
      description: 'Live Common Lisp that cannot be lost',
      uri: url,
      headers: bearer,
      envs: {},
      timeout: 300,
    },
  ],
];

describe('every client', () => {
  for (const [name, file, outer, stdio, http] of clients)
    test(name, () => {
      const { home, run, good } = newHome();
      const target = path.join(home, file);
      const shown = good([name]);
      assert.ok(shown.startsWith(`${target}\n`), shown);
      assert.match(shown, /\n\+.*cadre/);
      assert.deepEqual(parse(target), { [outer]: { cadre: stdio } });
      assert.equal(statSync(target).mode & 0o777, 0o600);
      assert.match(good([name]), /nothing to change/);
      const env = { CADRE_TOKEN: TOKEN };
      if (http) {
        assert.match(good([name, '--http', '7433'], env), /\nbackup: /);
        assert.deepEqual(parse(target), { [outer]: { cadre: http } });
      } else {
        assert.match(run([name, '--http', '7433'], env).stderr, /takes no HTTP servers/);
      }
      const before = readFileSync(target, 'utf8');
      assert.match(good([name, '--print']), /serve/);
      assert.equal(readFileSync(target, 'utf8'), before);
      good([name, '--remove']);
      assert.equal(parse(target)?.[outer]?.cadre, undefined);
      assert.match(good([name, '--remove']), /nothing to change/);
    });
  test('options of serve', () => {
    const { home, good } = newHome();
    good(['cursor', '--', '--tools', 'core']);
    assert.deepEqual(parse(path.join(home, '.cursor/mcp.json')).mcpServers.cadre.args, [
      'serve',
      '--tools',
      'core',
    ]);
  });
  test('what else Gemini wants', () => {
    const { good, run } = newHome();
    const { stdout, stderr } = run(['gemini', '--print']);
    assert.match(stderr, /folders that it trusts/);
    assert.ok(JSON.parse(stdout).mcpServers.cadre);
    assert.match(good(['gemini']), /folders that it trusts/);
  });
  test('a server whose token is not there yet', () => {
    const { good, write } = newHome();
    assert.match(good(['zed', '--http', '7433']), /no token yet.* start it \(cadre serve --http\)/);
    chmodSync(write('.local/state/cadre/token', TOKEN), 0o600);
    assert.doesNotMatch(good(['zed', '--http', '7433']), /no token yet/);
  });
  test('a program that npx keeps for a while is started by npx', () => {
    const { home } = newHome();
    const program = path.join(home, '.npm/_npx/0123456789abcdef/bin/cadre');
    mkdirSync(path.dirname(program), { recursive: true });
    copyFileSync(CADRE, program);
    const printed = (...args) =>
      execFileSync(program, ['setup', '--print', ...args], {
        encoding: 'utf8',
        env: { HOME: home },
        stdio: 'pipe',
      });
    const started = { command: 'npx', args: ['-y', 'cadre-mcp', 'serve', '--tools', 'core'] };
    assert.deepEqual(JSON.parse(printed('cursor', '--', '--tools', 'core')), {
      mcpServers: { cadre: started },
    });
    assert.deepEqual(JSON.parse(printed('opencode')).mcp.cadre.command, [
      'npx',
      '-y',
      'cadre-mcp',
      'serve',
    ]);
    const project = JSON.parse(printed('claude-code', '--project', home));
    assert.equal(project.mcpServers.cadre.command, 'npx');
  });
  test('directories that variables name', () => {
    const { home, good } = newHome();
    good(['codex'], { CODEX_HOME: path.join(home, 'x') });
    good(['claude-code'], { CLAUDE_CONFIG_DIR: path.join(home, 'y') });
    good(['zed'], { XDG_CONFIG_HOME: path.join(home, 'z') });
    for (const file of ['x/config.toml', 'y/.claude.json', 'z/zed/settings.json'])
      assert.ok(existsSync(path.join(home, file)), file);
  });
  test('a file with comments that is there is used', () => {
    const { home, good, write } = newHome();
    const file = write('.config/opencode/opencode.jsonc', '{\n  // mine\n  "theme": "x",\n}\n');
    good(['opencode']);
    assert.equal(parse(file).mcp.cadre.type, 'local');
    assert.ok(!existsSync(path.join(home, '.config/opencode/opencode.json')));
  });
  test('usage', () => {
    const { run } = newHome();
    for (const [args, message] of [
      [[], /CLIENT is missing/],
      [['cusor'], /did you mean cursor\?/],
      [['zed', '--remove', '--print'], /--remove goes with/],
      [['zed', '--token-file', 'x'], /needs --http/],
      [['zed', '--http', 'nonsense'], /port/],
    ]) {
      const answer = run(args);
      assert.equal(answer.status, 2, args.join(' '));
      assert.match(answer.stderr, message);
    }
  });
});

describe('projects', () => {
  const references = {
    'claude-code': ['.mcp.json', 'Bearer ${CADRE_TOKEN}'],
    cursor: ['.cursor/mcp.json', 'Bearer ${env:CADRE_TOKEN}'],
    vscode: ['.vscode/mcp.json', 'Bearer ${env:CADRE_TOKEN}'],
    gemini: ['.gemini/settings.json', 'Bearer ${CADRE_TOKEN}'],
    opencode: ['opencode.json', 'Bearer {env:CADRE_TOKEN}'],
    codex: ['.codex/config.toml', 'bearer_token_env_var = "CADRE_TOKEN"'],
  };
  for (const [name, [file, reference]] of Object.entries(references))
    test(`${name}: the token is named, not written`, () => {
      const { home, good } = newHome();
      mkdirSync(path.join(home, 'p'));
      good([name, '--project', 'p', '--http', '7433'], { CADRE_TOKEN: TOKEN });
      const text = readFileSync(path.join(home, 'p', file), 'utf8');
      assert.ok(text.includes(reference), text);
      assert.ok(!text.includes(TOKEN));
      good([name, '--project', 'p']);
      assert.ok(!readFileSync(path.join(home, 'p', file), 'utf8').includes(CADRE));
    });
  test('a client that knows no variables gets no token in a project', () => {
    const { run } = newHome();
    const env = { CADRE_TOKEN: TOKEN };
    assert.match(run(['zed', '--project', '.', '--http', '1'], env).stderr, /must not hold it/);
    assert.match(run(['goose', '--project', '.']).stderr, /no configuration in projects/);
  });
});

describe('files that are there', () => {
  test('JSON keeps comments, order, indentation; the backup is the old file', () => {
    const { home, good, write } = newHome();
    const old = `// Settings
{
\t"theme": "dark", // nice
\t/* servers { "cadre": */
\t"context_servers": {
\t\t"other": { "command": "x" } // the "other" one
\t}, // end
\t"last": [1, 2,],
}
`;
    const file = write('.config/zed/settings.json', old);
    good(['zed']);
    const text = readFileSync(file, 'utf8');
    assert.deepEqual(parse(file).context_servers.cadre, command);
    for (const line of old.split('\n').filter((each) => !each.includes('other')))
      assert.ok(text.includes(`${line}\n`) || line === '', line);
    assert.match(text, /\n\t\t"cadre": \{\n\t\t\t"command"/);
    const backups = readdirSync(path.dirname(file)).filter((name) => name.endsWith('.bak'));
    assert.equal(backups.length, 1);
    assert.equal(readFileSync(path.join(path.dirname(file), backups[0]), 'utf8'), old);
    good(['zed', '--remove']);
    assert.deepEqual(parse(file), parseCommented(old));
    assert.equal(readFileSync(file, 'utf8').replace('"x" } //', '"x" } //'), old);
    assert.ok(existsSync(home));
  });
  test('JSON with random content and style', () => {
    const { good, write } = newHome();
    const key = fc.string({ maxLength: 6 }).filter((name) => name !== '__proto__');
    const object = fc.dictionary(key, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 });
    const style = fc.record({
      indent: fc.constantFrom('', '  ', '    ', '\t'),
      comments: fc.boolean(),
      commas: fc.boolean(),
      mark: fc.boolean(),
      servers: fc.option(object, { nil: undefined }),
    });
    const clean = (v) => JSON.parse(JSON.stringify(v));
    fc.assert(
      fc.property(object, style, (root, { indent, comments, commas, mark, servers }) => {
        const content = clean({ ...root, ...(servers ? { mcpServers: servers } : {}) });
        if (!servers) delete content.mcpServers;
        let text = JSON.stringify(content, null, indent);
        const outside = (pattern, replacement) => {
          text = text.replace(
            new RegExp(`("(?:[^"\\\\]|\\\\.)*")|${pattern}`, 'g'),
            (all, kept) => kept ?? replacement(all),
          );
        };
        if (commas) outside('(?<=[^\\s{\\[,])(?=\\s*[}\\]])', () => ',');
        if (comments) outside('[,{]', (all) => `/* } " */ ${all} // "x": {\n`);
        const file = write('.gemini/settings.json', (mark ? '\uFEFF' : '') + text);
        assert.deepEqual(parse(file), content, text);
        good(['gemini']);
        const expected = clean(content);
        expected.mcpServers = { ...expected.mcpServers, cadre: command };
        assert.deepEqual(parse(file), expected, text);
        good(['gemini', '--remove']);
        delete expected.mcpServers.cadre;
        if (Object.keys(expected.mcpServers).length === 0) {
          const found = parse(file);
          delete found.mcpServers;
          delete expected.mcpServers;
          assert.deepEqual(found, expected, text);
        } else assert.deepEqual(parse(file), expected, text);
      }),
      { numRuns: 40 },
    );
  });
  test('JSON that is wrong is left alone', () => {
    const { run, write } = newHome();
    for (const [text, message] of [
      ['{"a": }', /line 1, column 7/],
      ['[1]', /not an object/],
      ['{"mcpServers": []}', /not an object/],
      ['{"a": 1', /line 1/],
    ]) {
      const file = write('.gemini/settings.json', text);
      const answer = run(['gemini']);
      assert.equal(answer.status, 1, text);
      assert.match(answer.stderr, message);
      assert.equal(readFileSync(file, 'utf8'), text);
    }
  });
  test('TOML keeps everything else', () => {
    const { good, write } = newHome();
    const old = `# mine
model = "o3"
notes = """
[mcp_servers.cadre]
command = "not this"
"""
literal = '''
[mcp_servers.cadre]'''

[mcp_servers.other] # other
args = [
  "[mcp_servers.cadre]", # one
]

# about the profile
[profiles."a.b"]
x = { y = 1 }
`;
    const file = write('.codex/config.toml', old);
    good(['codex']);
    const { mcp_servers, ...rest } = parseToml(old);
    assert.deepEqual(parse(file), { ...rest, mcp_servers: { ...mcp_servers, cadre: command } });
    good(['codex', '--remove']);
    assert.equal(readFileSync(file, 'utf8'), old);
  });
  test('TOML: the table is replaced where it is, its sub-tables stay', () => {
    const { good, write } = newHome();
    const file = write(
      '.codex/config.toml',
      `[ mcp_servers . "cadre" ]\ncommand = "old"\n# note\nargs = []\n\n[mcp_servers.cadre.tools.x]\napproval_mode = "approve"\n\n# after\n[z]\na = 1\n`,
    );
    good(['codex']);
    assert.deepEqual(parse(file), {
      mcp_servers: { cadre: { ...command, tools: { x: { approval_mode: 'approve' } } } },
      z: { a: 1 },
    });
    good(['codex', '--remove']);
    assert.equal(readFileSync(file, 'utf8').trim(), '# after\n[z]\na = 1');
  });
  test('TOML in a form that cannot be edited safely is left alone', () => {
    const { run, write } = newHome();
    for (const text of [
      'mcp_servers = { cadre = { command = "x" } }\n',
      'mcp_servers.cadre.command = "x"\n',
      '[mcp_servers]\ncadre = { command = "x" }\n',
      '[mcp_servers]\n"cadre".command = "x"\n',
    ]) {
      const file = write('.codex/config.toml', text);
      const answer = run(['codex']);
      assert.equal(answer.status, 1, text);
      assert.match(answer.stderr, /change it by hand/);
      assert.equal(readFileSync(file, 'utf8'), text);
    }
  });
  test('YAML keeps everything else', () => {
    const { good, write } = newHome();
    for (const old of [
      'GOOSE_MODEL: x # m\nextensions:\n    developer:\n        enabled: true\n        text: |\n          extensions:\n            cadre: no\n\n# other\nother: [1, 2]\n',
      'extensions: {}\nGOOSE_MODEL: x\n',
      'extensions:\nGOOSE_MODEL: x\n',
      'GOOSE_MODEL: x',
      '',
      '---\nextensions:\n  cadre: {enabled: false}\n  z: {type: builtin}\n',
      '"extensions":\n  # first\n  cadre:\n    enabled: false\n\n    cmd: old\n  z:\n    type: builtin\n',
    ]) {
      const file = write('.config/goose/config.yaml', old);
      good(['goose']);
      const content = YAML.parse(old) ?? {};
      const found = parse(file);
      assert.equal(found.extensions.cadre.cmd, CADRE, old);
      assert.deepEqual(
        { ...found, extensions: { ...found.extensions, cadre: null } },
        { ...content, extensions: { ...content.extensions, cadre: null } },
      );
      good(['goose', '--remove']);
      const { cadre, ...others } = content.extensions ?? {};
      assert.deepEqual(parse(file), { ...content, extensions: others });
    }
  });
  test('YAML in a form that cannot be edited safely is left alone', () => {
    const { run, write } = newHome();
    for (const text of [
      '{"extensions": {"a": 1}}\n',
      'extensions: {a: {enabled: true}}\n',
      'extensions: &x\n  a: 1\n',
      'extensions:\n  - a\n',
      'a: 1\n---\nextensions:\n',
    ]) {
      const file = write('.config/goose/config.yaml', text);
      assert.equal(run(['goose']).status, 1, text);
      assert.equal(readFileSync(file, 'utf8'), text);
    }
  });
  test('a symbolic link stays one, modes stay', () => {
    const { home, good, write } = newHome();
    const real = write('dotfiles/mcp.json', '{}');
    mkdirSync(path.join(home, '.cursor'));
    symlinkSync(real, path.join(home, '.cursor/mcp.json'));
    execFileSync('chmod', ['640', real]);
    good(['cursor']);
    assert.ok(lstatSync(path.join(home, '.cursor/mcp.json')).isSymbolicLink());
    assert.deepEqual(parse(real).mcpServers.cadre, command);
    assert.equal(statSync(real).mode & 0o777, 0o640);
    const backup = readdirSync(path.dirname(real)).find((name) => name.endsWith('.bak'));
    assert.equal(statSync(path.join(path.dirname(real), backup)).mode & 0o777, 0o640);
  });
});
