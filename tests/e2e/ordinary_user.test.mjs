// Sessions in the sandbox as people run them: an ordinary user, with a home, a project in it and libraries. As root the
// tests run Cadre as nobody, else as who runs them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CADRE, Server, eventually, expectResult, temporaryDirectory } from './support.mjs';

const ROOT = process.getuid() === 0;
const ID = ROOT ? 65534 : process.getuid();
const AS_USER = ROOT ? ['setpriv', `--reuid=${ID}`, `--regid=${ID}`, '--clear-groups'] : [];

function give(file) {
  if (ROOT) chownSync(file, ID, ID);
}

function makeDirectory(directory) {
  if (existsSync(directory)) return;
  makeDirectory(path.dirname(directory));
  mkdirSync(directory, { mode: 0o700 });
  give(directory);
}

function makeFile(file, text) {
  makeDirectory(path.dirname(file));
  writeFileSync(file, text);
  give(file);
}

function newPlace() {
  const base = temporaryDirectory('/tmp'); // that of a test run may be closed to other users
  chmodSync(base, 0o755);
  const place = { home: path.join(base, 'home'), temporary: path.join(base, 'tmp') };
  place.work = path.join(place.home, 'project');
  place.cache = path.join(place.home, '.cache');
  for (const directory of [place.work, place.temporary, place.cache]) makeDirectory(directory);
  place.env = {
    HOME: place.home,
    TMPDIR: place.temporary,
    XDG_CACHE_HOME: '',
    XDG_STATE_HOME: '',
    XDG_CONFIG_HOME: '',
    XDG_RUNTIME_DIR: '',
  };
  return place;
}

// What lies in a directory that is closed to the user is installed elsewhere for the test. The shell comes between
// because setpriv itself may still look into every directory.
const isOpen = (program) =>
  spawnSync(AS_USER[0] ?? 'env', [...AS_USER.slice(1), 'sh', '-c', 'exec "$0" --version', program])
    .status === 0;

function installedProgram() {
  const base = temporaryDirectory('/tmp');
  chmodSync(base, 0o755);
  const build = process.env.CADRE_BUILD ?? path.resolve(path.dirname(CADRE), '../..');
  const { status, stderr } = spawnSync(
    'meson',
    ['install', '-C', build, '--no-rebuild', '--quiet', '--destdir', base],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, stderr);
  const name = readdirSync(base, { recursive: true }).find((each) => each.endsWith('/bin/cadre'));
  return path.join(base, name);
}

const USER_CADRE = isOpen(CADRE) ? CADRE : installedProgram();
const [program, ...prefix] = [...AS_USER, USER_CADRE];

function run(place, args, input) {
  const { stdout, stderr } = spawnSync(program, [...prefix, ...args], {
    cwd: place.work,
    env: { ...process.env, ...place.env },
    encoding: 'utf8',
    input,
  });
  return stdout + stderr;
}

const start = (place, args = []) =>
  Server.start({
    command: [...AS_USER, USER_CADRE],
    cwd: place.work,
    env: place.env,
    sandboxed: true,
    args,
  });

