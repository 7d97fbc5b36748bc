// Colours for Lisp and Clojure. What is coloured stays text.
import { long, plain } from './dom.js';

const TOKEN =
  /(;[^\n]*|#\|[\s\S]*?(?:\|#|$))|("(?:[^"\\]|\\[\s\S])*"?)|(#\\(?:[A-Za-z]+|[\s\S]))|([()[\]{}])|((?:#?:|::)[^\s()[\]{}"';,`]+)|([+-]?\d[\d_]*(?:\.\d+)?(?:[eEdDsSfF][+-]?\d+)?(?:\/\d+)?(?=[\s()[\]{}"';,`]|$))|([^\s()[\]{}"';,`]+)|([\s\S])/g;

const SPECIAL = new Set(
  `and ann as-> assert block case ccase cond cond-> cond->> condp ctypecase declaim declare def def-
defclass defconstant defgeneric define-condition define-modify-macro define-setf-expander
define-symbol-macro defmacro defmethod defn defn- defonce defpackage defparameter defsetf defstruct
deftype defun defvar destructuring-bind do do* dolist doseq dotimes dynamic-extent ecase etypecase
eval-when finally flet fn for function go handler-bind handler-case if if-let if-not ignore-errors
in-package labels lambda let let* locally loop macrolet map multiple-value-bind
multiple-value-prog1 nil or otherwise pmap prog prog* prog1 prog2 progn quote recur restart-bind
restart-case return return-from setf setq some-> some->> symbol-macrolet t tagbody the throw try
catch typecase unless unwind-protect when when-let when-not with-accessors with-open-file
with-output-to-string with-slots -> ->> true false`.split(/\s+/),
);

function kind(match, isHead) {
  if (match[1] !== undefined) return 'comment';
  if (match[2] !== undefined || match[3] !== undefined) return 'string';
  if (match[4] !== undefined) return 'paren';
  if (match[5] !== undefined) return 'keyword';
  if (match[6] !== undefined) return 'number';
  if (match[7] === undefined) return '';
  const word = match[7].toLowerCase();
  if (SPECIAL.has(word)) return 'special';
  if (/^(&|\*.+\*$|\+.+\+$)/.test(word)) return 'variable';
  return isHead ? 'head' : '';
}

export function highlight(text) {
  const fragment = document.createDocumentFragment();
  let isHead = false;
  for (const match of text.matchAll(TOKEN)) {
    const name = kind(match, isHead);
    if (match[8] === undefined) isHead = match[4] === '(';
    if (!name) {
      fragment.append(plain(match[0]));
      continue;
    }
    const span = document.createElement('span');
    span.className = `c-${name}`;
    span.append(plain(match[0]));
    fragment.append(span);
  }
  return fragment;
}

export function code(text) {
  const box = long(text, highlight);
  box.classList.add('code');
  return box;
}
