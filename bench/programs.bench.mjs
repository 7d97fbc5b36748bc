// PTC-Lisp beside the small languages of the same machine. "cadre" and the peers are whole processes:
// start, read, run, print, end. "warm" is `cadre run --batch`: the same program again in one process.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, LineProcess, sample } from './clients.mjs';

export const title = 'programs';

const RUNS = 7;
const WARM_RUNS = 20;
const LIMITS = { timeout: 60_000, regex_limit: 100_000_000 };

// Records and text from a fixed generator, so that every run and every peer does the same work.
function* numbers(seed) {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state >>> 8;
  }
}

function makeRecords() {
  const next = numbers(42);
  const pick = (limit) => next.next().value % limit;
  return Array.from({ length: 10_000 }, (_, i) => ({ id: i, name: `customer number ${pick(5000)}`, region: `region-${pick(20)}`,
    active: pick(3) > 0, amount: pick(100_000), tags: [`t${pick(50)}`, `t${pick(50)}`],
    address: { street: `${pick(300)} Long Street`, city: `City ${pick(80)}`, zip: String(10_000 + pick(80_000)) } }));
}

function makeText() {
  const next = numbers(7);
  let text = '';
  while (text.length < 1_000_000) {
    const number = next.next().value;
    text += number % 5 === 0 ? `user${'abc'[number % 3]}@host.com ` : `word${number % 1000} `;
  }
  return text;
}

function bestRegion(records) {
  const sums = new Map();
  for (const record of records) if (record.active) sums.set(record.region, (sums.get(record.region) ?? 0) + record.amount);
  return Math.max(...sums.values());
}

function makeTasks(folder) {
  const records = makeRecords();
  const text = makeText();
  const recordsFile = path.join(folder, 'records.json');
  const textFile = path.join(folder, 'text.txt');
  const textContext = path.join(folder, 'text.json');
  writeFileSync(recordsFile, JSON.stringify({ records }));
  writeFileSync(textFile, text);
  writeFileSync(textContext, JSON.stringify({ text }));
  return [
    { name: 'start', expected: 3, program: '(+ 1 2)', lua: 'print(1 + 2)', js: 'console.log(1 + 2)',
      guile: '(display (+ 1 2))', sbcl: '(print (+ 1 2))', jq: ['-n', '1 + 2'] },
    { name: 'fib 27', expected: 196418,
      program: '(do (defn fib [n] (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 27))',
      lua: 'local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end print(fib(27))',
      js: 'const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2)); console.log(fib(27))',
      guile: '(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (display (fib 27))',
      sbcl: '(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (print (fib 27))',
      jq: ['-n', 'def fib: if . < 2 then . else (. - 1 | fib) + (. - 2 | fib) end; 27 | fib'] },
    { name: 'loop 10^6', expected: 499999500000,
      program: '(loop [i 0 s 0] (if (< i 1000000) (recur (inc i) (+ s i)) s))',
      lua: 'local s = 0 for i = 0, 999999 do s = s + i end print(string.format("%d", s))',
      js: 'let s = 0; for (let i = 0; i < 1e6; i++) s += i; console.log(s)',
      guile: '(display (let loop ((i 0) (s 0)) (if (< i 1000000) (loop (+ i 1) (+ s i)) s)))',
      sbcl: '(print (loop for i below 1000000 sum i))', jq: ['-n', 'reduce range(1000000) as $i (0; . + $i)'] },
    { name: 'join 100k', expected: 588889, program: '(count (join "," (range 100000)))',
      lua: 'local t = {} for i = 0, 99999 do t[#t + 1] = tostring(i) end print(#table.concat(t, ","))',
      js: 'console.log(Array.from({ length: 100000 }, (_, i) => String(i)).join(",").length)',
      guile: '(display (string-length (string-join (map number->string (iota 100000)) ",")))',
      sbcl: '(print (length (with-output-to-string (s) (dotimes (i 100000) (unless (zerop i) (write-char #\\, s)) (princ i s)))))',
      jq: ['-n', '[range(100000) | tostring] | join(",") | length'] },
    { name: 'map of 100k by assoc', expected: 199998,
      program: '(get (reduce (fn [m i] (assoc m i (* 2 i))) {} (range 100000)) 99999)',
      lua: 'local m = {} for i = 0, 99999 do m[i] = 2 * i end print(m[99999])',
      js: 'const m = new Map(); for (let i = 0; i < 100000; i++) m.set(i, 2 * i); console.log(m.get(99999))',
      guile: '(define m (make-hash-table)) (do ((i 0 (+ i 1))) ((= i 100000)) (hashv-set! m i (* 2 i))) (display (hashv-ref m 99999))',
      sbcl: '(let ((m (make-hash-table))) (dotimes (i 100000) (setf (gethash i m) (* 2 i))) (print (gethash 99999 m)))',
      jq: ['-n', 'reduce range(100000) as $i ({}; .[$i | tostring] = 2 * $i) | .["99999"]'] },
    { name: `JSON of ${(JSON.stringify({ records }).length / 1e6).toFixed(1)} MB`, expected: bestRegion(records), context: recordsFile,
      program: '(->> ctx/records (filter :active) (group-by :region) (map (fn [[region rows]] [region (sum-by :amount rows)])) (sort-by second >) first second)',
      js: `const sums = {}; for (const r of JSON.parse(require("fs").readFileSync(${JSON.stringify(recordsFile)}, "utf8")).records.filter((r) => r.active)) sums[r.region] = (sums[r.region] ?? 0) + r.amount; console.log(Object.values(sums).sort((a, b) => b - a)[0])`,
      jq: ['[.records[] | select(.active)] | group_by(.region) | map([.[].amount] | add) | sort | reverse | .[0]', recordsFile] },
    { name: 'regex over 1 MB', expected: text.match(/[a-z]+@[a-z]+\.com/g).length, context: textContext,
      program: '(count (re-seq #"[a-z]+@[a-z]+\\.com" ctx/text))',
      lua: `local n = 0 for _ in io.open(${JSON.stringify(textFile)}):read("*a"):gmatch("[a-z]+@[a-z]+%.com") do n = n + 1 end print(n)`,
      js: `console.log(require("fs").readFileSync(${JSON.stringify(textFile)}, "utf8").match(/[a-z]+@[a-z]+\\.com/g).length)` },
  ];
}

