// Floods, huge and hostile values, long runs, many sessions: bounded memory, nothing leaks.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  descriptors,
  eventually,
  expectResult,
  residentBytes,
  Server,
  useServer,
} from './support.mjs';

const MB = 1024 * 1024;
const MAX_OUTPUT = 20_000;
// ASan keeps freed memory in quarantine; without that its set-up could not be told from a leak.
const env = {
  ASAN_OPTIONS: [process.env.ASAN_OPTIONS, 'quarantine_size_mb=1'].filter(Boolean).join(':'),
};

// Runs `work` and asserts that the server's memory did not grow by more than 64 MB, at its peak.
async function bounded(server, work) {
  await server.value('1');
  const before = residentBytes(server.pid);
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, residentBytes(server.pid));
  }, 20);
  try {
    await work();
  } finally {
    clearInterval(watch);
  }
  peak = Math.max(peak, residentBytes(server.pid));
  assert.ok(peak - before <= 64 * MB, `the server grew by ${((peak - before) / MB).toFixed(1)} MB`);
}

describe('floods', () => {
  const server = useServer({ env });
  test('state to keep', async () => {
    await server.value('(defvar *kept* 42)');
  });

  test('1 GB of output by a child process', async () => {
    await bounded(server, async () => {
      const { structured, text } = await server.evaluate(
        `(sb-ext:run-program "/bin/sh" '("-c" "head -c 1000000000 /dev/zero | tr '\\\\0' x") :output t) :done`,
        { timeout: 120 },
      );
      assert.match(
        text.slice(-200),
        /=> :DONE\n\n\[output \d+: 1,000,000,000 characters; read-output /,
      );
      assert.equal(structured.omitted.stdout, 1_000_000_000 + ':DONE'.length - MAX_OUTPUT);
      assert.ok(text.length < MAX_OUTPUT + 1000);
    });
    assert.equal(await server.value('*kept*'), '=> 42');
  });
  test('output by Lisp', async () => {
    await bounded(server, async () => {
      const { structured, text } = await server.evaluate(
        '(let ((line (make-string 9999 :initial-element #\\y))) (dotimes (i 10000 (values)) (write-line line)))',
        { timeout: 120 },
      );
      assert.equal(structured.omitted.stdout, 100_000_000 - MAX_OUTPUT);
      assert.ok(text.length < MAX_OUTPUT + 1000);
    });
  });
  test('output on both streams without end is stopped by the time limit', async () => {
    await bounded(server, async () => {
      const result = await server.evaluate(
        '(loop (write-line "out") (write-line "err" *error-output*))',
        { timeout: 1 },
      );
      expectResult(result, {
        type: 'EVALUATION-TIMEOUT',
        seconds: [1, 20],
        has: ['[stdout]', '[stderr]', 'truncated'],
      });
    });
  });
  test('100,000 warnings', async () => {
    await bounded(server, async () => {
      const { structured, text } = await server.evaluate(
        '(dotimes (i 100000) (warn "number ~d" i)) 1',
        { timeout: 60 },
      );
      assert.equal(structured.warnings.length, 50);
      assert.match(text, /\.\.\. 99950 more warnings/);
    });
  });
  test('a message of 10 MB, frames with huge arguments', async () => {
    await bounded(server, async () => {
      const { text } = await server.evaluate(
        '(defun big (s) (error "~a" s)) (big (make-string 10000000 :initial-element #\\m))',
        { timeout: 20 },
      );
      assert.ok(text.length < 10_000, `${text.length} characters`);
    });
  });
});

describe('values', () => {
  const server = useServer({ env });
  const rows = [
    ['10^7 conses', '(loop for i below 10000000 collect i)', { has: '...)' }],
    ['10^7 characters', '(make-string 10000000 :initial-element #\\z)', { has: 'truncated' }],
    ['a vector of 10^7', '(make-array 10000000 :initial-element 0)', { has: '...)' }],
    ['circular through the car', '(let ((c (list 1))) (setf (car c) c) c)', '=> #1=(#1#)'],
    [
      'circular through a structure',
      '(defstruct node next) (let ((n (make-node))) (setf (node-next n) n) n)',
      { has: '#1=#S(NODE :NEXT #1#)' },
    ],
    [
      '10^6 deep',
      '(let ((l nil)) (dotimes (i 1000000) (setf l (list l))) l)',
      {
        match:
          /^=> \(\(\(\(\(\(\(\(\(\(#\)\)\)\)\)\)\)\)\)\)\n\[parts not shown; inspect "\$\d+"\]$/,
      },
    ],
    [
      '10^6 deep in a vector',
      '(let ((l nil)) (dotimes (i 1000000) (setf l (vector l))) l)',
      { has: '#(#(' },
    ],
    [
      'many values',
      '(values-list (loop for i below 1000 collect i))',
      { has: ['=> 0\n', '=> 999'] },
    ],
    ['a bignum of 100,000 digits', '(expt 10 100000)', { match: /^=> 10{100,}/ }],
    [
      'a printer that writes without end',
      `(defclass w () ()) (defmethod print-object ((o w) s) (loop (write-string "again and again " s))) (make-instance 'w)`,
      { has: '[truncated: at least ' },
    ],
    [
      'a printer that exits',
      `(defclass x () ()) (defmethod print-object ((o x) s) (sb-ext:exit :abort t)) (make-instance 'x)`,
      { type: 'PROCESS-EXIT', has: '[Rollback]' },
    ],
    [
      'a printer that throws',
      `(defclass y () ()) (defmethod print-object ((o y) s) (throw 'nowhere 1)) (make-instance 'y)`,
      { has: '#<unprintable Y' },
    ],
    [
      'a printer that recurses',
      `(defclass z () ()) (defmethod print-object ((o z) s) (print-object o s) 1) (make-instance 'z)`,
      { has: '#<unprintable Z: SB-KERNEL::CONTROL-STACK-EXHAUSTED' },
    ],
    [
      'a value with strange symbols',
      `(list (make-symbol "") (intern "a b|c") (code-char 0) (code-char 55296))`,
      { has: '#:||' },
    ],
  ];
  for (const [name, code, expected] of rows) {
    test(name, async () => {
      await server.value('(defvar *kept* 42) *kept*');
      await bounded(server, async () => {
        const result = await server.evaluate(code, { timeout: 60 });
        expectResult(result, expected);
      });
      assert.equal(await server.value('*kept*'), '=> 42');
      await server.call('reset-session');
    });
  }
});

describe('bad input', () => {
  const server = useServer();
  test('raw lines: invalid UTF-8, not JSON, not an object', async () => {
    const { process: child } = server.transport;
    const replies = [];
    const take = server.transport.onmessage;
    server.transport.onmessage = (message) =>
      message.id === null || message.id === 'raw' ? replies.push(message) : take(message);
    child.stdin.write(
      Buffer.concat([
        Buffer.from(
          '{"jsonrpc":"2.0","id":"raw","method":"tools/call","params":{"name":"evaluate-lisp","arguments":{"code":"',
        ),
        Buffer.from([0xff, 0xfe]),
        Buffer.from('"}}}\n'),
      ]),
    );
    child.stdin.write('not json at all\n42\n');
    assert.ok(await eventually(() => replies.length >= 3), JSON.stringify(replies));
    for (const reply of replies) assert.ok(reply.error?.code < 0, JSON.stringify(reply));
    server.transport.onmessage = take;
    assert.equal(await server.value('(+ 1 1)'), '=> 2');
  });
  test('unknown tool and unknown arguments', async () => {
    await assert.rejects(server.client.callTool({ name: 'no-such-tool', arguments: {} }));
    expectResult(await server.evaluate('(+ 1 1)', { 'no-such-argument': 1 }), {
      ok: false,
      has: `unknown parameter 'no-such-argument'`,
    });
    assert.equal(await server.value('(+ 1 1)'), '=> 2');
  });
});

// What a server holds when it is idle: its processes and descriptors.
async function holdings(server) {
  let last = '';
  await eventually(() => {
    const now = JSON.stringify([server.processes().length, descriptors(server.pid).length]);
    const stable = now === last;
    last = now;
    return stable;
  });
  return {
    processes: server.processes().length,
    descriptors: descriptors(server.pid).length,
    resident: residentBytes(server.pid),
  };
}

describe('long runs', () => {
  const server = useServer({ env });
  test('1,000 evaluations: no process, descriptor or memory leaks', async () => {
    await server.value('(defvar *n* 0)');
    for (let i = 0; i < 50; i++) await server.value('(incf *n*)');
    const before = await holdings(server);
    for (let i = 0; i < 1000; i++) {
      if (i % 10 === 9) await server.evaluate('(error "x")');
      else if (i % 100 === 50) await server.evaluate('(sb-ext:exit :abort t)');
      else await server.value('(incf *n*)');
    }
    const after = await holdings(server);
    assert.ok(after.processes <= before.processes + 6, JSON.stringify({ before, after })); // 4 of them frozen errors
    assert.ok(after.descriptors <= before.descriptors + 12, JSON.stringify({ before, after }));
    assert.ok(after.resident - before.resident <= 16 * MB, JSON.stringify({ before, after }));
    assert.equal(await server.value('*n*'), `=> ${50 + 1000 - 100 - 10}`);
  });
  test('200 calls of tools that need a copy', async () => {
    await server.evaluate('(defun f (x) (error "~a" x)) (f 1)');
    const before = await holdings(server);
    for (let i = 0; i < 100; i++) {
      await server.call('compile-form', { code: `(+ ${i} 1)` });
      await server.call('eval-in-frame', { frame: 1, code: '(* x 2)' });
    }
    const after = await holdings(server);
    assert.ok(after.processes <= before.processes, JSON.stringify({ before, after }));
    assert.ok(after.descriptors <= before.descriptors, JSON.stringify({ before, after }));
  });
});

describe('many sessions', () => {
  const server = useServer({ env });
  const names = Array.from({ length: 8 }, (_, i) => (i === 0 ? 'main' : `s${i}`));
  test('8 in parallel, answers in their own session', async () => {
    await Promise.all(
      names.map((session, i) => server.evaluate(`(defvar *me* ${i})`, { session })),
    );
    await Promise.all(
      Array.from({ length: 160 }, async (_, i) => {
        const session = names[i % 8];
        const { text } = await server.evaluate(`(list *me* ${i})`, { session });
        assert.equal(text, `=> (${i % 8} ${i})`);
      }),
    );
  });
  test('a busy session does not hold up the others', async () => {
    const busy = server.evaluate('(sleep 1.5) :slept', { session: 's1' });
    const started = performance.now();
    assert.equal(await server.value('*me*', { session: 's2' }), '=> 2');
    assert.ok(performance.now() - started < 1000, 'waited for the other session');
    assert.equal((await busy).text, '=> :SLEPT');
  });
  test('closing them gives everything back', async () => {
    for (const session of names.slice(1)) await server.call('close-session', { session });
    const reference = await holdings(server);
    for (let round = 0; round < 3; round++) {
      await Promise.all(
        names.slice(1).map((session) => server.evaluate('(error "x")', { session })),
      );
      for (const session of names.slice(1)) await server.call('close-session', { session });
    }
    const after = await holdings(server);
    assert.ok(after.processes <= reference.processes, JSON.stringify({ reference, after }));
    assert.ok(after.descriptors <= reference.descriptors, JSON.stringify({ reference, after }));
  });
});

describe('code that answers in the name of the session', () => {
  // What the server hands on is what its tools promise, whatever a process says; the SDK checks that, too.
  const members = [
    '"values" 7',
    '"values" (o "a" 1)',
    '"values" #(1 2)',
    '"values" #("1") "forms" "many"',
    '"values" #("1") "timing" #(1)',
    '"values" #("1") "warnings" #(1 "x")',
    '"values" #("1") "notices" 7',
    '"values" #("1") "state" 7',
    '"values" #("1") "error" 7',
    '"values" #("1") "rollback" 7',
    '"values" #("1") "postmortem" "x"',
    '"values" #("1") "thread_errors" #(1)',
    '"op" 7',
    '',
  ];
  test('the client gets a valid result or an error, and the session goes on', async () => {
    const server = await Server.start();
    try {
      await server.value('(defvar *kept* 42)');
      for (const forged of members) {
        const answer = await server.evaluate(`(flet ((o (&rest m) (cons :object m)))
          (cadre-agent::send-message cadre-agent::+result+ (cadre-agent::call-number cadre-agent::*call*) (o "ok" :true ${forged})))`);
        if (answer.isError) assert.match(answer.structured.error.code, /^[a-z-]+$/, forged);
        if (forged) assert.ok(answer.isError, forged);
        assert.match(await server.value('*kept*'), /=> 42$/, forged);
      }
    } finally {
      await server.kill(); // not stop(): it may have complained on standard error
    }
  });
});
