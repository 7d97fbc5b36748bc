// What a session may reach (docs/security.md): every row of the table, with Landlock as this kernel has it and as older
// ones do.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { CADRE, Server, temporaryDirectory } from './support.mjs';

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

// What doctor says that this machine cannot give. In a chroot, for instance, nothing is protected.
function gapsOf(env = {}) {
  const { stdout } = spawnSync(CADRE, ['doctor'], {
    cwd: place.work,
    env: { ...process.env, HOME: place.home, ...env },
    encoding: 'utf8',
  });
  return stdout
    .split('\n')
    .filter((line) => /^note +sandbox/.test(line))
    .join('\n');
}
const gaps = gapsOf();

// Its output, and the gaps.
function evaluate(code, options = [], env = {}, cwd = place.work) {
  const { stdout, stderr } = spawnSync(CADRE, ['eval', ...options, code], {
    cwd,
    env: { ...process.env, HOME: place.home, ...env },
    encoding: 'utf8',
  });
  return `${stdout}${stderr}${gaps}`;
}

const shell = (command) =>
  `(sb-ext:run-program "/bin/sh" '("-c" ${JSON.stringify(command)}) :output *standard-output* :error *standard-output*)`;
const read = (file) => `(with-open-file (s "${file}") (read-line s))`;
const write = (file) =>
  `(with-open-file (s "${file}" :direction :output :if-exists :supersede :if-does-not-exist :create) (write-line "x" s) 1)`;
