// The inspector's page in a real browser, beside an agent that works over MCP: the story a person sees,
// hostile content, and what the page says when it may not or cannot reach the server.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Agent, InspectedServer, TOKEN, openBrowser, openPage } from './inspector_support.mjs';

let browser;
before(async () => {
  browser = await openBrowser();
});
after(() => browser?.close());

const row = (page, number) => page.locator(`.row[data-number="${number}"]`);
const part = (page, title) =>
  page.locator('.part', { has: page.locator(`h3:text-is("${title}")`) });

async function withServer(options, run) {
  const server = await new InspectedServer(options).start();
  try {
    await run(server);
  } finally {
    await server.stop();
  }
}

const STORY = [
  '(defvar *rate* 3)',
  '(defun inner (n) (* n (missing-factor n) *rate*))',
  '(defun outer (n) (let ((k (inner n))) (1+ k)))',
  '(list *rate* :three)',
  '(format t "working~%")',
  '(cadre:show \'((1 "<b>x</b>") (2 "y")) :columns \'("n" "name"))',
  '(defun unused-variable () (let ((x 1)) 2))',
  '(outer 7)',
  '(setf *rate* 4)',
  '(vector 1 (list 2 (list 3)))',
  '(length "twelve")',
  '(values 1 2)',
];

test('the story: rows appear, the error is opened and adopted, the session rolled back', async () => {
  await withServer({}, async (server) => {
    const agent = await new Agent(server).open();
    const page = await openPage(browser, server, { route: 's/main' });
    await page.getByText('Nothing has been evaluated yet.').waitFor();
    for (const [index, code] of STORY.entries()) {
      const answer = await agent.evaluate(code);
      assert.equal(answer.evaluation, index + 1);
      await row(page, index + 1).waitFor();
    }
    assert.equal(await page.locator('.row').count(), 12);
    assert.match(await row(page, 1).textContent(), /claude-code/);

    // what an evaluation shows
    await row(page, 5).click();
    assert.equal((await part(page, 'Output').locator('.text').textContent()).trim(), 'working');
    await row(page, 6).click();
    await page.locator('td', { hasText: '<b>x</b>' }).waitFor();
    await row(page, 10).click();
    await part(page, 'Value').locator('.value-line').first().click();
    const parts = part(page, 'Value').locator('.parts .value-line');
    await parts.filter({ hasText: '(2 (3))' }).click();
    await parts.filter({ hasText: /^1\(3\)$/ }).waitFor();
    await row(page, 7).click();
    await part(page, 'Warnings').getByText('never used').waitFor();

    // the error: a local of frame 1, a value instead, adopted
    await row(page, 8).click();
    await page.locator('.condition', { hasText: 'UNDEFINED-FUNCTION' }).waitFor();
    const frame = page.locator('.frame').nth(1);
    assert.match(await frame.textContent(), /INNER 7/);
    await frame.locator('.frame-head').click();
    const local = frame.locator('.frame-body .value-line').first();
    await local.waitFor();
    assert.match(await local.textContent(), /N\s*7/);
    await frame.locator('input').fill('(* n 100)');
    await frame.locator('input').press('Enter');
    await frame.getByText('⇒ 700').waitFor();
    await page.locator('.restart', { hasText: 'USE-VALUE' }).click();
    await page.locator('.restarts ~ div input').fill('(lambda (x) (+ x 1))');
    await page.locator('.restarts ~ div button', { hasText: 'Try' }).click();
    await page.locator('.try', { hasText: '⇒' }).waitFor();
    assert.equal((await agent.tool('session-info')).session, 'main');
    await page.getByRole('button', { name: 'Adopt' }).click();
    await row(page, 13).waitFor();
    const { rows } = await agent.resource('cadre://sessions/main/timeline/14');
    assert.deepEqual([rows[0].number, rows[0].by, rows[0].outcome], [13, 'inspector', 'ok']);

    // back to 3, and the client sees it
    await row(page, 3).click();
    await page.getByRole('button', { name: 'Roll back to here' }).click();
    await page.locator('.row.current[data-number="3"]').waitFor();
    await page.locator('.row.left[data-number="12"]').waitFor();
    assert.deepEqual((await agent.evaluate('*rate*')).values, ['3']);
    await row(page, 14).waitFor();

    // a fork of the state after 4 goes its own way
    await row(page, 4).click();
    await page.getByRole('button', { name: 'Fork from here' }).click();
    await page.locator('.side', { hasText: 'fork' }).waitFor();
    await page.locator('.session-title', { hasText: 'fork' }).waitFor();
    assert.deepEqual((await agent.evaluate('*rate*', { session: 'fork' })).values, ['3']);
    await agent.evaluate('(setf *rate* 77)', { session: 'fork' });
    assert.deepEqual((await agent.evaluate('*rate*')).values, ['3']);
    await page.locator('.side', { hasText: 'main' }).click();
    await row(page, 15).waitFor();

    // the prompt
    await page.keyboard.press('i');
    await page.keyboard.type('(outer-or-not');
    await page.keyboard.press('Escape');
    await page.locator('.prompt textarea').fill('(+ *rate* 39)');
    await page.locator('.prompt textarea').press('Enter');
    await row(page, 16).waitFor();
    await page.locator('.panel-title', { hasText: 'Evaluation 16' }).waitFor();
    await part(page, 'Value').getByText('42').waitFor();
    await page.locator('.prompt textarea').press('ArrowUp');
    assert.equal(await page.locator('.prompt textarea').inputValue(), '(+ *rate* 39)');
    await page.locator('.prompt textarea').fill('(hash-table-co');
    await page.locator('.prompt textarea').press('Tab');
    await page.waitForFunction(
      () => document.querySelector('.prompt textarea').value === '(hash-table-count',
    );
    await page.locator('.prompt textarea').fill('');
    await page.keyboard.press('Escape');

    // keys and search
    await page.keyboard.press('Escape');
    await page.locator('.panel').waitFor({ state: 'hidden' });
    await page.keyboard.press('k');
    await page.keyboard.press('k');
    await page.locator('.row.selected').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('twelve');
    await page.waitForFunction(() => document.querySelectorAll('.row').length === 1);
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => document.querySelectorAll('.row').length === 16);
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });
});

