// Properties of errors, for generated code: nothing about an error is lost, frames and restarts are
// exactly those of the code, a frozen error never changes, the history is right.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { frameCall, LONG, useServer } from './support.mjs';

const runs = (count) => ({ numRuns: LONG ? count * 20 : count });
const property = (arbitrary, check) => fc.asyncProperty(arbitrary, check);

const integer = fc.integer({ min: -1000, max: 1000 });
const word = fc.stringMatching(/^[a-z]{1,8}$/);
const name = word.map((text) => `zq-${text}`); // like nothing that exists

// Expressions that signal, with the type they must be reported as and the reader's share.
const failing = fc.oneof(
  integer.map((n) => ({ code: `(/ ${n} 0)`, type: 'DIVISION-BY-ZERO' })),
  fc.tuple(integer, word).map(([n, text]) => ({ code: `(+ ${n} "${text}")`, type: 'TYPE-ERROR' })),
  integer.map((n) => ({ code: `(car ${n})`, type: 'TYPE-ERROR' })),
  fc
    .tuple(name, fc.array(integer, { maxLength: 4 }))
    .map(([f, list]) => ({ code: `(${f} ${list.join(' ')})`, type: 'UNDEFINED-FUNCTION' })),
  name.map((v) => ({ code: `(1+ ${v})`, type: 'UNBOUND-VARIABLE' })),
  word.map((text) => ({
    code: `(error "user ${text}")`,
    type: 'SIMPLE-ERROR',
    message: `user ${text}`,
  })),
  word.map((text) => ({
    code: `(cerror "go on" "user ${text}")`,
    type: 'SIMPLE-ERROR',
    message: `user ${text}`,
  })),
  fc.tuple(word, integer).map(([text, n]) => ({
    code: `(error 'generated :a ${n} :b "${text}")`,
    type: 'GENERATED',
    message: `generated ${n} ${text}`,
  })),
  fc
    .nat({ max: 50 })
    .map((n) => ({ code: `(aref #(1 2 3) ${n + 3})`, type: 'SB-INT:INVALID-ARRAY-INDEX-ERROR' })),
  integer.map((n) => ({ code: `(area ${n})`, type: undefined })), // no applicable method
  integer.map((n) => ({ code: `(area (make-instance 'shape :size ${n}))`, type: 'SIMPLE-ERROR' })),
  integer.map((n) => ({ code: `(failing-macro ${n})`, type: undefined })), // also as part of compiled code
  word.map((text) => ({
    code: `(handler-case (error "outer") (error () (error "inner ${text}")))`,
    type: 'SIMPLE-ERROR',
    message: `inner ${text}`,
  })),
  word.map((text) => ({ code: `(throw 'zq-${text} 1)`, type: 'SB-INT:SIMPLE-CONTROL-ERROR' })),
  word.map((text) => ({ code: `(in-package :zq-${text})`, type: 'PACKAGE-DOES-NOT-EXIST' })),
);

// A failing expression inside ordinary code, and what the surroundings add.
const wrapped = fc.letrec((tie) => ({
  code: fc.oneof(
    { depthSize: 'small' },
    failing,
    tie('code').map((inner) => ({ ...inner, code: `(list 1 ${inner.code})` })),
    tie('code').map((inner) => ({
      ...inner,
      code: `(let ((local 5)) (list local ${inner.code}))`,
    })),
    tie('code').map((inner) => ({
      ...inner,
      code: `(restart-case ${inner.code} (skip () :skipped))`,
    })),
    tie('code').map((inner) => ({ ...inner, code: `(unwind-protect ${inner.code} (list 1))` })),
    tie('code').map((inner) => ({ ...inner, code: `(funcall (lambda () ${inner.code}))` })),
    tie('code').map((inner) => ({
      ...inner,
      code: `(handler-bind ((warning #'muffle-warning)) ${inner.code})`,
    })),
  ),
})).code;

const broken = fc.constantFrom(
  '(+ 1 2',
  '(list "open',
  '(a . b c)',
  ')',
  '(+ 1 2))',
  '#<x>',
  '(zq-nowhere:thing)',
  '(list #| open',
);

