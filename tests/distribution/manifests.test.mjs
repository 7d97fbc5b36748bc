// The manifests of the packages say what their readers demand, agree with each other and with the
// program. The rules are those of the published formats: the MCP registry's server.json (2025-12-11), MCPB's
// manifest (0.3), Claude Code's plugins and skills, npm's package.json.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';

const ROOT = path.resolve(import.meta.dirname, '../..');
const CADRE = process.env.CADRE ?? path.join(ROOT, 'build/release/src/cli/cadre');
const file = (name) => path.join(ROOT, name);
const read = (name) => readFileSync(file(name), 'utf8');
const json = (name) => JSON.parse(read(name));

const version = execFileSync(CADRE, ['--version'], { encoding: 'utf8' }).trim().split(' ')[1];

// Every member is known, and the needed ones are there: {name: check}; a name with ! is needed.
function checkObject(object, members, where) {
  const known = new Map(
    Object.entries(members).map(([name, check]) => [name.replace('!', ''), check]),
  );
  for (const [name, value] of Object.entries(object)) {
    assert.ok(known.has(name), `${where}: unknown member ${name}`);
    assert.ok(known.get(name)(value), `${where}.${name}: ${JSON.stringify(value)}`);
  }
  for (const name of Object.keys(members).filter((member) => member.endsWith('!')))
    assert.ok(name.slice(0, -1) in object, `${where}: ${name.slice(0, -1)} is missing`);
}

const isText = (value) => typeof value === 'string' && value.length > 0;
const isFlag = (value) => typeof value === 'boolean';
const isVersion = (value) => value === version;
const isList = (check) => (value) => Array.isArray(value) && value.every(check);
const matches = (pattern) => (value) => isText(value) && pattern.test(value);
const upTo = (length) => (value) => isText(value) && value.length <= length;
const object =
  (members, where = 'member') =>
  (value) => {
    checkObject(value, members, where);
    return true;
  };

test('server.json', () => {
  const input = {
    description: isText,
    isRequired: isFlag,
    isSecret: isFlag,
    format: (value) => ['string', 'number', 'boolean', 'filepath'].includes(value),
    default: isText,
    placeholder: isText,
    choices: isList(isText),
    value: isText,
  };
  checkObject(
    json('server.json'),
    {
      '$schema!': (value) =>
        value === 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
      'name!': (value) => /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/.test(value) && value.length <= 200,
      title: upTo(100),
      'description!': upTo(100),
      'version!': isVersion,
      'packages!': isList(
        object(
          {
            'registryType!': (value) =>
              ['npm', 'pypi', 'oci', 'nuget', 'mcpb', 'cargo'].includes(value),
            'identifier!': matches(/^\S+$/),
            'version!': isVersion,
            runtimeHint: isText,
            'transport!': object({ 'type!': (value) => value === 'stdio' }, 'transport'),
            packageArguments: isList(
              object({ ...input, 'type!': (value) => ['positional', 'named'].includes(value) }),
            ),
            environmentVariables: isList(object({ ...input, 'name!': matches(/^[A-Z_]+$/) })),
          },
          'package',
        ),
      ),
    },
    'server.json',
  );
});

test('the npm packages belong to the entry in the registry', () => {
  const server = json('server.json');
  const main = json('packaging/npm/cadre-mcp/package.json');
  const platform = json('packaging/npm/cadre-mcp-linux-x64/package.json');
  assert.equal(main.mcpName, server.name);
  assert.equal(main.name, server.packages[0].identifier);
  assert.deepEqual([main.version, platform.version], [version, version]);
  assert.deepEqual(main.optionalDependencies, { [platform.name]: version });
  assert.deepEqual([platform.os, platform.cpu, platform.libc], [['linux'], ['x64'], ['glibc']]);
  for (const name of Object.values(main.bin)) {
    const script = file(path.join('packaging/npm/cadre-mcp', name));
    accessSync(script, constants.X_OK);
    assert.ok(readFileSync(script, 'utf8').startsWith('#!/bin/sh\n'));
    assert.ok(main.files.includes(name));
  }
  for (const manifest of [main, platform]) {
    assert.match(manifest.name, /^[a-z0-9][a-z0-9._-]*$/);
    for (const member of ['description', 'license', 'files'])
      assert.ok(manifest[member]?.length > 0, `${manifest.name}: ${member}`);
  }
});

