// The command line: cadre eval, cadre doctor, and the usage of all commands.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { CADRE, eventually, processesWith, temporaryDirectory, titleOf } from './support.mjs';

const BUILD = process.env.CADRE_BUILD ?? path.resolve(CADRE, '../../..');
const directory = temporaryDirectory();

// Runs cadre to its end: {status, signal, stdout, stderr}. No process of it may be left.
async function cadre(args, { input, env = {}, after, keepOpen } = {}) {
  const id = randomUUID();
  const child = spawn(CADRE, args, {
    cwd: directory,
    env: { ...process.env, ...env, CADRE_TEST_ID: id },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'])
    child[name].setEncoding('utf8').on('data', (data) => {
      output[name] += data;
    });
  child.stdin.on('error', () => {});
  if (!keepOpen) child.stdin.end(input ?? '');
  after?.(child);
  const [status, signal] = await new Promise((resolve) =>
    child.on('close', (...ending) => resolve(ending)),
  );
  assert.ok(
    await eventually(() => processesWith(`CADRE_TEST_ID=${id}`).length === 0, 20),
    'processes left behind',
  );
  return { status, signal, ...output };
}

function rows(table) {
  for (const [args, expected, options] of table) {
    test(titleOf(args.join(' ')), async () => {
      const result = await cadre(args, options);
      const shown = JSON.stringify(result);
      assert.equal(result.status, expected.status ?? 0, shown);
      if (expected.stdout !== undefined) assert.equal(result.stdout, expected.stdout);
      for (const part of [expected.has ?? []].flat())
        assert.ok(result.stdout.includes(part), `lacks ${part}: ${shown}`);
      if (expected.match) assert.match(result.stdout, expected.match);
      for (const part of [expected.errors ?? []].flat())
        assert.ok(result.stderr.includes(part), `lacks ${part}: ${shown}`);
      if (expected.stderr) assert.match(result.stderr, expected.stderr);
      else if (!expected.errors) assert.equal(result.stderr, '', shown);
      if (expected.errors) assert.equal(result.stdout, expected.stdout ?? '', shown);
    });
  }
}

const file = path.join(directory, 'code.lisp');
writeFileSync(file, '(defun square (x) (* x x))\n(square 12)\n');
writeFileSync(path.join(directory, 'arguments.lisp'), 'sb-ext:*posix-argv*\n');
writeFileSync(path.join(directory, 'latin1.lisp'), Buffer.from([0x22, 0xe9, 0x22]));
mkdirSync(path.join(directory, 'folder'));

describe('cadre eval', () => {
  rows([
    [['eval', '(+ 1 2 3)'], { stdout: '=> 6\n' }],
    [['eval', '(floor 17 5)'], { stdout: '=> 3\n=> 2\n' }],
    [['eval', '(values)'], { stdout: '; No values\n' }],
    [['eval', ''], { stdout: '; No forms to evaluate.\n' }],
    [
      ['eval', '(format t "out~%") (format *error-output* "err~%") (warn "w") 1'],
      { stdout: 'out\n=> 1\n', stderr: /^err\n\[warnings\]\nWARNING: w\n$/ },
    ],
    [
      ['eval', '(/ 1 0)'],
      {
        status: 1,
        errors: [
          '[ERROR] DIVISION-BY-ZERO\narithmetic error DIVISION-BY-ZERO signalled',
          '0: (/ 1 0)',
        ],
      },
    ],
    [
      ['eval', '(+ 1 2'],
      {
        status: 1,
        errors: '[ERROR] END-OF-FILE\nend of input inside the form that starts at line 1, column 1',
      },
    ],
    [
      ['eval', '(sb-ext:exit :code 7)'],
      { status: 1, errors: 'The code ended its process with exit code 7.' },
    ],
    [['eval', 'code.lisp'], { stdout: '=> 144\n' }],
    [['eval', file], { stdout: '=> 144\n' }],
    [['eval', '-'], { stdout: '=> (1 2)\n' }, { input: '(defvar *a* 1)\n(list *a* 2)\n' }],
    [['eval', '-'], { stdout: '; No forms to evaluate.\n' }, { input: '' }],
    [['eval', '--package', 'cl', '(package-name *package*)'], { stdout: '=> "COMMON-LISP"\n' }],
    [
      ['eval', '--package', 'no-such', '1'],
      { status: 1, errors: 'The name "no-such" does not designate any package.' },
    ],
    [
      ['eval', '--timeout', '1', '(loop)'],
      {
        status: 1,
        stderr: /^\[ERROR\] EVALUATION-TIMEOUT\n.* computation; --timeout raises the timeout\.\n/,
      },
    ],
    [
      ['eval', '--timeout', '1', '(sb-sys:without-interrupts (loop))'],
      { status: 1, errors: 'computation; --timeout raises the timeout.\nIt could not' },
    ],
    [
      ['eval', '(let (all) (loop (push (make-array 100000) all)))'],
      { status: 1, errors: 'MB (max-memory) was exceeded.\n' },
    ],
    [
      ['eval', '(labels ((f (n) (if (zerop n) (car n) (1+ (f (1- n)))))) (f 30))'],
      { status: 1, stderr: /\n\.\.\. \d+ more frames\n$/ },
    ],
    [['eval', '--timeout', '0', '(+ 1 1)'], { stdout: '=> 2\n' }],
    [
      ['eval', '--time', '(list 1)'],
      { match: /^Timing:\n {2}Real time: +[\d.]+ ms\n[\s\S]*\nResult:\n {2}\(1\)\n$/ },
    ],
    [
      ['eval', '--time', '(error "x")'],
      { status: 1, stderr: /^Error during execution:\n(?![\s\S]*\[Debug\])/ },
    ],
    [
      ['eval', '--compile-only', '(print 1)'],
      { stdout: 'Compilation successful.\nNo warnings or notes.\n' },
    ],
    [
      ['eval', '--compile-only', '(defun f () (undefined-one))'],
      { has: '[STYLE] undefined function: COMMON-LISP-USER::UNDEFINED-ONE' },
    ],
    [['eval', '--compile-only', '(foo'], { status: 1, errors: 'Compilation FAILED.' }],
    [
      ['eval', '--session', 'work', '--time', '1'],
      { status: 2, stderr: /--session takes neither/ },
    ],
    [
      ['eval', '(read-line)'],
      { stdout: '=> "for the code"\n=> NIL\n' },
      { input: 'for the code\n' },
    ],
    [['eval', '(read-line)'], { status: 1, errors: 'END-OF-FILE' }, { input: '' }],
    [['eval', '(list (read) (read))'], { stdout: '=> (1 2)\n' }, { input: '1\n2' }],
    [['eval', '(y-or-n-p "Sure?")'], { stdout: 'Sure? (y or n) \n=> T\n' }, { input: 'y\n' }],
    [['eval', '-'], { status: 1, errors: 'END-OF-FILE' }, { input: '(read-line)\n' }],
    [
      ['eval', '(rest sb-ext:*posix-argv*)', '--', 'a b', '--time', '--', 'ü'],
      { stdout: '=> ("a b" "--time" "--" "ü")\n' },
    ],
    [['eval', 'arguments.lisp', '--', 'x'], { stdout: '=> ("arguments.lisp" "x")\n' }],
    [['eval', '--', '-1'], { stdout: '=> -1\n' }],
    [['eval', '(princ "no newline") 1'], { stdout: 'no newline\n=> 1\n' }],
    [
      ['eval', '(princ "before") (error "x")'],
      { status: 1, stdout: 'before\n', errors: '[ERROR]' },
    ],
    [
      ['eval', '--json', '(princ "a") (princ "b" *error-output*) (values 1 2)'],
      { match: /^\{"stream":"std[\s\S]*\n\{"result":\{"ok":true,.*"values":\["1","2"\].*\}\n$/ },
    ],
    [
      ['eval', '--json', '(error "x")'],
      { status: 1, match: /^\{"result":\{"ok":false,.*"type":"SIMPLE-ERROR".*\}\n$/ },
    ],
    [['eval', '--help'], { has: 'usage: cadre eval' }],
    [['eval'], { status: 2, stderr: /missing/ }],
    [['eval', '1', '2'], { status: 2, stderr: /one argument/ }],
    [['eval', '--nonsense', '1'], { status: 2, stderr: /^cadre eval: .*nonsense/ }],
    [['eval', '--timeout', 'soon', '1'], { status: 2, stderr: /timeout/ }],
    [['eval', '--timeout', '-1', '1'], { status: 2, stderr: /timeout/ }],
    [['eval', '--session', 'Bad Name', '1'], { status: 2, stderr: /\w/ }],
    [['eval', 'latin1.lisp'], { status: 2, stderr: /not UTF-8/ }],
    [['eval', 'absent.lisp'], { status: 2, stderr: /absent\.lisp: No such file/ }],
    [['eval', '"absent.lisp"'], { stdout: '=> "absent.lisp"\n' }],
  ]);
  test('Ctrl-C stops the evaluation', async () => {
    const started = Date.now();
    const result = await cadre(['eval', '(princ "begun") (terpri) (loop)'], {
      after: (child) => setTimeout(() => child.kill('SIGINT'), 700),
    });
    assert.ok(Date.now() - started < 5000);
    assert.notEqual(result.status, 0);
  });
  // The answer to the question is typed only when the question is there.
  const dialogue = async (args, question) => {
    let asked = '';
    const result = await cadre(args, {
      keepOpen: true,
      after: (child) =>
        child.stdout.on('data', (data) => {
          if (asked.includes(question)) return;
          asked += data;
          if (asked.includes(question)) child.stdin.end('Ada\n');
        }),
    });
    assert.equal(result.status, 0, JSON.stringify(result));
    return result.stdout;
  };
  const ask = '(progn (princ "Name? ") (format nil "Hello, ~A." (read-line)))';
  test('output comes while the evaluation runs, input when it asks', async () => {
    assert.equal(await dialogue(['eval', ask], 'Name? '), 'Name? \n=> "Hello, Ada."\n');
  });
  test('the same as lines of JSON', async () => {
    const lines = (await dialogue(['eval', '--json', ask], 'Name? ')).trim().split('\n');
    assert.deepEqual(JSON.parse(lines[0]), { stream: 'stdout', text: 'Name? ' });
    assert.deepEqual(JSON.parse(lines.at(-1)).result.values, ['"Hello, Ada."']);
  });
  test('waiting for input does not count', async () => {
    const result = await cadre(['eval', '--timeout', '1', '(princ "?") (read-line)'], {
      keepOpen: true,
      after: (child) =>
        child.stdout.once('data', () => setTimeout(() => child.stdin.end('late\n'), 1500)),
    });
    assert.equal(result.stdout, '?\n=> "late"\n=> NIL\n');
  });
  test('Ctrl-C stops an evaluation that waits for input', async () => {
    const result = await cadre(['eval', '(princ "?") (read-line)'], {
      keepOpen: true,
      after: (child) => child.stdout.once('data', () => child.kill('SIGINT')),
    });
    assert.match(result.stderr, /EVALUATION-INTERRUPTED/);
    assert.equal(result.status, 1);
  });
  test('input from a file, and more than a pipe holds', async () => {
    const lines = Array.from({ length: 40000 }, (_, i) => `line ${i} é`);
    const input = path.join(directory, 'lines.txt');
    writeFileSync(input, lines.join('\n'));
    const code = '(loop for line = (read-line nil nil) while line count t)';
    for (const way of ['"$0" eval "$1" < "$2"', 'cat "$2" | "$0" eval "$1"'])
      assert.equal(
        execFileSync(
          'sh',
          ['-c', way, CADRE, code.replace('nil nil', '*standard-input* nil'), input],
          {
            encoding: 'utf8',
          },
        ),
        '=> 40000\n',
      );
  });
  test('what the runtime says about its death is no output of the code', async () => {
    const code =
      '(princ "mine" *error-output*) (terpri *error-output*) (finish-output *error-output*)';
    const result = await cadre(['eval', `${code} (labels ((f (n) (1+ (f n)))) (f 1))`]);
    assert.match(result.stderr, /^mine\n\[ERROR\] .*CONTROL-STACK-EXHAUSTED/);
    assert.doesNotMatch(result.stderr, /guard page/);
  });
  test('code from a pipe with a name', () => {
    assert.equal(
      execFileSync('sh', ['-c', 'echo "(+ 2 3)" | "$0" eval /dev/stdin', CADRE], {
        encoding: 'utf8',
      }),
      '=> 5\n',
    );
  });
  test('output that cannot be written', () => {
    for (const code of ['1', '(make-string 100000)'])
      assert.throws(
        () =>
          execFileSync('sh', ['-c', '"$0" eval "$1" > /dev/full', CADRE, code], { stdio: 'pipe' }),
        (error) => error.status === 1 && /cannot write to standard output/.test(error.stderr),
      );
  });
  test('output that nobody reads', async () => {
    const result = await cadre(['eval', '(dotimes (i 5000) (print i))'], {
      after: (child) => child.stdout.destroy(),
    });
    assert.ok(result.status !== 0 || result.signal === null);
  });
});

test('256 descriptors are enough, as doctor says; with fewer the cause is told', () => {
  const limited = (count, ...args) =>
    spawnSync('sh', ['-c', `ulimit -n ${count}; exec "$0" "$@"`, CADRE, ...args], {
      encoding: 'utf8',
    });
  const enough = limited(256, 'eval', '(+ 1 2)');
  assert.equal(enough.stdout + enough.stderr, '=> 3\n');
  const doctor = limited(256, 'doctor');
  assert.match(doctor.stdout, /^ok +programs +\(\+ 1 2\) => 3/m);
  assert.match(doctor.stdout, /^ok +descriptors +256$[\s\S]*\n0 problems/m);
  const few = limited(100, 'eval', '(+ 1 2)');
  assert.match(few.stderr, /^\[ERROR\] START-FAILED\nThe Lisp process did not start: .*ulimit -n/);
});

test('a core whose probes of SBCL have all failed works by its fallbacks', () => {
  const tree = path.join(directory, 'fallbacks');
  execFileSync('meson', ['install', '-C', BUILD, '--no-rebuild', '--quiet', '--destdir', tree]);
  const find = (name) => execFileSync('find', [tree, '-path', name], { encoding: 'utf8' }).trim();
  const program = find('*/bin/cadre');
  const run = (...args) => execFileSync(program, args, { encoding: 'utf8' });
  execFileSync(find('*/scripts/build-core'), [find('*/cadre.core')], {
    env: { ...process.env, CADRE_FALLBACKS: 'all' },
  });
  const report = run('doctor');
  assert.doesNotMatch(report, /^ok +probe/m);
  assert.equal(report.match(/^note +probe/gm).length, 7);
  assert.match(report, /^0 problems/m);
  assert.equal(run('eval', '(defun f (x) (* x x)) (f 4)'), '=> 16\n');
  assert.equal(
    run('eval', '(sb-thread:make-thread (lambda () (sleep 1))) (gc :full t) 1'),
    '=> 1\n',
  );
  assert.match(
    run('eval', '--compile-only', '(defun f () (undefined-one))'),
    /undefined function: COMMON-LISP-USER::UNDEFINED-ONE/,
  );
  const forms = [
    '(defvar *x* 1)',
    '(defun f (x) (/ x 0))',
    '(f 4)',
    '(defvar *thread* (sb-thread:make-thread (lambda () (sleep 100))))',
    '(setf *x* 2)',
    '(sb-ext:exit :code 3 :abort t)',
    '(list :survived *x*)',
    ':undo',
    ':redo',
    '(list :again *x*)',
  ];
  const session = execFileSync(program, ['repl'], {
    input: forms.join('\n'),
    encoding: 'utf8',
    stdio: 'pipe',
  });
  assert.match(session, /^0: \(\/\)\n1: \(F\)\n2: \(EVAL\)$/m, 'frames have names only');
  assert.match(session, /threads are running; snapshot 3 stays current/);
  assert.match(session, /Current snapshot: 3$[\s\S]*=> \(:SURVIVED 1\)$[\s\S]*=> \(:AGAIN 1\)$/m);
});

describe('cadre doctor', () => {
  rows([
    [
      ['doctor'],
      {
        match:
          /^ok +cadre[\s\S]*ok +sbcl[\s\S]*ok +evaluation +\(\+ 1 2 3\) => 6,[\s\S]*\n0 problems, \d+ notes?\n$/,
      },
    ],
    [
      ['doctor', '--sbcl', '/nonexistent/sbcl'],
      {
        status: 1,
        match: /^FAIL +sbcl +\/nonexistent\/sbcl .*\n[\s\S]*\n1 problem, \d+ notes?\n$/m,
      },
    ],
    [['doctor', '--help'], { has: 'usage: cadre doctor' }],
    [['doctor', 'extra'], { status: 2, stderr: /unexpected/ }],
    [
      ['doctor', '--client', 'no-such-client'],
      { status: 2, stderr: /--client takes one of claude-code,/ },
    ],
    [['doctor', '--client', 'claude-code'], { has: '"mcpServers"', stderr: /\.claude\.json:/ }],
  ]);
  test('the path of the program is quoted as the client reads it', () => {
    const folder = path.join(directory, `it's "a" \\ folder`);
    const program = path.join(folder, 'cadre');
    mkdirSync(folder);
    copyFileSync(CADRE, program);
    const printed = (client) =>
      execFileSync(program, ['setup', client, '--print'], { encoding: 'utf8', stdio: 'pipe' });
    for (const client of [
      'claude-code',
      'claude-desktop',
      'cursor',
      'vscode',
      'gemini',
      'opencode',
    ]) {
      const configuration = JSON.parse(printed(client));
      const { command } = (configuration.mcpServers ?? configuration.servers ?? configuration.mcp)
        .cadre;
      assert.equal([command].flat()[0], program, client);
    }
    assert.equal(JSON.parse(printed('codex').match(/^command = (.*)$/m)[1]), program);
    assert.equal(JSON.parse(printed('goose').match(/^ +cmd: (.*)$/m)[1]), program);
  });
});

describe('cadre', () => {
  rows([
    [['--help'], { has: ['serve', 'eval', 'repl', 'doctor'] }],
    [['--version'], { match: /\d+\.\d+\.\d+/ }],
    [['no-such-command'], { status: 2, stderr: /no-such-command/ }],
    [['serve', '--help'], { has: 'usage: cadre serve' }],
    [['help', 'eval'], { has: 'usage: cadre eval' }],
    [['version'], { match: /\d+\.\d+\.\d+/ }],
    [['srve'], { status: 2, stderr: /^cadre: unknown command 'srve'; did you mean serve\?\n$/ }],
    [['help', 'dcotor'], { status: 2, stderr: /did you mean doctor\?/ }],
    [['serve', '--nonsense'], { status: 2, stderr: /nonsense/ }],
    [['serve', '--timout=3'], { status: 2, stderr: /'--timout'; did you mean --timeout\?\n$/ }],
    [['serve', '--allow'], { status: 2, stderr: /ambiguous:.* --allow-host --allow-origin/ }],
    [['serve', '--http'], { status: 2, stderr: /--http needs a value: \[HOST:\]PORT\n$/ }],
    [['serve', '--help=yes'], { status: 2, stderr: /--help takes no value/ }],
    [
      ['serve', '--log-level', 'loud'],
      { status: 2, stderr: /error, warning, info, debug; got 'loud'/ },
    ],
    [['run', '-x'], { status: 2, stderr: /unknown option '-x'/ }],
    [['run', '-e'], { status: 2, stderr: /-e needs a value: SOURCE/ }],
    [['context', 'remove', 'ctx-1'], { status: 2, stderr: /did you mean rm\?/ }],
    [['context', 'lsit'], { status: 2, stderr: /did you mean list\?/ }],
    [['serve', '--timeout', 'x'], { status: 2, stderr: /timeout/ }],
    [['serve', '--token-file', '/no/such/file'], { status: 2, stderr: /--http/ }],
    [['serve', '--allow-host', 'example.com'], { status: 2, stderr: /--http/ }],
    [['serve', 'extra'], { status: 2, stderr: /extra/ }],
  ]);
});
