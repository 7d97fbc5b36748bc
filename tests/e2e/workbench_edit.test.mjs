// edit-form and read-forms: files changed by their forms, compiled before they are written.
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Server, temporaryDirectory } from './support.mjs';

const FILE = `;;;; Shapes.
(defpackage "SHAPES" (:use "COMMON-LISP"))
(in-package "SHAPES")

(defclass square () ((side :initarg :side :reader side)))

;; A square.
(defmethod area ((s square))
  "Of a square."
  (* (side s) (side s)))

#+sbcl
(defun twice (x)
  (* 2 x))

(defun area-twice (s) (twice (area s)))
`;

let server, directory, file;
before(async () => {
  directory = temporaryDirectory();
  file = path.join(directory, 'shapes.lisp');
  server = await Server.start({
    args: ['--tools', 'full', '--workspace', directory],
    sandboxed: true,
  });
  writeFileSync(file, FILE);
  await server.call('load-file', { path: file });
});
beforeEach(() => writeFileSync(file, FILE));
after(() => server.stop());

const edit = async (args) => {
  const answer = await server.call('edit-form', { path: file, ...args });
  return { ...answer, file: readFileSync(file, 'utf8') };
};
const evaluate = async (code) => (await server.call('evaluate-lisp', { code })).text;

describe('read-forms', () => {
  test('is an outline, whole where the name has the pattern', async () => {
    const { text } = await server.call('read-forms', { path: file, pattern: 'AREA (' });
    assert.equal(
      text,
      `${file}: 6 forms
2 defpackage "SHAPES"
3 in-package "SHAPES"
5 defclass square
8-10 defmethod area ((s square))  ; Of a square.
(defmethod area ((s square))
  "Of a square."
  (* (side s) (side s)))

13-14 defun twice
16 defun area-twice`,
    );
  });
  test('names the place where a file is not balanced', async () => {
    writeFileSync(file, '(a)\n(b\n');
    const { text, isError } = await server.call('read-forms', { path: file });
    assert.ok(isError);
    assert.match(text, /shapes\.lisp:2: the form that begins here is not complete/);
  });
});

