// find-definition, find-references, rename: a name followed through the image, the journal and the files.
import assert from 'node:assert/strict';
import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Machine } from './daemon_support.mjs';
import { Server, temporaryDirectory } from './support.mjs';

const FILES = {
  'shop.asd':
    '(defsystem "shop" :serial t :components ((:file "package") (:file "price") (:file "use")))\n',
  'package.lisp': `(defpackage :shop (:use :cl) (:export #:total "TOTAL" :cost))
(defpackage :other (:use :cl) (:import-from :shop #:total) (:export #:cost))
`,
  'price.lisp': `(in-package :shop)
(defclass item () ((cost :accessor cost :initarg :cost)))
(defvar *rate* 1)
;; total of all items
(defgeneric total (what)
  (:documentation "The total of what."))
(defmethod total ((i item)) (* *rate* (cost i)))
(defmethod total ((l list))
  (reduce #'+ l :key #'total))
(defmacro with-rate (rate &body body) \`(let ((*rate* ,rate)) ,@body))
(defun taxed (x) (with-rate 2 (total x)))
(defun set-rate (r) #| total |# (setf *rate* r) '|total| '#:total)
`,
  'use.lisp': `(in-package :other)
(defun cost (x) (list x 'total :total "total" #\\t))
(defun report (l) #+sbcl (shop:total l) #-sbcl (shop::total l))
(defun both (x)
  (list (TOTAL x) (shop:cost x)))
`,
  'later.lisp': '(in-package :unknown)\n(defun not-yet (x) (list total x))\n',
};

const directory = realpathSync(temporaryDirectory());
const place = (name) => path.join(directory, name);
const writeAll = () => {
  for (const [name, text] of Object.entries(FILES)) writeFileSync(place(name), text);
};

let server;
before(async () => {
  writeAll();
  server = await Server.start({
    args: ['--tools', 'full', '--workspace', directory],
    cwd: directory,
    sandboxed: true,
  });
  await server.call('load-system', { system: 'shop' });
});
after(() => server.stop());