const PEERS = {
  'lua5.4': (task) => task.lua && ['lua5.4', '-e', task.lua],
  luajit: (task) => task.lua && ['luajit', '-e', task.lua],
  node: (task) => task.js && [process.execPath, '-e', task.js],
  guile: (task) => task.guile && ['guile', '--no-auto-compile', '-c', task.guile],
  sbcl: (task) => task.sbcl && ['sbcl', '--noinform', '--no-sysinit', '--no-userinit', '--non-interactive', '--eval', `(progn ${task.sbcl})`],
  jq: (task) => task.jq && ['jq', ...task.jq],
};

function runOnce([command, ...args], expected) {
  const start = process.hrtime.bigint();
  const answer = spawnSync(command, args, { encoding: 'utf8', timeout: 60_000, maxBuffer: 1 << 26 });
  const ms = Number(process.hrtime.bigint() - start) / 1e6;
  if (answer.error) throw answer.error;
  expect(answer.stdout + answer.stderr, String(expected));
  return ms;
}

function runMany(command, task) {
  return Array.from({ length: RUNS + 1 }, () => runOnce(command, task.expected)).slice(1);
}

function isInstalled(command) {
  return spawnSync('sh', ['-c', `command -v ${command}`]).status === 0;
}

async function warm(cadre, task) {
  const record = { program: task.program, options: LIMITS };
  if (task.context) record.context = JSON.parse(readFileSync(task.context, 'utf8'));
  const line = JSON.stringify(record);
  const batch = new LineProcess(cadre, ['run', '--batch', '-']);
  try {
    return await sample(WARM_RUNS, async () => { expect(await batch.ask(line), String(task.expected)); }, 3);
  } finally {
    batch.stop();
  }
}

export async function measure(bench) {
  const folder = mkdtempSync(path.join(tmpdir(), 'cadre-bench-'));
  const peers = Object.entries(PEERS).filter(([name]) => name === 'node' || isInstalled(name));
  try {
    for (const task of makeTasks(folder)) {
      const options = Object.entries(LIMITS).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
      const own = [bench.cadre, 'run', '-e', task.program, ...options, ...(task.context ? ['--context', task.context] : [])];
      const samples = { cadre: runMany(own, task), warm: await warm(bench.cadre, task) };
      for (const [name, commandFor] of peers) {
        const command = commandFor(task);
        if (command) samples[name] = runMany(command, task);
      }
      bench.compare(task.name, samples);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
