// Properties of evaluation for generated code: output lands where it belongs, evaluations are
// isolated, state persists through whatever happens, timeouts protect, conditions are handled.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { LONG, useServer } from './support.mjs';

const runs = (count) => ({ numRuns: LONG ? count * 20 : count });
const property = (arbitrary, check) => fc.asyncProperty(arbitrary, check);

const lispString = (text) => `"${text.replace(/[\\"]/g, '\\$&')}"`;
// Any text a Lisp stream can carry, without the newlines that trimming is about.
const line = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  .filter((text) => !/[\r\n]/.test(text) && text.trim() === text);

describe('output separation', () => {
  const server = useServer();
  const part = fc.tuple(fc.constantFrom('stdout', 'stderr', 'warning', 'trace', 'value'), line);
  const code = ([kind, text]) =>
    ({
      stdout: `(write-line ${lispString(text)})`,
      stderr: `(write-line ${lispString(text)} *error-output*)`,
      trace: `(write-line ${lispString(text)} *trace-output*)`,
      warning: `(warn "~a" ${lispString(text)})`,
      value: `(list ${lispString(text)})`,
    })[kind];
  test('each part arrives in its own field, in order, whole', async () => {
    await fc.assert(
      property(fc.array(part, { maxLength: 30 }), async (parts) => {
        const { structured, isError } = await server.evaluate(
          `${parts.map(code).join('\n')}\n:end`,
        );
        assert.equal(isError, false);
        const of = (...kinds) =>
          parts.filter(([kind]) => kinds.includes(kind)).map(([, text]) => text);
        const lines = (texts) => texts.map((text) => `${text}\n`).join('');
        assert.equal(structured.stdout ?? '', lines(of('stdout')));
        assert.equal(structured.stderr ?? '', lines(of('stderr', 'trace')));
        assert.deepEqual(
          (structured.warnings ?? []).map((warning) => warning.message),
          of('warning'),
        );
        assert.deepEqual(structured.values, [':END']);
      }),
      runs(40),
    );
  });
  test('the same when the last form fails', async () => {
    await fc.assert(
      property(fc.array(part, { maxLength: 10 }), async (parts) => {
        const { structured, text } = await server.evaluate(
          `${parts.map(code).join('\n')}\n(error "end")`,
        );
        assert.equal(
          structured.stdout ?? '',
          parts
            .filter(([kind]) => kind === 'stdout')
            .map(([, each]) => `${each}\n`)
            .join(''),
        );
        assert.equal(structured.error.message, 'end');
        assert.deepEqual(structured.values, []);
        assert.ok(!text.includes('=> '), text);
      }),
      runs(20),
    );
  });
  test('above the limit the count of what is missing is exact', async () => {
    await server.call('configure-limits', { 'max-output': 1000 });
    await fc.assert(
      property(
        fc.tuple(fc.integer({ min: 0, max: 5000 }), fc.constantFrom('a', 'é', '😀')),
        async ([count, character]) => {
          const { structured } = await server.evaluate(
            `(dotimes (i ${count} (values)) (write-string "${character}"))`,
          );
          assert.equal(structured.omitted?.stdout ?? 0, Math.max(0, count - 1000));
          assert.equal(
            [...(structured.stdout ?? '')].filter((each) => each === character).length,
            Math.min(count, 1000) +
              (character === 'a' && count > 1000
                ? (structured.stdout.match(/\[truncated: [^\]]*\]/)?.[0].match(/a/g)?.length ?? 0)
                : 0),
          );
        },
      ),
      runs(25),
    );
    await server.call('configure-limits', { 'max-output': 20000 });
  });
});

describe('values', () => {
  const server = useServer();
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.bigInt().map((n) => `${n}`),
      fc.integer().map((n) => `${n}`),
      fc.string({ unit: 'grapheme', maxLength: 10 }).map(lispString),
      fc.constantFrom('NIL', 'T', ':KEY', 'SYM', '#\\a', '1/3'),
      fc.array(tie('value'), { minLength: 1, maxLength: 5 }).map((list) => `(${list.join(' ')})`),
    ),
  })).value;
  test('read from what was printed they are EQUAL to the original', async () => {
    await fc.assert(
      property(fc.array(value, { minLength: 1, maxLength: 4 }), async (values) => {
        const { structured } = await server.evaluate(
          `(values ${values.map((each) => `'${each}`).join(' ')})`,
        );
        assert.equal(structured.values.length, values.length);
        const check = structured.values
          .map((text, i) => `(equal '${text} '${values[i]})`)
          .join(' ');
        assert.equal(await server.value(`(and ${check})`), '=> T');
      }),
      runs(40),
    );
  });
});

