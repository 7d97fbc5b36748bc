// Runs the test suites and ends with one line `N passed, N failed`; exit status 1 if anything failed.
//
//   scripts/run-tests [--build] [--long] [--list] [--coverage] [SUITE | SUITE/NAME]...
//
//   --build      first build what the chosen suites need
//   --long       the long version of each test
//   --list       print the names of the tests
//   --coverage   test build/coverage instead of build/debug
//   --relay      servers on standard input/output are relays to a daemon of their own
//
// Without names, all suites are run. Where tests come from; nothing needs to be registered here:
//   the tests of the Meson build in build/debug   suite = Meson's suite (unit, fuzz, …)
//   tests/SUITE/*.test.mjs                        node:test
//   tests/SUITE/run                               any executable that prints `N passed, N failed`
//   scripts/check-*                               suite `tree`
//
// What a test is given in its environment:
//   CADRE        the binary under test: build/debug (ASan, UBSan), or build/release for RELEASE_SUITES
//   CADRE_BUILD  the build directory of that binary
//   CADRE_LONG   1 with --long, else unset
//   CADRE_PRIVATE true: servers have their sessions to themselves; tests of the daemon unset it
//   CADRE_THROUGH daemon with --relay, else unset
//   TMPDIR       a directory of its own, removed afterwards
//
// A test that prints no count, runs over its time, dies, or in any of whose processes a sanitizer
// found something counts as failed. The whole output of each test is in build/test-logs/.
import { spawn, spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const NODE = path.join(ROOT, 'scripts/node');
const LOGS = path.join(ROOT, 'build/test-logs');
const COVERAGE = process.argv.includes('--coverage');
const BUILD = {
  debug: path.join(ROOT, COVERAGE ? 'build/coverage' : 'build/debug'),
  release: path.join(ROOT, 'build/release'),
};

// These measure time or volume, where sanitizers would only slow them down.
const RELEASE_SUITES = new Set(['distribution', 'conformance', 'soak']);
// Tests of these suites use little but one core each, so they share the machine.
const PARALLEL_SUITES = new Set(['tree', 'unit', 'lang', 'fuzz', 'lisp']);
// These wait more than they work: three at a time. But some fill the machine, and run alone.
const WAITING_SUITES = new Set(['e2e', 'fault']);
const WAITING_AT_ONCE = 3;
const ALONE = new Set([
  'e2e/large',
  'e2e/lifecycle',
  'e2e/mcp_http_slow',
  'e2e/ordinary_user',
  'e2e/robustness',
  'fault/hostile',
  'fault/kill',
  'fault/limits',
  'fault/locks',
  'fault/offspring',
]);
const FIRST_SUITES = ['tree', 'unit', 'lang', 'fuzz', 'lisp'];
const LAST_SUITES = ['conformance', 'soak'];
const TIMEOUT_SECONDS = 300;
const LONG_FACTOR = 12;
const SHOWN_LINES = 60;

// The environment that makes a sanitizer's report a file, whichever process of the test it came from.
function sanitizers(reports, leaks) {
  return {
    ASAN_OPTIONS: `detect_leaks=${leaks ? 1 : 0}:abort_on_error=1:strict_string_checks=1:log_path=${reports}`,
    UBSAN_OPTIONS: `print_stacktrace=1:halt_on_error=1:log_path=${reports}`,
  };
}

// LeakSanitizer looks at its own process by ptrace, which some containers forbid.
function leaksCanBeFound(test) {
  if (!test) return true;
  const answer = spawnSync(test.command[0], ['--list'], {
    encoding: 'utf8',
    env: { ...process.env, ASAN_OPTIONS: 'detect_leaks=1' },
  });
  return !/LeakSanitizer has encountered a fatal error/.test(answer.stderr);
}

// --- finding tests ---------------------------------------------------------------------------------

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function mesonTests() {
  if (!existsSync(path.join(BUILD.debug, 'build.ninja'))) return [];
  const answer = spawnSync('meson', ['introspect', '--tests', BUILD.debug], { encoding: 'utf8' });
  if (answer.status !== 0) throw new Error(`meson introspect: ${answer.stderr || answer.error}`);
  return JSON.parse(answer.stdout).map((test) => ({
    suite: (test.suite[0] ?? 'meson').replace(/^cadre:/, ''),
    name: test.name,
    command: test.cmd,
    directory: test.workdir ?? BUILD.debug,
    environment: test.env,
    protocol: test.protocol === 'tap' ? 'tap' : 'count',
    timeout: test.timeout,
  }));
}

function folderTests() {
  const tests = [];
  for (const suite of readdirSync(path.join(ROOT, 'tests'), { withFileTypes: true })) {
    if (!suite.isDirectory() || suite.name === 'node_modules') continue;
    const folder = path.join(ROOT, 'tests', suite.name);
    for (const file of readdirSync(folder).sort()) {
      const common = { suite: suite.name, directory: ROOT };
      if (file.endsWith('.test.mjs')) {
        tests.push({
          ...common,
          name: file.slice(0, -'.test.mjs'.length),
          protocol: 'node',
          command: [NODE, '--test', '--test-reporter=tap', path.join(folder, file)],
        });
      } else if (file === 'run' && isExecutable(path.join(folder, file))) {
        tests.push({
          ...common,
          name: 'run',
          protocol: 'count',
          command: [path.join(folder, file)],
        });
      }
    }
  }
  return tests;
}

// What can be checked by reading the files of the repository.
function treeTests() {
  return ['layers', 'tree', 'frames', 'citations'].map((name) => ({
    suite: 'tree',
    name,
    protocol: 'count',
    directory: ROOT,
    command: [path.join(ROOT, `scripts/check-${name}`)],
  }));
}

function allTests() {
  const rank = (suite) => {
    const first = FIRST_SUITES.indexOf(suite);
    return first >= 0 ? first : 100 + LAST_SUITES.indexOf(suite);
  };
  const tests = [...treeTests(), ...mesonTests(), ...folderTests()];
  return tests.sort(
    (a, b) =>
      rank(a.suite) - rank(b.suite) ||
      (a.suite < b.suite ? -1 : a.suite > b.suite ? 1 : width(b) - width(a)),
  );
}

function nameOf(test) {
  return `${test.suite}/${test.name}`;
}

// --- counting ---------------------------------------------------------------------------------------

function lastNumber(output, pattern) {
  const matches = [...output.matchAll(pattern)];
  return matches.length ? Number(matches.at(-1)[1]) : 0;
}

const COUNTERS = {
  tap(output) {
    const skipped = output.match(/^ok\b.*# skip/gim)?.length ?? 0;
    return {
      passed: (output.match(/^ok\b/gm)?.length ?? 0) - skipped,
      failed: output.match(/^not ok\b/gm)?.length ?? 0,
      skipped,
    };
  },
  node(output) {
    const number = (name) => lastNumber(output, new RegExp(`^# ${name} (\\d+)$`, 'gm'));
    return {
      passed: number('pass'),
      failed: number('fail') + number('cancelled'),
      skipped: number('skipped') + number('todo'),
    };
  },
  count(output) {
    const last = [...output.matchAll(/^(\d+) passed, (\d+) failed\s*$/gm)].at(-1);
    return { passed: Number(last?.[1] ?? 0), failed: Number(last?.[2] ?? 0), skipped: 0 };
  },
};

// The verdict on one finished test: its own count, plus one failure where the count cannot be all.
function judge(test, output, ending) {
  const result = COUNTERS[test.protocol](output);
  if (ending.timedOut) result.problem = `ran over ${ending.timeout} s and was killed`;
  else if (ending.signal) result.problem = `died of ${ending.signal}`;
  else if (ending.error) result.problem = ending.error;
  else if (result.passed + result.failed === 0) result.problem = 'printed no count';
  else if (ending.status !== 0 && result.failed === 0)
    result.problem = `exit status ${ending.status}`;
  else if (ending.reports.length) result.problem = 'a sanitizer reported';
  if (result.problem) result.failed += 1;
  return result;
}

// --- running ----------------------------------------------------------------------------------------

function readReports(test) {
  const prefix = `${test.suite}-${test.name}.sanitizer.`;
  return readdirSync(LOGS)
    .filter((file) => file.startsWith(prefix))
    .map((file) => readFileSync(path.join(LOGS, file), 'utf8'));
}

function run(test, { long, leaks, relay }) {
  const build = RELEASE_SUITES.has(test.suite) ? BUILD.release : BUILD.debug;
  const timeout = (test.timeout ?? TIMEOUT_SECONDS) * (long ? LONG_FACTOR : 1);
  const scratch = mkdtempSync(path.join(tmpdir(), 'cadre-test-'));
  const log = path.join(LOGS, `${test.suite}-${test.name}`);
  const environment = {
    ...process.env,
    ...sanitizers(`${log}.sanitizer`, leaks),
    TMPDIR: scratch,
    CADRE: path.join(build, 'src/cli/cadre'),
    CADRE_BUILD: build,
    CADRE_PRIVATE: 'true',
    ...test.environment,
  };
  delete environment.CADRE_LONG;
  if (long) environment.CADRE_LONG = '1';
  if (relay) environment.CADRE_THROUGH = 'daemon';

  return new Promise((resolve) => {
    const logStream = createWriteStream(`${log}.log`);
    const chunks = [];
    const started = Date.now();
    const ending = { timeout };
    const child = spawn(test.command[0], test.command.slice(1), {
      cwd: test.directory,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const killGroup = () => {
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        /* all gone */
      }
    };
    const timer = setTimeout(() => {
      ending.timedOut = true;
      killGroup();
    }, timeout * 1000);
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => {
        chunks.push(data);
        logStream.write(data);
      });
    }
    const finish = () => {
      clearTimeout(timer);
      logStream.end();
      removeScratch(scratch, ending);
      ending.reports = readReports(test);
      const output = Buffer.concat(chunks).toString() + ending.reports.join('\n');
      resolve({ ...judge(test, output, ending), output, seconds: (Date.now() - started) / 1000 });
    };
    child.on('error', (error) => {
      ending.error = error.message;
      finish();
    });
    child.on('exit', (status, signal) => {
      Object.assign(ending, { status, signal });
      killGroup(); // a test that leaves processes behind must not hold its pipes open
    });
    child.on('close', finish);
  });
}

// What was killed above may still write for a moment. A test whose processes go on writing has failed.
function removeScratch(scratch, ending) {
  try {
    rmSync(scratch, { recursive: true, force: true, maxRetries: 30, retryDelay: 100 });
  } catch (error) {
    ending.error ??= `its directory cannot be removed: ${error.message}`;
  }
}

function report(test, result) {
  const counts =
    `${result.passed} passed` +
    (result.failed ? `, ${result.failed} FAILED` : '') +
    (result.skipped ? `, ${result.skipped} skipped` : '');
  console.log(`${nameOf(test).padEnd(36)} ${result.seconds.toFixed(1).padStart(6)} s  ${counts}`);
  if (!result.failed) return;
  if (result.problem) console.log(`    ${result.problem}`);
  const lines = result.output.trimEnd().split('\n');
  const failing = lines.findIndex((line) => /^\s*not ok\b|FAIL|ERROR: |runtime error/.test(line));
  const start = failing < 0 ? Math.max(0, lines.length - SHOWN_LINES) : Math.max(0, failing - 5);
  for (const line of lines.slice(start, start + SHOWN_LINES)) console.log(`    ${line}`);
  console.log(`    (all of it: build/test-logs/${test.suite}-${test.name}.log)`);
}

// How many tests like this one may run at the same time.
function width(test) {
  if (PARALLEL_SUITES.has(test.suite)) return availableParallelism();
  return WAITING_SUITES.has(test.suite) && !ALONE.has(nameOf(test)) ? WAITING_AT_ONCE : 1;
}

async function runAll(tests, options) {
  const totals = { passed: 0, failed: 0, skipped: 0 };
  const queue = [...tests];
  const next = async (wanted) => {
    while (queue.length && wanted(queue[0])) {
      const test = queue.shift();
      const result = await run(test, options);
      report(test, result);
      for (const key of Object.keys(totals)) totals[key] += result[key];
    }
  };
  while (queue.length) {
    const wide = width(queue[0]);
    const sameWidth = (test) => width(test) === wide;
    await Promise.all(Array.from({ length: wide }, () => next(sameWidth)));
  }
  return totals;
}

// --- building ---------------------------------------------------------------------------------------

// Builds what the named suites need, all of it when there are no names. `make` sets up what is missing.
function build(names) {
  const suites = names.map((name) => name.split('/')[0]);
  const all = names.length === 0;
  const needed = [];
  if (all || suites.some((suite) => suite !== 'tree'))
    needed.push(COVERAGE ? 'coverage-build' : 'debug');
  if (all || suites.some((suite) => RELEASE_SUITES.has(suite))) needed.push('release');
  if (needed.length === 0) return;
  const answer = spawnSync('make', ['--no-print-directory', '-C', ROOT, ...needed], {
    stdio: 'inherit',
  });
  if (answer.status !== 0) process.exit(1);
}

// --- main -------------------------------------------------------------------------------------------

const options = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const unknown = options.find(
  (option) => !['--build', '--coverage', '--long', '--list', '--relay'].includes(option),
);
if (unknown) {
  console.error(`run-tests: unknown option ${unknown}`);
  process.exit(2);
}
if (options.includes('--build')) build(wanted);
const tests = allTests().filter(
  (test) => wanted.length === 0 || wanted.includes(test.suite) || wanted.includes(nameOf(test)),
);
if (options.includes('--list')) {
  for (const test of tests) console.log(nameOf(test));
} else {
  rmSync(LOGS, { recursive: true, force: true });
  mkdirSync(LOGS, { recursive: true });
  const leaks = leaksCanBeFound(tests.find((test) => test.suite === 'unit'));
  if (!leaks) console.log('leak detection is off: this machine does not allow ptrace');
  const totals = await runAll(tests, {
    leaks,
    long: options.includes('--long'),
    relay: options.includes('--relay'),
  });
  if (tests.length === 0) console.log(`no such test: ${wanted.join(' ')}`);
  if (totals.skipped) console.log(`${totals.skipped} skipped`);
  console.log(`${totals.passed} passed, ${totals.failed} failed`);
  process.exitCode = totals.failed || totals.passed === 0 ? 1 : 0;
}
