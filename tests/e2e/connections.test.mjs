// Sockets and pipes over evaluations: snapshots and frozen errors share them with the session, and must
// not keep open what the session closes.
import { describe, test } from 'node:test';
import { expectResult, useServer } from './support.mjs';

const SET_UP = `(require :sb-bsd-sockets)
(defun make-socket () (make-instance 'sb-bsd-sockets:inet-socket :type :stream :protocol :tcp))
(defun listener (port)
  (let ((socket (make-socket)))
    (sb-bsd-sockets:socket-bind socket #(127 0 0 1) port)
    (sb-bsd-sockets:socket-listen socket 5)
    socket))
(defun any-listener (&aux (random (make-random-state t)))
  ;; A port that no connection of another process gets by chance.
  (loop (handler-case (return (listener (+ 10000 (random 20000 random))))
          (sb-bsd-sockets:address-in-use-error ()))))
(defun listener-when-free (port)
  ;; the state that was left stops listening when its process is scheduled
  (loop repeat 200
        do (handler-case (return (listener port))
             (sb-bsd-sockets:address-in-use-error () (sleep 0.05)))))
(defun port-of (socket) (nth-value 1 (sb-bsd-sockets:socket-name socket)))
(defun stream-to (port)
  (let ((socket (make-socket)))
    (sb-bsd-sockets:socket-connect socket #(127 0 0 1) port)
    (sb-bsd-sockets:socket-make-stream socket :input t :output t)))`;

describe('sockets', () => {
  const server = useServer();
  const expect = async (code, expected, parameters) =>
    expectResult(await server.evaluate(code, { timeout: 5, ...parameters }), expected);
  let port;

  test('a listener that is closed frees its port', async () => {
    await server.value(SET_UP);
    await server.value('(defvar *listener* (any-listener))');
    port = (await server.value('(port-of *listener*)')).replace('=> ', '');
    await server.value('(sb-bsd-sockets:socket-close *listener*)');
    await expect(`(port-of (setf *listener* (listener ${port})))`, `=> ${port}`);
  });
  test('also within one evaluation', async () => {
    await expect(
      `(sb-bsd-sockets:socket-close *listener*) (port-of (setf *listener* (listener ${port})))`,
      `=> ${port}`,
    );
    await expect('(sb-bsd-sockets:socket-close *listener*)', '=> T');
  });
  test('also when it is closed because of an error, which stays frozen', async () => {
    await expect(
      `(let ((it (listener ${port}))) (unwind-protect (error "no") (sb-bsd-sockets:socket-close it)))`,
      { type: 'SIMPLE-ERROR' },
    );
    await expect(`(port-of (setf *listener* (listener ${port})))`, `=> ${port}`);
    expectResult(await server.call('inspect', { frame: 0, error: 1 }), {
      has: 'Frame 0: (ERROR "no")',
    });
  });
  test('a state that is left by rollback or reset does not listen', async () => {
    await server.call('rollback-session', { steps: 1 });
    await expect(`(port-of (setf *listener* (listener-when-free ${port})))`, `=> ${port}`, {
      timeout: 15,
    });
    await server.call('reset-session');
    await server.value(SET_UP);
    await expect(
      `(defvar *listener* (listener-when-free ${port})) (port-of *listener*)`,
      `=> ${port}`,
      { timeout: 15 },
    );
  });
  test('the other end of a connection sees that it is closed', async () => {
    await server.value(`(defvar *near* (stream-to ${port}))`);
    await server.value(`(defvar *far* (sb-bsd-sockets:socket-make-stream
                          (sb-bsd-sockets:socket-accept *listener*) :input t :output t))`);
    await server.value('(close *near*)');
    await expect('(read-line *far* nil :end)', { has: '=> :END' });
  });
  test('a connection outlives the death of the process', async () => {
    await server.value(`(defvar *again* (stream-to ${port}))`);
    await server.value(`(setf *far* (sb-bsd-sockets:socket-make-stream
                          (sb-bsd-sockets:socket-accept *listener*) :input t :output t))`);
    await expect('(sb-ext:exit :abort t)', { type: 'PROCESS-EXIT' });
    await expect('(write-line "hello" *again*) (finish-output *again*) (read-line *far*)', {
      has: '=> "hello"',
    });
  });
  test('one that was closed is dead after a rollback, and takes no new file for itself', async () => {
    await server.value('(close *again*)');
    await server.call('rollback-session', { steps: 1 });
    await expect('(read-line *again* nil :end)', { has: '=> :END' });
    await expect(
      `(with-open-file (file "/dev/null") (/= (sb-sys:fd-stream-fd file) (sb-sys:fd-stream-fd *again*)))`,
      '=> T',
    );
    await expect('(close *again*)', '=> T');
  });
});

describe('pipes', () => {
  const server = useServer();
  test('a program sees the end of its input in a later evaluation', async () => {
    await server.value(
      '(defvar *cat* (run-program "/bin/cat" nil :input :stream :output :stream :wait nil))',
    );
    expectResult(
      await server.evaluate(
        '(close (process-input *cat*)) (process-wait *cat*) (process-exit-code *cat*)',
        { timeout: 5 },
      ),
      '=> 0',
    );
  });
  test('after an error, too', async () => {
    expectResult(
      await server.evaluate(
        `(let ((cat (run-program "/bin/cat" nil :input :stream :wait nil)))
      (unwind-protect (error "no") (close (process-input cat)) (process-wait cat)))`,
        { timeout: 5 },
      ),
      { type: 'SIMPLE-ERROR', lacks: '[Notice]' },
    );
  });
});

describe('threads', () => {
  const server = useServer();
  test('one that a rollback ended can be joined', async () => {
    await server.value('(defvar *sleeper* (sb-thread:make-thread (lambda () (sleep 100))))');
    await server.value('(+ 1 2)');
    await server.call('rollback-session', { steps: 1 });
    expectResult(
      await server.evaluate('(sb-thread:join-thread *sleeper* :default :lost)', { timeout: 5 }),
      '=> :LOST\n=> :ABORT',
    );
  });
});