describe('evaluation isolation', () => {
  const server = useServer();
  test('two sessions do not see each other', async () => {
    const step = fc.tuple(
      fc.constantFrom('one', 'two'),
      fc.constantFrom('*a*', '*b*'),
      fc.integer(),
    );
    const model = { one: { '*a*': 'NIL', '*b*': 'NIL' }, two: { '*a*': 'NIL', '*b*': 'NIL' } };
    for (const session of ['one', 'two'])
      await server.evaluate('(defvar *a* nil) (defvar *b* nil)', { session });
    await fc.assert(
      property(fc.array(step, { maxLength: 12 }), async (steps) => {
        await Promise.all(
          steps.map(([session, variable, n]) =>
            server.evaluate(`(setf ${variable} ${n})`, { session }),
          ),
        );
        for (const [session, variable, n] of steps) model[session][variable] = String(n);
        for (const session of ['one', 'two']) {
          assert.equal(
            await server.value('(list *a* *b*)', { session }),
            `=> (${model[session]['*a*']} ${model[session]['*b*']})`,
          );
        }
      }),
      runs(10),
    );
  });
  test('local bindings, dynamic bindings and the package argument do not leak', async () => {
    await server.value('(defvar *outside* :global) (defpackage :elsewhere (:use :cl))');
    const form = fc.constantFrom(
      '(let ((*outside* 1)) *outside*)',
      '(let ((local 5)) local)',
      '(flet ((f () 1)) (f))',
      '(catch :x (throw :x 1))',
      '(let ((*print-base* 2)) (princ-to-string 5))',
      '(let ((*package* (find-package :elsewhere))) *package*)',
      '(block nil (return 1))',
      '(let ((*outside* 2)) (error "inside"))',
    );
    await fc.assert(
      property(
        fc.array(fc.tuple(form, fc.boolean()), { minLength: 1, maxLength: 6 }),
        async (forms) => {
          for (const [code, elsewhere] of forms)
            await server.evaluate(
              elsewhere ? `(cl:progn ${code.replaceAll('*outside*', 'cl-user::*outside*')})` : code,
              elsewhere ? { package: 'elsewhere' } : {},
            );
          assert.equal(
            await server.value('(list *outside* (package-name *package*) *print-base*)'),
            '=> (:GLOBAL "COMMON-LISP-USER" 10)',
          );
        },
      ),
      runs(15),
    );
  });
});

// A model of the session: *log* and the functions that exist, over definitions, errors, crashes,
// timeouts, rollbacks and resets.
describe('state equivalence', () => {
  const server = useServer();
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.nat({ max: 99 }).map((n) => ({ kind: 'push', n })) },
    {
      weight: 4,
      arbitrary: fc
        .tuple(fc.nat({ max: 3 }), fc.nat({ max: 99 }))
        .map(([f, n]) => ({ kind: 'defun', f, n })),
    },
    { weight: 3, arbitrary: fc.nat({ max: 99 }).map((n) => ({ kind: 'error', n })) },
    {
      weight: 2,
      arbitrary: fc
        .constantFrom(
          '(sb-ext:exit :abort t)',
          '(sb-posix:kill (sb-posix:getpid) 9)',
          '(sb-ext:exit :code 3)',
          '(sb-sys:sap-ref-64 (sb-sys:int-sap 0) 0)',
        )
        .map((code) => ({ kind: 'crash', code })),
    },
    {
      weight: 3,
      arbitrary: fc.integer({ min: 1, max: 3 }).map((steps) => ({ kind: 'rollback', steps })),
    },
    { weight: 1, arbitrary: fc.constant({ kind: 'thread' }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'reset' }) },
  );
  const initial = () => ({ log: [], functions: {} });
  const copy = (state) => ({ log: [...state.log], functions: { ...state.functions } });

  async function perform(each, history) {
    const state = copy(history.at(-1) ?? initial());
    if (each.kind === 'push') {
      state.log.unshift(each.n);
      await server.value(`(push ${each.n} *log*)`);
    } else if (each.kind === 'defun') {
      state.functions[each.f] = each.n;
      await server.evaluate(`(defun f${each.f} () ${each.n})`);
    } else if (each.kind === 'error') {
      state.log.unshift(each.n); // the effects of the form before the error stay
      assert.ok(
        (await server.evaluate(`(push ${each.n} *log*) (error "later") (push :never *log*)`))
          .isError,
      );
    } else if (each.kind === 'crash') {
      const { isError, text } = await server.evaluate(`(push :doomed *log*) ${each.code}`);
      assert.ok(isError && text.includes('[Rollback]'), text);
      return; // nothing counted, nothing changed
    } else if (each.kind === 'rollback') {
      if (history.length - 1 < each.steps) return;
      const { isError, text } = await server.call('rollback-session', { steps: each.steps });
      assert.ok(!isError, text);
      history.length -= each.steps;
      return;
    } else if (each.kind === 'thread') {
      state.log.unshift(7);
      await server.value(
        '(sb-thread:join-thread (sb-thread:make-thread (lambda () (push 7 *log*))))',
      );
    } else {
      await server.call('reset-session');
      await server.value('(defvar *log* nil)');
      history.length = 0;
      history.push(initial());
      return;
    }
    history.push(state);
  }

  async function compare(state) {
    const functions = [0, 1, 2, 3]
      .map((f) => `(if (fboundp 'f${f}) (funcall 'f${f}) :none)`)
      .join(' ');
    const { structured, text } = await server.evaluate(
      `(list (length *log*) (reduce #'+ *log*) (first *log*) (list ${functions}))`,
    );
    const sum = state.log.reduce((a, b) => a + b, 0);
    const expected = [
      state.log.length,
      sum,
      state.log[0] ?? 'NIL',
      `(${[0, 1, 2, 3].map((f) => state.functions[f] ?? ':NONE').join(' ')})`,
    ];
    assert.deepEqual(structured.values, [`(${expected.join(' ')})`], text);
    await server.call('rollback-session'); // the comparison itself is an evaluation too
  }

  test('random sequences against a model', async () => {
    await fc.assert(
      property(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        const history = [];
        await perform({ kind: 'reset' }, history);
        for (const each of steps) {
          await perform(each, history);
          if (history.length > 12) history.splice(0, history.length - 12); // older snapshots are evicted
          await compare(history.at(-1));
        }
      }),
      runs(8),
    );
  });
});