const SETUP = `(define-condition generated (error) ((a :initarg :a) (b :initarg :b))
  (:report (lambda (c s) (format s "generated ~a ~a" (slot-value c 'a) (slot-value c 'b)))))
(defclass shape () ((size :initarg :size)))
(defgeneric area (x)) (defmethod area ((x shape)) (error "no area of ~a" (slot-value x 'size)))
(defmacro failing-macro (n) (error "in macro ~a" n))
(defvar *kept* '(1 2 3))
:ready`;

describe('error capture', () => {
  const server = useServer();
  test('set-up', async () => {
    assert.equal(await server.value(SETUP), '=> :READY');
  });

  test('type, message, frames and restarts of every failure', async () => {
    await fc.assert(
      property(wrapped, async ({ code, type, message }) => {
        const result = await server.evaluate(code);
        assert.equal(result.isError, true, `${code}\n${result.text}`);
        const { error } = result.structured;
        // The compiler reports constants of a wrong type by a subclass.
        if (type)
          assert.ok([type, `SIMPLE-${type}`].includes(error.type), `${code}\n${result.text}`);
        assert.notEqual(error.type, 'ERROR');
        assert.ok(error.message.trim().length > 0);
        if (message) assert.equal(error.message, message);
        assert.ok(error.frames.length >= 1);
        assert.match(frameCall(error.frames.at(-1)), /^\(EVAL /, JSON.stringify(error.frames));
        assert.deepEqual(
          error.restarts.slice(-2).map((restart) => restart.name),
          ['RETRY', 'ABORT'],
        );
        const described = await server.call('describe-last-error');
        assert.deepEqual(described.structured.error.frames.slice(0, 5), error.frames.slice(0, 5));
        assert.equal(described.structured.error.message, error.message);
        const backtrace = await server.call('get-backtrace', { 'max-frames': 1000 });
        assert.deepEqual(
          backtrace.structured.frames
            .map((frame) => frameCall(frame))
            .slice(0, error.frames.length),
          error.frames.map((frame) => frameCall(frame)),
        );
        assert.equal(await server.value('(+ 1 1)'), '=> 2');
        assert.equal(await server.value('*kept*'), '=> (1 2 3)');
      }),
      runs(60),
    );
  });
  test('reader errors', async () => {
    await fc.assert(
      property(fc.tuple(fc.array(integer, { maxLength: 3 }), broken), async ([values, code]) => {
        const result = await server.evaluate(`${values.join('\n')}\n${code}`);
        assert.equal(result.isError, true, result.text);
        const { error } = result.structured;
        assert.equal(error.code, 'reader');
        assert.ok(error.form >= values.length + 1);
        assert.match(frameCall(error.frames[0]), /^\(READ "/);
        assert.deepEqual(
          error.restarts.map((restart) => restart.name),
          ['ABORT'],
        );
        assert.ok(error.line >= values.length + 1);
      }),
      runs(20),
    );
  });
  // The four shapes in which information gets lost.
  test('a backtrace is not missing', async () => {
    const { structured } = await server.evaluate('(defun a () (/ 1 0)) (defun b () (a)) (b)');
    assert.deepEqual(
      structured.error.frames.map((frame) => frame.function),
      ['/', 'A', 'B', 'EVAL'],
    );
  });
  test('restarts are not missing', async () => {
    const { structured } = await server.evaluate(`(error 'simple-error)`);
    assert.deepEqual(
      structured.error.restarts.map((restart) => restart.name),
      ['RETRY', 'ABORT'],
    );
  });
  test('the type is not generic', async () => {
    assert.equal((await server.evaluate('(/ 1 0)')).structured.error.type, 'DIVISION-BY-ZERO');
  });
  test('frames are complete', async () => {
    const { structured } = await server.evaluate('(defun deep () (error "oops")) (deep)');
    assert.deepEqual(
      structured.error.frames.map((frame) => frame.function),
      ['ERROR', 'DEEP', 'EVAL'],
    );
  });
});

describe('backtrace accuracy', () => {
  const server = useServer();
  const depth = fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 40 }) },
    { weight: 1, arbitrary: fc.integer({ min: 41, max: 200 }) },
  );
  test('the frames are the chain of calls, with its arguments', async () => {
    await fc.assert(
      property(
        fc.tuple(depth, fc.infiniteStream(integer), fc.boolean()),
        async ([count, stream, tail]) => {
          const values = Array.from({ length: count }, () => stream.next().value);
          // link-1 calls link-2 with the next value and so on; the last one fails.
          const body = (i) =>
            i === count - 1
              ? `(error "end ~a" x)`
              : tail
                ? `(link-${i + 1} ${values[i + 1]})`
                : `(1+ (link-${i + 1} ${values[i + 1]}))`;
          const definitions = values
            .map((_, i) => `(defun link-${i} (x) (if (eq x :never) :never ${body(i)}))`)
            .join('\n');
          const { structured } = await server.evaluate(
            `(handler-bind ((warning #'muffle-warning)) (eval '(progn ${definitions})))\n(link-0 ${values[0]})`,
          );
          const { structured: all } = await server.call('get-backtrace', { 'max-frames': 1000 });
          const expected = [
            `(ERROR "end ~a" ${values[count - 1]})`,
            ...values.map((value, i) => `(LINK-${i} ${value})`).reverse(),
            `(EVAL (LINK-0 ${values[0]}))`,
          ];
          assert.deepEqual(
            all.frames.map((frame) => frameCall(frame)),
            expected,
          );
          assert.equal(structured.error.depth, count + 2);
          const shorter = (await server.call('get-backtrace', { 'max-frames': count })).structured
            .frames;
          assert.deepEqual(shorter, all.frames.slice(0, count));
        },
      ),
      runs(15),
    );
  });
  test('a chain of 990', async () => {
    await server.evaluate(
      '(defun down (n) (if (zerop n) (error "bottom") (1+ (down (1- n))))) (down 987)',
    );
    const { structured } = await server.call('get-backtrace', { 'max-frames': 1000 });
    assert.equal(structured.depth, 990);
    assert.deepEqual(
      structured.frames.map((frame) => frameCall(frame)),
      [
        '(ERROR "bottom")',
        ...Array.from({ length: 988 }, (_, i) => `(DOWN ${i})`),
        '(EVAL (DOWN 987))',
      ],
    );
  });
});

