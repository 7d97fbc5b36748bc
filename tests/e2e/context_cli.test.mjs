// The context domain on the command line.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { errorCases, renderCases, warningCases } from './context_cases.mjs';
import { CADRE, temporaryDirectory } from './support.mjs';

const parent = temporaryDirectory();
let stores = 0;

function newStore() {
  const directory = path.join(parent, `${stores++}`);
  mkdirSync(directory);
  const file = path.join(directory, 'context.db');
  const run = (args, options = {}) =>
    spawnSync(CADRE, ['context', ...args], {
      cwd: directory,
      encoding: 'utf8',
      input: '',
      ...options,
      env: { ...process.env, CADRE_CONTEXT_DB: file, ...options.env },
    });
  return { directory, file, run };
}

function good(answer) {
  assert.equal(answer.status, 0, answer.stderr);
  return answer.stdout;
}

const addArguments = ({ content, type, metadata, pinned }) => [
  'add',
  '--type',
  type ?? 'code', // the default of add-context
  ...(metadata !== undefined ? ['--meta-json', JSON.stringify(metadata)] : []),
  ...(pinned ? ['--pin'] : []),
  '--',
  content,
];

const renderArguments = ({ types, limit, max_chars: maxChars, style }) => [
  'render',
  ...(types ? ['--types', types.join()] : []),
  ...(limit === undefined ? [] : ['--limit', `${limit}`]),
  ...(maxChars ? ['--max-chars', `${maxChars}`] : []),
  ...(style ? ['--style', style] : []),
];

describe('context on the command line: rendering', () => {
  for (const [name, items, parameters, document] of renderCases) {
    test(name, () => {
      const { run } = newStore();
      for (const item of items) good(run(addArguments(item)));
      assert.equal(good(run(renderArguments(parameters))), document);
      const structured = JSON.parse(good(run([...renderArguments(parameters), '--json'])));
      assert.equal(structured.markdown, document);
    });
  }
});

describe('context on the command line: errors and warnings', () => {
  const commands = {
    'add-context': addArguments,
    'remove-context': ({ id }) => ['rm', id],
    'list-context': ({ limit }) => ['list', `--limit=${limit}`],
    'render-context': renderArguments,
  };
  // Content that is no string, ids beside content and arguments longer than the system's limit cannot
  // be typed; a number alone is an id here.
  const typed = errorCases.filter(
    ([name, tool, { content, id }]) =>
      name !== 'E9' &&
      (tool !== 'add-context' || (typeof content === 'string' && content.length < 100_000 && !id)),
  );
  for (const [name, tool, parameters, code, message] of typed) {
    test(name, () => {
      const { run } = newStore();
      const answer = run(commands[tool](parameters));
      assert.equal(answer.status, 1);
      assert.equal(answer.stdout, '');
      assert.equal(answer.stderr, `cadre: ${code}: ${message}\n`);
      const structured = JSON.parse(
        run([
          ...commands[tool](parameters).slice(0, 1),
          '--json',
          ...commands[tool](parameters).slice(1),
        ]).stdout,
      );
      assert.deepEqual(structured, { ok: false, error: { code, message } });
    });
  }
  for (const [name, metadata, expected] of warningCases) {
    test(name, () => {
      const { run } = newStore();
      const answer = run(addArguments({ content: 'x', metadata }));
      assert.equal(good(answer), 'ctx-1\n');
      assert.equal(
        answer.stderr,
        expected
          ? `Warning: metadata key "${expected[0]}" looks like "${expected[1]}"; kept as given\n`
          : '',
      );
    });
  }
});

test('C1: standard input, verbatim', () => {
  const { run } = newStore();
  assert.equal(good(run(['add', '--type', 'text'], { input: 'a\nb\n' })), 'ctx-1\n');
  assert.equal(good(run(['show', 'ctx-1'])), 'a\nb\n');
  assert.equal(good(run(['add', '-'], { input: 'é\0x' })), 'ctx-2\n');
  assert.equal(good(run(['show', 'ctx-2'])), 'é\0x');
});

