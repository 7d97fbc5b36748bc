// Takes the pictures of README.md and docs/inspector.md: an agent works in a real server while the inspector's page
// is open in Chromium. docs/inspector-VIEW-light.png and -dark.png.
//
//   scripts/screenshots [DIRECTORY]
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Agent, InspectedServer, openBrowser, openPage } from '../tests/e2e/inspector_support.mjs';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const DIRECTORY = process.argv[2] ?? path.join(ROOT, 'docs');
const SIZE = { width: 1280, height: 800 };
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const STORY = [
  '(defpackage :shop (:use :cl) (:export #:total))\n(in-package :shop)',
  '(defstruct item name price (count 1))',
  '(defvar *basket*\n  (list (make-item :name "lamp" :price 3990)\n        (make-item :name "bulb" :price 450 :count 6)))',
  "(defun total (items)\n  (reduce #'+ items :key (lambda (item) (* (item-price item) (item-count item)))))",
  '(total *basket*)',
  '(defun discount (items rate)\n  (* (total items) (- 1 rate)))',
  '(discount *basket* 1/10)',
  '(defun rate-of (customer)\n  (ecase customer (:new 0) (:regular 1/20) (:staff 1/4)))',
];
const REST = [
  '(loop for customer in \'(:new :regular :staff)\n      do (format t "~10a ~6,2f~%" customer (/ (discount *basket* (rate-of customer)) 100)))',
  '(cadre:show (loop for item in *basket*\n                  collect (list (item-name item) (item-count item) (/ (item-price item) 100.0)))\n            :columns \'("item" "count" "price"))',
];
const PROGRAM = `(let [names ["lamp" "bulb" "cable" "shade"]
      prices (tool/prices {})
      found (pmap (fn [name]
                    (try (tool/stock {:name name})
                         (catch Exception e {:name name :count 0})))
                  names)]
  (println "asked for" (count names) "items")
  {:in-stock (map :name (filter (fn [item] (pos? (:count item))) found))
   :value (reduce + (map (fn [item] (* (:count item) (get prices (:name item) 0))) found))})`;
const STOCK = `read -r line
case $line in
*lamp*) sleep 0.05; echo '{"name":"lamp","count":4}' ;;
*bulb*) sleep 0.12; echo '{"name":"bulb","count":31}' ;;
*cable*) sleep 0.08; echo "no such item: cable" >&2; exit 1 ;;
*) sleep 0.03; echo '{"name":"shade","count":0}' ;;
esac`;
const TOOLS = {
  stock: {
    command: { argv: ['sh', '-c', STOCK] },
    signature: '(name :string) -> {name :string, count :int}',
    description: 'How many of an item are there',
  },
  prices: { constant: { lamp: 3990, bulb: 450 }, delay_ms: 60, signature: '() -> :map' },
};

async function work(agent) {
  for (const code of STORY) await agent.evaluate(code);
  await agent.evaluate(
    '(setf *basket* (remove "bulb" *basket* :key #\'item-name :test #\'string=))',
  );
  await agent.evaluate('(total *basket*)');
  await agent.tool('rollback-session', { to: 8 });
  for (const code of REST) await agent.evaluate(code);
  await agent.evaluate(
    '(defun report (customer)\n  (list customer (discount *basket* (rate-of customer))))',
  );
  await agent.evaluate("(mapcar #'report (list :staff :guest))");
  await agent.tool('run-program', { source: PROGRAM, limits: { timeout: 20000 } });
  await agent.tool('run-program', {
    source: '(reduce + (map :price [{:price 3990} {:price 450}]))',
  });
  await agent.tool('add-context', {
    content: '(defstruct item name price (count 1))',
    type: 'code',
    metadata: { filename: 'shop.lisp', start_line: 12, end_line: 12 },
    pinned: true,
  });
  await agent.tool('add-context', {
    content: 'Prices are in cents. Rates are exact fractions, never floats.',
    type: 'text',
  });
  await agent.tool('add-context', {
    content: ':GUEST fell through ECASE expression.',
    type: 'error',
  });
}

const VIEWS = {
  timeline: async (page) => {
    await page.evaluate(() => {
      location.hash = '#/s/main/11';
    });
    await page.waitForSelector('.panel-body .part');
  },
  error: async (page, error) => {
    await page.evaluate((number) => {
      location.hash = `#/s/main/${number}`;
    }, error);
    await page.locator('.frame-head').nth(3).click();
    await page.waitForSelector('.frame-body .value-name');
  },
  programs: async (page) => {
    await page.evaluate(() => {
      location.hash = '#/programs/1';
    });
    await page.waitForSelector('.run-detail .bar');
  },
  context: async (page) => {
    await page.evaluate(() => {
      location.hash = '#/context';
    });
    await page.waitForSelector('.item');
  },
  workspace: async (page) => {
    await page.evaluate(() => {
      location.hash = '#/';
    });
    await page.waitForSelector('.card .plot');
  },
};

const cadre = path.join(ROOT, 'build/release/src/cli/cadre');
const workspace = path.join(tmpdir(), 'shop'); // a short path, which is in the pictures
mkdirSync(workspace);
const server = new InspectedServer({ cadre, workspace });
const toolsFile = path.join(server.directory, 'tools.json');
writeFileSync(toolsFile, JSON.stringify(TOOLS));
server.args.push('--program-tools', toolsFile);
await server.start();
const browser = await openBrowser();
try {
  const agent = await new Agent(server).open();
  const pages = {};
  for (const scheme of ['light', 'dark'])
    pages[scheme] = await openPage(browser, server, { viewport: SIZE, colorScheme: scheme });
  await work(agent);
  await sleep(1500);
  const { rows } = await agent.resource('cadre://sessions/main/timeline/999999');
  const error = rows.find((row) => row.outcome === 'error').number;
  for (const [scheme, page] of Object.entries(pages))
    for (const [view, show] of Object.entries(VIEWS)) {
      await show(page, error);
      await page.mouse.move(0, 0);
      await sleep(300);
      await page.screenshot({ path: path.join(DIRECTORY, `inspector-${view}-${scheme}.png`) });
    }
  const narrow =
    process.env.CADRE_NARROW &&
    (await openPage(browser, server, {
      viewport: { width: 390, height: 780 },
      deviceScaleFactor: 2,
      isMobile: true,
      hasTouch: true,
    }));
  for (const [view, show] of Object.entries(narrow ? VIEWS : {})) {
    await show(narrow, error);
    await sleep(300);
    await narrow.screenshot({ path: path.join(DIRECTORY, `inspector-${view}-narrow.png`) });
  }
  for (const page of Object.values(pages)) for (const fault of page.faults) console.error(fault);
} finally {
  await browser.close();
  await server.stop();
  rmSync(workspace, { recursive: true });
}
