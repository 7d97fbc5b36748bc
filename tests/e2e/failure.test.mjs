// The failure matrix: whatever user code does, the caller gets a clear answer, the state from before
// the call is still there in the next, and no process is left spinning.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectStateKept, useStatefulServer } from './failure_support.mjs';
import { expectResult, sleep, titleOf, useServer } from './support.mjs';

// Rows: [code, expected, parameters, repetitions]
function matrix(name, rows, options) {
  describe(name, () => {
    const server = useStatefulServer(options);
    for (const [code, expected, parameters, times = 1] of rows) {
      test(titleOf(code), async () => {
        for (let i = 0; i < times; i++) {
          expectResult(await server.evaluate(code, parameters), expected);
          await expectStateKept(server);
        }
      });
    }
  });
}

const rolledBack = (expected) => ({
  ...expected,
  has: ['[Rollback]', ...[expected.has ?? []].flat()],
});
const lives = (expected) => ({
  ...expected,
  lacks: ['[Rollback]', ...[expected.lacks ?? []].flat()],
});
const exit = (status, more = {}) =>
  rolledBack({
    type: 'PROCESS-EXIT',
    code: 'process-exit',
    message: `The code ended its process with exit code ${status}.`,
    ...more,
  });
const timeout = { type: 'EVALUATION-TIMEOUT', code: 'timeout', seconds: [1, 20] };
const fault = rolledBack({
  type: 'SB-SYS:MEMORY-FAULT-ERROR',
  has: 'a memory fault may have corrupted the image',
});