describe('edit-form', () => {
  test('replaces a form; what stands around it stays', async () => {
    const answer = await edit({ form: 'defun twice', content: '\n(defun twice (x)\n  (+ x x))\n' });
    assert.equal(answer.file, FILE.replace('(* 2 x)', '(+ x x)'));
    assert.match(answer.text, /^Changed .*shapes\.lisp, line 13\n/);
    assert.match(answer.text, /\n- {3}\(\* 2 x\)\)\n\+ {3}\(\+ x x\)\)/);
    assert.equal(await evaluate('(shapes::twice 4)'), '=> 8'); // not loaded
  });
  test('replaces text within a form, once', async () => {
    const form = 'defmethod area ((any square))';
    const changed = await edit({ form, old: '(* (side s)', new: '(+ (side s)' });
    assert.equal(changed.file, FILE.replace('(* (side', '(+ (side'));
    assert.match((await edit({ form, old: '(side s)', new: 'x' })).text, /AMBIGUOUS-TEXT/);
    assert.match((await edit({ form, old: 'nothing', new: 'x' })).text, /NO-SUCH-TEXT/);
  });
  test('inserts before, above comments, and after; removes', async () => {
    const form = 'area';
    const one = '(defun one () 1)';
    assert.equal(
      (await edit({ form, 'insert-before': one })).file,
      FILE.replace(';; A square', `${one}\n\n;; A square`),
    );
    writeFileSync(file, FILE);
    assert.equal(
      (await edit({ form: 'defun twice', 'insert-after': one })).file,
      FILE.replace('(* 2 x))\n', `(* 2 x))\n\n${one}\n`),
    );
    writeFileSync(file, FILE);
    assert.equal(
      (await edit({ form: 'defun twice', content: '' })).file,
      FILE.replace('#+sbcl\n(defun twice (x)\n  (* 2 x))\n\n', ''),
    );
  });
  test('loads what it wrote, from its file', async () => {
    const answer = await edit({
      form: 'defun twice',
      content: '(defun twice (x)\n  (list x x))',
      load: true,
    });
    assert.match(answer.text, /^Changed [\s\S]*\n\n=> TWICE$/);
    assert.equal(await evaluate('(shapes::twice 4)'), '=> (4 4)');
    assert.match(
      (await server.call('describe-symbol', { name: 'shapes::twice' })).text,
      /shapes\.lisp:13/,
    );
  });
  test('warnings are in the answer; what does not compile is not written', async () => {
    const warned = await edit({ form: 'defun twice', content: '(defun twice (x) (+ x y))' });
    assert.match(warned.text, /undefined variable: SHAPES::Y\n.*line 12/);
    assert.ok(warned.file.includes('(+ x y)'));
    writeFileSync(file, FILE);
    for (const content of [
      '(defun twice (x) (let ((y)) . z))',
      '(defun twice (x) #.(error "no"))',
    ]) {
      const { text, isError, file } = await edit({ form: 'defun twice', content, load: true });
      assert.ok(isError, text);
      assert.match(text, /^The file is as it was\.\n/);
      assert.equal(file, FILE);
    }
    assert.equal(await evaluate('(boundp (quote shapes::y))'), '=> NIL');
  });
  test('compiling happens in a copy', async () => {
    await edit({
      form: 'defun twice',
      content: '(eval-when (:compile-toplevel) (defvar cl-user::*c* 1))',
    });
    assert.equal(await evaluate("(boundp 'cl-user::*c*)"), '=> NIL');
  });
  test('a dry run shows the change and makes none', async () => {
    const answer = await edit({
      form: 'defun twice',
      old: '2',
      new: '3',
      'dry-run': true,
      load: true,
    });
    assert.match(answer.text, /^Would change .*\n[\s\S]*\+ {3}\(\* 3 x\)\)/);
    assert.equal(answer.file, FILE);
  });
  test('unbalanced content is refused, with its repair', async () => {
    for (const content of ['(defun twice (x)\n  (* 2 x)', '(defun twice (x)\n  (* 2 x)))']) {
      const answer = await edit({ form: 'defun twice', content });
      assert.match(
        answer.text,
        /\[ERROR\] UNBALANCED\n[\s\S]*\[Repair\]\n.*\nline 2: {3}\(\* 2 x\)\)$/,
      );
      assert.equal(answer.file, FILE);
    }
    const swallows = await edit({ form: 'defun twice', content: "(defun twice (x) x) '" });
    assert.match(swallows.text, /UNBALANCED/);
    assert.equal(swallows.file, FILE);
  });
  test('unknown and ambiguous forms are named', async () => {
    assert.match(
      (await edit({ form: 'defun twise', content: '1' })).text,
      /No form of .* is called `defun twise'\. There are: .*defun twice \(line 13\)/,
    );
    writeFileSync(file, `${FILE}\n(defun twice (y) y)\n`);
    assert.match(
      (await edit({ form: 'twice', content: '1' })).text,
      /AMBIGUOUS-FORM\n.*defun twice \(line 13\), defun twice \(line 18\)/,
    );
    assert.match((await edit({ form: 'defun area-twice' })).text, /Give one of `content'/);
  });
  test('a package that is not there has to be loaded, or nothing is compiled', async () => {
    writeFileSync(file, '(in-package "NOWHERE")\n(defun f ())\n');
    assert.match((await edit({ form: 'f', content: '(defun f () 1)' })).text, /UNKNOWN-PACKAGE/);
    const answer = await edit({ form: 'f', content: '(defun f () 1)', compile: false });
    assert.equal(answer.file, '(in-package "NOWHERE")\n(defun f () 1)\n');
  });
  test('the mode of a file and its text beyond ASCII stay; other files cannot be reached', async () => {
    writeFileSync(file, '(defun f () "é ü 漢 😀")\r\n(defun g () 1)\r\n');
    chmodSync(file, 0o640);
    const answer = await edit({ form: 'defun g', old: '1', new: '"ß"' });
    assert.equal(answer.file, '(defun f () "é ü 漢 😀")\r\n(defun g () "ß")\r\n');
    assert.equal(statSync(file).mode & 0o777, 0o640);
    assert.deepEqual(
      readdirSync(directory).filter((name) => name.includes('.new')),
      [],
    );
    const outside = path.join(temporaryDirectory(), 'x.lisp');
    writeFileSync(outside, '(defun f () 1)\n');
    const refused = await server.call('edit-form', { path: outside, form: 'f', content: '(f)' });
    assert.ok(refused.isError);
    assert.equal(readFileSync(outside, 'utf8'), '(defun f () 1)\n');
  });
});