describe('the command of the npm package', () => {
  // A project with the package and, unless `where` is undefined, that of the platform there.
  function newProject(where) {
    const project = mkdtempSync(path.join(tmpdir(), 'a project-'));
    const main = path.join(project, 'node_modules/cadre-mcp');
    mkdirSync(path.join(main, 'bin'), { recursive: true });
    copyFileSync(file('packaging/npm/cadre-mcp/bin/cadre'), path.join(main, 'bin/cadre'));
    mkdirSync(path.join(project, 'node_modules/.bin'));
    symlinkSync('../cadre-mcp/bin/cadre', path.join(project, 'node_modules/.bin/cadre-mcp'));
    if (where === undefined) return project;
    const platform = path.join(project, where, 'cadre-mcp-linux-x64');
    mkdirSync(path.join(platform, 'bin'), { recursive: true });
    mkdirSync(path.join(platform, 'lib/cadre'), { recursive: true });
    writeFileSync(path.join(platform, 'bin/cadre'), '#!/bin/sh\nprintf "[%s]" "$@"; exit 7\n');
    chmodSync(path.join(platform, 'bin/cadre'), 0o755);
    writeFileSync(path.join(platform, 'lib/cadre/cadre.core'), '');
    chmodSync(path.join(platform, 'lib/cadre/cadre.core'), 0o664);
    return project;
  }
  const run = (project) =>
    spawnSync(path.join(project, 'node_modules/.bin/cadre-mcp'), ['eval', '(+ 1 2)', ''], {
      encoding: 'utf8',
    });

  for (const where of ['node_modules', 'node_modules/cadre-mcp/node_modules'])
    test(`starts the program of ${where}`, () => {
      const project = newProject(where);
      const { stdout, stderr, status } = run(project);
      assert.deepEqual([stdout, stderr, status], ['[eval][(+ 1 2)][]', '', 7]);
      const core = path.join(project, where, 'cadre-mcp-linux-x64/lib/cadre/cadre.core');
      assert.equal(statSync(core).mode & 0o777, 0o644);
    });
  test('says what is missing', () => {
    const { stderr, status } = run(newProject());
    assert.match(stderr, /^cadre-mcp: the package cadre-mcp-linux-x64 is missing\..*optional/);
    assert.equal(status, 1);
  });
});