matrix('memory', [
  [
    `(make-array (* 1024 1024 1024 64) :element-type '(unsigned-byte 8))`,
    lives({ type: 'SB-KERNEL::HEAP-EXHAUSTED-ERROR' }),
  ],
  [
    '(let ((l nil)) (loop (push (make-array 1000) l)))',
    lives({ type: 'HEAP-LIMIT-EXCEEDED', code: 'heap-limit' }),
    { timeout: 20 },
  ],
  [
    '(let ((l nil)) (loop (push 1 l)))',
    lives({ type: 'HEAP-LIMIT-EXCEEDED', code: 'heap-limit' }),
    { timeout: 20 },
  ],
  [
    '(sb-sys:without-gcing (let ((l nil)) (loop (push (make-array 100000) l))))',
    { ok: false, has: 'HEAP-', lacks: 'Immobile' },
    { timeout: 90 },
  ],
  [
    '(progn (push :doomed *state*) (setf sb-ext:*after-gc-hooks* nil) (let ((l nil)) (loop (push (make-array 1000) l))))',
    rolledBack({
      type: 'HEAP-EXHAUSTED',
      code: 'heap-exhausted',
      message: 'The Lisp heap of 2560 MB was exhausted and the process ended.',
      lacks: 'Immobile',
    }),
    { timeout: 60 },
  ],
  [
    '(defun rec (n) (1+ (rec (1+ n)))) (rec 0)',
    lives({ type: 'SB-KERNEL::CONTROL-STACK-EXHAUSTED', frames: [/^\(REC /] }),
    { timeout: 10 },
    5,
  ],
  [
    '(defvar *deep* 0) (defun bind (n) (let ((*deep* n)) (1+ (bind (1+ n))))) (bind 0)',
    lives({ type: 'SB-KERNEL::BINDING-STACK-EXHAUSTED' }),
    { timeout: 10 },
  ],
  [
    `(progv (loop for i below 200000 collect (gensym)) (loop for i below 200000 collect i) 1)`,
    exit(1, { has: 'Thread local storage exhausted' }),
    { timeout: 10 },
  ],
  [
    `(defun alien-deep (n) (sb-alien:with-alien ((buffer (array char 65536))) (setf (sb-alien:deref buffer 0) 1) (+ 1 (alien-deep (1+ n)) (sb-alien:deref buffer 0)))) (alien-deep 0)`,
    exit(1),
    { timeout: 10 },
  ],
]);

matrix('memory faults', [
  ['(sb-sys:sap-ref-64 (sb-sys:int-sap 0) 0)', fault],
  ['(setf (sb-sys:sap-ref-64 (sb-sys:int-sap 0) 0) 1)', fault],
  [
    '(locally (declare (optimize (safety 0) (speed 3))) (let ((v (make-array 3))) (declare (simple-vector v)) (setf (svref v 1000000000000) 1)))',
    rolledBack({ ok: false }),
  ],
  [
    "(funcall (compile nil '(lambda (x) (declare (optimize (safety 0)) (cons x)) (car x))) 12345678)",
    fault,
  ],
  [
    `(progn (push :doomed *state*)
      (let ((c (list 1 2 3)))
        (sb-sys:with-pinned-objects (c)
          (setf (sb-sys:sap-ref-64 (sb-sys:int-sap (logandc2 (sb-kernel:get-lisp-obj-address c) 15)) 0) #x1234567f))
        (sb-ext:gc :full t)
        (princ-to-string c)))`,
    rolledBack({ ok: false }),
  ],
]);

matrix('ends of the process', [
  [
    '(progn (push :doomed *state*) (sb-ext:exit :code 7))',
    exit(7, {
      has: [
        'Reason: the process ended (exit code 7).',
        'Lost: the effects of this evaluation, nothing else.',
      ],
    }),
  ],
  ['(unwind-protect (sb-ext:exit :code 7) (push :doomed *state*))', exit(7)],
  ['(quit)', exit(0)],
  [
    '(progn (push :doomed *state*) (sb-posix:kill (sb-posix:getpid) sb-posix:sigterm) (sleep 1))',
    exit(0),
    { timeout: 5 },
  ],
  ['(progn (push :doomed *state*) (sb-ext:exit :abort t))', exit(1)],
  [
    '(sb-alien:alien-funcall (sb-alien:extern-alien "abort" (function sb-alien:void)))',
    rolledBack({ ok: false }),
  ],
  [
    '(progn (push :doomed *state*) (sb-posix:kill (sb-posix:getpid) sb-posix:sigkill))',
    rolledBack({
      type: 'PROCESS-KILLED',
      code: 'process-killed',
      message: 'The process was ended by signal 9 (SIGKILL).',
      has: 'Reason: the process ended (signal 9).',
    }),
  ],
  ['(sb-thread:terminate-thread sb-thread:*current-thread*)', exit(1)],
  [
    '(loop for fd from 3 below 1024 do (sb-alien:alien-funcall (sb-alien:extern-alien "close" (function sb-alien:int sb-alien:int)) fd))',
    rolledBack({ type: 'PROCESS-EXIT' }),
  ],
]);

matrix('endless code', [
  ['(loop)', lives(timeout)],
  ['(loop (make-list 10))', lives(timeout)],
  ['(loop (handler-case (loop) (condition () nil)))', lives(timeout)],
  [
    '(progn (push :doomed *state*) (unwind-protect (loop) (loop)))',
    rolledBack({ ...timeout, has: 'could not be interrupted' }),
  ],
  [
    '(progn (push :doomed *state*) (sb-sys:without-interrupts (loop)))',
    rolledBack({ ...timeout, has: 'could not be interrupted' }),
  ],
  [
    '(progn (push :doomed *state*) (sb-sys:without-gcing (loop)))',
    rolledBack({ ...timeout, has: 'could not be interrupted' }),
  ],
  ['(sleep 100)', lives(timeout)],
  [
    '(sb-alien:alien-funcall (sb-alien:extern-alien "pause" (function sb-alien:int)))',
    lives({ ...timeout }),
  ],
  [
    '(sb-alien:alien-funcall (sb-alien:extern-alien "sleep" (function sb-alien:int sb-alien:int)) 100)',
    lives({ ...timeout }),
  ],
  ['(sb-posix:kill (sb-posix:getpid) sb-posix:sigstop)', { ok: false }],
  ['(sb-ext:run-program "/bin/sleep" \'("100"))', lives(timeout)],
]);

matrix('streams and descriptors', [
  ['(read-line)', lives({ type: 'END-OF-FILE' })],
  [
    '(sb-alien:alien-funcall (sb-alien:extern-alien "write" (function sb-alien:long sb-alien:int sb-alien:c-string sb-alien:long)) 1 "raw" 3) 1',
    '[stdout]\nraw\n\n=> 1',
  ],
  [
    '(write-line "direct" sb-sys:*stdout*) (finish-output sb-sys:*stdout*) 1',
    '[stdout]\ndirect\n\n=> 1',
  ],
  [`(sb-ext:run-program "/bin/echo" '("child") :output t) 1`, '[stdout]\nchild\n\n=> 1'],
  [
    `(let ((line (format nil "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":1,\\"result\\":{}}~%")))
      (sb-alien:alien-funcall (sb-alien:extern-alien "write" (function sb-alien:long sb-alien:int sb-alien:c-string sb-alien:long)) 1 line (length line))) 1`,
    '[stdout]\n{"jsonrpc":"2.0","id":1,"result":{}}\n\n=> 1',
  ],
  [
    '(sb-thread:join-thread (sb-thread:make-thread (lambda () (write-line "thread")))) 1',
    '[stdout]\nthread\n\n=> 1',
  ],
  [
    '(sb-alien:alien-funcall (sb-alien:extern-alien "close" (function sb-alien:int sb-alien:int)) 0) 1',
    '=> 1',
  ],
  ['(read-line)', lives({ type: 'END-OF-FILE' })],
  [
    '(sb-alien:alien-funcall (sb-alien:extern-alien "close" (function sb-alien:int sb-alien:int)) 1) 1',
    { has: '=> 1' },
  ],
  ['(princ "back") 1', '[stdout]\nback\n\n=> 1'],
  ['(sb-posix:close 243) 1', '=> 1'],
  ['(sb-posix:close 1) 1', '=> 1'],
  ['(princ "repaired") 1', '[stdout]\nrepaired\n\n=> 1'],
  [
    '(push :doomed *state*) (sb-posix:close 243) (sb-posix:close 1) 1',
    rolledBack({ type: 'PROCESS-EXIT', has: 'channel' }),
  ],
  ['(princ "rescued") 1', '[stdout]\nrescued\n\n=> 1'],
  ['(close *standard-output*) 1', { has: '=> 1' }],
  ['(princ "again") 1', '[stdout]\nagain\n\n=> 1'],
  ['(break)', lives({ type: 'SIMPLE-CONDITION' })],
  [
    `(invoke-debugger (make-condition 'simple-error :format-control "by hand"))`,
    lives({ type: 'SIMPLE-ERROR', message: 'by hand' }),
  ],
  ['(abort)', lives({ type: 'EVALUATION-ABORTED' })],
  [`(throw 'sb-impl::toplevel-catcher nil)`, lives({ type: 'SB-INT:SIMPLE-CONTROL-ERROR' })],
]);

matrix('printing and threads', [
  [
    `(defclass pe () ()) (defmethod print-object ((o pe) s) (error "no")) (make-instance 'pe)`,
    '=> #<unprintable PE: SIMPLE-ERROR: no>',
  ],
  [
    `(defclass pl () ()) (defmethod print-object ((o pl) s) (loop)) (make-instance 'pl)`,
    lives(timeout),
  ],
  [
    `(defclass pw () ()) (defmethod print-object ((o pw) s) (loop (write-string "on and on " s))) (make-instance 'pw)`,
    { has: ['[truncated: at least ', 'max-output 20000]'] },
    { timeout: 60 }, // sixteen million characters
  ],
  [
    `(define-condition rs (error) () (:report (lambda (c s) (declare (ignore c s)) (error "in report")))) (error 'rs)`,
    lives({ type: 'RS', message: '(the report of this RS failed: SIMPLE-ERROR)' }),
  ],
  [
    `(define-condition rl (error) () (:report (lambda (c s) (declare (ignore c s)) (loop)))) (error 'rl)`,
    lives({ ...timeout, has: 'rendering the report of RL' }),
  ],
  [
    `(sb-thread:join-thread (sb-thread:make-thread (lambda () (error "boom")) :name "t1") :default :default)`,
    {
      match:
        /^\[stderr\]\n; thread "t1" ended by SIMPLE-ERROR: boom \(error \d+\)\n\n=> :DEFAULT\b/,
    },
  ],
  [
    '(dotimes (i 200000) (write-line "fifty characters of output, more or less, per line."))',
    { has: ['[truncated: ', 'max-output 20000]'] },
    { timeout: 20 },
  ],
  ['(let ((l (list 1 2 3))) (setf (cdddr l) l) l)', '=> #1=(1 2 3 . #1#)'],
  [
    '(let ((l nil)) (dotimes (i 1000000) (setf l (list l))) l)',
    {
      match: /^=> \(\(\(\(\(\(\(\(\(\(#\)\)\)\)\)\)\)\)\)\)\n\[parts not shown; inspect "\$\d+"\]$/,
    },
    { timeout: 20 },
  ],
]);

matrix('damaged images', [
  ['(delete-package :cl-user)', rolledBack({ type: 'SESSION-UNUSABLE', code: 'unusable' })],
  [
    `(sb-ext:without-package-locks (setf (symbol-function 'cl:car) (lambda (x) x)))`,
    rolledBack({ type: 'SESSION-UNUSABLE', code: 'unusable' }),
  ],
  [
    `(sb-ext:without-package-locks (setf (symbol-function 'cl:format) (lambda (&rest x) x)))`,
    rolledBack({ type: 'SESSION-UNUSABLE', code: 'unusable' }),
  ],
  [
    `(sb-ext:without-package-locks (setf (symbol-function 'cl:prin1) (lambda (x &optional s) s x)))`,
    rolledBack({ type: 'SESSION-UNUSABLE', code: 'unusable' }),
  ],
  [
    `(sb-ext:without-package-locks (setf (symbol-function 'cl:replace) (lambda (&rest x) x)))`,
    rolledBack({ type: 'SESSION-UNUSABLE', code: 'unusable' }),
  ],
  [
    `(set-macro-character #\\( (lambda (s c) (declare (ignore s c)) nil)) 1`,
    rolledBack({ type: 'SESSION-UNUSABLE', code: 'unusable' }),
  ],
  ['(rename-package :cl-user :gone)', rolledBack({ type: 'SESSION-UNUSABLE', code: 'unusable' })],
]);

const write =
  '(sb-alien:extern-alien "write" (function sb-alien:long sb-alien:int sb-alien:c-string sb-alien:long))';

// Whether garbage breaks the control protocol depends on which channel is read first.
const lostOrWritten = (result) =>
  expectResult(
    result,
    result.isError
      ? rolledBack({ type: 'SESSION-UNUSABLE', has: 'the control protocol was broken' })
      : { has: '=> :WRITTEN' },
  );

matrix('hostile code', [
  // The child must not answer in its parent's place.
  [
    '(let ((pid (sb-posix:fork))) (if (zerop pid) (progn (princ "child") (finish-output) :child) (progn (sleep 0.2) :parent)))',
    '[stdout]\nchild\n\n=> :PARENT',
  ],
  [
    `(loop for fd from 0 below 1024 do (sb-alien:alien-funcall ${write} fd (format nil "garbage~%") 8)) :written`,
    lostOrWritten,
  ],
  [
    `(loop for fd from 3 below 1024 do (sb-alien:alien-funcall ${write} fd (make-string 60000 :initial-element #\\x) 60000)) :written`,
    lostOrWritten,
    { timeout: 2 },
  ],
  [
    `(sb-alien:alien-funcall (sb-alien:extern-alien "execl" (function sb-alien:int sb-alien:c-string sb-alien:c-string sb-alien:c-string sb-alien:unsigned-long)) "/bin/sleep" "sleep" "100" 0)`,
    rolledBack(timeout),
  ],
  [
    `(sb-alien:alien-funcall (sb-alien:extern-alien "execl" (function sb-alien:int sb-alien:c-string sb-alien:c-string sb-alien:unsigned-long)) "/bin/true" "true" 0)`,
    rolledBack({ ok: false }),
  ],
  ['(sb-posix:chdir "/nonexistent-directory")', lives({ ok: false })],
  [`(sb-posix:setenv "HOME" "/nowhere" 1) (sb-posix:chdir "/") :moved`, '=> :MOVED'],
  [
    '(setf *debugger-hook* (lambda (c h) (declare (ignore c h)) (loop))) (error "hooked")',
    lives(timeout),
  ],
  [
    "(setf *debugger-hook* nil *break-on-signals* t) (signal 'condition)",
    lives({ type: 'SIMPLE-CONDITION' }),
  ],
  ['(setf *break-on-signals* nil) 1', '=> 1'],
  [
    '(push (lambda () (loop)) sb-ext:*exit-hooks*) (sb-ext:exit :code 3)',
    { type: 'EVALUATION-TIMEOUT', has: 'Reason: the process ended (exit code 3)' },
  ],
  [
    '(push (lambda () (error "in gc hook")) sb-ext:*after-gc-hooks*) (sb-ext:gc) 1',
    { has: ['in gc hook', '=> 1'] },
  ],
  ['(setf sb-ext:*after-gc-hooks* nil) 1', { has: '=> 1' }],
  ['(setf (sb-ext:bytes-consed-between-gcs) (* 1024 1024)) 1', { has: '=> 1' }],
  ['(sb-ext:disable-debugger) (error "disabled")', lives({ type: 'SIMPLE-ERROR' })],
]);

describe('a standard function that is shadowed', () => {
  const server = useServer();
  test('is called by the code of calls only', async () => {
    await server.value(`(shadow '+) (defvar *calls* 0)`);
    await server.value(`(defun + (&rest all) (incf *calls*) (apply #'cl:+ all))`);
    for (let i = 0; i < 3; i++) {
      await sleep(50);
      assert.equal(await server.value('*calls*'), '=> 0');
    }
    assert.equal(await server.value('(list (+ 1 2) *calls*)'), '=> (3 1)');
  });
});

describe('what the runtime says when it gives up', () => {
  const server = useStatefulServer();
  const lose = (reason) =>
    `(sb-alien:alien-funcall (sb-alien:extern-alien "lose" (function sb-alien:void sb-alien:c-string)) ${reason})`;
  test('between calls: the reason is in the notice, the rest is no output', async () => {
    await server.value(`(sb-thread:make-thread (lambda ()
      (sleep 0.2) (write-line "mine") (write-line "mine, too" *error-output*)
      ${lose('"Heap exhausted, game over."')}) :name "hog") 1`);
    await sleep(600);
    const { text } = await server.evaluate('(+ 1 1)');
    assert.match(
      text,
      /^\[Notice\]\nthe session's process died while idle \(exit code 1: Heap exhausted, game over\.\); rolled back to snapshot \d+\nlost threads: hog\n\n\[output since the last call\]\nmine\nmine, too\n\n=> 2$/,
    );
    // Nor is it the reason of the next failure.
    expectResult(await server.evaluate('(sb-posix:kill (sb-posix:getpid) sb-posix:sigkill)'), {
      type: 'PROCESS-KILLED',
    });
    await expectStateKept(server);
  });
  test('is made valid UTF-8', async () => {
    const { text, structured } =
      await server.evaluate(`(let ((line (coerce (append (map 'list #'char-code "fatal error: ") '(255 254 10))
                                                                    '(simple-array (unsigned-byte 8) (*)))))
      (sb-unix:unix-write 2 line 0 (length line)) (sb-ext:exit :code 1 :abort t))`);
    assert.match(text, /exit code 1\.\nfatal error: \ufffd\ufffd\n/);
    assert.match(structured.error.message, /fatal error: \ufffd\ufffd$/);
    await expectStateKept(server);
  });
});

describe('timers', () => {
  const server = useServer();
  test('timers that fail all the time end nothing but themselves', async () => {
    await server.value(
      '(sb-ext:schedule-timer (sb-ext:make-timer (lambda () (error "tick"))) 0.005 :repeat-interval 0.005)',
    );
    for (let i = 0; i < 20; i++) {
      const { text, isError } = await server.call('evaluate-lisp', {
        code: `(progn (sleep 0.01) (defvar *kept* ${i}) *kept*)`,
      });
      assert.ok(!isError, text);
      assert.match(text, /=> 0$/);
      assert.doesNotMatch(text, /Notice|fatal/);
    }
    const { text } = await server.call('evaluate-lisp', {
      code: "(mapc #'sb-ext:unschedule-timer (sb-ext:list-all-timers)) 1",
    });
    assert.match(text, /=> 1$/);
    await server.call('evaluate-lisp', { code: '1' }); // what failed in between has been told
  });
  test('with-timeout ends the evaluation, or what handles it', async () => {
    expectResult(
      await server.call('evaluate-lisp', { code: '(sb-ext:with-timeout 0.05 (loop))' }),
      { type: 'TIMEOUT' },
    );
    assert.equal(
      await server.value(
        '(handler-case (sb-ext:with-timeout 0.05 (loop)) (sb-ext:timeout () :over))',
      ),
      '=> :OVER',
    );
  });
  test('an error in a timer while the session is idle', async () => {
    await server.value(
      '(defvar *fired* nil) (sb-ext:schedule-timer (sb-ext:make-timer (lambda () (setf *fired* t) (error "in timer"))) 0.1) 1',
    );
    await new Promise((resolve) => setTimeout(resolve, 500));
    const { text, isError } = await server.evaluate('*fired*');
    assert.equal(isError, false);
    assert.match(text, /^\[stderr\]\n; .* ended by SIMPLE-ERROR: in timer \(error \d+\)\n\n=> T$/);
    expectResult(await server.call('describe-last-error'), {
      has: 'No error information available.',
    });
  });
  test('a timer that ends the process while the session is idle', async () => {
    await server.value(
      '(defvar *before* 7) (sb-ext:schedule-timer (sb-ext:make-timer (lambda () (sb-ext:exit :code 8))) 0.4) 1',
    );
    assert.equal(await server.value('(defvar *after* 8)'), '=> *AFTER*');
    await sleep(800);
    const { text } = await server.call('evaluate-lisp', {
      code: '(list *before* *after* (sb-ext:list-all-timers))',
    });
    const died = "the session's process died while idle \\(exit code 8\\)";
    assert.match(
      text,
      new RegExp(
        `^\\[Notice\\]\n(${died}; rolled back to snapshot \\d+\n)?` +
          `${died}; its timers are unscheduled; rolled back to snapshot \\d+\n\n=> \\(7 8 NIL\\)$`,
      ),
    );
    assert.equal(await server.value('(list *before* *after*)'), '=> (7 8)');
  });
  test('a timer that never ends while the session is idle', async () => {
    await server.value(
      '(defun spin () (loop)) (sb-ext:schedule-timer (sb-ext:make-timer (quote spin)) 0.1) 1',
    );
    await new Promise((resolve) => setTimeout(resolve, 500));
    const { text, isError } = await server.evaluate('(+ 40 2)', { timeout: 1 });
    assert.equal(isError, false);
    assert.match(
      text,
      /^\[Notice\]\nthe session's process did not take the call within 2 seconds and was ended; its timers are unscheduled; rolled back to snapshot \d+\n\n\[stderr\]\n; timer ended by EVALUATION-TIMEOUT: The timer did not end while a call waited\. \(error \d+\)\n\n=> 42$/,
    );
    const error = Number(/\(error (\d+)\)/.exec(text)[1]);
    expectResult(await server.call('get-backtrace', { error }), { has: '0: (SPIN)' });
    assert.equal(await server.value('*fired*'), '=> T');
  });
});

describe('many lost threads', () => {
  const server = useServer();
  test('are counted, not listed', async () => {
    await server.value(
      '(dotimes (i 30) (sb-thread:make-thread #\'sleep :arguments (list 1000) :name (format nil "t~D" i)))',
    );
    const { text, structured } = await server.evaluate('(sb-ext:exit :abort t)');
    assert.match(text, /\nLost threads: (t\d+, ){19}t\d+ and 10 more$/);
    assert.equal(structured.rollback.lost_threads.length, 30);
  });
});

describe('a timeout after threads were lost', () => {
  const server = useServer();
  const sleeper = '(sb-thread:make-thread #\'sleep :arguments (list 1000) :name "sleeper") 1';
  const stubborn =
    '(sb-thread:join-thread (sb-thread:make-thread (lambda () (sb-sys:without-interrupts (loop))) :name "stubborn"))';
  const timeOut = async (code) => {
    const { text } = await server.evaluate(code, { timeout: 1 });
    assert.match(text, /EVALUATION-TIMEOUT/);
    return text;
  };
  test('does not blame those that the same call lost, or had started', async () => {
    const text = await timeOut(stubborn);
    // On a busy machine the process may be killed before it has said which threads it has.
    if (!/was stopped after/.test(text)) assert.match(text, /Lost threads: stubborn/);
    assert.doesNotMatch(text, /earlier rollback/);
    assert.doesNotMatch(await timeOut('(loop)'), /Notice/);
  });
  test('names those of the state that was woken', async () => {
    await server.value(sleeper);
    const text = await timeOut('(sb-sys:without-interrupts (loop))');
    assert.match(text, /Lost threads: sleeper/);
    assert.doesNotMatch(text, /earlier rollback/);
    assert.match(
      await timeOut('(loop)'),
      /^\[Notice\]\nthreads were lost by an earlier rollback \(sleeper\);/,
    );
  });
});
