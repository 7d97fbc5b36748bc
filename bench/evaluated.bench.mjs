// Code that was evaluated in a session against the same code evaluated by plain sbcl, by turns; how
// a session that has done a lot compares with a fresh one; and a session with a gigabyte of data.
import { spawnSync } from 'node:child_process';
import { expect, sample, StdioServer } from './clients.mjs';

export const title = 'evaluated code';

const TURNS = 3;

// Each task in two spellings: what is measured is Lisp, not one way to write it.
const TASKS = {
  'recursive calls': [
    '(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (defun task () (fib 27))',
    '(defun fib (n) (cond ((= n 0) 0) ((= n 1) 1) (t (let ((a (fib (- n 1))) (b (fib (- n 2)))) (+ a b))))) (defun task () (fib 27))',
  ],
  arrays: [
    "(defun task () (let* ((n 500000) (a (make-array (1+ n) :element-type 'bit :initial-element 0)) (c 0)) (loop for i from 2 to n do (when (zerop (aref a i)) (incf c) (loop for j from (* i i) to n by i do (setf (aref a j) 1)))) c))",
    '(defun task () (let ((a (make-array 1000 :initial-element 1)) (s 0)) (dotimes (k 500 s) (dotimes (i 1000) (setf (svref a i) (logand 255 (+ i k (svref a i)))) (incf s (svref a i))))))',
  ],
  'hash tables': [
    '(defun task () (let ((h (make-hash-table))) (dotimes (i 200000) (incf (gethash (mod (* i 7919) 50021) h 0))) (hash-table-count h)))',
    '(defun task () (let ((h (make-hash-table :test (function equal)))) (loop for i below 60000 do (setf (gethash (list i (mod i 7)) h) i)) (loop for v being the hash-values of h sum v)))',
  ],
  structures: [
    '(defstruct pt x y) (defun task () (let ((s 0)) (dotimes (i 1000000 s) (let ((p (make-pt :x i :y (1+ i)))) (setf s (logand (+ s (pt-x p) (pt-y p)) 65535))))))',
    '(defstruct (cell (:constructor cell (v next))) v next) (defun task () (let ((c nil)) (dotimes (i 300000) (setf c (cell i c))) (loop for x = c then (cell-next x) while x sum (cell-v x))))',
  ],
  'generic functions': [
    "(defclass sq () ((a :initarg :a :reader side))) (defclass ci () ((a :initarg :a :reader side))) (defgeneric area (s)) (defmethod area ((s sq)) (* (side s) (side s))) (defmethod area ((s ci)) (* 3 (side s))) (defun task () (let ((l (list (make-instance 'sq :a 2) (make-instance 'ci :a 3))) (s 0)) (dotimes (i 300000 s) (dolist (x l) (setf s (logand 65535 (+ s (area x))))))))",
    "(defclass counter () ((n :initform 0 :accessor n))) (defmethod bump ((c counter) (by integer)) (incf (n c) by)) (defun task () (let ((c (make-instance 'counter))) (loop repeat 400000 do (bump c 2)) (n c)))",
  ],
  closures: [
    '(defun adder (n) (lambda (x) (+ x n))) (defun task () (let ((fs (loop for i below 10 collect (adder i))) (s 0)) (dotimes (i 200000 s) (dolist (f fs) (setf s (logand 65535 (funcall f s)))))))',
    '(defun counter () (let ((n 0)) (lambda () (incf n)))) (defun task () (let ((f (counter))) (loop repeat 3000000 do (funcall f)) (funcall f)))',
  ],
  strings: [
    '(defun task () (let ((n 0)) (dotimes (i 20000 n) (incf n (length (format nil "~D-~A" i "abc"))))))',
    '(defun task () (let ((s (make-string 100000 :initial-element #\\a)) (n 0)) (dotimes (k 20 n) (incf n (count #\\a (string-upcase (substitute #\\b #\\a s :count k)))))))',
  ],
  lists: [
    '(defun task () (reduce (function +) (mapcar (lambda (x) (* 2 x)) (sort (loop for j below 40000 collect (mod (* j 7919) 40009)) (function <)))))',
    '(defun task () (let ((l (loop for i below 2000 collect (cons i (* i i)))) (s 0)) (loop for i below 2000 by 4 do (incf s (cdr (assoc i l)))) (+ s (length (remove-if (function evenp) l :key (function car))))))',
  ],
};

// Milliseconds of the task's best of nine runs.
const TIMED = `(let ((best nil)) (task) (dotimes (i 9) (let ((s (get-internal-run-time))) (task)
  (let ((d (- (get-internal-run-time) s))) (when (or (null best) (< d best)) (setf best d)))))
  (format t "ms=~F~%" (/ best 1000)))`;

function measured(command, args, input) {
  const { stdout } = spawnSync(command, args, { input, encoding: 'utf8' });
  return Number(/ms=([\d.]+)/.exec(stdout)[1]);
}

function speed(bench) {
  for (const [name, spellings] of Object.entries(TASKS))
    spellings.forEach((code, index) => {
      const own = [],
        floor = [];
      for (let turn = 0; turn < TURNS; turn++) {
        const plain = ['--noinform', '--no-sysinit', '--no-userinit', '--disable-debugger'];
        floor.push(measured('sbcl', plain, `${code}\n${TIMED}\n`));
        own.push(measured(bench.cadre, ['eval', '-'], `${code}\n${TIMED}\n`));
      }
      const best = Math.min(...floor);
      bench.row(`${name}, ${index + 1}`, Math.min(...own), {
        floor: best,
        target: Number((1.1 * best).toFixed(2)),
      });
    });
}

async function evaluate(server, code, expected) {
  return expect(await server.call('evaluate-lisp', { code }), expected);
}

async function withServers(bench, count, work, options = []) {
  const servers = Array.from({ length: count }, () => new StdioServer(bench.cadre, options));
  try {
    for (const server of servers) await server.initialize();
    return await work(...servers);
  } finally {
    for (const server of servers) server.stop();
  }
}

const ask = (server) => () => evaluate(server, '(+ 1 2 3)', '=> 6');

// By turns: the old and the fresh session see the same machine.
async function drift(bench) {
  await withServers(bench, 2, async (old, fresh) => {
    for (let i = 0; i < 5000; i++)
      if (i % 8) await ask(old)();
      else await evaluate(old, `(defun f${i} (x) (+ x ${i}))`, '=> F');
    const own = [],
      floor = [];
    for (let turn = 0; turn < 10; turn++) {
      floor.push(...(await sample(50, ask(fresh), 5)));
      own.push(...(await sample(50, ask(old), 5)));
    }
    const median = floor.toSorted((a, b) => a - b)[floor.length >> 1];
    bench.row('(+ 1 2 3) after 5,000 evaluations; floor: a fresh session', own, {
      floor,
      target: Number((1.2 * median).toFixed(2)),
    });
  });
}

async function gigabyte(bench) {
  const measureIn = async (server) => {
    const make =
      "(defparameter *big* (make-array (expt 2 30) :element-type '(unsigned-byte 8) :initial-element 7))";
    await evaluate(server, make, '=> *BIG*');
    bench.row('(+ 1 2) with 1 GB live', await sample(50, ask(server), 5), { target: 10 });
    const fail = () => evaluate(server, '(/ 1 0)', 'DIVISION-BY-ZERO');
    bench.row('an error with 1 GB live', await sample(20, fail, 3), { target: 60 });
  };
  await withServers(bench, 1, measureIn, ['--max-memory', '1150']);
}

export async function measure(bench) {
  speed(bench);
  await drift(bench);
  await gigabyte(bench);
}
