// Smaller points in which a session is SBCL: print variables, finalizers, and hints that are true.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { evaluationTable, expectResult, useServer } from './support.mjs';

evaluationTable('values are shown by print variables', [
  [
    '(loop for i below 150 collect i)',
    /98 99 \.\.\.\)\n\[50 of 150 elements not shown; inspect "\$1"\]$/,
  ],
  ['(list (make-list 101))', /\n\[parts not shown; inspect "\$2"\]$/],
  [
    '(let ((l (list 1))) (dotimes (i 12 l) (setf l (list l))))',
    /#\)+\n\[parts not shown; inspect "\$3"\]$/,
  ],
  ['(loop for i below 100 collect i)', /98 99\)$/],
  [
    '(setf *print-length* 3) (list 1 2 3 4)',
    '=> (1 2 3 ...)\n[1 of 4 elements not shown; inspect "$5"]',
  ],
  ['(setf *print-length* 1000) (make-list 150)', /NIL\)$/],
  ['(setf *print-length* nil cadre:*value-length* nil) (make-list 1500)', /NIL\)$/],
  ['(setf *print-pretty* nil) (make-list 60)', /^=> \([^\n]*\)$/],
  ['(let ((l (list 1 2))) (setf (cddr l) l))', '=> #1=(1 2 . #1#)'],
]);

evaluationTable('finalizers', [
  [
    `(defvar *ran* 0)
     (dotimes (i 1000) (sb-ext:finalize (make-array 10) (lambda () (incf *ran*))))
     (sb-ext:gc :full t)
     (< 900 *ran*)`,
    '=> T',
  ],
  [
    `(defvar *calls* '())
     (defun call-me () (push :name *calls*))
     (dotimes (i 100)
       (let ((object (make-array 10)))
         (sb-ext:finalize object (lambda () (push :first *calls*)))
         (sb-ext:finalize object (lambda () (push :second *calls*)) :dont-save t)
         (sb-ext:finalize object 'call-me)
         (let ((other (make-array 10)))
           (sb-ext:finalize other 'call-me)
           (sb-ext:cancel-finalization other))))
     (sb-ext:gc :full t)
     (list (= (count :first *calls*) (count :second *calls*) (count :name *calls*))
           (< 90 (count :first *calls*)))`,
    '=> (T T)',
  ],
  [
    `(dotimes (i 100) (sb-ext:finalize (list 1) (lambda () (error "in a finalizer"))))
     (handler-case (progn (sb-ext:gc :full t) :undisturbed) (condition () :disturbed))`,
    { has: '=> :UNDISTURBED' },
  ],
]);

