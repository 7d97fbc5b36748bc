// Runs the language tests: the cases of tests/lang/*.test (their form: cases.mjs) and the examples of
// docs/language.md and docs/reference/language.md. Each case is run
//   as it is;
//   without optimisations: same answer in the same number of steps;
//   with its memory limit, its fuel, or the number of the allocation that fails rising from zero
//   (sampled; all of it with CADRE_LONG=1): the right answer or the clean limit error, nothing else.
// CADRE_CASES=FOLDER adds the cases of FOLDER/*.jsonl: records of `cadre run --batch` with the answer
// under `expected`. Prints `N passed, N failed`.
//
//   tests/lang/run [FILE.test | FILE.jsonl]...
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readTests } from './cases.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const CADRE = process.env.CADRE ?? path.join(HERE, '../../build/release/src/cli/cadre');
const LONG = process.env.CADRE_LONG === '1';
const SHOWN = 40;

// --- comparing ---------------------------------------------------------------------------------------

const FLOAT = /-?\d+\.\d+(?:[eE][+-]?\d+)?/g;

function closeNumbers(a, b) {
  return a === b || Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));
}

// Equal texts; floats in them by value.
function sameText(want, got) {
  if (want === got) return true;
  if (typeof got !== 'string') return false;
  const wanted = want.match(FLOAT) ?? [];
  const found = got.match(FLOAT) ?? [];
  return (
    want.split(FLOAT).join('\0') === got.split(FLOAT).join('\0') &&
    wanted.length === found.length &&
    wanted.every((text, i) => closeNumbers(Number(text), Number(found[i])))
  );
}

function same(want, got) {
  if (typeof want === 'string') return sameText(want, got);
  if (typeof want === 'number' && typeof got === 'number') return closeNumbers(want, got);
  if (want === null || got === null || typeof want !== 'object' || typeof got !== 'object')
    return want === got;
  if (Array.isArray(want) !== Array.isArray(got)) return false;
  const keys = Object.keys(want);
  return (
    keys.length === Object.keys(got).length &&
    keys.every((key) => key in got && same(want[key], got[key]))
  );
}

const oneOf = (want, got) => (Array.isArray(want) ? want.includes(got) : want === got);
const brief = (value) => String(JSON.stringify(value)).slice(0, 160);

// Undefined when the Step is as expected, otherwise what is wrong.
function problem(record, step) {
  const { expected } = record;
  const { fail } = step;
  if (!('reason' in expected) && fail)
    return `failed: ${fail.reason}/${fail.details.kind}: ${fail.message}`;
  if ('reason' in expected) {
    if (!fail) return `should fail with ${brief(expected.reason)}, gave ${brief(step.printed)}`;
    const checks = {
      reason: fail.reason,
      kind: fail.details.kind,
      op: fail.op,
      line: fail.details.line,
      column: fail.details.column,
      index: fail.details.index,
    };
    for (const [key, got] of Object.entries(checks)) {
      if (key in expected && !oneOf(expected[key], got))
        return `${key} ${brief(got)} instead of ${brief(expected[key])} (${fail.message})`;
    }
    for (const key of ['errors', 'suggestions', 'problems', 'limit', 'value', 'phase']) {
      if (key in expected && !same(expected[key], fail.details[key]))
        return `${key} ${brief(fail.details[key])} instead of ${brief(expected[key])}`;
    }
    if ('message' in expected && fail.message !== expected.message)
      return `message ${brief(fail.message)}`;
    for (const part of expected.message_has ?? []) {
      if (!fail.message.includes(part))
        return `message ${brief(fail.message)} lacks ${brief(part)}`;
    }
    if (step.memory_delta !== null) return 'a failed step has a memory_delta';
  }
  for (const key of [
    'printed',
    'return',
    'memory',
    'memory_delta',
    'prints',
    'warnings',
    'signature',
  ]) {
    if (key in expected && !same(expected[key], step[key]))
      return `${key} ${brief(step[key])} instead of ${brief(expected[key])}`;
  }
  if ('tool_calls' in expected) {
    const shown = step.tool_calls.map((call, i) =>
      Object.fromEntries(
        Object.keys(expected.tool_calls[i] ?? call).map((key) => [key, call[key]]),
      ),
    );
    if (!same(expected.tool_calls, shown))
      return `tool_calls ${brief(shown)} instead of ${brief(expected.tool_calls)}`;
  }
  return undefined;
}

// --- running -----------------------------------------------------------------------------------------

// On a busy machine a second may pass before a run gets to the end that is expected of it: where that is not
// the timeout itself, a record without a time limit gets a long one.
function patient({ expected, ...record }) {
  if (
    record.options?.timeout !== undefined ||
    /timeout/.test(JSON.stringify(expected ?? 'timeout'))
  )
    return record;
  return { ...record, options: { ...record.options, timeout: 30_000 } };
}