describe('find-definition', () => {
  const find = async (name) => (await server.call('find-definition', { name })).text;

  test('of a generic function: itself and its methods, with their text', async () => {
    const text = await find('shop:total');
    for (const definition of [
      `${place('price.lisp')}:5\n(defgeneric total (what)\n  (:documentation "The total of what."))`,
      `${place('price.lisp')}:7\n(defmethod total ((i item)) (* *rate* (cost i)))`,
      `${place('price.lisp')}:8\n(defmethod total ((l list))\n  (reduce #'+ l :key #'total))`,
    ])
      assert.ok(text.includes(definition), text);
  });
  test('of functions, variables, macros, classes and accessors', async () => {
    for (const [name, line, beginning] of [
      ['shop::taxed', 11, '(defun taxed'],
      ['shop::*rate*', 3, '(defvar *rate* 1)'],
      ['shop::with-rate', 10, '(defmacro with-rate'],
      ['shop::item', 2, '(defclass item'],
      ['(setf shop:cost)', 2, '(defclass item'],
      ['taxed', 11, '(defun taxed'],
      ['defmethod total ((l list))', 8, '(defmethod total ((l list))'],
    ])
      assert.ok(
        (await find(name)).startsWith(`${place('price.lisp')}:${line}\n${beginning}`),
        `${name}: ${await find(name)}`,
      );
  });
  test('where a file has changed since, the form is found by its name', async () => {
    writeFileSync(place('price.lisp'), `\n\n;; new lines\n\n${FILES['price.lisp']}`);
    assert.match(await find('shop::taxed'), /price\.lisp:15\n\(defun taxed/);
    writeAll();
  });
  test('in files that are not loaded', async () => {
    assert.equal(
      await find('not-yet'),
      `${place('later.lisp')}:2 (not loaded)\n(defun not-yet (x) (list total x))`,
    );
    assert.match(await find('nowhere-at-all'), /^No definition of nowhere-at-all is known/);
  });
  test('in the journal, of what was evaluated', async () => {
    const machine = new Machine();
    try {
      const client = await machine.client({ args: ['--tools', 'full'] });
      const code = '(defun typed-in (x) (* 2 x)) ; as it was typed';
      await client.tool('evaluate-lisp', { code });
      const text = await client.tool('find-definition', { name: 'typed-in' });
      assert.equal(text, `evaluation 1\n${code}`);
    } finally {
      machine.stop();
    }
  });
});

describe('find-references', () => {
  const references = async (name, kind) =>
    (await server.call('find-references', { name, ...(kind && { kind }) })).text;

  test('has file, line and the lines that use it', async () => {
    const text = await references('shop:total');
    for (const part of [
      'Functions that call SHOP::TOTAL:\n',
      `\n  (METHOD SHOP::TOTAL (LIST))  ${place('price.lisp')}:8\n    8: (defmethod total ((l list))\n    9: (reduce #'+ l :key #'total))`,
      `\n  OTHER::BOTH  ${place('use.lisp')}:4\n    5: (list (TOTAL x) (shop:cost x)))`,
      `\n  SHOP::TAXED  ${place('price.lisp')}:11\n    11: (defun taxed`,
    ])
      assert.ok(text.includes(part), `${part} in ${text}`);
  });
  test('tells who sets, binds and expands; one kind alone', async () => {
    const all = await references('shop::*rate*');
    assert.match(all, /SHOP::SET-RATE \(sets\) {2}\S+price\.lisp:12\n {4}12: /);
    assert.match(all, /SHOP::TAXED \(binds\)/);
    assert.match(all, /\(METHOD SHOP::TOTAL \(SHOP::ITEM\)\) {2}\S+:7/);
    const sets = await references('shop::*rate*', 'sets');
    assert.match(sets, /SET-RATE/);
    assert.doesNotMatch(sets, /TAXED|METHOD/);
    assert.match(await references('shop::with-rate', 'expands'), /SHOP::TAXED \(expands\)/);
  });
  test('finds methods that specialize on a class', async () => {
    const text = await references('shop::item', 'specializes');
    assert.match(text, /^Methods that specialize on SHOP::ITEM:/);
    assert.match(text, /SHOP:TOTAL \(SHOP::ITEM\)\) {2}\S+price\.lisp:7/);
    assert.doesNotMatch(text, /COST \(/);
  });
});

describe('rename', () => {
  const rename = (name, to, more = {}) => server.call('rename', { name, to, ...more });
  const files = () =>
    Object.fromEntries(Object.keys(FILES).map((name) => [name, readFileSync(place(name), 'utf8')]));

  test('a dry run shows the lines and changes none', async () => {
    const { text } = await rename('shop:total', 'sum-of', { 'dry-run': true });
    assert.match(text, /^Would rename SHOP::TOTAL to sum-of: 12 places in 3 files\n/);
    assert.ok(
      text.includes(
        `\n     9 -   (reduce #'+ l :key #'total))\n       +   (reduce #'+ l :key #'sum-of))`,
      ),
      text,
    );
    assert.ok(text.includes('packages are not loaded: files in UNKNOWN'), text);
    assert.deepEqual(files(), FILES);
  });
  test('a name that is taken, or none, is refused', async () => {
    for (const [to, reason] of [
      ['taxed', /NAME-IN-USE.*SHOP::TAXED is there already/s],
      ['cost', /NAME-IN-USE/],
      ['a:b', /INVALID-ARGUMENT/],
      ['12', /INVALID-ARGUMENT/],
      ['a b', /INVALID-ARGUMENT/],
      ['', /INVALID-ARGUMENT|must/],
    ]) {
      const { text, isError } = await rename('shop:total', to);
      assert.ok(isError, to);
      assert.match(text, reason);
    }
    assert.deepEqual(files(), FILES);
  });
  test('a file that is not balanced stops it', async () => {
    writeFileSync(place('use.lisp'), `${FILES['use.lisp']}(total`);
    assert.match((await rename('shop:total', 'sum-of')).text, /UNBALANCED.*use\.lisp/s);
    writeAll();
  });
  test('goes by symbol, not by text; a new session loads the new name', async () => {
    const { text } = await rename('shop:total', 'sum-of');
    assert.match(text, /^Renamed SHOP::TOTAL to sum-of: 12 places in 3 files\n/);
    const expected = { ...FILES };
    expected['package.lisp'] = `(defpackage :shop (:use :cl) (:export #:sum-of "SUM-OF" :cost))
(defpackage :other (:use :cl) (:import-from :shop #:sum-of) (:export #:cost))
`;
    expected['price.lisp'] = FILES['price.lisp']
      .replace('(defgeneric total', '(defgeneric sum-of')
      .replaceAll('(defmethod total', '(defmethod sum-of')
      .replace("#'total", "#'sum-of")
      .replace('(total x)', '(sum-of x)');
    expected['use.lisp'] = FILES['use.lisp']
      .replace("'total", "'sum-of")
      .replace('shop:total', 'shop:sum-of')
      .replace('shop::total', 'shop::sum-of')
      .replace('(TOTAL x)', '(SUM-OF x)');
    assert.deepEqual(files(), expected);
    await server.call('reset-session', { confirm: true });
    assert.equal(await server.value('(shop:sum-of nil)'), '=> 0');
  });
});