test('C2: files and ranges', () => {
  const { directory, run } = newStore();
  writeFileSync(path.join(directory, 'f.lisp'), 'l1\nl2\nl3\nl4\n');
  good(run(['add', '--file', 'f.lisp:2-3']));
  const item = (id) => JSON.parse(good(run(['show', id, '--json'])));
  assert.deepEqual(
    { ...item('ctx-1'), timestamp: 0 },
    {
      id: 'ctx-1',
      type: 'code',
      content: 'l2\nl3',
      timestamp: 0,
      metadata: { filename: 'f.lisp', start_line: 2, end_line: 3 },
    },
  );

  good(run(['add', '--file', 'f.lisp']));
  assert.deepEqual(
    { ...item('ctx-2'), timestamp: 0 },
    {
      id: 'ctx-2',
      type: 'file',
      content: 'l1\nl2\nl3\nl4\n',
      metadata: { filename: 'f.lisp' },
      timestamp: 0,
    },
  );

  good(run(['add', '--file', 'f.lisp:4', '--type', 'text']));
  assert.deepEqual(
    [item('ctx-3').content, item('ctx-3').type, item('ctx-3').metadata.end_line],
    ['l4', 'text', 4],
  );

  const clamped = run(['add', '--file', 'f.lisp:3-99', '--json']);
  assert.match(clamped.stderr, /^Warning: f\.lisp has 4 lines/);
  const structured = JSON.parse(good(clamped));
  assert.equal(structured.warnings[0].code, 'range-clamped');
  assert.equal(structured.item.content, 'l3\nl4');
  assert.equal(structured.item.metadata.end_line, 4);

  for (const range of ['5', '5-6', '3-2', '0', '0-1']) {
    const answer = run(['add', '--file', `f.lisp:${range}`]);
    assert.equal(answer.status, 1, range);
    assert.match(answer.stderr, /^cadre: invalid-argument: /);
  }
  assert.match(
    run(['add', '--file', 'none.lisp']).stderr,
    /^cadre: invalid-argument: cannot open none\.lisp: No such file/,
  );

  writeFileSync(path.join(directory, 'f.lisp:2-3'), 'literal');
  good(run(['add', '--file', 'f.lisp:2-3']));
  assert.equal(item('ctx-5').content, 'literal');

  writeFileSync(path.join(directory, 'bad.bin'), Buffer.from([0x61, 0xff]));
  const bad = run(['add', '--file', 'bad.bin']);
  assert.deepEqual(
    [bad.status, bad.stderr],
    [1, 'cadre: invalid-content: bad.bin is not UTF-8 (byte 2)\n'],
  );
});

test('C3 and C4: an unknown id, an empty store', () => {
  const { run } = newStore();
  const answer = run(['rm', 'ctx-99']);
  assert.deepEqual(
    [answer.status, answer.stderr],
    [1, 'cadre: not-found: no context item ctx-99\n'],
  );
  const empty = run(['render']);
  assert.deepEqual([empty.status, empty.stdout, empty.stderr], [0, '', '']);
});

