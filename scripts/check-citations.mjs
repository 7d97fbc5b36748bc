// Checks that what the tree cites exists: scripts/check-citations
//
//   documents   every name of a Markdown file: `docs/limits.md`, `limits.md`
//   sections    the numbers behind it: `docs/reference/language.md 8.9, 8.10` needs both headings
//   links       every relative link of a Markdown file, with its anchor
//   paths       every path of the tree in a Markdown file: `src/session/channel.c`, `tests/fault/`
//   functions   every C function in a Markdown file: `region_alloc()`
//
// A path may be a folder and may have alternatives {a,b} and wildcards *. Quoted names in code are
// data of a test, code blocks of Markdown are examples; both are skipped. Prints each citation that
// does not resolve, then `N passed, N failed`, counting citations.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const TOP_FOLDERS = [
  'src',
  'lisp',
  'include',
  'tests',
  'scripts',
  'docs',
  'bench',
  'fuzz',
  'examples',
];
const SECTION = '\\d+(?:\\.\\d+)*(?![\\w.]*\\w)';
const DOCUMENT = new RegExp(
  `(?<![\\w./-])([\\w./-]*[\\w-]\\.md)(?![\\w-])` +
    `((?: sections?)? ${SECTION}(?:(?:, | and )${SECTION})*)?`,
  'g',
);
const LINK = /\[[^\]]*\]\(([^()\s]+)\)/g;
const TREE_PATH = new RegExp(`(?<![\\w./-])((?:${TOP_FOLDERS.join('|')})/[\\w./*{},-]*)`, 'g');

let passed = 0;
let failed = 0;

function verdict(resolves, file, line, problem) {
  if (resolves) passed += 1;
  else {
    failed += 1;
    console.log(`${file}:${line}: ${problem}`);
  }
}

// --- documents and their headings ----------------------------------------------------------------

