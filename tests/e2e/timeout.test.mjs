// Time limits: what is stopped, when, and what is left afterwards.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectResult, titleOf, useServer } from './support.mjs';

const TIMEOUT = { type: 'EVALUATION-TIMEOUT', code: 'timeout' };
const first =
  'Evaluation exceeded the timeout of 1 second. Possibly an infinite loop or an expensive computation; ' +
  'configure-limits raises the timeout.';

// Side by side, because each of these waits for a whole second.
describe('time limits', { concurrency: 2 }, () => {
  describe('timeouts', { concurrency: 1 }, () => {
    const server = useServer();
    test('limit 1', async () => {
      expectResult(await server.call('configure-limits', { timeout: 1 }), {
        has: 'timeout: 1 second\n',
      });
    });
    for (const code of [
      '(sleep 3)',
      '(loop)',
      '(do () (nil))',
      '(tagbody loop (go loop))',
      '(loop repeat 1000000000 sum (random 100))',
    ]) {
      test(titleOf(code), async () => {
        const result = await server.evaluate(code);
        expectResult(result, {
          ...TIMEOUT,
          seconds: [1, 20],
          message: `${first}\nIt was evaluating form 1.`,
          has: ['[ERROR] EVALUATION-TIMEOUT', '1 second', 'infinite loop', 'configure-limits'],
          lacks: '[Rollback]',
        });
        assert.equal(result.structured.error.frozen, true);
        assert.ok(result.structured.error.frames.length > 0, 'no frames');
      });
    }
    const rows = [
      [
        '(princ "hello") (princ "world") (loop)',
        { ...TIMEOUT, has: '[stdout]\nhelloworld\n\n[ERROR] EVALUATION-TIMEOUT' },
      ],
      [
        '(warn "caution") (loop)',
        { ...TIMEOUT, has: '[warnings]\nWARNING: caution\n\n[ERROR] EVALUATION-TIMEOUT' },
      ],
      [
        '(defun spin (n) (loop (setf n (logand (1+ n) 255)))) (spin 1)',
        { ...TIMEOUT, match: /\d+: \(SPIN \d+\)/ },
      ],
      ['(defvar *test-var* 42)', '=> *TEST-VAR*'],
      ['(loop)', TIMEOUT],
      ['*test-var*', '=> 42'],
      [
        '(setf *test-var* 43) (unwind-protect (loop) (loop))',
        {
          ...TIMEOUT,
          seconds: [1, 20],
          has: [
            '[Rollback]',
            'It could not be interrupted and was stopped after',
            'Reason: it could not be interrupted.',
          ],
        },
      ],
      ['*test-var*', '=> 42'],
      ['(setf *test-var* 44) (loop)', TIMEOUT],
      ['*test-var*', '=> 44'],
      ['(handler-case (loop) (condition () :swallowed))', { ...TIMEOUT, seconds: [1, 20] }],
      ['(ignore-errors (loop))', TIMEOUT],
      ['(sb-sys:without-interrupts (loop))', { ...TIMEOUT, seconds: [1, 20], has: '[Rollback]' }],
      ['#.(loop)', { ...TIMEOUT, phase: 'read', has: 'It was reading' }],
      ['(defmacro forever () (loop)) (forever)', { ...TIMEOUT, seconds: [1, 20] }],
      [
        `(defclass endless () ()) (defmethod print-object ((o endless) s) (loop)) (make-instance 'endless)`,
        { ...TIMEOUT, phase: 'print', has: 'It was printing value 1.' },
      ],
      [
        "(define-condition forever (error) () (:report (lambda (c s) (declare (ignore c s)) (loop)))) (error 'forever)",
        { ...TIMEOUT, phase: 'report', has: 'It was rendering the report of FOREVER.' },
      ],
      ['*test-var*', '=> 44'],
      [`(sb-thread:make-thread (lambda () (loop (sleep 0.01))) :name "mine") (loop)`, TIMEOUT],
      [
        `(count "mine" (sb-thread:list-all-threads) :key #'sb-thread:thread-name :test #'equal)`,
        '=> 0',
      ],
    ];
    for (const [code, expected] of rows) {
      test(titleOf(code), async () => expectResult(await server.evaluate(code), expected));
    }
    test('timeout of one call: 2', async () => {
      expectResult(await server.evaluate('(sleep 10)', { timeout: 2 }), {
        ...TIMEOUT,
        has: '2 seconds',
        seconds: [2, 20],
      });
    });
    test('timeout of one call: none', async () => {
      expectResult(await server.evaluate('(sleep 1.2) :done', { timeout: 0 }), '=> :DONE');
    });
    test('the error is not lost: frozen, with CONTINUE first', async () => {
      await server.evaluate('(loop)');
      const { text, structured } = await server.call('describe-last-error');
      assert.match(text, /CONTINUE - Go on with a new time limit\./);
      assert.deepEqual(
        structured.error.restarts.slice(-2).map((restart) => restart.name),
        ['RETRY', 'ABORT'],
      );
    });
    test('CONTINUE goes on with the computation', async () => {
      await server.evaluate(
        '(defvar *go* nil) (loop until *go* do (sleep 0.01)) (list :finished *go*)',
      );
      const result = await server.call('invoke-restart', {
        restart: 'continue',
        code: '(setf *go* :now)',
        adopt: true,
      });
      expectResult(result, { has: ['=> (:FINISHED :NOW)', '[Adopted]'] });
      assert.equal(await server.value('*go*'), '=> :NOW');
    });
    test('limit 0', async () => {
      expectResult(await server.call('configure-limits', { timeout: 0 }), {
        has: 'timeout: disabled seconds (WARNING: no timeout)',
      });
      expectResult(await server.evaluate('(sleep 0.5) :done'), '=> :DONE');
    });
    test('the limit stays over evaluations', async () => {
      await server.call('configure-limits', { timeout: 3 });
      await server.value('1');
      await server.value('2');
      expectResult(await server.call('configure-limits'), { has: 'timeout: 3 seconds' });
    });
  });

  describe('many timeouts', { concurrency: 1 }, () => {
    const server = useServer({ args: ['--timeout', '1'] });
    test('20 in a row, then (list 1 2 3)', async () => {
      for (let i = 0; i < 20; i++)
        expectResult(await server.evaluate('(loop)'), { ...TIMEOUT, seconds: [1, 20] });
      assert.equal(await server.value('(list 1 2 3)'), '=> (1 2 3)');
    });
  });
});