test('removing several, pinning, settings, eviction', () => {
  const { run } = newStore();
  for (let i = 0; i < 4; i++) good(run(['add', `item ${i}`]));
  const removed = run(['rm', 'ctx-1', 'ctx-9', 'ctx-2']);
  assert.equal(removed.status, 1);
  assert.equal(removed.stdout, 'Removed ctx-1. 3 of 50 items.\nRemoved ctx-2. 2 of 50 items.\n');
  assert.equal(removed.stderr, 'cadre: not-found: no context item ctx-9\n');
  assert.equal(good(run(['pin', 'ctx-3'])), 'Pinned ctx-3.\n');
  assert.equal(good(run(['add', '--id', 'ctx-4', '--pin'])), 'Pinned ctx-4.\n');
  assert.equal(good(run(['set', 'max-items', '2'])), 'max-items 2\nauto-context off\n');
  assert.match(run(['add', 'x']).stderr, /^cadre: context-full: all 2 items are pinned/);
  assert.equal(good(run(['unpin', 'ctx-4'])), 'Unpinned ctx-4.\n');
  const added = run(['add', 'x']);
  assert.deepEqual([added.stdout, added.stderr], ['ctx-5\n', 'Evicted ctx-4 (text): item 3\n']);
  assert.equal(
    good(run(['list'])),
    '2 of 2 items\n- ctx-3 text [pinned] (6 characters): item 2\n- ctx-5 text (1 character): x\n',
  );
  assert.equal(good(run(['clear'])), 'Removed 1 item. Kept 1 pinned item.\n');
  assert.equal(good(run(['clear', '--all'])), 'Removed 1 item.\n');
  assert.equal(good(run(['list'])), 'No context items.\n');
  assert.equal(run(['set', 'max-items', '0']).status, 1);
});

test('metadata options', () => {
  const { run } = newStore();
  good(
    run([
      'add',
      '--meta-json',
      '{"a":[1,{}],"start_line":1}',
      '--meta',
      'start_line=5',
      '--meta',
      'note=a=b',
      'x',
    ]),
  );
  assert.deepEqual(JSON.parse(good(run(['show', 'ctx-1', '--json']))).metadata, {
    a: [1, {}],
    start_line: 5,
    note: 'a=b',
  });
  assert.equal(
    run(['add', '--meta', 'start_line=x', 'y']).stderr,
    'cadre: invalid-metadata: metadata.start_line must be an integer >= 1; got "x"\n',
  );
  const keys = Object.fromEntries(
    Array.from({ length: 1000 }, (_, i) => [`k${(i * 7919) % 1000}`, i]),
  );
  good(run(['add', '--meta-json', JSON.stringify(keys), 'x']));
  assert.equal(
    JSON.stringify(JSON.parse(good(run(['show', 'ctx-2', '--json']))).metadata),
    JSON.stringify(keys),
  );
});

test('large and invalid input', () => {
  const { run } = newStore();
  assert.match(
    run(['add'], { input: 'x'.repeat(10_000_000) }).stderr,
    /^cadre: too-large: content has 10000000 bytes; the limit max-content-bytes is 1048576\n$/,
  );
  const fits = 'é'.repeat(524_288);
  good(run(['add'], { input: fits }));
  assert.equal(run(['show', 'ctx-1'], { maxBuffer: 1 << 24 }).stdout, fits);
  const invalid = run(['add'], { input: Buffer.from([0x61, 0xc3]) });
  assert.deepEqual(
    [invalid.status, invalid.stderr],
    [1, 'cadre: invalid-content: content is not UTF-8 (byte 2)\n'],
  );
});

test('usage errors', () => {
  const { run } = newStore();
  for (const args of [
    [],
    ['bogus'],
    ['add', '--bogus'],
    ['show'],
    ['rm'],
    ['add', 'a', 'b'],
    ['add', '--unpin', 'x'],
    ['list', 'x'],
    ['add', '--meta', 'novalue', 'x'],
    ['set', 'max-items'],
    ['add', '--type'],
  ]) {
    const answer = run(args);
    assert.equal(answer.status, 2, args.join(' '));
    assert.equal(answer.stdout, '');
    assert.match(answer.stderr, /^cadre context: /);
  }
  assert.match(good(run(['--help'])), /^usage: cadre context/);
});

