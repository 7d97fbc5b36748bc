// Projects that nobody here wrote, Debian's sources of Lisp libraries: a function is broken by its form, the failing
// test is frozen and looked into, the function is mended, and what depends on it is run; by MCP and on the command line.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CADRE, LONG, Server, temporaryDirectory } from './support.mjs';

// One test of each project, or all of them where there is time.
const SOURCES = '/usr/share/common-lisp/source';
const PROJECTS = [
  {
    source: 'alexandria', // sb-rt
    system: 'alexandria',
    only: 'flatten.1',
    all: 249,
    file: 'alexandria-1/lists.lisp',
    form: 'defun flatten',
    right: '(push subtree list)',
    wrong: '(push (list subtree) list)',
    failing: 'ALEXANDRIA-TESTS::FLATTEN.1',
    looked: ["(alexandria:flatten '((1) 2))", '((1) (2))'],
  },
  {
    source: 'cl-split-sequence', // FiveAM
    system: 'split-sequence',
    only: 'split-sequence.cover',
    all: 122,
    file: 'api.lisp',
    form: 'defun split-sequence',
    right: '(list (split-list delimiter sequence start end from-end count',
    wrong: '(list (split-list delimiter sequence start end from-end (and count (1+ count))',
    failing: 'SPLIT-SEQUENCE/TESTS::SPLIT-SEQUENCE.COVER',
    looked: ["(split-sequence:split-sequence 0 '(1 0 2 0 3) :count 1)", '((1) (2))'],
  },
  {
    source: 'nibbles', // RT
    system: 'nibbles',
    only: 'read-ub16/be-list',
    all: 96,
    file: 'streams.lisp',
    form: 'defun read-into-list*',
    right: '(setf (first rem) (funcall reffer v 0))',
    wrong: '(setf (first rem) (1+ (funcall reffer v 0)))',
    failing: 'KEYWORD::READ-UB16/BE-LIST',
    looked: ['(nibbles:ub16ref/be (nibbles:octet-vector 1 2) 0)', '258'],
  },
];

const directory = realpathSync(temporaryDirectory());
const place = (project) => path.join(directory, project.source, project.file);
let server;

before(async () => {
  for (const { source } of PROJECTS)
    cpSync(path.join(SOURCES, source), path.join(directory, source), { recursive: true });
  server = await Server.start({
    args: ['--tools', 'full', '--workspace', directory],
    cwd: directory,
    sandboxed: true,
  });
});
after(() => server.stop());

for (const project of PROJECTS)
  describe(project.source, () => {
    const run = async () => {
      const args = { system: project.system, since: 'last', yield: 0 };
      if (!LONG) args.test = project.only;
      const { structured, text } = await server.call('run-tests', args, { timeout: 280_000 });
      assert.ok(structured.run, text);
      return structured.run;
    };
    const edit = (old, replacement) =>
      server.call('edit-form', {
        path: place(project),
        form: project.form,
        old,
        new: replacement,
        compile: true,
      });

    test('all tests pass', async () => {
      const { tests, passed } = await run();
      assert.equal(tests, LONG ? project.all : 1);
      assert.equal(passed, tests);
      await server.call('load-system', { system: project.system });
    });
    test('a function broken by its form fails the tests that need it, frozen', async () => {
      const text = readFileSync(place(project), 'utf8');
      const { text: diff, isError } = await edit(project.right, project.wrong);
      assert.ok(!isError, diff);
      assert.equal(
        readFileSync(place(project), 'utf8'),
        text.replace(project.right, project.wrong),
      );
      const { failures, note } = await run();
      const failure = failures.find((each) => each.name === project.failing);
      assert.ok(failure?.error, `${note} ${JSON.stringify(failures.map((each) => each.name))}`);
      project.error = failure.error;
    });
    test('the frozen failure is looked into', async () => {
      const [code, value] = project.looked;
      const { text } = await server.call('eval-in-frame', { error: project.error, frame: 0, code });
      assert.match(text, new RegExp(`^=> ${value.replace(/[()]/g, '\\$&')}`));
    });
    test('mended, what failed and what depends on it passes', async () => {
      const { text, isError } = await edit(project.wrong, project.right);
      assert.ok(!isError, text);
      const { tests, failed, note } = await run();
      assert.equal(failed, 0, note);
      assert.ok(tests >= 1 && tests <= project.all, note);
      const nothing = await run();
      assert.equal(nothing.tests, 0, nothing.note);
    });
  });

test('the same on the command line', () => {
  const [, project] = PROJECTS;
  const file = place(project);
  const text = readFileSync(file, 'utf8');
  const cadre = () =>
    spawnSync(CADRE, ['test', '--workspace', directory, project.system, project.only], {
      cwd: directory,
      encoding: 'utf8',
      timeout: 280_000,
    });
  const good = cadre();
  assert.equal(good.status, 0, good.stdout + good.stderr);
  writeFileSync(file, text.replace(project.right, project.wrong));
  const bad = cadre();
  assert.equal(bad.status, 1);
  assert.match(bad.stdout, /^0 of 1 test passed, 1 failed.*\[failed\] SPLIT-SEQUENCE/s);
  writeFileSync(file, text);
  assert.equal(cadre().status, 0);
});
