// Makes docs/terminal.svg: types into a real `cadre repl` in tmux, takes pictures of its screen, and writes them as an
// animated SVG without scripts. Nothing in it is written by hand but the keys below.
//
//   scripts/record-terminal [FILE]
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const CADRE = path.join(ROOT, 'build/release/src/cli/cadre');
const FILE = process.argv[2] ?? path.join(ROOT, 'docs/terminal.svg');
const COLUMNS = 92;
const ROWS = 25;

// What is typed, and how long the result stays before the next line, in seconds.
const SCRIPT = [
  ['(defun price (item) (getf item :price))', 0.5],
  ["(defun total (items) (reduce #'+ items :key #'prise))", 0.7],
  ["(total '((:price 30) (:price 12)))", 2.6],
  [":restart 2 #'price", 2.0],
  ['(sb-posix:kill (sb-posix:getpid) 9)', 2.6],
  ["(price '(:price 42))", 1.6],
  [':undo 2', 0.8],
  [':branches', 2.5],
];

// --- recording --------------------------------------------------------------------------------------

const home = mkdtempSync(path.join(tmpdir(), 'cadre-record-'));
const tmux = (...args) =>
  spawnSync('tmux', ['-L', `cadre-record-${process.pid}`, '-f', '/dev/null', ...args], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: home, TERM: 'xterm-256color', LANG: 'C.UTF-8' },
  });
const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
const frames = []; // {time, screen}
let started = 0;

function snap() {
  const screen = tmux('capture-pane', '-p', '-e').stdout.replace(/\n$/, '');
  const [x, y] = tmux('display-message', '-p', '#{cursor_x} #{cursor_y}')
    .stdout.split(' ')
    .map(Number);
  const time = Date.now() / 1000 - started;
  const text = `${screen}@${x},${y}`;
  if (frames.at(-1)?.text !== text) frames.push({ time, screen, x, y, text });
}

async function watch(seconds) {
  const end = Date.now() / 1000 + seconds;
  while (Date.now() / 1000 < end) {
    snap();
    await sleep(0.08);
  }
}

async function record() {
  const command = `'${CADRE}' repl`;
  tmux('new-session', '-d', '-x', `${COLUMNS}`, '-y', `${ROWS}`, command);
  tmux('set', '-g', 'status', 'off');
  await sleep(0.5);
  started = Date.now() / 1000;
  await watch(0.6);
  for (const [line, pause] of SCRIPT) {
    for (let at = 0; at < line.length; at += 3) {
      tmux('send-keys', '-l', '--', line.slice(at, at + 3));
      await watch(0.05);
    }
    await watch(0.25);
    tmux('send-keys', 'Enter');
    await watch(pause);
  }
  tmux('kill-server');
  rmSync(home, { recursive: true, force: true });
}

// --- drawing ----------------------------------------------------------------------------------------

const WIDTH = 8.4;
const HEIGHT = 18;
const MARGIN = 14;
const COLOURS = { 31: '#ff7b72', 32: '#7ee787', 33: '#e3b341' };
const escapeText = (text) =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

// A line of the screen as pieces of one style.
function pieces(line) {
  const result = [];
  let column = 0;
  let style = {};
  for (const [, codes, text] of line.matchAll(/\x1b\[([0-9;]*)m|([^\x1b]+|\x1b)/g)) {
    if (codes !== undefined) {
      for (const code of codes.split(';').map(Number)) {
        if (code === 0) style = {};
        else if (code === 1) style = { ...style, bold: true };
        else if (code === 2) style = { ...style, faint: true };
        else if (code === 7) style = { ...style, reverse: true };
        else if (code in COLOURS) style = { ...style, fill: COLOURS[code] };
        else if (code === 39) style = { ...style, fill: undefined };
      }
    } else {
      result.push({ column, text, ...style });
      column += [...text].length;
    }
  }
  return result;
}

function drawLine(line) {
  return pieces(line)
    .map(({ column, text, bold, faint, reverse, fill }) => {
      const x = (column * WIDTH).toFixed(1);
      const width = ([...text].length * WIDTH).toFixed(1);
      const colour = reverse ? ' fill="#0d1117"' : fill ? ` fill="${fill}"` : '';
      const look = `${bold ? ' font-weight="bold"' : ''}${faint ? ' opacity="0.6"' : ''}`;
      const back = reverse
        ? `<rect x="${x}" y="-13" width="${width}" height="17" fill="#e6edf3"/>`
        : '';
      if (text.trim() === '' && !reverse) return '';
      return `${back}<text x="${x}" textLength="${width}"${colour}${look}>${escapeText(text)}</text>`;
    })
    .join('');
}

function draw() {
  const lines = new Map(); // drawn line → its number
  const width = COLUMNS * WIDTH + 2 * MARGIN;
  const height = ROWS * HEIGHT + 2 * MARGIN;
  const total = frames.at(-1).time + 1.5;
  const groups = frames.map(({ screen, x, y }, index) => {
    const uses = screen.split('\n').map((line, row) => {
      const drawn = drawLine(line.trimEnd());
      if (drawn === '') return '';
      if (!lines.has(drawn)) lines.set(drawn, lines.size);
      return `<use href="#l${lines.get(drawn)}" y="${(row + 1) * HEIGHT - 4}"/>`;
    });
    const cursor = `<rect x="${(x * WIDTH).toFixed(1)}" y="${y * HEIGHT + 1}" width="${WIDTH}" height="17" fill="#8b949e" opacity="0.7"/>`;
    return `<g transform="translate(0 ${index * height})">${uses.join('')}${cursor}</g>`;
  });
  const steps = frames.map(
    ({ time }, index) =>
      `${((100 * (index === 0 ? 0 : time)) / total).toFixed(3)}%{transform:translateY(${-index * height}px)}`,
  );
  const defs = [...lines].map(([drawn, number]) => `<g id="l${number}">${drawn}</g>`).join('');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="A session of cadre repl">
<style>svg{fill:#e6edf3}text{font:14px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;white-space:pre}
@keyframes play{${steps.join('')}100%{transform:translateY(${-(frames.length - 1) * height}px)}}
.film{animation:play ${total.toFixed(2)}s step-end infinite}</style>
<defs>${defs}<clipPath id="screen"><rect x="0" y="0" width="${COLUMNS * WIDTH}" height="${ROWS * HEIGHT + 6}"/></clipPath></defs>
<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>
<g transform="translate(${MARGIN} ${MARGIN})"><g clip-path="url(#screen)"><g class="film">${groups.join('\n')}</g></g></g>
</svg>
`;
}

await record();
writeFileSync(FILE, draw());
const seconds = frames.at(-1).time.toFixed(1);
console.log(
  `${FILE}: ${frames.length} frames, ${seconds} s, ${Math.round(statSync(FILE).size / 1024)} KB`,
);