// Blanks fenced code blocks, so that line numbers stay.
function withoutCode(text) {
  let fence = null;
  return text
    .split('\n')
    .map((line) => {
      const mark = line.match(/^\s*(`{3,}|~{3,})/)?.[1];
      if (fence) {
        if (mark?.startsWith(fence) && line.trim() === mark) fence = null;
        return '';
      }
      if (!mark) return line;
      fence = mark;
      return '';
    })
    .join('\n');
}

// The anchor that a forge makes of a heading.
function slug(heading) {
  return heading
    .replace(/`/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replace(/ /g, '-');
}

const documents = new Map();

function documentOf(file) {
  if (!documents.has(file)) {
    const headings = withoutCode(readFileSync(path.join(ROOT, file), 'utf8'))
      .split('\n')
      .map((line) => line.match(/^#+ +(.*?)\s*$/)?.[1])
      .filter(Boolean);
    const anchors = new Set();
    for (const heading of headings) {
      const base = slug(heading);
      let anchor = base;
      for (let i = 1; anchors.has(anchor); i += 1) anchor = `${base}-${i}`;
      anchors.add(anchor);
    }
    const sections = new Set(
      headings.map((heading) => heading.match(/^(\d+(?:\.\d+)*)\.?\s/)?.[1]).filter(Boolean),
    );
    documents.set(file, { anchors, sections });
  }
  return documents.get(file);
}

// --- the three kinds of citations ----------------------------------------------------------------

// The document a name means: from the top, from the citing file, or by its name alone in docs/.
function findDocument(name, file) {
  const places = [name, path.join(path.dirname(file), name), path.join('docs', name)];
  return places
    .map((place) => path.normalize(place))
    .find((place) => !place.startsWith('..') && existsSync(path.join(ROOT, place)));
}

function isQuoted(line, start, end) {
  return /["']/.test(line[start - 1] ?? '') || /["']/.test(line[end] ?? '');
}

function checkDocuments(file, line, number) {
  for (const match of line.matchAll(DOCUMENT)) {
    const [, name, sections] = match;
    if (!file.endsWith('.md') && isQuoted(line, match.index, match.index + name.length)) continue;
    const found = findDocument(name, file);
    verdict(found, file, number, `no document ${name}`);
    for (const section of found && sections ? sections.match(new RegExp(SECTION, 'g')) : []) {
      const { sections: known } = documentOf(found);
      verdict(known.has(section), file, number, `${found} has no section ${section}`);
    }
  }
}

function checkLinks(file, line, number) {
  for (const [, target] of line.matchAll(LINK)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [name, anchor] = target.split('#');
    const found = name ? path.normalize(path.join(path.dirname(file), name)) : file;
    const isThere = !found.startsWith('..') && existsSync(path.join(ROOT, found));
    verdict(isThere, file, number, `dead link ${target}`);
    if (anchor === undefined || !isThere || !found.endsWith('.md')) continue;
    const { anchors } = documentOf(found);
    verdict(anchors.has(anchor), file, number, `${found} has no heading #${anchor}`);
  }
}

function expandAlternatives(pattern) {
  const match = pattern.match(/^(.*?)\{([^{}]*)\}(.*)$/);
  if (!match) return [pattern];
  return match[2].split(',').flatMap((part) => expandAlternatives(match[1] + part + match[3]));
}

function pathExists(pattern) {
  if (!pattern.includes('*')) return existsSync(path.join(ROOT, pattern));
  const folder = path.join(ROOT, path.dirname(pattern));
  const name = new RegExp(
    `^${path
      .basename(pattern)
      .split('*')
      .map((part) => part.replace(/[.{}]/g, '\\$&'))
      .join('.*')}$`,
  );
  return existsSync(folder) && readdirSync(folder).some((entry) => name.test(entry));
}

function checkPaths(file, line, number) {
  for (const [, text] of line.matchAll(TREE_PATH)) {
    if (text.endsWith('.md')) continue; // a document, checked above
    const names = expandAlternatives(text.replace(/[.,]+$/, ''));
    const isThere = (name) => pathExists(name) || pathExists(path.join(path.dirname(file), name));
    verdict(names.every(isThere), file, number, `no such file: ${text}`);
  }
}

// --- functions ----------------------------------------------------------------------------------

const FUNCTION = /`([a-z][a-z0-9]*_[a-z0-9_]+)\(\)`/g;
const functions = new Set();

function readFunctions(files) {
  for (const file of files.filter((name) => /^(src|include)\/.*\.[ch]$/.test(name)))
    for (const [, name] of readFileSync(path.join(ROOT, file), 'utf8').matchAll(/\b([a-z]\w*)\(/g))
      functions.add(name);
}

function checkFunctions(file, line, number) {
  for (const [, name] of line.matchAll(FUNCTION))
    verdict(functions.has(name), file, number, `no function ${name}()`);
}

// --- main ------------------------------------------------------------------------------------------

const listing = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
  cwd: ROOT,
  encoding: 'utf8',
  maxBuffer: 1 << 28,
});
if (listing.status !== 0) {
  console.error(`check-citations: ${listing.stderr || listing.error}`);
  process.exit(2);
}
const CITING = new RegExp(`^(${TOP_FOLDERS.join('|')}|\\.github)/|^[^/]+\\.md$|^Makefile$`);
const OTHER = /^fuzz\/corpus|^scripts\/check-citations|node_modules|package-lock/;
const files = listing.stdout
  .split('\0')
  .filter((file) => CITING.test(file) && !OTHER.test(file) && existsSync(path.join(ROOT, file)));
readFunctions(files);
for (const file of files) {
  const isDocument = file.endsWith('.md');
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  (isDocument ? withoutCode(text) : text).split('\n').forEach((line, index) => {
    checkDocuments(file, isDocument ? line.replace(LINK, '') : line, index + 1);
    if (!isDocument) return;
    checkLinks(file, line, index + 1);
    checkPaths(file, line, index + 1);
    checkFunctions(file, line, index + 1);
  });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