describe('timeout protection', () => {
  const server = useServer({ args: ['--timeout', '1'] });
  const endless = fc.letrec((tie) => ({
    code: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(
        '(loop)',
        '(loop (sleep 0.01))',
        '(do () (nil))',
        '(loop (make-list 10))',
        '(sleep 60)',
        '(loop (random 10))',
        '(loop (gensym))',
        '(labels ((f () (declare (optimize (debug 0))) (f))) (f))',
      ),
      tie('code').map((inner) => `(progn (push 1 *log*) ${inner})`),
      tie('code').map((inner) => `(handler-case ${inner} (error () nil) (condition () nil))`),
      tie('code').map((inner) => `(ignore-errors ${inner})`),
      tie('code').map((inner) => `(let ((x 1)) (list x ${inner}))`),
      tie('code').map((inner) => `(catch :done ${inner})`),
      tie('code').map((inner) => `(restart-case ${inner} (abort () 1) (continue () 2))`),
      tie('code').map((inner) => `(unwind-protect ${inner} (push 2 *log*))`),
    ),
  })).code;
  test('whatever never ends is stopped in time, the session answers', async () => {
    await server.value('(defvar *log* nil) (defvar *kept* 42)');
    await fc.assert(
      property(endless, async (code) => {
        const { structured, seconds, text } = await server.evaluate(code);
        assert.equal(structured.error?.code, 'timeout', `${code}\n${text}`);
        assert.ok(seconds >= 1 && seconds <= 2, `${seconds} s for ${code}`);
        assert.equal(await server.value('*kept*'), '=> 42');
      }),
      {
        ...runs(12),
        interruptAfterTimeLimit: LONG ? undefined : 30_000,
        markInterruptAsFailure: false,
      },
    );
  });
});

describe('condition handling', () => {
  const server = useServer();
  const condition = fc.constantFrom(
    ['(/ 1 0)', 'division-by-zero'],
    ['(car 5)', 'type-error'],
    ['(zq-missing)', 'undefined-function'],
    ['zq-unbound', 'unbound-variable'],
    ['(error "plain")', 'simple-error'],
    ['(warn "w")', 'warning'],
    ["(signal 'condition)", 'condition'],
  );
  test('what user code handles is no error', async () => {
    await fc.assert(
      property(fc.tuple(condition, fc.boolean()), async ([[code, type], deep]) => {
        const inner = deep ? `(funcall (lambda () ${code}))` : code;
        assert.match(
          await server.value(`(handler-case ${inner} (${type} () :handled))`),
          /=> :HANDLED$/,
        );
      }),
      runs(20),
    );
  });
  test('what it does not handle is reported, what it ignores is not recorded', async () => {
    await fc.assert(
      property(condition, async ([code, type]) => {
        const result = await server.evaluate(
          `(handler-bind ((${type} (lambda (c) (declare (ignore c)) nil))) ${code})`,
        );
        assert.equal(result.isError, !['warning', 'condition'].includes(type), result.text);
        const muffled = await server.evaluate(
          '(handler-bind ((warning (function muffle-warning))) (warn "quiet") 1)',
        );
        assert.equal(muffled.text, '=> 1');
      }),
      runs(10),
    );
  });
});
