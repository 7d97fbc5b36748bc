// How much of jank-lang/clojure-test-suite holds here. Not part of `make test`; nothing of it is kept.
//
//   node tests/lang/clojure_suite.mjs PATH-OF-ITS-CHECKOUT
//
// clojure_suite.clj picks the assertions that hold on JVM Clojure; each is a program of its own. A parse or
// analysis error means that the language cannot express it, and so do a decimal, a ratio and `realized?`:
// there are no such numbers, and sequences are eager. Prints the counts and what differs.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const CADRE = process.env.CADRE ?? path.join(HERE, '../../build/release/src/cli/cadre');
const SHOWN = 400;

const checkout = process.argv[2];
if (!checkout) {
  console.error('usage: clojure_suite.mjs PATH');
  process.exit(2);
}
const files = readdirSync(path.join(checkout, 'test'), { recursive: true })
  .filter((name) => name.endsWith('.cljc'))
  .sort()
  .map((name) => path.join(checkout, 'test', name));
const run = (command, args, input) =>
  spawnSync(command, args, { input, encoding: 'utf8', maxBuffer: 2 ** 30 }).stdout;
const lines = (text) => text.split('\n').filter((line) => line.startsWith('{'));

const records = lines(run('clojure', [path.join(HERE, 'clojure_suite.clj'), ...files])).map(
  (line) => JSON.parse(line),
);
const input = records.map(({ id, program }) => `${JSON.stringify({ id, program })}\n`).join('');
const steps = lines(run(CADRE, ['run', '--batch', '-'], input)).map((line) => JSON.parse(line));

const ABSENT = /[0-9]M\b|[0-9]\/[0-9]|\brealized\?|\bdecimal\?|\bratio\?/;
const counts = { holds: 0, differs: 0, inexpressible: 0 };
const different = [];
records.forEach(({ id, program, throws }, i) => {
  const { fail, printed } = steps[i];
  if (['parse_error', 'analysis_error'].includes(fail?.reason) || ABSENT.test(program)) {
    counts.inexpressible += 1;
  } else if (throws ? fail : printed === 'true') {
    counts.holds += 1;
  } else {
    counts.differs += 1;
    different.push(`${id} ${program.slice(0, 140)}\n    ${fail ? fail.message : printed}`);
  }
});
console.log(different.slice(0, SHOWN).join('\n'));
const share = (100 * counts.holds) / (counts.holds + counts.differs);
console.log(
  `${records.length} assertions: ${JSON.stringify(counts)}, ${share.toFixed(1)} % of the expressible`,
);
