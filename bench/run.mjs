// Measures, and prints one table per file bench/*.bench.mjs.
//
//   bench/run [--save] [BUILD-DIRECTORY] [FILE...]      e.g. bench/run build/release sessions
//
// --save also writes the tables, with machine, date and commit, into docs/performance.md, each into the
// section of its title; those of other files stay as they are.
// A file exports `title` and `measure(bench)`, which calls bench.row() for each line of its table.
// A floor is the same work done by the least program that can do it, measured in the same run: it
// takes the machine out of the numbers. Targets are shown, never enforced: a slow machine is no bug.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpus } from 'node:os';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const PAGE = path.join(HERE, '../docs/performance.md');
const MARK = '<!-- What follows is written by `make bench SAVE=1`. -->';

const printed = [];

function print(line) {
  console.log(line);
  printed.push(line);
}

function quantile(sorted, fraction) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))];
}

function format(number) {
  if (number === undefined) return '';
  return number >= 100 ? number.toFixed(0) : number.toPrecision(3);
}

class Table {
  constructor(build) {
    this.build = build;
    this.cadre = path.join(build, 'src/cli/cadre');
    this.rows = [];
    this.notes = [];
    this.comparisons = new Map();
  }

  // samples: a number or an array of them; floor likewise; target: the median is to be at most this.
  row(name, samples, { unit = 'ms', floor, target } = {}) {
    const sorted = [samples].flat().sort((a, b) => a - b);
    const floorMedian =
      floor === undefined
        ? undefined
        : quantile(
            [floor].flat().sort((a, b) => a - b),
            0.5,
          );
    const median = quantile(sorted, 0.5);
    this.rows.push([
      name,
      `${format(median)} ${unit}`,
      sorted.length > 1 ? `${format(quantile(sorted, 0.99))} ${unit}` : '',
      floorMedian === undefined ? '' : `${format(floorMedian)} ${unit}`,
      floorMedian === undefined ? '' : `${format(median / floorMedian)} x`,
      target === undefined ? '' : `${target} ${unit}`,
      target === undefined ? '' : median <= target ? 'met' : 'MISSED',
    ]);
  }

  // A line that could not be measured, and why.
  skip(name, reason) {
    this.rows.push([name, reason]);
  }

  // A line above the tables.
  note(text) {
    this.notes.push(text);
  }

  // One task done by several programs, in the table of that heading: samples by name, undefined where one cannot do it.
  // The best of the samples is shown: what else the machine does meets all programs, but not all alike.
  compare(heading, task, samplesByName) {
    if (!this.comparisons.has(heading)) this.comparisons.set(heading, []);
    this.comparisons.get(heading).push([task, samplesByName]);
  }

  printComparison(title, comparison) {
    const names = [...new Set(comparison.flatMap(([, samples]) => Object.keys(samples)))].filter(
      (name) => comparison.some(([, samples]) => samples[name]),
    );
    const line = (samples) => {
      const times = names.map((name) =>
        samples[name] ? Math.min(...[samples[name]].flat()) : Infinity,
      );
      const best = Math.min(...times);
      return times.map((time) =>
        time === Infinity ? '-' : format(time) + (time === best ? '*' : ' '),
      );
    };
    const rows = [
      [title, ...names],
      ...comparison.map(([task, samples]) => [task, ...line(samples)]),
    ];
    const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
    for (const row of rows) {
      print(
        row
          .map((text, column) => (column ? text.padStart(widths[column]) : text.padEnd(widths[0])))
          .join('  ')
          .trimEnd(),
      );
    }
    print('');
  }

  print(title) {
    for (const text of this.notes) print(text);
    if (this.notes.length) print('');
    for (const [heading, comparison] of this.comparisons)
      this.printComparison(`${title}, ${heading}, ms`, comparison);
    if (this.rows.length === 0) return;
    const head = [title, 'median', 'p99', 'floor', 'ratio', 'target', ''];
    const complete = [head, ...this.rows].filter((row) => row.length === head.length);
    const widths = head.map((_, column) => Math.max(...complete.map((row) => row[column].length)));
    widths[0] = Math.max(...this.rows.map((row) => row[0].length), widths[0]);
    for (const row of [head, ...this.rows]) {
      print(
        row
          .map((cell, column) =>
            column === 0 || column === 6 || row.length === 2
              ? cell.padEnd(widths[column])
              : cell.padStart(widths[column]),
          )
          .join('  ')
          .trimEnd(),
      );
    }
    print('');
  }
}

// The commit that was measured; with a star where the files differ from it.
function commit() {
  const git = (...args) =>
    spawnSync('git', ['-C', HERE, ...args], { encoding: 'utf8' }).stdout?.trim();
  const changed = git('status', '--porcelain', '--untracked-files=no', '--', '..', ':!../docs');
  return `${git('rev-parse', '--short', 'HEAD') || 'unknown'}${changed ? '*' : ''}`;
}

// The page's sections by title: `### TITLE` and what follows.
function sectionsOf(text) {
  const parts = text.split(/^### (.*)\n/m).slice(1);
  const titles = parts.filter((_, index) => index % 2 === 0);
  return new Map(titles.map((title, index) => [title, parts[2 * index + 1].trim()]));
}

function save(machine, titles, tables) {
  const text = readFileSync(PAGE, 'utf8');
  const end = text.indexOf(MARK);
  if (end < 0) throw new Error(`${PAGE} has no line ${MARK}`);
  const sections = sectionsOf(text.slice(end));
  const date = new Date().toISOString().slice(0, 10);
  for (const [title, table] of tables)
    sections.set(
      title,
      `Measured on ${date} at commit ${commit()}, on ${machine}.\n\n\`\`\`\n${table}\n\`\`\``,
    );
  const kept = titles.filter((title) => sections.has(title));
  const body = kept.map((title) => `### ${title}\n\n${sections.get(title)}\n`).join('\n');
  writeFileSync(PAGE, `${text.slice(0, end)}${MARK}\n\n${body}`);
}

const saves = process.argv.includes('--save');
const [build = 'build/release', ...wanted] = process.argv
  .slice(2)
  .filter((argument) => argument !== '--save');
const machine = `${cpus().length} x ${cpus()[0].model}, Node ${process.versions.node}`;
console.log(`${machine}\n`);
const titles = [];
const tables = new Map();
let status = 0;
for (const file of readdirSync(HERE)
  .filter((name) => name.endsWith('.bench.mjs'))
  .sort()) {
  const { title, measure } = await import(path.join(HERE, file));
  titles.push(title);
  if (wanted.length && !wanted.includes(file.slice(0, -'.bench.mjs'.length))) continue;
  const table = new Table(path.resolve(build));
  try {
    await measure(table);
  } catch (error) {
    table.skip('(stopped)', error.message);
    status = 1;
  }
  printed.length = 0;
  table.print(title);
  tables.set(title, printed.join('\n').trimEnd());
}
if (saves) save(machine, titles, tables);
process.exit(status);
