// Files and systems that are loaded: load-file, load-system, list-systems.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { callTable, expectResult, temporaryDirectory, useServer } from './support.mjs';

const directory = temporaryDirectory();

const file = (name, content) => {
  const full = path.join(directory, name);
  writeFileSync(full, content);
  return full;
};
const good = file(
  'good.lisp',
  '(defun from-file (x) (* x 2))\n(defvar *from-file* (from-file 21))\n(print *from-file*)\n',
);
const bad = file('bad.lisp', '(defvar *before* 1)\n\n(car *before*)\n(defvar *after* 2)\n');
const marked = file('marked.lisp', '\ufeff(defun marked () 7)\n(print (marked))\n');
const open = file('open.lisp', '(defvar *x* 1)\n(defun broken (\n');

const careless = file(
  'careless.lisp',
  '; é\n(defun careless () (no-such-function))\n(defun useless (x) 1)\n',
);
const spinning = file('spinning.lisp', '(defun spin () (loop))\n(defvar *spun* 1)\n\n  (spin)\n');
const deep = file(
  'deep.lisp',
  '(defun deep (n) (1+ (deep n)))\n#+no-such-feature (skipped)\n(print (deep 1))\n',
);
const early = file(
  'early.lisp',
  '(defvar *early* 1)\n\n(eval-when (:compile-toplevel)\n  (error "too early"))\n',
);
const nested = file('nested.lisp', `(defvar *outer* 1)\n(load "${bad}")\n`);

callTable('files', [
  [
    'load-file',
    { path: good },
    { match: new RegExp(`^\\[stdout\\]\n42\n\n(=> .*\n\n)?Loaded ${good}: 3 forms\\.$`) },
  ],
  ['evaluate-lisp', { code: '(from-file *from-file*)' }, '=> 84'],
  ['describe-symbol', { name: 'from-file' }, { has: `Source: ${good}:1` }],
  ['load-file', { path: marked }, { has: `Loaded ${marked}: 2 forms` }],
  ['load-file', { path: marked, compile: true }, { has: `Loaded ${marked}` }],
  ['evaluate-lisp', { code: '\ufeff(marked)' }, '=> 7'],
  ['load-file', { path: bad }, { type: 'TYPE-ERROR', has: `${bad}:3` }],
  ['describe-last-error', {}, { has: `, form 2, ${bad}:3, column 1; ` }],
  ['evaluate-lisp', { code: `(list *before* (boundp '*after*))` }, '=> (1 NIL)'],
  ['load-file', { path: open }, { type: 'END-OF-FILE' }],
  ['load-file', { path: `${good}\0.lisp` }, { code: 'invalid-argument', has: 'NUL' }],
  ['load-file', { path: path.join(directory, 'missing.lisp') }, { ok: false, has: 'missing.lisp' }],
  ['invoke-restart', { restart: 'use-value', values: [`"${good}"`] }, { has: '[stdout]\n42\n' }],
  [
    'load-file',
    { path: path.join(directory, 'missing.lisp'), compile: true },
    { type: 'FILE-DOES-NOT-EXIST', has: 'missing.lisp' },
  ],
  ['invoke-restart', { restart: 'use-value', values: [`"${good}"`] }, { has: '[stdout]\n42\n' }],
  ['load-file', { path: good, compile: true }, { has: `Loaded ${good}` }],
  [
    'load-file',
    { path: bad, compile: true },
    { type: 'TYPE-ERROR', has: `(in form 2, ${bad}:3, column 1; the forms before it took effect)` },
  ],
  [
    'load-file',
    { path: open, compile: true },
    {
      type: 'END-OF-FILE',
      has: ['2 parentheses are open', `(in form 2, ${open}:2, column 1; the file was not loaded)`],
      lacks: ['[warnings]', 'STREAM'],
    },
  ],
  [
    'load-file',
    { path: careless },
    { has: `STYLE-WARNING: The variable X is defined but never used.\n  in ${careless}:3` },
  ],
  [
    'load-file',
    { path: careless, compile: true },
    {
      has: [
        `STYLE-WARNING: The variable X is defined but never used.\n  in ${careless}:3`,
        `undefined function: COMMON-LISP-USER::NO-SUCH-FUNCTION\n  in ${careless}:2`,
      ],
    },
  ],
  [
    'load-file',
    { path: early, compile: true },
    {
      type: 'SIMPLE-ERROR',
      has: ['too early', `(in form 2, ${early}:3, column 1; the file was not loaded)`],
    },
  ],
  ['evaluate-lisp', { code: "(boundp '*early*)" }, '=> NIL'],
  [
    'load-file',
    { path: nested, compile: true },
    { type: 'TYPE-ERROR', has: `(in form 2, ${nested}:2, column 1; ` },
  ],
  [
    'load-file',
    { path: spinning, compile: true, timeout: 1 },
    { type: 'EVALUATION-TIMEOUT', has: ['It was evaluating form 3.', `${spinning}:4, column 3; `] },
  ],
  [
    'load-file',
    { path: deep, compile: true },
    { type: 'SB-KERNEL::CONTROL-STACK-EXHAUSTED', has: `(in form 2, ${deep}:` },
  ],
  ['load-file', { path: good, package: 'no-such' }, { code: 'unknown-package' }],
  // what SBCL does not show by default, or the user does not want to see, is no warning
  ['load-file', { path: good }, { lacks: '[warnings]' }],
  ['load-file', { path: good, compile: true }, { lacks: '[warnings]' }],
  ['evaluate-lisp', { code: `(load "${good}")` }, { lacks: '[warnings]' }],
  [
    'evaluate-lisp',
    { code: '(defun from-file (x) x)' },
    { has: 'STYLE-WARNING: redefining COMMON-LISP-USER::FROM-FILE in DEFUN' },
  ],
  [
    'evaluate-lisp',
    { code: `(let ((sb-ext:*muffled-warnings* 'warning)) (warn "unseen")) (warn "seen") 1` },
    '[warnings]\nWARNING: seen\n\n=> 1',
  ],
]);