test('a running evaluation shows its output as it comes, and can be interrupted', async () => {
  await withServer({}, async (server) => {
    const agent = await new Agent(server).open();
    const page = await openPage(browser, server, { route: 's/main' });
    const answer = agent.evaluate(
      '(progn (format t "first~%") (finish-output) (loop (sleep 0.05) (format t "tick~%") (finish-output)))',
      { yield: 0 },
    );
    answer.catch(() => {}); // it is awaited below, unless something fails before
    await page.locator('.row.is-running').click();
    await page.locator('.text.live', { hasText: 'tick' }).waitFor();
    assert.match(await page.locator('.text.live').textContent(), /^first\ntick/);
    await page.getByRole('button', { name: 'Interrupt' }).click();
    assert.equal((await answer).ok, false);
    await page.locator('.panel .state.error').waitFor();
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });
});

test('programs are a waterfall, context items are pinned and removed', async () => {
  await withServer({}, async (server) => {
    const agent = await new Agent(server).open();
    const page = await openPage(browser, server, { route: 'programs' });
    await page.getByText('No program has run yet.').waitFor();
    await agent.evaluate('(defun twice (n) (* 2 n))');
    await agent.tool('run-program', { source: '(println "<i>out</i>") (map inc [1 2])' });
    await page.locator('.run').first().click();
    await part(page, 'Returned').getByText('[2 3]').waitFor();
    await part(page, 'Printed').getByText('<i>out</i>').waitFor();

    await page.keyboard.press('4');
    await page.getByText('No items yet.').waitFor();
    await page.locator('.add-item textarea').fill('from the page');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.locator('.document', { hasText: 'from the page' }).waitFor();
    await page.getByRole('button', { name: 'Pin' }).click();
    await page.locator('.item.pinned').waitFor();
    await agent.tool('add-context', { content: 'from the agent', type: 'text' });
    await page.locator('.item', { hasText: 'from the agent' }).waitFor();
    await page
      .locator('.item', { hasText: 'from the page' })
      .getByRole('button', { name: 'Remove' })
      .click();
    await page.waitForFunction(() => document.querySelectorAll('.item').length === 1);
    const { summaries } = await agent.tool('list-context');
    assert.deepEqual(
      summaries.map((item) => item.preview),
      ['from the agent'],
    );
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });
});

