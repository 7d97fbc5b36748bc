// PTC-Lisp beside the small languages of the same machine (peers.mjs). First run: whole processes: start, read, run, print,
// end. Warm: the same work again in one process that has compiled it once, timed inside the process: for cadre a host of
// libcadre (bench_warm.c). Files are read and parsed anew in every run.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from './clients.mjs';
import { findPeers, WARM_RUNS } from './peers.mjs';

export const title = 'programs';

// Of a whole process: at least so many runs, and more while they are cheap.
const LEAST_RUNS = 5;
const MOST_RUNS = 50;
const CHEAP_MS = 500;
const WARM_UP = 3;
const WARM_TIMEOUT_MS = 5_000;
const LIMITS = { timeout: 60_000, regex_limit: 100_000_000, max_memory: 10_000_000 };

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
    address: { street: `${pick(300)} Long Street`, city: `City ${pick(80)}`, zip: String(10_000 + pick(80_000)) },
    comment: `parcel ${pick(1000)} of order ${i} was left with the neighbour at ${pick(24)} h` }));
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
  const records = JSON.stringify({ records: makeRecords() });
  const text = makeText();
  const write = (name, content) => {
    const file = path.join(folder, name);
    writeFileSync(file, content);
    return file;
  };
  const recordsFile = write('records.json', records);
  const textFile = write('text.txt', text);
  const textContext = write('text.json', JSON.stringify({ text }));
  const quotedRecords = JSON.stringify(recordsFile);
  const quotedText = JSON.stringify(textFile);
  return [
    { name: 'start', startOnly: true, expected: 3,
      program: '(+ 1 2)', clojure: '(+ 1 2)', lua: 'return 1 + 2', js: 'return 1 + 2', scheme: '(+ 1 2)', lisp: '(+ 1 2)', jq: ['-n', '1 + 2'] },
    { name: `JSON of ${(records.length / 1e6).toFixed(1)} MB`, expected: bestRegion(JSON.parse(records).records), context: recordsFile,
      program: '(->> ctx/records (filter :active) (group-by :region) (map (fn [[region rows]] [region (sum-by :amount rows)])) (sort-by second >) first second)',
      clojure: `(->> (js->clj (js/JSON.parse (fs/readFileSync ${quotedRecords} "utf8")) :keywordize-keys true) :records (filter :active) (group-by :region) (map (fn [[region rows]] [region (reduce + (map :amount rows))])) (sort-by second >) first second)`,
      js: `const sums = {}; for (const r of JSON.parse(readText(${quotedRecords})).records.filter((r) => r.active)) sums[r.region] = (sums[r.region] ?? 0) + r.amount; return Object.values(sums).sort((a, b) => b - a)[0]`,
      jq: ['[.records[] | select(.active)] | group_by(.region) | map([.[].amount] | add) | sort | reverse | .[0]', recordsFile] },
    { name: 'fib 27', expected: 196418,
      program: '(do (defn fib [n] (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 27))',
      clojure: '(do (defn fib [n] (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 27))',
      lua: 'local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end return fib(27)',
      js: 'const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2)); return fib(27)',
      scheme: '(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 27)',
      lisp: '(labels ((fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))) (fib 27))',
      jq: ['-n', 'def fib: if . < 2 then . else (. - 1 | fib) + (. - 2 | fib) end; 27 | fib'] },
    { name: 'loop 10^6', expected: 499999500000,
      program: '(loop [i 0 s 0] (if (< i 1000000) (recur (inc i) (+ s i)) s))',
      clojure: '(loop [i 0 s 0] (if (< i 1000000) (recur (inc i) (+ s i)) s))',
      lua: 'local s = 0 for i = 0, 999999 do s = s + i end return string.format("%d", s)',
      js: 'let s = 0; for (let i = 0; i < 1e6; i++) s += i; return s',
      scheme: '(let loop ((i 0) (s 0)) (if (< i 1000000) (loop (+ i 1) (+ s i)) s))',
      lisp: '(loop for i below 1000000 sum i)', jq: ['-n', 'reduce range(1000000) as $i (0; . + $i)'] },
    { name: 'join 100k', expected: 588889,
      program: '(count (join "," (range 100000)))', clojure: '(count (str/join "," (range 100000)))',
      lua: 'local t = {} for i = 0, 99999 do t[#t + 1] = tostring(i) end return #table.concat(t, ",")',
      js: 'return Array.from({ length: 100000 }, (_, i) => String(i)).join(",").length',
      scheme: '(string-length (string-join (map number->string (iota 100000)) ","))',
      lisp: '(length (with-output-to-string (s) (dotimes (i 100000) (unless (zerop i) (write-char #\\, s)) (princ i s))))',
      jq: ['-n', '[range(100000) | tostring] | join(",") | length'] },
    { name: 'map of 100k by assoc', expected: 199998,
      program: '(get (reduce (fn [m i] (assoc m i (* 2 i))) {} (range 100000)) 99999)',
      clojure: '(get (reduce (fn [m i] (assoc m i (* 2 i))) {} (range 100000)) 99999)',
      lua: 'local m = {} for i = 0, 99999 do m[i] = 2 * i end return m[99999]',
      js: 'const m = new Map(); for (let i = 0; i < 100000; i++) m.set(i, 2 * i); return m.get(99999)',
      scheme: '(let ((m (make-hash-table))) (do ((i 0 (+ i 1))) ((= i 100000)) (hashv-set! m i (* 2 i))) (hashv-ref m 99999))',
      lisp: '(let ((m (make-hash-table))) (dotimes (i 100000) (setf (gethash i m) (* 2 i))) (gethash 99999 m))',
      jq: ['-n', 'reduce range(100000) as $i ({}; .[$i | tostring] = 2 * $i) | .["99999"]'] },
    { name: 'regex over 1 MB', expected: text.match(/[a-z]+@[a-z]+\.com/g).length, context: textContext,
      program: '(count (re-seq #"[a-z]+@[a-z]+\\.com" ctx/text))',
      clojure: `(count (re-seq #"[a-z]+@[a-z]+\\.com" (fs/readFileSync ${quotedText} "utf8")))`,
      lua: `local n = 0 for _ in io.open(${quotedText}):read("*a"):gmatch("[a-z]+@[a-z]+%.com") do n = n + 1 end return n`,
      js: `return readText(${quotedText}).match(/[a-z]+@[a-z]+\\.com/g).length` },
  ];
}