// `clear --type error` must not clear everything.
test('an option of another command is refused, and nothing is done', () => {
  const { run } = newStore();
  good(run(['add', 'x']));
  for (const args of [
    ['clear', '--type', 'error'],
    ['clear', '--limit', '1'],
    ['list', '--type', 'code'],
    ['list', '--all'],
    ['list', '--max-chars', '500'],
    ['render', '--pin'],
    ['show', '--types', 'code', 'ctx-1'],
    ['rm', '--all', 'ctx-1'],
    ['pin', '--unpin', 'ctx-1'],
    ['set', '--limit', '1'],
    ['add', '--types', 'text', 'y'],
    ['add', '--id', 'ctx-1', '--pin', 'y'],
    ['add', '--id', 'ctx-1', '--pin', '--type', 'text'],
    ['add', '--id', 'ctx-1', '--pin', '--file', 'f'],
  ]) {
    const answer = run(args);
    assert.equal(answer.status, 2, args.join(' '));
    assert.match(
      answer.stderr,
      /^cadre context: .*(has no option --|--id takes --pin or --unpin only)/,
    );
  }
  assert.equal(good(run(['list'])), '1 of 50 items\n- ctx-1 text (1 character): x\n');
});

test('with --json a failure is a structured result, whoever finds it', () => {
  const { run } = newStore();
  for (const [args, code, options] of [
    [['show', 'ctx-1'], 'not-found'],
    [['add', '--file', 'missing'], 'invalid-argument'],
    [['set', 'max-items', '0'], 'invalid-argument'],
    [['add'], 'invalid-content', { input: Buffer.from([255]) }],
  ]) {
    const answer = run([...args, '--json'], options);
    assert.equal(answer.status, 1);
    const { ok, error } = JSON.parse(answer.stdout);
    assert.deepEqual([ok, error.code], [false, code]);
    assert.equal(answer.stderr, `cadre: ${error.code}: ${error.message}\n`);
  }
});

test('output that cannot be written is a failure, however long it is', () => {
  const { run } = newStore();
  good(run(['add', 'short']));
  good(run(['add'], { input: 'long '.repeat(50_000) }));
  for (const args of [
    ['add', 'x'],
    ['show', 'ctx-1'],
    ['show', 'ctx-2'],
    ['render'],
    ['list', '--json'],
    ['--help'],
  ]) {
    const full = openSync('/dev/full', 'w');
    const answer = run(args, { stdio: ['ignore', full, 'pipe'] });
    closeSync(full);
    assert.equal(answer.status, 1, args.join(' '));
    assert.equal(answer.stderr, 'cadre: cannot write to standard output\n');
  }
});

test('where the store is', () => {
  const { directory, run } = newStore();
  const state = path.join(directory, 'state');
  good(run(['add', 'x'], { env: { CADRE_CONTEXT_DB: '', XDG_STATE_HOME: state } }));
  const workspaces = path.join(state, 'cadre/workspaces');
  const [home] = readdirSync(workspaces);
  assert.equal(statSync(path.join(workspaces, home, 'context.db')).mode & 0o777, 0o600);
  assert.equal(statSync(path.join(state, 'cadre')).mode & 0o777, 0o700);
  good(run(['add', '--context-db', path.join(directory, 'other.db'), 'x']));
  statSync(path.join(directory, 'other.db'));
  assert.equal(good(run(['--context-db', ':memory:', 'add', 'x'])), 'ctx-1\n');
  assert.equal(good(run(['--context-db', ':memory:', 'list'])), 'No context items.\n');
  mkdirSync(path.join(directory, 'folder'));
  const broken = run(['--context-db', path.join(directory, 'folder'), 'list']);
  assert.equal(broken.status, 1);
  assert.match(broken.stderr, /^cadre: store-unavailable: .*folder: unable to open/);
});

test('a store that cannot be written to', (t) => {
  const { directory, file, run } = newStore();
  good(run(['add', 'x']));
  const readOnly = [
    '-rm',
    'sh',
    '-c',
    'mount --bind -o ro "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"',
    directory,
  ];
  if (spawnSync('unshare', [...readOnly, 'true']).status !== 0)
    return t.skip('needs user namespaces');
  for (const args of [['list'], ['add', 'y']]) {
    const answer = spawnSync(
      'unshare',
      [...readOnly, CADRE, 'context', ...args, '--context-db', file],
      { encoding: 'utf8', input: '' },
    );
    assert.deepEqual(
      [answer.status, answer.stdout, answer.stderr],
      [1, '', `cadre: store-unavailable: ${file}: cannot write to it: Read-only file system\n`],
    );
  }
  assert.equal(good(run(['show', 'ctx-1'])), 'x');
});