describe('an ordinary user', () => {
  const place = newPlace();
  let server;
  before(async () => {
    makeFile(path.join(place.work, '.git/config'), 'config\n');
    server = await start(place);
  });
  after(() => server?.stop());

  test('is who the session is', async () => {
    assert.match(
      await server.value('(require :sb-posix) (list (sb-posix:getuid) (sb-posix:getcwd))'),
      new RegExp(`\\(${ID} "${place.work}"\\)`),
    );
  });
  test('sandbox: complete, of this workspace', async () => {
    const { structured } = await server.call('session-info');
    assert.deepEqual(
      structured.sandbox.missing.filter((text) => !/Landlock|not protected here/.test(text)),
      [],
    );
    assert.equal(structured.sandbox.workspace, place.work);
  });
  test('programs', async () => {
    const code = `(sb-ext:run-program "/bin/sh" '("-c" "echo $((40 + 2)); mktemp; touch made; cat .git/config") :output *standard-output*)`;
    assert.match(
      await server.value(code),
      /^42\n.*\/tmp\/cadre-sessions-\w{6}\/\d+\/tmp\.\w+\nconfig$/m,
    );
    assert.ok(existsSync(path.join(place.work, 'made')));
  });
  test('threads, snapshots, rollback', async () => {
    await server.value('(defvar *n* 1)');
    await server.value('(sb-thread:join-thread (sb-thread:make-thread (lambda () (incf *n*))))');
    assert.match(await server.value('*n*'), /=> 2/);
    await server.call('rollback-session', { steps: 2 });
    assert.match(await server.value('*n*'), /=> 1/);
  });
  test('errors stay frozen', async () => {
    expectResult(await server.evaluate('(let ((x 41)) (error "halt ~a" x))'), { ok: false });
    expectResult(await server.call('eval-in-frame', { frame: 0, code: '(+ 1 1)' }), /2/);
  });
  test('save-lisp-and-die into the workspace', async () => {
    const image = path.join(place.work, 'greeter');
    await server.value('(defun greet () (write-line "hello from the image") (sb-ext:exit))');
    await server.value(`(sb-ext:save-lisp-and-die "${image}" :executable t :toplevel #'greet)`);
    assert.equal(statSync(image).uid, ID);
    assert.equal(spawnSync(image, { encoding: 'utf8' }).stdout, 'hello from the image\n');
  });
  test('a web server on loopback', async () => {
    const code = `(require :sb-bsd-sockets)
(defvar *listener* (make-instance 'sb-bsd-sockets:inet-socket :type :stream :protocol :tcp))
(sb-bsd-sockets:socket-bind *listener* #(127 0 0 1) 0)
(sb-bsd-sockets:socket-listen *listener* 5)
(defvar *web* (sb-thread:make-thread (lambda ()
  (loop (let ((stream (sb-bsd-sockets:socket-make-stream (sb-bsd-sockets:socket-accept *listener*) :input t :output t)))
    (format stream "HTTP/1.0 200 OK~c~%Content-Length: 5~c~%~c~%hello" #\\Return #\\Return #\\Return)
    (finish-output stream)
    (loop until (member (read-line stream nil "") '("" #.(string #\\Return)) :test #'string=))
    (close stream))))))
(nth-value 1 (sb-bsd-sockets:socket-name *listener*))`;
    const port = Number(/=> (\d+)/.exec(await server.value(code))[1]);
    const response = await fetch(`http://127.0.0.1:${port}/`);
    assert.equal(await response.text(), 'hello');
    await server.call('reset-session');
  });
  test('the systems that come with SBCL, as dependencies', async () => {
    makeFile(
      path.join(place.work, 'user.asd'),
      '(defsystem "user" :depends-on ("sb-posix" "sb-bsd-sockets") :components ((:file "user")))\n',
    );
    makeFile(
      path.join(place.work, 'user.lisp'),
      '(defun working-directory () (sb-posix:getcwd))\n',
    );
    await server.value(`(asdf:load-asd "${place.work}/user.asd")`);
    expectResult(await server.call('load-system', { system: 'user' }), { has: 'user' });
    assert.match(await server.value('(working-directory)'), /project/);
  });
});

// What the kernel counts by user, one session could use up for all.
describe('a session beside a greedy one', () => {
  const place = newPlace();
  let server;
  before(async () => {
    server = await start(place);
    await server.value('(defvar *x* 1)', { session: 'other' });
  });
  after(() => server?.stop());

  // Descriptors on their way: those of all processes of the user count.
  test('that sends descriptors and never takes them', async () => {
    const flood = `(sb-alien:with-alien ((two (array sb-alien:int 2)))
(let ((message (make-array 7 :element-type '(unsigned-byte 64) :initial-element 0))
      (part (make-array 2 :element-type '(unsigned-byte 64) :initial-element 1))
      (rights (make-array 82 :element-type '(unsigned-byte 64) :initial-element 0)))
  (sb-sys:with-pinned-objects (message part rights)
    (flet ((address (vector) (sb-sys:sap-int (sb-sys:vector-sap vector))))
      (setf (aref rights 0) (+ 16 (* 4 160)) (aref rights 1) (logior 1 (ash 1 32))
            (aref part 0) (address rights)
            (aref message 2) (address part) (aref message 3) 1
            (aref message 4) (address rights) (aref message 5) (aref rights 0))
      (dotimes (pairs 1000 :never-refused)
        (sb-alien:alien-funcall (sb-alien:extern-alien "socketpair" (function sb-alien:int sb-alien:int sb-alien:int sb-alien:int (* t))) 1 1 0 (sb-alien:addr two))
        (loop while (plusp (sb-alien:alien-funcall (sb-alien:extern-alien "sendmsg" (function sb-alien:long sb-alien:int sb-alien:unsigned-long sb-alien:int)) (sb-alien:deref two 0) (address message) 64)))
        (when (= (sb-alien:get-errno) 109) (return :refused)))))))`;
    assert.match(await server.value(flood), /:REFUSED/);
    const other = { session: 'other' };
    assert.equal(await server.value('(incf *x*)', other), '=> 2');
    const ended = await server.evaluate('(progn (setf *x* 9) (sb-ext:exit :abort t))', other);
    assert.match(ended.text, /this evaluation, nothing else/);
    assert.equal(await server.value('*x*', other), '=> 2');
    assert.match(await server.value('1', { session: 'third' }), /=> 1/);
  });
});