const call = (name, ...numbers) =>
  `(sb-alien:alien-funcall (sb-alien:extern-alien "${name}" (function sb-alien:int${' sb-alien:long'.repeat(numbers.length)})) ${numbers.join(' ')})`;
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
      assert.match(evaluate(call('shutdown', 240, 2), options), /=> -1/);
    });
    // A limit of processor time would end the server, as a signal does; a priority would starve it.
    test(`${mode}: the server cannot be ruled`, () => {
      const server = '(sb-posix:getppid)';
      const attacks = [
        `(sb-alien:with-alien ((limit (array sb-alien:unsigned-long 2)))
           (setf (sb-alien:deref limit 0) 1 (sb-alien:deref limit 1) 1)
           ${call('prlimit', server, 0, '(sb-sys:sap-int (sb-alien:alien-sap limit))', 0)})`,
        call('setpriority', 0, server, 19),
        call('setpriority', 2, 0, 19),
        `(sb-alien:with-alien ((zero sb-alien:long 0))
           ${call('sched_setscheduler', server, 5, '(sb-sys:sap-int (sb-alien:alien-sap (sb-alien:addr zero)))')})`,
        `(sb-alien:with-alien ((one sb-alien:long 1))
           ${call('sched_setaffinity', server, 8, '(sb-sys:sap-int (sb-alien:alien-sap (sb-alien:addr one)))')})`,
      ];
      const said = evaluate(`(list ${attacks.join(' ')})`, options);
      assert.match(said, /=> \(-1 -1 -1 -1 -1\)/);
      assert.match(
        evaluate(shell('nice -n 5 echo nice; ulimit -t 100 && echo limited'), options),
        /nice\nlimited/,
      );
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
      assert.match(said, /sandbox \(workspace\) does not let this session read .*--allow-read/);
      assert.match(run(read(secret), ['--allow-read', place.beside]), /=> "secret"/);
    });
    test('writes and truncates nothing beside it', () => {
      const file = path.join(place.beside, `new${abi}.txt`);
      const said = run(write(file));
      assert.match(said, /does not let this session write .*Permission denied.*--allow-write/);
      run(
        shell(
          `truncate -s 0 ${secret}; perl -e 'use Fcntl; sysopen(F, "${secret}", O_RDONLY|O_TRUNC)'`,
        ),
        ['--allow-read', place.beside],
      );
      assert.equal(readFileSync(secret, 'utf8'), 'secret\n');
      assert.match(run(write(file), ['--allow-write', place.beside]), /=> 1/);
    });
    test('changes no mode, owner or time beside it', () => {
      const before = statSync(secret);
      const said = run(
        shell(
          `chmod 777 ${secret}; touch -d 2001-01-01 ${secret}; chmod 700 ${place.home}; perl -e 'chown $<, $(, "${secret}" or print "chown: $!"'; ln ${secret} stolen`,
        ),
        ['--allow-read', place.beside],
      );
      if (/not protected here/.test(said)) return;
      const after = statSync(secret);
      assert.deepEqual([after.mode, after.mtimeMs], [before.mode, before.mtimeMs]);
      assert.match(said, /chown: Read-only file system/);
      assert.ok(!existsSync(path.join(place.work, 'stolen')));
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

test('what the kernel lacks is said by doctor, not by every answer', () => {
  const env = { CADRE_LANDLOCK_ABI: '1' };
  assert.match(gapsOf(env), /older than ABI 2/);
  const { stdout, stderr } = spawnSync(CADRE, ['eval', '(+ 1 2)'], {
    cwd: place.work,
    env: { ...process.env, HOME: place.home, ...env },
    encoding: 'utf8',
  });
  assert.deepEqual([stdout, stderr], ['=> 3\n', '']);
});

// --- signals ---

// By Landlock's scopes, and before ABI 6 by asking the server for each.
for (const abi of ['', '1', '5'])
  describe(`signals, ${abi ? `ABI ${abi}` : 'this kernel'}`, () => {
    test('reach the session itself and nothing else', async () => {
      const server = await Server.start({ env: abi ? { CADRE_LANDLOCK_ABI: abi } : {} });
      const pid = async () =>
        /=> (\d+)/.exec(await server.value('(sb-posix:getpid)', { session: 'other' }))[1];
      const other = await pid();
      const parent = '(sb-posix:getppid)';
      const attacks = [
        call('kill', other, 9),
        call('kill', `(- ${other})`, 9),
        call('kill', parent, 9),
        call('kill', -1, 9), // would end the snapshots of the session itself
        call('syscall', 200, other, 9), // tkill
        call('syscall', 200, parent, 9),
        call('syscall', 234, other, other, 9), // tgkill
        call('syscall', 129, other, 9, 0), // rt_sigqueueinfo
        call('syscall', 297, other, other, 9, 0), // rt_tgsigqueueinfo
        call('syscall', 424, call('syscall', 434, other, 0), 9, 0, 0), // by a pidfd
        `(let ((fd (sb-posix:open "/proc/${other}" sb-posix:o-rdonly))) ${call('syscall', 424, 'fd', 9, 0, 0)})`,
      ];
      const answer = await server.evaluate(`(list ${attacks.join(' ')})`);
      assert.match(answer.text, /=> \((-1 ?){11}\)/);
      await server.evaluate(
        `(dolist (task (directory (format nil "/proc/~d/task/*/" ${parent}))) ${call('syscall', 200, '(parse-integer (car (last (pathname-directory task))))', 9)})`,
      );
      assert.equal(await pid(), other);
      const own = `(let ((p (sb-ext:run-program "/bin/sh" '("-c" "setsid sleep 100 & kill -9 -$! || kill -9 $!; exec sleep 100") :wait nil)))
        (gc)
        (sb-posix:kill (sb-ext:process-pid p) 15)
        (sb-ext:process-wait p)
        (sb-ext:process-exit-code p))`;
      assert.match(await server.value(own), /15/);
      const stopped = await server.evaluate('(loop)', { timeout: 1 });
      assert.match(stopped.text, /TIMEOUT/);
      assert.match(await server.value('(+ 1 2)'), /3/);
      await server.call('reset-session', { confirm: true });
      assert.match(await server.value(`${call('kill', '(sb-posix:getpid)', 0)}`), /0/);
      await server.stop();
    });
  });

// --- protected names ---

describe('protected names', () => {
  const newWorkspace = (name) => {
    const directory = path.join(place.beside, name);
    mkdirSync(directory);
    writeFileSync(path.join(directory, `${name}.asd`), '');
    return directory;
  };
  const at = (directory) => (code) => evaluate(code, ['--workspace', directory], {}, directory);
  const names = ['.git', '.cadre', '.mcp.json', '.claude', '.vscode', '.idea', '.envrc'];

  test('one that appears is moved aside, and that is said in the same answer', () => {
    const directory = newWorkspace('appear');
    const said = at(directory)(
      shell(
        'mkdir -p .git/hooks; mkdir made && mv made .claude; ln -s /tmp .vscode; touch x && ln x .envrc; echo {} > .mcp.json; mkfifo .idea; mkdir .cadre; chmod 555 .',
      ),
    );
    for (const name of names) {
      assert.ok(said.includes(`${name} appeared in the workspace`), `${name}: ${said}`);
      assert.throws(() => readlinkSync(path.join(directory, name)), { code: 'ENOENT' }, name);
    }
    assert.ok(existsSync(path.join(directory, '.git.moved-aside')));
    // A second time, beside the first.
    const again = at(directory)(shell('chmod 755 .; mkdir .git'));
    assert.match(again, /\.git appeared .* moved to \.git\.moved-aside-[0-9a-f]+:/);
    assert.ok(!existsSync(path.join(directory, '.git')));
  });

  test('a thread that makes it again and again', () => {
    const directory = newWorkspace('later');
    const said = at(directory)(
      `(progn (sb-thread:make-thread (lambda () (loop repeat 50 do (ensure-directories-exist "${directory}/.claude/x") (sleep 0.01)))) (sleep 1) 1)`,
    );
    assert.match(said, /\.claude appeared/);
    assert.ok(!existsSync(path.join(directory, '.claude')));
  });

  const none = 'echo 0 >/proc/sys/user/max_inotify_instances';
  const canLimit = spawnSync('unshare', ['-Ur', 'sh', '-c', none]).status === 0;
  test('without inotify, which others may have used up', { skip: !canLimit }, () => {
    const { work } = newPlace();
    const code = `(progn (sb-posix:mkdir ".claude" 511)
      (loop repeat 600 while (probe-file ".claude/") do (sleep 1/20)) (probe-file ".claude/"))`;
    const { stdout, stderr } = spawnSync(
      'unshare',
      ['-Ur', 'sh', '-c', `${none}; exec "$0" eval "$1"`, CADRE, code],
      { cwd: work, env: { ...process.env, HOME: place.home }, encoding: 'utf8' },
    );
    assert.match(stdout, /NIL/, stderr);
    assert.match(stderr, /\.claude appeared in the workspace/);
    assert.ok(existsSync(path.join(work, '.claude.moved-aside')));
  });
  test('a symbolic link is put back, and what it leads to is protected', () => {
    const directory = newWorkspace('link');
    mkdirSync(path.join(directory, 'real'));
    symlinkSync('real', path.join(directory, '.claude'));
    symlinkSync('/nowhere', path.join(directory, '.vscode'));
    const said = at(directory)(
      shell('echo x > real/settings; rm .claude; mkdir .claude; rm .vscode; true'),
    );
    assert.equal(readlinkSync(path.join(directory, '.claude')), 'real');
    assert.equal(readlinkSync(path.join(directory, '.vscode')), '/nowhere');
    assert.match(said, /\.claude of the workspace was changed and has been put back/);
    if (!/not protected here/.test(said))
      assert.ok(!existsSync(path.join(directory, 'real/settings')));
  });

  test('the repository of a worktree, wherever .git says it is', () => {
    const directory = newWorkspace('worktree');
    mkdirSync(path.join(directory, '.bare/hooks'), { recursive: true });
    writeFileSync(path.join(directory, '.git'), 'gitdir: ./.bare\n');
    const said = at(directory)(
      shell('echo x > .bare/hooks/pre-commit; echo y >> .git; rm -r .bare'),
    );
    if (/not protected here/.test(said)) return;
    assert.ok(existsSync(path.join(directory, '.bare/hooks')));
    assert.ok(!existsSync(path.join(directory, '.bare/hooks/pre-commit')));
    assert.equal(readFileSync(path.join(directory, '.git'), 'utf8'), 'gitdir: ./.bare\n');
  });

  // A repository elsewhere: what a cloned .git file names is not read, unless it names the worktree.
  test('a .git file gives no right to read what it names', () => {
    const directory = newWorkspace('pretender');
    writeFileSync(path.join(directory, '.git'), `gitdir: ${place.home}\n`);
    writeFileSync(path.join(place.home, 'key'), 'secret\n');
    assert.match(at(directory)(read(path.join(place.home, 'key'))), /Permission denied/);
  });

  // Nor does a directory that says that it is a worktree of it.
  test('a pretended worktree gives no right to read the repository it names', () => {
    const directory = newWorkspace('pretended');
    const repository = path.join(place.home, 'private.git');
    for (const name of ['objects', 'refs', 'meta'])
      mkdirSync(path.join(name === 'meta' ? directory : repository, name), { recursive: true });
    writeFileSync(path.join(repository, 'HEAD'), 'ref: refs/heads/main\n');
    writeFileSync(path.join(directory, '.git'), 'gitdir: meta\n');
    writeFileSync(path.join(directory, 'meta/gitdir'), '../.git\n');
    writeFileSync(path.join(directory, 'meta/commondir'), `${repository}\n`);
    assert.match(at(directory)(read(path.join(repository, 'HEAD'))), /Permission denied/);
  });
  test('a worktree reads its repository', () => {
    const directory = newWorkspace('real-worktree');
    const main = path.join(place.beside, 'main');
    const git = (...words) => spawnSync('git', ['-C', main, ...words], { encoding: 'utf8' });
    if (spawnSync('git', ['init', '-q', main]).status !== 0) return; // no git here
    const made = git('-c', 'user.name=a', '-c', 'user.email=a', 'commit', '--allow-empty', '-qm1');
    assert.equal(made.status, 0, made.stderr);
    const added = git('worktree', 'add', '-q', path.join(directory, 'tree'));
    assert.equal(added.status, 0, added.stderr);
    const tree = path.join(directory, 'tree');
    const said = at(tree)(
      shell(`cat ${main}/.git/HEAD; echo x > ${main}/.git/worktrees/tree/HEAD; git log --oneline`),
    );
    assert.match(said, /^ref: refs\/heads\//m);
    assert.match(said, /^[0-9a-f]{7,} 1$/m);
  });

  test('what exists can be neither moved nor replaced', () => {
    const directory = newWorkspace('kept');
    mkdirSync(path.join(directory, '.claude'));
    writeFileSync(path.join(directory, '.mcp.json'), 'mine');
    const said = at(directory)(
      shell(
        'mv .claude x; rmdir .claude; echo > new; mv new .mcp.json; rm .mcp.json; ln .mcp.json y; chmod 777 .mcp.json .claude; echo done',
      ),
    );
    assert.match(said, /done/);
    if (/not protected here/.test(said)) return;
    assert.equal(readFileSync(path.join(directory, '.mcp.json'), 'utf8'), 'mine');
    assert.ok(
      existsSync(path.join(directory, '.claude')) && !existsSync(path.join(directory, 'y')),
    );
  });
});

describe('what sessions share with others', () => {
  test('no terminals but their own, and those work', () => {
    const code = `(let ((p (sb-ext:run-program "/bin/sh" '("-c" "tty; ls /dev/pts") :pty t :wait nil)))
      (list (read-line (sb-ext:process-pty p)) (read-line (sb-ext:process-pty p))))`;
    const said = evaluate(code);
    if (!/not protected here/.test(said)) assert.match(said, /\("\/dev\/pts\/0\s*" "0 +ptmx\s*"\)/);
  });
  test('no shared memory of others', () => {
    const made = /id: (\d+)|shared memory id: (\d+)/i.exec(
      spawnSync('ipcmk', ['-M', '4096'], { encoding: 'utf8' }).stdout ?? '',
    );
    if (!made) return; // no util-linux here
    const id = made[1] ?? made[2];
    try {
      const said = evaluate(shell('grep -c . /proc/sysvipc/shm'));
      if (!/not protected here/.test(said)) assert.match(said, /^1$/m);
    } finally {
      spawnSync('ipcrm', ['-m', id]);
    }
  });
});

describe('network and kernel', () => {
  const socket = (family) => call('socket', family, 1, 0);
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
  // A raw Unix socket is a datagram socket, and one of a pair of those sends to any address.
  test('a pair of sockets reaches nothing but each other', () => {
    const pair = (type) =>
      `(sb-alien:with-alien ((two (array sb-alien:int 2)))
         ${call('socketpair', 1, type, 0, '(sb-sys:sap-int (sb-alien:alien-sap two))')})`;
    const types = [1, 2, 3, 5, 2 + 0x800, 3 + 0x80000, 3 + 0x100000000];
    assert.match(evaluate(`(list ${types.map(pair).join(' ')})`), /=> \(0 -1 -1 0 -1 -1 -1\)/);
  });
  // Who has one makes everybody else wait that opens the file.
  test('no leases', () => {
    const lease = `(let ((fd (sb-posix:open "lease" (logior sb-posix:o-rdwr sb-posix:o-creat) #o600)))
      ${call('fcntl', 'fd', 1024, 1)})`;
    assert.match(evaluate(lease), /=> -1/);
  });
  test('of netlink only routes', () => {
    assert.match(
      evaluate(`(list ${call('socket', 16, 3, 15)} ${call('socket', 16, 3, 9)})`),
      /=> \(-1 -1\)/,
    );
    assert.match(evaluate(call('socket', 16, 3, 0)), /=> \d+/);
  });
  test('a server in a session answers, and reaches itself', () => {
    const code = `(require :sb-bsd-sockets)
      (let ((s (make-instance 'sb-bsd-sockets:inet-socket :type :stream :protocol :tcp)))
        (sb-bsd-sockets:socket-bind s #(127 0 0 1) 0)
        (sb-bsd-sockets:socket-listen s 5)
        (sb-thread:make-thread (lambda ()
          (let ((c (sb-bsd-sockets:socket-make-stream (sb-bsd-sockets:socket-accept s) :input t :output t))
                (end (coerce '(#\\return #\\newline) 'string)))
            (read-line c)
            (format c "HTTP/1.0 200 OK~a~ahello" end end)
            (close c))))
        (sb-ext:run-program "bash"
          (list "-c" (format nil "exec 3<>/dev/tcp/127.0.0.1/~d; echo GET / >&3; cat <&3"
                             (nth-value 1 (sb-bsd-sockets:socket-name s))))
          :search t :output *standard-output*))`;
    assert.match(evaluate(code), /hello/);
  });
  test('no namespaces', () => {
    assert.match(evaluate(shell('unshare -U true; unshare -m true')), /Operation not permitted/);
  });
  test('strict writes only its temporary directory', () => {
    assert.match(
      evaluate(write(path.join(place.work, 'z')), ['--sandbox', 'strict']),
      /sandbox \(strict\) does not let this session write .*--allow-write/,
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

// A session may write what the workspace of another lies in.
describe('a directory that another session replaces by a link', () => {
  const outer = path.join(temporaryDirectory(), 'outer');
  const inner = path.join(outer, 'inner');
  const given = path.join(outer, 'given');
  for (const each of [outer, inner]) mkdirSync(path.join(each, '.git'), { recursive: true });
  mkdirSync(given);
  const open = (cwd, args = []) => Server.start({ cwd, sandboxed: true, args });
  const replace = async (name) => {
    const server = await open(outer);
    await server.value(
      `(progn (sb-posix:rename "${name}" "${name}-aside") (sb-posix:symlink "${place.beside}" "${name}"))`,
    );
    await server.stop();
  };
  const check = async (server) => {
    assert.match((await server.evaluate(read(secret))).text, /ERROR/);
    assert.match((await server.evaluate(write(path.join(place.beside, 'new')))).text, /ERROR/);
    await server.client.close();
  };

  test('its workspace', async () => {
    const server = await open(inner);
    await server.value('1');
    await replace('inner');
    const { text } = await server.call('reset-session');
    assert.match(text, /inner is gone, or a symbolic link is in its place/);
    await check(server);
  });
  test('what it was allowed', async () => {
    const server = await open(place.work, ['--allow-write', given, '--allow-read', given]);
    await server.value(write(path.join(given, 'file')));
    await replace('given');
    await server.call('reset-session');
    await check(server);
    assert.ok(!existsSync(path.join(place.beside, 'new')));
  });
});