test('the store through a link, and one whose name looks like a URI', () => {
  const { directory, run } = newStore();
  symlinkSync('target.db', path.join(directory, 'link.db'));
  good(run(['--context-db', 'link.db', 'add', 'x']));
  assert.equal(
    good(run(['--context-db', 'target.db', 'list'])),
    '1 of 50 items\n- ctx-1 text (1 character): x\n',
  );
  good(run(['--context-db', 'file:uri.db?mode=memory', 'add', 'x']));
  assert.equal(statSync(path.join(directory, 'file:uri.db?mode=memory')).mode & 0o777, 0o600);
  assert.ok(!existsSync(path.join(directory, 'uri.db')));
  assert.match(good(run(['--context-db', 'file:uri.db?mode=memory', 'list'])), /^1 of 50 items/);
});

test('processes side by side never share an id', async () => {
  const { file, run } = newStore();
  const ids = await Promise.all(
    Array.from(
      { length: 40 },
      (_, i) =>
        new Promise((resolve, reject) => {
          const child = spawn(CADRE, ['context', '--context-db', file, 'add', `${i}`], {
            stdio: ['ignore', 'pipe', 'inherit'],
          });
          let text = '';
          child.stdout.on('data', (data) => {
            text += data;
          });
          child.on('close', (status) =>
            status === 0 ? resolve(text.trim()) : reject(new Error(`status ${status}`)),
          );
        }),
    ),
  );
  assert.equal(new Set(ids).size, 40);
  assert.equal(JSON.parse(good(run(['list', '--json']))).total, 40);
});

describe('what is typed', () => {
  const { run, directory } = newStore();
  const types = () => JSON.parse(good(run(['list', '--json']))).summaries.map(({ type }) => type);

  test('is text, or code where a file name says so', () => {
    good(run(['add', 'remember the milk']));
    good(run(['add', '-'], { input: 'from a pipe\n(second line)\n' }));
    good(run(['add', '--meta', 'filename=math.lisp', '(+ 1 2)']));
    writeFileSync(path.join(directory, 'notes.md'), 'one\ntwo\n');
    writeFileSync(path.join(directory, 'main.c'), 'int x;\nint y;\n');
    good(run(['add', '--file', 'notes.md:2-2']));
    good(run(['add', '--file', 'main.c:2-2']));
    good(run(['add', '--file', 'main.c']));
    good(run(['add', '--type', 'error', 'boom']));
    assert.deepEqual(types(), ['text', 'text', 'code', 'text', 'code', 'file', 'error']);
  });
  test('a number is an id', () => {
    assert.equal(good(run(['show', '1'])), 'remember the milk');
    good(run(['pin', '1']));
    good(run(['unpin', '1']));
    assert.match(good(run(['rm', '7'])), /ctx-7/);
    assert.match(run(['rm', '7']).stderr, /not-found: no context item ctx-7/);
    assert.match(run(['rm', '99']).stderr, /ctx-99/);
  });
  test('search', () => {
    assert.equal(good(run(['search', 'SECOND'])), 'ctx-2:2: (second line)\n');
    assert.equal(
      good(run(['search', 'int'])),
      'ctx-5:1: int y;\nctx-6:1: int x;\nctx-6:2: int y;\n',
    );
    assert.equal(
      good(run(['search', 'int', '--types', 'file', '--limit', '1'])).split('\n').length,
      3,
    );
    assert.deepEqual(
      JSON.parse(good(run(['search', 'milk', '--json']))).items.map(({ id }) => id),
      ['ctx-1'],
    );
    const none = run(['search', 'absent']);
    assert.deepEqual([none.status, none.stdout], [0, '']);
    assert.match(none.stderr, /No item has "absent"/);
    assert.equal(run(['search', '']).status, 2);
  });
});