test('manifest of the bundle', () => {
  const manifest = json('packaging/mcpb/manifest.json');
  checkObject(
    manifest,
    {
      'manifest_version!': (value) => value === '0.3',
      'name!': matches(/^[a-z0-9-]+$/),
      display_name: isText,
      'version!': isVersion,
      'description!': isText,
      long_description: isText,
      'author!': object({ 'name!': isText, email: isText, url: isText }, 'author'),
      license: isText,
      keywords: isList(isText),
      tools_generated: isFlag,
      'server!': object(
        {
          'type!': (value) => value === 'binary',
          'entry_point!': matches(/^server\//),
          'mcp_config!': object(
            { 'command!': isText, args: isList(isText), env: (value) => typeof value === 'object' },
            'mcp_config',
          ),
        },
        'server',
      ),
      compatibility: object({
        platforms: isList((value) => ['darwin', 'win32', 'linux'].includes(value)),
      }),
    },
    'manifest.json',
  );
  const { entry_point, mcp_config } = manifest.server;
  assert.equal(mcp_config.command, '${__dirname}/' + entry_point);
});

describe('Claude Code', () => {
  const plugin = 'packaging/claude-code';
  const skill = read('packaging/claude-code/skills/cadre/SKILL.md');
  test('plugin and marketplace', () => {
    const marketplace = json('.claude-plugin/marketplace.json');
    checkObject(
      marketplace,
      {
        'name!': matches(/^[a-z0-9-]+$/),
        'owner!': object({ 'name!': isText, email: isText }),
        'plugins!': isList(
          object({
            'name!': matches(/^[a-z0-9-]+$/),
            'source!': matches(/^\.\//),
            description: isText,
          }),
        ),
      },
      'marketplace.json',
    );
    const [entry] = marketplace.plugins;
    const manifest = json(path.join(entry.source, '.claude-plugin/plugin.json'));
    checkObject(
      manifest,
      {
        'name!': (value) => value === entry.name,
        version: isVersion,
        description: isText,
        author: object({ 'name!': isText }),
        license: isText,
        keywords: isList(isText),
      },
      'plugin.json',
    );
  });
  test('its server starts', () => {
    const { mcpServers } = json(`${plugin}/.mcp.json`);
    assert.deepEqual(Object.keys(mcpServers), ['cadre']);
    checkObject(
      mcpServers.cadre,
      { 'command!': (value) => value === 'cadre', args: isList(isText) },
      'server',
    );
    assert.match(
      execFileSync(CADRE, [...mcpServers.cadre.args, '--help'], { encoding: 'utf8' }),
      /^usage: cadre serve/,
    );
  });
  // The names of the tools that a server with these arguments offers.
  function toolsOf(args) {
    const request = (id, method, params) => JSON.stringify({ jsonrpc: '2.0', id, method, params });
    const output = execFileSync(CADRE, [...args, '--private', '--context-db', ':memory:'], {
      encoding: 'utf8',
      input: `${request(1, 'initialize', {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'test', version: '1' },
      })}\n${request(2, 'tools/list', {})}\n`,
    });
    const answers = output.trim().split('\n').map(JSON.parse);
    return answers.find(({ id }) => id === 2).result.tools.map(({ name }) => name);
  }
  test('its hook runs a command that is there', () => {
    const { hooks } = json(`${plugin}/hooks/hooks.json`);
    assert.deepEqual(Object.keys(hooks), ['PostToolUse']);
    for (const { matcher, hooks: commands } of hooks.PostToolUse) {
      assert.match(matcher, /^\w+(\|\w+)*$/);
      for (const { type, command } of commands) {
        assert.equal(type, 'command');
        const [program, ...args] = command.split(' ');
        assert.equal(program, 'cadre');
        const input = JSON.stringify({ tool_name: 'Write', tool_input: { file_path: 'a.txt' } });
        assert.equal(execFileSync(CADRE, args, { encoding: 'utf8', input }), '');
      }
    }
  });
  test('its skill is short and names only tools and options that are there', () => {
    const text = skill;
    assert.ok(text.split('\n').length <= 151);
    const [, front, body] = text.match(/^---\n([\s\S]*?)\n---\n([\s\S]*)$/);
    const members = Object.fromEntries(front.split('\n').map((line) => line.split(/: (.*)/s)));
    checkObject(
      members,
      { 'name!': matches(/^[a-z0-9-]{1,64}$/), 'description!': upTo(1024) },
      'SKILL.md',
    );
    const named = new Set(
      [...body.matchAll(/`([a-z]+(?:-[a-z]+)+)\b/g)].map((match) => match[1]).concat('inspect'),
    );
    const others = new Set(['group-by', 'sum-by', 'sort-by', 'my-system']);
    const offered = toolsOf(json(`${plugin}/.mcp.json`).mcpServers.cadre.args);
    for (const name of named)
      if (!others.has(name)) assert.ok(offered.includes(name), `no tool ${name}`);
    assert.ok(named.size > 15);
  });
  test('the program in its skill runs', () => {
    const [, program] = skill.match(/```clojure\n([\s\S]*?)```/);
    const record = {
      program,
      context: {
        orders: [
          { status: 'open', customer: 'a', total: 3 },
          { status: 'open', customer: 'b', total: 5 },
          { status: 'closed', customer: 'b', total: 50 },
        ],
      },
    };
    const output = execFileSync(CADRE, ['run', '--batch', '-'], {
      input: `${JSON.stringify(record)}\n`,
      encoding: 'utf8',
    });
    assert.deepEqual(JSON.parse(output).return, [
      { who: 'b', sum: 5 },
      { who: 'a', sum: 3 },
    ]);
  });
});

test('systemd unit: sections and keys are known, the command is one', () => {
  const keys = {
    Unit: ['Description', 'Documentation'],
    Service: ['ExecStart', 'Restart', 'Delegate'],
    Install: ['WantedBy'],
  };
  const unit = read('packaging/deb/cadre.service');
  let section;
  for (const line of unit.split('\n').filter((each) => each && !each.startsWith('#'))) {
    const [, name] = line.match(/^\[(\w+)\]$/) ?? [];
    if (name) section = keys[name];
    else assert.ok(section.includes(line.match(/^(\w+)=\S/)[1]), line);
  }
  const [, program, args] = unit.match(/^ExecStart=(\S+) (.*)$/m);
  assert.equal(program, '/usr/bin/cadre');
  assert.match(
    execFileSync(CADRE, [...args.split(' '), '--help'], { encoding: 'utf8' }),
    /^usage: cadre serve/,
  );
});

test('Containerfile: known instructions, what it copies is there', () => {
  const lines = read('Containerfile')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line && !line.startsWith('#'));
  for (const line of lines)
    assert.match(line, /^(FROM|RUN|WORKDIR|COPY|USER|ENTRYPOINT|CMD) \S/, line);
  assert.match(lines[0], /^FROM \S+:\S+ AS build$/);
  assert.equal(lines.filter((line) => line.startsWith('FROM ')).length, 2);
  for (const line of lines.filter((each) => /^(ENTRYPOINT|CMD) /.test(each)))
    assert.ok(isList(isText)(JSON.parse(line.replace(/^\S+ /, ''))));
  assert.ok(lines.some((line) => line.startsWith('COPY --from=build /out/usr/local/')));
  assert.ok(lines.some((line) => /make install .*DESTDIR=\/out/.test(line)));
});

test('scripts of the packages can be run', () => {
  for (const name of ['scripts/package', 'scripts/package-deb', 'packaging/archive/install.sh'])
    assert.ok(statSync(file(name)).mode & 0o111, name);
});
