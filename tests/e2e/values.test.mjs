// Values by number, and looking into them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectResult, useServer } from './support.mjs';

describe('values by number', () => {
  const server = useServer();
  // Evaluates, and gives the name of the value.
  const keep = async (code) => `$${(await server.evaluate(code)).structured.evaluation}`;
  const inspect = (value, more = {}) => server.call('inspect', { value, ...more });

  test('a list and what is in it', async () => {
    const name = await keep(`(list 1 "two" (vector 3 4))`);
    expectResult(await inspect(name), {
      has: `${name} = (1 "two" #(3 4))\nType: CONS\nSize: 3\nParts:\n  0 = 1\n  1 = "two"\n  2 = #(3 4)`,
    });
    expectResult(await inspect(name, { path: [2, 1] }), { has: `${name}.0.2.1 = 4` });
  });
  test('the second value', async () => {
    const name = await keep('(floor 7 2)');
    expectResult(await inspect(`${name}.1`), { has: `${name}.1 = 1` });
    expectResult(await inspect(`${name}.2`), { ok: false, code: 'no-such-value', has: '2 values' });
  });
  test('slots, keys and array elements', async () => {
    await server.value('(defclass point () ((x :initarg :x) (y :initarg :y)))');
    const point = await keep(`(make-instance 'point :x 1 :y (list 2 3))`);
    expectResult(await inspect(point), { has: ['  X = 1\n  Y = (2 3)'] });
    expectResult(await inspect(point, { path: ['y', 1] }), { has: ' = 3' });
    const table = await keep(`(let ((h (make-hash-table))) (setf (gethash :k h) 5) h)`);
    expectResult(await inspect(table), { has: '  :K = 5' });
    expectResult(await inspect(table, { path: ['key', ':k'] }), { has: ' = 5' });
    expectResult(
      await inspect('(make-array (list 2 2) :initial-contents (list (list 1 2) (list 3 4)))'),
      {
        has: '  0,0 = 1\n  0,1 = 2\n  1,0 = 3\n  1,1 = 4',
      },
    );
  });
  for (const [code, ...parts] of [
    ["'car", 'NAME = "CAR"', 'PACKAGE = #<PACKAGE "COMMON-LISP">', 'FUNCTION = #<FUNCTION CAR>'],
    ['nil', 'NAME = "NIL"'],
    ["#'mapcar", 'NAME = MAPCAR', 'ARGLIST = (FUNCTION LIST &REST SB-IMPL::MORE-LISTS)'],
    ['(let ((x 42)) (lambda () (incf x)))', 'VALUES = ('],
    ['(find-package "KEYWORD")', 'NAME = "KEYWORD"', 'USES = NIL'],
    ["(find-class 'integer)", 'NAME = INTEGER', 'PRECEDENCE = ('],
    ['#p"/tmp/x.lisp"', 'NAME = "x"', 'TYPE = "lisp"'],
    ['3/4', 'NUMERATOR = 3', 'DENOMINATOR = 4'],
    ['#\\A', 'CODE = 65'],
    ["'(1 2 . 3)", '0 = 1', '1 = 2', 'CDR = 3'],
    ['(let ((l (list 1 2))) (setf (cddr l) l) l)', '0 = 1\n  1 = 2\n  CDR = #1=(1 2 . #1#)'],
  ])
    test(`parts of ${code}`, async () =>
      expectResult(await inspect(code), { has: parts.map((part) => `\n  ${part}`) }));
  test('the size of a string, and no parts', async () =>
    expectResult(await inspect('"four"'), { has: '\nSize: 4', lacks: 'Parts' }));
  test('a part by its name', async () =>
    expectResult(await inspect("'car", { path: ['package'] }), { has: '"COMMON-LISP"' }));
  test('pages', async () => {
    const name = await keep('(loop for i below 120 collect i)');
    const first = await inspect(name);
    assert.equal(first.structured.object.parts.length, 50);
    expectResult(first, { has: '... 70 more parts: "from": 50' });
    const last = await inspect(name, { from: 110 });
    assert.deepEqual(
      last.structured.object.parts.map((part) => part.value),
      Array.from({ length: 10 }, (_, i) => String(110 + i)),
    );
    expectResult(last, { lacks: 'more parts' });
  });
  test('in code', async () => {
    const name = await keep('(values :a :b)');
    const number = name.slice(1);
    expectResult(
      await server.evaluate(`(list (cadre:$ ${number}) (cadre:$ ${number} 1))`),
      '=> (:A :B)',
    );
    expectResult(await server.evaluate('(cadre:$ 99999)'), {
      ok: false,
      has: 'no value of evaluation 99999',
    });
  });
  test('the value itself is kept, not its text', async () => {
    const name = await keep('(defvar *cell* (list 1))');
    await server.value('(setf *cell* (list 0)) (setf (first *cell*) 2)');
    const cell = await keep('*cell*');
    await server.value('(setf (first *cell*) 3)');
    expectResult(await inspect(cell), { has: ' = (3)' });
    expectResult(await inspect(name), { has: ' = *CELL*' });
  });
  test('a form is evaluated in a copy', async () => {
    await server.value('(defvar *n* 0)');
    expectResult(await inspect('(incf *n*)'), { has: ' = 1' });
    expectResult(await server.evaluate('*n*'), '=> 0');
    expectResult(await inspect('(car 1)'), { ok: false, type: 'TYPE-ERROR' });
  });
  test('the last 64 are kept', async () => {
    const name = await keep(':old');
    for (let i = 0; i < 64; i++) await server.value(String(i));
    expectResult(await inspect(name), {
      ok: false,
      code: 'no-such-value',
      has: 'the last 64 are kept',
    });
  });
  test('a rollback takes its values with it', async () => {
    await server.value(':before', { session: 'back' });
    const after = (await server.evaluate(':after', { session: 'back' })).structured.evaluation;
    await server.call('rollback-session', { session: 'back' });
    expectResult(await inspect(`$${after}`, { session: 'back' }), {
      ok: false,
      code: 'no-such-value',
    });
  });
  test('large old values do not fill the heap', async () => {
    for (let i = 0; i < 12; i++)
      expectResult(
        await server.evaluate(
          `(make-array ${200 * 2 ** 20} :element-type '(unsigned-byte 8) :initial-element ${i})`,
          { session: 'large' },
        ),
        { has: '=> #(', lacks: '[ERROR]' },
      );
  });
  test('value and frame do not go together', async () =>
    expectResult(await inspect('1', { frame: 0 }), { ok: false, has: 'not both' }));
});
