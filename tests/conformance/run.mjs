// Runs the official MCP conformance suite against the server of fixtures in this folder, once per
// requirement set, and prints `N passed, N failed` over all checks.
//
//   tests/conformance/run [REVISION...]      environment: CADRE_BUILD, default build/release
//
// Stricter than the suite's own exit status: a check that ends as WARNING fails too. The suite's
// output and its record of every check are left in $CADRE_BUILD/conformance/.
import { execFile, spawn } from 'node:child_process';
import { createWriteStream, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const BUILD = process.env.CADRE_BUILD ?? path.resolve(HERE, '../../build/release');
const OUTPUT = path.join(BUILD, 'conformance');
const SUITE = path.join(HERE, '../node_modules/@modelcontextprotocol/conformance/dist/index.js');
const REVISIONS = process.argv.length > 2 ? process.argv.slice(2) : ['2025-11-25', '2026-07-28'];
const START_MS = 10_000;
const REVISION_MS = 140_000;

function fail(message) {
  console.log(message);
  console.log('0 passed, 1 failed');
  process.exit(1);
}

// Starts the server on a free port and resolves to its URL, which it announces on standard error.
function serverStart() {
  const server = spawn(path.join(BUILD, 'tests/conformance/conformance-server'), ['--http', '127.0.0.1:0'],
    { stdio: ['ignore', 'ignore', 'pipe'] });
  const log = createWriteStream(path.join(OUTPUT, 'server.log'));
  const url = new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`the server did not listen within ${START_MS} ms`)), START_MS).unref();
    server.on('error', reject);
    server.on('exit', (status, signal) => reject(new Error(`the server ended: ${signal ?? status}`)));
    createInterface({ input: server.stderr }).on('line', (line) => {
      log.write(`${line}\n`);
      const port = line.match(/listening on http:\/\/127\.0\.0\.1:(\d+)\/mcp/)?.[1];
      if (port) resolve(`http://localhost:${port}/mcp`);
    });
  });
  return { server, url };
}

function* checkFiles(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (entry.name === 'checks.json') yield path.join(entry.parentPath ?? entry.path, entry.name);
  }
}

function suiteRun(revision, url, folder) {
  const suite = [SUITE, 'server', '--url', url, '--requirements', revision, '-o', folder];
  const limits = { timeout: REVISION_MS, killSignal: 'SIGKILL', maxBuffer: 1 << 28 };
  return new Promise((resolve) => {
    execFile(process.execPath, suite, limits, (error, stdout, stderr) => {
      writeFileSync(`${folder}.log`, `${stdout}${stderr}`);
      resolve({ stdout, status: error ? error.code ?? error.signal : 0 });
    });
  });
}

// Runs one requirement set; returns how many checks passed and which did not.
async function revisionRun(revision, url) {
  const folder = path.join(OUTPUT, revision);
  const answer = await suiteRun(revision, url, folder);
  const total = answer.stdout.match(/^Total: (\d+) passed, (\d+) failed/m);
  if (!total) return { passed: 0, failures: [`${revision}: the suite printed no total (see ${folder}.log)`] };
  const failures = [];
  for (const file of checkFiles(folder)) {
    for (const check of JSON.parse(readFileSync(file, 'utf8'))) {
      if (check.status !== 'FAILURE' && check.status !== 'WARNING') continue;
      const scenario = path.basename(path.dirname(file));
      failures.push(`${revision} ${scenario}: ${check.id}: ${check.status}: ${check.errorMessage ?? check.description ?? ''}`);
    }
  }
  if (failures.length === 0 && (Number(total[2]) > 0 || answer.status !== 0)) {
    failures.push(`${revision}: ${total[0]}, exit status ${answer.status} (see ${folder}.log)`);
  }
  return { passed: Number(total[1]), failures };
}

if (!existsSync(SUITE)) fail('the conformance suite is not installed: scripts/setup test');
rmSync(OUTPUT, { recursive: true, force: true });
mkdirSync(OUTPUT, { recursive: true });
const { server, url } = serverStart();
let passed = 0;
let failed = 0;
try {
  const address = await url;
  for (const revision of REVISIONS) {
    const result = await revisionRun(revision, address);
    passed += result.passed;
    failed += result.failures.length;
    for (const line of result.failures) console.log(`FAIL ${line}`);
    console.log(`${revision}: ${result.passed} checks passed, ${result.failures.length} did not`);
  }
} catch (error) {
  fail(error.message);
} finally {
  server.removeAllListeners('exit');
  server.kill('SIGKILL');
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