// Nests of restarts around an error: {code, restarts: [{name, values}]}, innermost first.
const restartNest = fc.letrec((tie) => ({
  nest: fc.oneof(
    { depthSize: 'medium' },
    word.map((text) => ({ code: `(error "nest ${text}")`, restarts: [] })),
    fc
      .tuple(tie('nest'), fc.uniqueArray(word, { minLength: 1, maxLength: 3 }), integer)
      .map(([inner, names, n]) => ({
        code: `(list ${n} (restart-case ${inner.code} ${names.map((text, i) => `(r-${text} (&optional (v ${i})) (list :took v))`).join(' ')}))`,
        restarts: [
          ...inner.restarts,
          ...names.map((text, i) => ({ name: `R-${text.toUpperCase()}`, values: [`${n + i}`] })),
        ],
      })),
    fc.tuple(tie('nest'), word).map(([inner, text]) => ({
      code: `(with-simple-restart (s-${text} "Skip ${text}.") ${inner.code})`,
      restarts: [...inner.restarts, { name: `S-${text.toUpperCase()}`, values: [] }],
    })),
  ),
})).nest;

describe('restart accuracy', () => {
  const server = useServer();
  test('listed in order, each invocable with the value plain SBCL computes', async () => {
    await fc.assert(
      property(restartNest, async ({ code, restarts }) => {
        const { structured } = await server.evaluate(code);
        const names = structured.error.restarts.map((restart) => restart.name);
        assert.deepEqual(
          names,
          [...restarts.map((restart) => restart.name), 'RETRY', 'ABORT'],
          code,
        );
        for (const [index, { values }] of restarts.slice(0, 4).entries()) {
          const result = await server.call('invoke-restart', { restart: index + 1, values });
          // The same in ordinary code: a handler that invokes the restart of that position.
          const plain = `(handler-bind ((error (lambda (c) (apply #'invoke-restart (nth ${index} (compute-restarts c)) (list ${values.join(' ')}))))) ${code})`;
          const { structured: expected } = await server.evaluate(plain, { session: 'plain' });
          assert.deepEqual(result.structured.values, expected.values, `${code} by ${names[index]}`);
          assert.equal(result.isError, false, result.text);
        }
      }),
      runs(15),
    );
  });
});