// Feeds all records to one process; the Step of each, or a text when the process died on it.
function answers(records) {
  return new Promise((resolve) => {
    const child = spawn(CADRE, ['run', '--batch', '-'], { stdio: ['pipe', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (data) => {
      out += data;
    });
    child.stderr.setEncoding('utf8').on('data', (data) => {
      err += data;
    });
    child.stdin.on('error', () => {});
    child.on('close', (code, signal) => {
      const steps = out
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
      // A leak is reported when the process ends: it counts against the last record.
      if (code !== 0 && steps.length === records.length) steps.pop();
      while (steps.length < records.length)
        steps.push(`the process ended: ${signal ?? code} ${err.slice(-400)}`);
      resolve(steps);
    });
    child.stdin.end(records.map((record) => `${JSON.stringify(patient(record))}\n`).join(''));
  });
}

let passed = 0;
let failed = 0;

function note(record, what, why) {
  if (why === undefined) {
    passed += 1;
    return;
  }
  failed += 1;
  if (failed <= SHOWN)
    console.log(
      `FAIL ${record.id} ${what}\n     ${record.program.replace(/\s+/g, ' ').slice(0, 150)}\n     ${why}`,
    );
}

// How far a run gets that ends at the limit of time or memory may differ.
function otherSteps(wanted, step) {
  const compared =
    wanted?.usage &&
    ![wanted, step].some(({ fail }) => ['timeout', 'memory_exceeded'].includes(fail?.reason));
  return compared && wanted.usage.steps !== step.usage.steps
    ? `${step.usage.steps} steps instead of ${wanted.usage.steps}`
    : undefined;
}

// Runs variants of records and returns their Steps; `allowed` is the reason that the variant may fail with instead, `alike` are
// Steps of the same records that must have used as many steps.
async function check(records, what, change, allowed, alike) {
  const changed = records.map((record) => ({
    ...record,
    options: { ...record.options, ...change },
  }));
  const steps = await answers(changed);
  changed.forEach((record, i) => {
    const step = steps[i];
    if (typeof step === 'string') return note(record, what, step);
    if (allowed && step.fail?.reason === allowed)
      return note(record, what, step.memory_delta === null ? undefined : 'memory was changed');
    return note(record, what, problem(record, step) ?? otherSteps(alike?.[i], step));
  });
  return steps;
}

// Lines `program ;; => printed` in the code blocks of a page.
function readPage(file) {
  const blocks = readFileSync(file, 'utf8').match(/^```clojure\n[\s\S]*?^```$/gm) ?? [];
  return blocks
    .flatMap((block) => block.split('\n'))
    .map((line) => line.match(/^(.*\S)\s+;; => (.*)$/))
    .filter(Boolean)
    .map(([, program, printed], i) => ({
      id: `${path.relative(DOCS, file)}/${i + 1}`,
      program,
      expected: { printed },
    }));
}

function readRecords(file) {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

const readCases = (file) => (file.endsWith('.jsonl') ? readRecords : readTests)(file);

const filesIn = (folder, ending) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => path.join(folder, name));

const named = process.argv.slice(2);
const files = named.length ? named : filesIn(HERE, '.test');
const DOCS = path.join(HERE, '../../docs');
const pages = named.length
  ? []
  : ['language.md', 'reference/language.md'].map((name) => path.join(DOCS, name));
const own = [...files.flatMap(readCases), ...pages.flatMap(readPage)];
const outside =
  named.length || !process.env.CADRE_CASES
    ? []
    : filesIn(process.env.CADRE_CASES, '.jsonl').flatMap(readRecords);

const asTheyAre = await check(own, '', {});
await check(outside, '', {});
await check(own, 'without optimisations', { plain: true }, undefined, asTheyAre);

// A case whose answer names a limit, or takes time on purpose, is not swept.
const swept = own.filter(
  (record) =>
    !record.slow &&
    !('limit' in record.expected) &&
    !record.options?.max_memory &&
    !record.options?.max_steps,
);
const sample = (every) => (LONG ? swept : swept.filter((_, i) => i % every === 0));
const sizes = LONG
  ? Array.from({ length: 40 }, (_, i) => Math.round(1.35 ** i * 16))
  : [0, 16, 48, 112, 240, 496, 1008, 4080, 20000];
for (const size of sizes)
  await check(sample(7), `max_memory ${size}`, { max_memory: size }, 'memory_exceeded');
const fuels = LONG
  ? Array.from({ length: 40 }, (_, i) => Math.round(1.3 ** i))
  : [0, 1, 2, 4, 9, 30, 200];
for (const fuel of fuels)
  await check(sample(7), `max_steps ${fuel}`, { max_steps: fuel }, 'timeout');
const numbers = LONG ? Array.from({ length: 60 }, (_, i) => i + 1) : [1, 2, 3, 5, 8, 13, 21, 50];
for (const number of numbers)
  await check(
    sample(7),
    `fail_allocation ${number}`,
    { fail_allocation: number },
    'memory_exceeded',
  );

if (failed > SHOWN) console.log(`(${failed - SHOWN} more not shown)`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