function runOnce([command, ...args], expected) {
  const start = process.hrtime.bigint();
  const answer = spawnSync(command, args, { encoding: 'utf8', timeout: 60_000, maxBuffer: 1 << 26 });
  const ms = Number(process.hrtime.bigint() - start) / 1e6;
  if (answer.error) throw answer.error;
  expect(answer.stdout + answer.stderr, String(expected));
  return ms;
}

function runMany(command, task) {
  runOnce(command, task.expected);
  const samples = [];
  for (let spent = 0; samples.length < LEAST_RUNS || (samples.length < MOST_RUNS && spent < CHEAP_MS); spent += samples.at(-1)) {
    samples.push(runOnce(command, task.expected));
  }
  return samples;
}

// The milliseconds of the lines `VALUE MILLISECONDS` that a command prints, as far as it comes in its time.
function readLines([command, ...args], expected) {
  const answer = spawnSync(command, args, { encoding: 'utf8', timeout: WARM_TIMEOUT_MS });
  if (answer.error && answer.error.code !== 'ETIMEDOUT') throw answer.error;
  const lines = answer.stdout.split('\n').slice(0, -1).map((line) => line.split(' ').map(Number));
  for (const [value] of lines) if (value !== expected) throw new Error(`${command}: expected ${expected}, got ${value}`);
  if (lines.length === 0) throw new Error(`${command}: ${answer.stderr.slice(0, 300) || 'no answer in time'}`);
  return lines.map(([, ms]) => ms);
}

// Limits as a command takes them: -o NAME=NUMBER.
const OPTIONS = Object.entries(LIMITS).flatMap(([name, value]) => ['-o', `${name}=${value}`]);

function buildProgram(bench, name) {
  execFileSync('ninja', ['--quiet', '-C', bench.build, `bench/${name}`], { stdio: 'ignore' });
  return path.join(bench.build, 'bench', name);
}

function warmLines(command, task) {
  const lines = readLines(command, task.expected);
  return lines.slice(Math.min(WARM_UP, lines.length - 1));
}

function compareTask(bench, warmProgram, task, peers) {
  const own = [bench.cadre, 'run', '-e', task.program, ...OPTIONS, ...(task.context ? ['--context', task.context] : [])];
  const ownWarm = [warmProgram, ...(task.context ? ['-c', task.context] : []), ...OPTIONS, String(WARM_RUNS), task.program];
  const first = { cadre: runMany(own, task) };
  const warm = task.startOnly ? {} : { cadre: warmLines(ownWarm, task) };
  for (const [name, , peer] of peers) {
    const firstCommand = peer.first(task);
    const warmCommand = task.startOnly ? undefined : peer.warm(task);
    first[name] = firstCommand && runMany(firstCommand, task);
    warm[name] = warmCommand && warmLines(warmCommand, task);
  }
  bench.compare('first run', task.name, first);
  if (!task.startOnly) bench.compare('warm', task.name, warm);
}

// Create, parse, run and destroy within a process that is already there.
function compareEmbedded(bench, peers) {
  const commands = [['cadre', [buildProgram(bench, 'bench_embed')]],
    ...peers.filter(([, , peer]) => peer.embedded).map(([name, , peer]) => [name, peer.embedded])];
  const first = {};
  const warm = {};
  for (const [name, command] of commands) [first[name], ...warm[name]] = readLines(command, 3);
  bench.compare('first run', 'embedded run', first);
  bench.compare('warm', 'embedded run', warm);
  bench.row('embedded run: create, parse, run, destroy', warm.cadre.map((ms) => ms * 1000), { unit: 'us', target: 3 });
}

export function measure(bench) {
  const folder = mkdtempSync(path.join(tmpdir(), 'cadre-bench-'));
  const { installed, missing } = findPeers();
  bench.note(`peers: ${installed.map(([name, version]) => `${name} ${version}`).join(', ')}${missing.length ? `; not installed: ${missing.join(', ')}` : ''}`);
  bench.note(`cadre runs within ${LIMITS.max_memory / 1e6} MB of memory; times are the best of several, the best of a line has a *`);
  try {
    const warmProgram = buildProgram(bench, 'bench_warm');
    for (const task of makeTasks(folder)) compareTask(bench, warmProgram, task, installed);
    compareEmbedded(bench, installed);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