describe('a frozen error never changes', () => {
  const server = useServer();
  const step = fc.oneof(
    fc.nat({ max: 3 }).map((frame) => ['inspect', { frame }]),
    fc
      .tuple(
        fc.nat({ max: 2 }),
        fc.constantFrom(
          '(setf x 99) x',
          '(defvar *new* 1)',
          '(push 1 *list*)',
          '(error "there")',
          '(setf (car *list*) :changed)',
          '(sb-ext:exit :abort t)',
        ),
      )
      .map(([frame, code]) => ['eval-in-frame', { frame: frame + 1, code }]),
    fc
      .constantFrom('RETURN-VALUE', 'USE-VALUE', 'ABORT', 'RETRY', 'CONTINUE')
      .map((restart) => [
        'invoke-restart',
        { restart, values: restart === 'RETURN-VALUE' ? ['1'] : [], timeout: 2 },
      ]),
    fc.constant([
      'invoke-restart',
      { restart: 'CONTINUE', code: '(defun zq-missing (n) (push n *list*) n)' },
    ]),
    fc.constant(['get-backtrace', { locals: true }]),
  );
  test('any sequence of inspections and discarded tries', async () => {
    await server.value(
      `(defvar *list* (list 1 2 3)) (defun holder (x) (let ((y (list x x))) (+ (zq-missing x) (length y))))`,
    );
    const view = async (error) =>
      JSON.stringify([
        (await server.call('inspect', { frame: 1, error })).text,
        (await server.call('get-backtrace', { error })).text,
        (await server.call('describe-last-error', { error })).text,
        (await server.call('list-definitions')).text,
        (await server.call('eval-in-frame', { frame: 1, error, code: '(list x y *list*)' })).text,
      ]);
    await fc.assert(
      property(fc.array(step, { maxLength: 6 }), async (steps) => {
        const {
          structured: {
            error: { id: error },
          },
        } = await server.evaluate('(holder 7)');
        const before = await view(error);
        assert.ok(before.includes('X = 7') && before.includes('(7 (7 7) (1 2 3))'), before);
        for (const [tool, parameters] of steps) await server.call(tool, { ...parameters, error });
        // Tries that end in the next error freeze that one too, and only four are kept.
        fc.pre((await server.call('session-info')).structured.frozen.includes(error));
        assert.equal(await view(error), before);
      }),
      runs(10),
    );
  });
});

describe('history', () => {
  const server = useServer();
  test('list-errors shows the last 20, the last error follows the rules', async () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.constant('fail') },
      { weight: 2, arbitrary: fc.constant('succeed') },
      { weight: 1, arbitrary: fc.constant('compile') },
      { weight: 1, arbitrary: fc.constant('peek') },
      { weight: 1, arbitrary: fc.constant('rollback') },
    );
    await fc.assert(
      property(fc.array(step, { maxLength: 60 }), async (steps) => {
        await server.call('reset-session');
        const messages = [];
        let last = null;
        for (const kind of steps) {
          if (kind === 'fail') {
            last = `failure ${messages.length}`;
            messages.push(last);
            await server.evaluate(`(error "${last}")`);
          } else if (kind === 'succeed') {
            await server.value('1');
            last = null;
          } else if (kind === 'compile') {
            await server.call('compile-form', { code: '(if)' });
          } else if (kind === 'peek') {
            await server.call('get-backtrace');
          } else {
            if (!(await server.call('rollback-session')).isError) last = null;
          }
        }
        const { structured } = await server.call('list-errors');
        assert.deepEqual(
          structured.errors.map((error) => error.message),
          messages.slice(-20).reverse(),
        );
        const { structured: described } = await server.call('describe-last-error');
        assert.equal(described.error?.message ?? null, last);
      }),
      runs(8),
    );
  });
});