test('hostile content is text, and the page stays quick', async () => {
  await withServer({ args: ['--yield', '0'] }, async (server) => {
    const agent = await new Agent(server).open();
    await agent.tool('configure-limits', { 'max-output': 4000000 });
    const page = await openPage(browser, server, { route: 's/main' });
    await page.evaluate(() => {
      window.pwned = 0;
    });
    const attack =
      '<script>window.pwned=1</script><img src=x onerror="window.pwned=2"><a href="javascript:window.pwned=3">x</a>';
    const lisp = (text) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
    const hostile = [
      `(progn (princ ${lisp(attack)}) (warn ${lisp(attack.replaceAll('~', '~~'))}) ${lisp(attack)})`,
      `(cadre:show ${lisp(`| a |\n|---|\n| ${attack} |`)})`,
      `(cadre:show ${lisp('<svg xmlns="http://www.w3.org/2000/svg" onload="window.pwned=4"><script>window.pwned=5</script></svg>')})`,
      `(error ${lisp(attack)})`,
      `(progn (write-string (coerce (mapcar #'code-char '(#x202e 97 98 #x2066 #x200f 27 91 51 49 109 0)) 'string)) (finish-output))`,
      '(with-open-file (out "/dev/stdout" :direction :output :if-exists :append :element-type (quote (unsigned-byte 8))) (write-sequence (coerce (quote (255 254 195 40 237 160 128 10)) (quote (vector (unsigned-byte 8)))) out))',
      '(progn (write-string (make-string 5000000 :initial-element #\\A)) (values))',
      '(progn (dotimes (i 1000000) (format t "~d~%" i)) (values))',
      '(make-array 1000000 :initial-element 7)',
    ];
    for (const code of hostile) await agent.evaluate(code, { timeout: 120 });
    for (let number = 1; number <= hostile.length; number++) {
      await page.evaluate((to) => {
        location.hash = `#/s/main/${to}`;
      }, number);
      await page.locator('.panel-title', { hasText: `Evaluation ${number}` }).waitFor();
      await page.locator('.panel-body .part').first().waitFor();
    }
    const open = async (number) => {
      await page.evaluate((to) => {
        location.hash = `#/s/main/${to}`;
      }, number);
      await page.locator('.panel-title', { hasText: `Evaluation ${number}` }).waitFor();
      await page.locator('.panel-body .part').first().waitFor();
    };
    await open(1);
    assert.equal(await part(page, 'Output').locator('.text').textContent(), attack);
    assert.match(await part(page, 'Warnings').textContent(), /<script>/);
    await open(2);
    assert.equal(await page.locator('td').first().textContent(), attack);
    await open(5);
    const odd = await part(page, 'Output').locator('.odd').allTextContents();
    assert.ok(
      odd.includes('U+202E') && odd.includes('U+2066') && odd.includes('U+001B'),
      odd.join(),
    );
    await open(7);
    const size = await page.evaluate(
      () => document.querySelector('.panel-body').textContent.length,
    );
    assert.ok(size < 100000, `${size} characters are laid out`);
    await open(9);
    await part(page, 'Value').locator('.value-line').first().click();
    await page.getByText('1,000,000 parts').waitFor();
    await page.waitForFunction(() => document.querySelectorAll('.parts .value').length === 50);
    assert.equal(await page.evaluate(() => window.pwned), 0);
    assert.equal(
      await page
        .locator('.shell script, .shell iframe, .shell img[src="x"], .shell a[href^="javascript"]')
        .count(),
      0,
    );
    // Nothing but the content policy's own reports may have been logged, and not even those.
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });
});

test('ten thousand evaluations are a window of rows', async () => {
  await withServer({}, async (server) => {
    const agent = await new Agent(server).open();
    const page = await openPage(browser, server, { route: 's/main' });
    await agent.evaluate('(defvar *n* 0)');
    await row(page, 1).waitFor();
    // The rows are made here: as many evaluations would take minutes.
    const times = await page.evaluate(async () => {
      const { apply } = await import('/store.js');
      for (let number = 2; number <= 10000; number++) {
        const parent = number % 97 === 0 ? Math.max(1, number - 40) : number - 1;
        const made = {
          number,
          parent,
          code: `(f ${number})`,
          outcome: 'ok',
          us: 10,
          at: Date.now(),
        };
        apply({ type: 'ended', session: 'main', current: number, row: made });
      }
      await new Promise((resolve) => setTimeout(resolve, 500));
      const scroller = document.querySelector('.timeline');
      const counts = [];
      for (let at = 0; at < 20; at++) {
        scroller.scrollTop = (scroller.scrollHeight * at) / 20;
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        counts.push(document.querySelectorAll('.row').length);
      }
      return { counts, height: scroller.scrollHeight };
    });
    assert.ok(times.height >= 340000);
    assert.ok(
      Math.max(...times.counts) < 120 && Math.min(...times.counts) > 10,
      times.counts.join(),
    );
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });
});

test('a wrong token gets a message and a way to give the right one', async () => {
  await withServer({}, async (server) => {
    const page = await openPage(browser, server, { token: 'wrong-token-wrong-token' });
    await page.getByText("This page needs the server's token").waitFor();
    await page.getByText('cadre ui').waitFor();
    await page.locator('.gate input').fill(TOKEN);
    await page.getByRole('button', { name: 'Open' }).click();
    await page.locator('.connection', { hasText: 'live' }).waitFor();
    assert.equal(new URL(page.url()).hash.includes(TOKEN), false);
    assert.equal(await page.evaluate(() => localStorage.length + document.cookie.length), 0);
    await page.context().close();
  });
});

test('a server that ends is said, and the page goes on with the next one', async () => {
  const server = await new InspectedServer().start();
  const page = await openPage(browser, server, { route: 's/main' });
  try {
    const agent = await new Agent(server).open();
    await agent.evaluate('(list :old)');
    await row(page, 1).waitFor();
    await server.stop();
    await page.locator('.banner', { hasText: 'reconnects by itself' }).waitFor();
    await server.start();
    await page.locator('.connection', { hasText: 'live' }).waitFor();
    await page.locator('.banner').waitFor({ state: 'hidden' });
    const next = await new Agent(server).open();
    await next.evaluate('(list :new)');
    await page.locator('.row', { hasText: ':new' }).waitFor();
    assert.equal(await page.locator('.row', { hasText: ':old' }).count(), 0);
    await page.locator('.prompt textarea').fill('(list :typed)');
    await page.locator('.prompt textarea').press('Enter');
    await page.locator('.row', { hasText: ':typed' }).waitFor();
  } finally {
    await page.context().close();
    await server.stop();
  }
});