describe('what the session has', () => {
  const server = useServer();

  test('its symbols are found first, exported or not, then those of others', async () => {
    await server.evaluate(
      '(defpackage :zoo (:use :cl)) (defun zoo::my-mapcar () 1) (defvar mapcar-own 2)',
    );
    const { text } = await server.call('describe-symbol', { pattern: 'mapcar' });
    const names = [...text.matchAll(/^ {2}(\S+) \[/gm)].map((match) => match[1]);
    assert.deepEqual(names.slice(0, 3), [
      'COMMON-LISP-USER::MAPCAR-OWN',
      'ZOO::MY-MAPCAR',
      'COMMON-LISP::MAPCAR',
    ]);
  });

  test('definitions come in pages', async () => {
    await server.evaluate(
      '(dotimes (i 450) (setf (fdefinition (intern (format nil "F~3,\'0D" i))) (lambda (x) x)))',
    );
    const names = [];
    for (let page = 1; page <= 3; page++) {
      const { text } = await server.call('list-definitions', { type: 'functions', page });
      assert.match(text, new RegExp(`Page ${page} of 3, 451 definitions in all`));
      assert.equal(text.includes(`{"page": ${page + 1}} goes on`), page < 3);
      names.push(...[...text.matchAll(/^- (\S+)/gm)].map((match) => match[1]));
    }
    assert.equal(new Set(names).size, 451);
    assert.equal(names[0], 'F000');
    assert.equal(names[450], 'ZOO::MY-MAPCAR');
  });
});

describe('hints', () => {
  const server = useServer();

  test('Quicklisp', async () =>
    expectResult(await server.evaluate('(ql:quickload "x")'), {
      ok: false,
      has: 'hint: Quicklisp itself is not loaded; load-system loads its systems',
    }));

  test('a timeout says how to go on, and that is true', async () => {
    const { text, isError } = await server.evaluate(
      '(defvar *n* 0) (loop repeat 15 do (sleep 0.1) (incf *n*)) *n*',
      { timeout: 1 },
    );
    assert.ok(isError, text);
    const hint = /hint: invoke-restart (\{.*?\}) goes on where it stopped/.exec(text);
    assert.ok(hint, text);
    const result = await server.call('invoke-restart', JSON.parse(hint[1]));
    expectResult(result, { has: '=> 15' });
    assert.equal(await server.value('*n*'), '=> 15');
  });

  test('stars are no resemblance', async () =>
    expectResult(await server.evaluate('*x*'), {
      type: 'UNBOUND-VARIABLE',
      lacks: 'did you mean',
    }));

  test('a backtrace that is shown whole is not offered again', async () => {
    await server.evaluate('(car 1)');
    expectResult(await server.call('describe-last-error'), { lacks: 'full backtrace' });
    await server.evaluate('(defun deep (n) (if (zerop n) (car 1) (1+ (deep (1- n))))) (deep 20)');
    expectResult(await server.call('describe-last-error'), { has: 'For full backtrace' });
  });

  test('restarts say what they do', async () =>
    expectResult(await server.evaluate('(+ no-such-variable 1)'), {
      ok: false,
      match:
        /restarts: 1 CONTINUE \(Retry using NO-SUCH-VARIABLE\.\), 2 USE-VALUE \(Use specified value\.\)/,
    }));
});

describe('ports of lost threads', () => {
  const server = useServer();
  const define = `(require :sb-bsd-sockets)
    (defun listener (port)
      (let ((socket (make-instance 'sb-bsd-sockets:inet-socket :type :stream :protocol :tcp)))
        (setf (sb-bsd-sockets:sockopt-reuse-address socket) t)
        (sb-bsd-sockets:socket-bind socket #(127 0 0 1) port)
        (sb-bsd-sockets:socket-listen socket 5)
        socket))
    (defun port (socket) (nth-value 1 (sb-bsd-sockets:socket-name socket)))
    (defun start (name function) (sb-thread:make-thread (lambda () (loop (funcall function))) :name name))
    (defun asleep-p (name)
      (let ((thread (find name (sb-thread:list-all-threads) :key #'sb-thread:thread-name :test #'equal)))
        (with-open-file (stream (format nil "/proc/self/task/~D/stat" (sb-thread:thread-os-tid thread)))
          (let ((line (read-line stream)))
            (char= #\\S (char line (+ 2 (position #\\) line :from-end t))))))))
    (defun await-sleep (name) (loop until (ignore-errors (asleep-p name)) do (sleep 0.01)))
    (defvar *accepted* (listener 0)) (defvar *polled* (listener 0)) (defvar *own* (listener 0))
    (defvar *ports* (mapcar #'port (list *accepted* *polled* *own*)))`;
  test('are free after a rollback, and named; others stay', async () => {
    await server.value(define);
    const [accepted, polled] = (await server.value('*ports*')).match(/\d+/g);
    await server.value(
      `(start "acceptor" (lambda () (sb-bsd-sockets:socket-accept *accepted*)))
       (start "poller" (lambda () (sb-sys:wait-until-fd-usable
                                   (sb-bsd-sockets:socket-file-descriptor *polled*) :input)))
       (await-sleep "acceptor") (await-sleep "poller")`,
    );
    const { text } = await server.evaluate('(exit)');
    assert.match(text, /\nLost: the effects of this evaluation\.\n/);
    assert.match(text, new RegExp(`acceptor \\(it listened on port ${accepted}, now closed\\)`));
    assert.match(text, new RegExp(`poller \\(it listened on port ${polled}, now closed\\)`));
    assert.equal(
      await server.value("(mapcar #'port (mapcar #'listener (butlast *ports*)))"),
      `=> (${accepted} ${polled})`,
    );
    assert.equal(await server.value('(equal (port *own*) (third *ports*))'), '=> T');
  });

  test('are free after an adoption', async () => {
    await server.value(
      `(start "second" (lambda () (sb-bsd-sockets:socket-accept *own*))) (await-sleep "second")`,
    );
    await server.evaluate('(progn (missing-function) (listener (third *ports*)))');
    const result = await server.call('invoke-restart', { restart: 'return-nothing', adopt: true });
    // The try itself still has the socket; the session that goes on from it has not.
    expectResult(result, { ok: false, match: /second \(it listened on port \d+, now closed\)$/ });
    expectResult(await server.evaluate('(listener (third *ports*)) 1'), '=> 1');
  });
});