// A system of one file, found by way of ASDF's central registry.
const system = (name, content) => {
  const home = path.join(directory, name);
  mkdirSync(home);
  writeFileSync(
    path.join(home, `${name}.asd`),
    `(defsystem "${name}" :version "1.2" :components ((:file "code")))`,
  );
  writeFileSync(path.join(home, 'code.lisp'), content);
  return { home, code: path.join(home, 'code.lisp') };
};
const sloppy = system(
  'sloppy',
  '(defmacro sloppy-macro (x) `(list ,x))\n\n(defun sloppy (x) (sloppy-macro 1))\n',
);
const unread = system('unread', '(defun fine () 1)\n(defun unread ()\n  (list 1\n');
const unfit = system('unfit', '(defun fine () 1)\n; é\n(defun unfit () (if))\n');
const registry = [sloppy, unread, unfit].map(({ home }) => `#p"${home}/"`).join(' ');

callTable('what compiling a system says', [
  [
    'evaluate-lisp',
    {
      code: `(require :asdf) (setf asdf:*central-registry* (list ${registry})) (asdf:disable-output-translations) 1`,
    },
    { has: '=> 1' },
  ],
  [
    'load-system',
    { system: 'sloppy' },
    `Loaded: sloppy (version 1.2), 1 file compiled, from ${path.dirname(sloppy.code)}/\n\n[warnings]\nSTYLE-WARNING: The variable X is defined but never used.\n  in ${sloppy.code}:3`,
  ],
  [
    'load-system',
    { system: 'unread' },
    {
      ok: false,
      lacks: ['STREAM', '[Backtrace]'],
      has: `\n${unread.code}:2: Read error: end of input inside the form that starts at line 2, column 1; 2 parentheses are open, the innermost since line 3, column 3\n`,
    },
  ],
  [
    'load-system',
    { system: 'unfit' },
    {
      ok: false,
      match: new RegExp(
        `\n${unfit.code}:3: Error while parsing arguments to special operator IF.*\n  in .defun unfit .. .if..\n`,
      ),
    },
  ],
]);

describe('a path in the home directory', () => {
  const server = useServer({ env: { HOME: directory } });
  test('~/good.lisp', async () =>
    expectResult(await server.call('load-file', { path: '~/good.lisp' }), {
      has: 'Loaded ~/good.lisp: 3 forms.',
    }));
});

callTable('systems', [
  [
    'load-system',
    { system: 'sb-posix' },
    { match: /^(Loaded: sb-posix|Up to date: sb-posix.*; nothing to do)$/ },
  ],
  [
    'load-system',
    { system: 'no-such-system-anywhere' },
    {
      ok: false,
      has: [
        'MISSING-COMPONENT',
        'Component "no-such-system-anywhere" not found',
        `, the working directory ${process.cwd()}/; (push #P"/path/" asdf:*central-registry*) adds a directory`,
      ],
    },
  ],
  ['list-definitions', {}, { has: '[Loaded Systems]\n- sb-posix' }],
  ['list-systems', {}, { has: 'Loaded systems:\n  sb-posix  from SBCL\n' }],
  ['list-systems', { system: 'sb-posix' }, { has: 'System: sb-posix' }],
  ['list-systems', { system: 'no-such-system-anywhere' }, { has: 'no-such-system-anywhere' }],
]);