// A limit of nothing is as if others had used it up.
test('signals that are pending, too many of the user, keep none from being stopped', async () => {
  const server = await Server.start({ command: ['prlimit', '--sigpending=0', CADRE] });
  await server.value('(defvar *x* 1)');
  const { text } = await server.evaluate('(progn (setf *x* 2) (loop))', { timeout: 1 });
  assert.match(text, /EVALUATION-TIMEOUT/);
  assert.doesNotMatch(text, /could not be interrupted/);
  assert.equal(await server.value('*x*'), '=> 2');
  await server.stop();
});

describe('compiled files of the user', () => {
  const place = newPlace();
  const cached = (file) =>
    readdirSync(place.cache, { recursive: true })
      .filter((name) => String(name).endsWith(file))
      .map((name) => path.join(place.cache, String(name)));
  const own = () =>
    cached('part.fasl').filter((name) => name.startsWith(path.join(place.cache, 'common-lisp')));
  const ofWorkspace = () => cached('part.fasl').filter((name) => !own().includes(name));
  const load =
    '(progn (asdf:load-asd (merge-pathnames "lib.asd" (uiop:getcwd))) (asdf:load-system "lib") (funcall (read-from-string "how")))';
  const source = path.join(place.work, 'part.lisp');
  const told = `(defun how () (format nil "~a at ~a" '#.(if (sb-posix:getenv "MARK") :outside :inside) 1))\n`;

  before(() => {
    makeFile(
      path.join(place.work, 'lib.asd'),
      '(require :sb-posix)\n(defsystem "lib" :components ((:file "part")))\n',
    );
    makeFile(source, told);
    const hour = Date.now() / 1000 - 3600;
    utimesSync(source, hour, hour);
    // Outside the sandbox the user's own cache is written.
    place.env.MARK = '1';
    assert.match(run(place, ['eval', '--sandbox', 'off', load]), /OUTSIDE at 1/);
    delete place.env.MARK;
    assert.equal(own().length, 1);
  });

  test('are taken over, with their time', () => {
    assert.match(run(place, ['eval', load]), /OUTSIDE at 1/);
    assert.equal(ofWorkspace().length, 1);
    const [copy, original] = [ofWorkspace()[0], own()[0]].map((file) =>
      statSync(file, { bigint: true }),
    );
    assert.equal(copy.mtimeNs, original.mtimeNs);
    assert.notEqual(copy.ino, original.ino);
  });
  test('are neither used nor written to when the source is newer', () => {
    const original = readFileSync(own()[0]);
    makeFile(source, told.replace(' 1))', ' 2))'));
    assert.match(run(place, ['eval', load]), /INSIDE at 2/);
    assert.deepEqual(readFileSync(own()[0]), original);
  });
});

describe('temporary directories', () => {
  const place = newPlace();
  const left = () =>
    readdirSync(place.temporary).filter((name) => name.startsWith('cadre-sessions-'));

  test('end with the server', async () => {
    const server = await start(place);
    await server.value(
      '(with-open-file (s (format nil "~a/x" (sb-posix:getenv "TMPDIR")) :direction :output) 1)',
    );
    assert.equal(left().length, 1);
    await server.stop();
    assert.ok(await eventually(() => left().length === 0, 20));
  });
  test('of a server that was killed are removed by the next, those of a living one are not', async () => {
    const killed = await start(place);
    await killed.value('1');
    const [stale] = left();
    const living = await start(place);
    await living.value('1');
    assert.equal(left().length, 2);
    await killed.kill();
    makeDirectory(path.join(place.temporary, 'cadre-sessions-of-somebody'));
    assert.match(run(place, ['eval', '(+ 1 2)']), /=> 3/);
    assert.ok(
      await eventually(() => !left().some((name) => name.startsWith(stale)), 20),
      left().join(),
    );
    assert.ok(await eventually(() => left().length === 2, 20), left().join());
    assert.match(
      await living.value(
        '(with-open-file (s (format nil "~a/x" (sb-posix:getenv "TMPDIR")) :direction :output) 1)',
      ),
      /=> 1/,
    );
    await living.stop();
  });
});
