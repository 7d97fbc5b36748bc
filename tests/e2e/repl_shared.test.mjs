// `cadre repl` in the session of a workspace, which an agent uses, too.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Machine } from './daemon_support.mjs';
import { PipedRepl, Terminal, hasTmux } from './repl_support.mjs';

const PATIENCE = 60;

describe('a shared REPL', { concurrency: false }, () => {
  const machine = new Machine();
  let agent;
  before(async () => {
    agent = await machine.client();
  });
  after(() => machine.stop());

  it('uses the session of the workspace, which stays', async () => {
    assert.equal(await agent.evaluate('(defun area (r) (* r r 3))'), '=> AREA');
    const { stdout, status } = machine.run(['repl'], {
      input: '(area 2)\n(defvar *kept* 41)\n(print :out)\n',
    });
    assert.deepEqual([stdout, status], ['=> 12\n=> *KEPT*\n\n:OUT \n=> :OUT\n', 0]);
    assert.match(
      await agent.evaluate('(1+ *kept*)'),
      /^\[Notice\]\nsince your last call: evaluations 2 by repl \(pid \d+\), 3 by .*\n\n=> 42$/,
    );
  });

  it('takes another session, and one of its own', () => {
    const run = (...args) => machine.run(['repl', ...args], { input: '(fboundp (quote area))\n' });
    assert.match(
      run('--session', 'other').stdout,
      /^\[Notice\]\nsession "other" was started\n\n=> NIL\n$/,
    );
    assert.equal(run('--private').stdout, '=> NIL\n');
    assert.match(run('--session', '../x').stderr, /^cadre repl: A session name is/);
    assert.match(machine.run(['sessions']).stdout, /other/);
  });

  it('shows what others evaluate, as it happens', async () => {
    const repl = new PipedRepl(machine);
    repl.type('(list :here)');
    await repl.shows(/=> \(:HERE\)/);
    await agent.evaluate('(progn (format t "from the agent~%") (area 5))');
    const failed = await agent.evaluate('(error "not good")');
    assert.match(failed, /not good/);
    repl.type(':errors'); // reads what has come meanwhile
    await repl.shows(/; \[test \(pid \d+\), evaluation \d+\]\n; {3}from the agent\n; {3}=> 75/);
    await repl.shows(/; \[test \(pid \d+\), evaluation \d+\]\n; {3}\(error "not good"\)/);
    await repl.shows(/; {3}\[ERROR\] SIMPLE-ERROR\n; {3}not good/);
    assert.equal(await repl.close(), 0);
  });

  it('undoes, debugs and restarts as in a session of its own', async () => {
    const { stdout } = machine.run(['repl'], {
      input: [
        '(defparameter *a* 1)',
        '(setf *a* 2)',
        ':undo',
        '*a*',
        ':redo',
        ':branches',
        '(defun half (n) (unless (evenp n) (error "odd: ~a" n)) (/ n 2))',
        '(half (+ 3 (restart-case (error "none") (use-value (v) v))))',
        ':locals 0',
        ':restart 1 3',
        ':limits timeout 70',
        ':limits',
        ':info',
        '',
      ].join('\n'),
    });
    for (const pattern of [
      /^=> \*A\*\n=> 2\n; at evaluation \d+\n=> 1\n/,
      /\[Branches\]/,
      /\[Restarts\]\n1\. USE-VALUE/,
      /=> 3\n/,
      /timeout: 70 seconds/,
      /Workspace: .*project/,
    ])
      assert.match(stdout, pattern);
    machine.run(['repl'], { input: ':limits timeout 30\n' });
  });

  it('gives input, and its end', () => {
    const { stdout } = machine.run(['repl'], {
      input: '(list (read-line) (read))\na line\n(:a form)\n(read-line nil nil :end)\n',
    });
    assert.equal(stdout, '=> ("a line" (:A FORM))\n=> :END\n=> T\n');
  });

  it('is interrupted by Ctrl-C, and goes on', async () => {
    const repl = new PipedRepl(machine);
    repl.type('(progn (print :begun) (finish-output) (sleep 600))');
    await repl.shows(/:BEGUN/);
    repl.child.kill('SIGINT');
    await repl.shows(/\[ERROR\] EVALUATION-INTERRUPTED/);
    repl.type('(+ 1 2)');
    await repl.shows(/=> 3/);
    assert.equal(await repl.close(), 0);
  });

  it('lives on when the daemon is killed', async () => {
    const repl = new PipedRepl(machine);
    repl.type('(list :before)');
    await repl.shows(/=> \(:BEFORE\)/);
    repl.type('(progn (print :begun) (finish-output) (sleep 600))');
    await repl.shows(/:BEGUN/);
    process.kill(machine.lockFile().pid, 'SIGKILL');
    await repl.shows(/\[ERROR\] DAEMON-ENDED\nThe daemon ended while this ran/);
    repl.type('(+ 20 3)');
    await repl.shows(/=> 23/);
    assert.equal(await repl.close(), 0);
    assert.match(await agent.evaluate('(+ 20 4)'), /=> 24/);
  });

  it('lets what it runs go on when it is killed', async () => {
    const repl = new PipedRepl(machine);
    repl.type('(progn (print :begun) (finish-output) (sleep 1) (defvar *late* :done))');
    await repl.shows(/:BEGUN/);
    repl.child.kill('SIGKILL');
    await repl.ended;
    assert.match(await agent.evaluate('*late*'), /=> :DONE/);
  });

  it('shows it above the line that is typed', { skip: !hasTmux }, async () => {
    const env = Object.entries(machine.env)
      .filter(([name]) => /^(XDG_RUNTIME_DIR|CADRE_TEST_MACHINE)$/.test(name))
      .map(([name, text]) => `${name}='${text}'`);
    const variables = `-u CADRE_PRIVATE -u XDG_STATE_HOME -u XDG_CACHE_HOME ${env.join(' ')}`;
    const terminal = new Terminal([], variables, {
      directory: machine.workspace,
      homeDirectory: machine.home,
    });
    try {
      await terminal.shows(/; session main of the workspace/, PATIENCE);
      await terminal.shows(/CL-USER> *$/, PATIENCE);
      terminal.type('(list 1');
      await terminal.shows(/CL-USER> \(list 1/, PATIENCE);
      await agent.evaluate('(list :from :agent)');
      await terminal.shows(/=> \(:FROM :AGENT\)\nCL-USER> \(list 1/, PATIENCE);
      terminal.type(' 2)');
      terminal.keys('Enter');
      await terminal.shows(/=> \(1 2\)/, PATIENCE);
    } finally {
      terminal.close();
    }
  });
});
