// Signatures against another validator: a value is valid under the schema of a signature exactly when
// a program with that signature takes it, or gives it, without an error and without a coercion.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import Ajv from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { CADRE, LONG } from './support.mjs';

const BUILD = process.env.CADRE_BUILD ?? path.resolve(path.dirname(CADRE), '../..');
const PAIRS = LONG ? 20_000 : 2_000;

// A type is {text, value: arbitrary of values that fit}. Keywords have no JSON of their own.
const scalar = (text, value) => fc.constant({ text, value });
const name = fc.constantFrom('a', 'b', 'user_id', 'c1', '_x');

const { type } = fc.letrec((tie) => ({
  type: fc
    .tuple(tie('plain'), fc.boolean())
    .map(([plain, optional]) =>
      optional ? { text: `${plain.text}?`, value: fc.option(plain.value), optional } : plain,
    ),
  plain: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar(':string', fc.string({ maxLength: 8 })),
    scalar(':int', fc.integer()),
    scalar(':float', fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }))),
    scalar(':bool', fc.boolean()),
    scalar('[:int -5 9]', fc.integer({ min: -5, max: 9 })),
    scalar('[:float >0 <1.5]', fc.constantFrom(0.25, 1, 1e-9, 1.4999)),
    scalar('[:string 1 3]', fc.string({ minLength: 1, maxLength: 3, unit: 'grapheme' })),
    scalar('[:string #"^[a-c]+\\d?$"]', fc.constantFrom('a', 'abc1', 'cc')),
    scalar('[:enum "x" "é\\n" 7 0.5 true]', fc.constantFrom('x', 'é\n', 7, 0.5, true)),
    scalar(':datetime', fc.constantFrom('2024-02-29T12:00:00Z', '1999-12-31T23:59:59.5-11:30')),
    fc.array(tie('type'), { minLength: 1, maxLength: 3 }).map((types) => ({
      text: `[:or ${types.map(({ text }) => text).join(' ')}]`,
      value: fc.oneof(...types.map(({ value }) => value)),
    })),
    scalar(':any', fc.jsonValue({ maxDepth: 2 })),
    scalar(':map', fc.dictionary(name, fc.integer())),
    tie('type').map((element) => ({
      text: `[${element.text}]`,
      value: fc.array(element.value, { maxLength: 3 }),
    })),
    fc
      .uniqueArray(fc.tuple(name, tie('type')), { selector: ([field]) => field, maxLength: 3 })
      .map((fields) => ({
        text: `{${fields.map(([field, { text }]) => `${field} ${text}`).join(', ')}}`,
        value: fc.record(Object.fromEntries(fields.map(([field, { value }]) => [field, value])), {
          requiredKeys: fields.filter(([, { optional }]) => !optional).map(([field]) => field),
        }),
      })),
  ),
}));

// A value that fits, or any value, or one that fits with something replaced somewhere.
function replaceSomewhere(value, steps, replacement) {
  if (steps.length === 0 || value === null || typeof value !== 'object') return replacement;
  const keys = Object.keys(value);
  if (keys.length === 0) return replacement;
  const key = keys[steps[0] % keys.length];
  const copy = Array.isArray(value) ? [...value] : { ...value };
  copy[key] = replaceSomewhere(value[key], steps.slice(1), replacement);
  return copy;
}

const pair = type.chain((chosen) =>
  fc
    .oneof(
      chosen.value,
      fc.jsonValue({ maxDepth: 2 }),
      fc
        .tuple(
          chosen.value,
          fc.array(fc.nat(), { maxLength: 4 }),
          fc.constantFrom(null, '12', 'true', 'x', 'abcd', 7, 10, 0.5, 1.5, 0, false, [], {}, [1]),
        )
        .map(([value, steps, replacement]) => replaceSomewhere(value, steps, replacement)),
    )
    .map((value) => ({
      text: chosen.text,
      value: JSON.parse(JSON.stringify(value), withoutHugeFloats),
    })),
);

// 1e92 is an integer for JSON Schema and a float for Cadre, because it is written as one.
function withoutHugeFloats(_key, value) {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? 7 : value;
}

test(`agreement with a JSON Schema validator on ${PAIRS} pairs`, () => {
  const pairs = fc.sample(pair, { numRuns: PAIRS, seed: 20_260 });
  const schemas = spawnSync(path.join(BUILD, 'tests/unit/print_schema'), {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    input: pairs.map(({ text }) => `(x ${text}) -> ${text}\n`).join(''),
  });
  assert.equal(schemas.status, 0, schemas.stderr);
  const records = pairs.flatMap(({ text, value }, i) => [
    { id: `in ${i}`, program: 'nil', signature: `(x ${text}) -> :any`, context: { x: value } },
    {
      id: `out ${i}`,
      program: 'ctx/x',
      signature: text,
      context: { x: value },
      options: { memory: 'explicit' },
    },
  ]);
  const steps = spawnSync(CADRE, ['run', '--batch', '-'], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    input: records.map((record) => `${JSON.stringify(record)}\n`).join(''),
  });
  assert.equal(steps.status, 0, steps.stderr);
  const answers = new Map(
    steps.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
      .map((step) => [step.id, step]),
  );

  const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
  const ajv = new Ajv({
    strict: false,
    formats: { 'date-time': (text) => moment.test(text) && !Number.isNaN(Date.parse(text)) },
  });
  let valid = 0;
  schemas.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
    .forEach(({ input, output }, i) => {
      const { text, value } = pairs[i];
      const shown = `${text} over ${JSON.stringify(value)}`;
      const inStep = answers.get(`in ${i}`);
      const outStep = answers.get(`out ${i}`);
      const takes =
        !inStep.fail && !(inStep.warnings ?? []).some((line) => line.includes('coerced'));
      if (inStep.fail) assert.equal(inStep.fail.reason, 'validation_error', shown);
      if (outStep.fail) assert.equal(outStep.fail.reason, 'validation_error', shown);
      assert.equal(
        takes,
        ajv.validate(input, { x: value }),
        `input: ${shown}: ${JSON.stringify(inStep)}`,
      );
      assert.equal(
        !outStep.fail,
        ajv.validate(output, value),
        `output: ${shown}: ${JSON.stringify(outStep)}`,
      );
      valid += takes ? 1 : 0;
    });
  assert.ok(valid > PAIRS / 10 && valid < PAIRS * 0.95, `${valid} valid pairs say little`);
});
