// The small languages beside which programs are measured, and how each of them does a task:
//   first(task)   the command of a whole process: start, read, run, print, end
//   warm(task)    the command of a process that does the work WARM_RUNS times over and prints a line
//                 `VALUE MILLISECONDS` for each
//   embedded      the command of a process that creates an interpreter, runs a program and destroys it:
//                 such a line for the first time, then for the means of many
// undefined or absent where a peer cannot do it. A task has a program for each language it is written in;
// JavaScript, Lua and Python are function bodies, JavaScript reads files by readText(FILE).
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const WARM_RUNS = 23;

const HERE = path.dirname(fileURLToPath(import.meta.url));
const QUICKJS = path.join(HERE, 'quickjs.mjs');

const luaWarm = (body) => `local f = (loadstring or load)([==[${body}]==])
for _ = 1, ${WARM_RUNS} do local t = os.clock() local v = f() print(v .. " " .. (os.clock() - t) * 1000) end`;

const indent = (text, by) =>
  text
    .split('\n')
    .map((line) => by + line)
    .join('\n');
const pythonMain = (body) => `def main():\n${indent(body, '  ')}`;
const pythonWarm = (body) => `${pythonMain(body)}
import time
for _ in range(${WARM_RUNS}):
  t = time.perf_counter()
  v = main()
  print(v, (time.perf_counter() - t) * 1000)`;

// LuaJIT can call its own C API; the plain interpreter cannot.
const LUAJIT_EMBEDDED = `local ffi = require("ffi")
ffi.cdef[[typedef struct lua_State lua_State; lua_State *luaL_newstate(void); void lua_close(lua_State *);
int luaL_loadstring(lua_State *, const char *); int lua_pcall(lua_State *, int, int, int); double lua_tonumber(lua_State *, int);]]
local C = ffi.C
local function once()
  local state = C.luaL_newstate()
  assert(C.luaL_loadstring(state, "return 1 + 2") == 0 and C.lua_pcall(state, 0, 1, 0) == 0)
  local v = C.lua_tonumber(state, -1)
  C.lua_close(state)
  return v
end
local function batch(size)
  local t, v = os.clock()
  for _ = 1, size do v = once() end
  print(v .. " " .. (os.clock() - t) * 1000 / size)
end
batch(1) for _ = 1, 20 do batch(100) end`;

const NODE_READ = 'const readText = (file) => require("fs").readFileSync(file, "utf8");';

const NODE_WARM = `const vm = require("vm"), context = vm.createContext({ readText }), script = new vm.Script("(() => {" + process.argv[1] + "})()");
for (let i = 0; i < ${WARM_RUNS}; i++) { const t = performance.now(), v = script.runInContext(context); console.log(v, performance.now() - t); }`;

const NODE_EMBEDDED = `const vm = require("vm");
function batch(size) { let v; const t = performance.now(); for (let i = 0; i < size; i++) v = vm.runInNewContext("1 + 2"); console.log(v, (performance.now() - t) / size); }
batch(1); for (let i = 0; i < 10; i++) batch(20);`;

const guileWarm = (body) => `(use-modules (system base compile))
(define f (compile '(lambda () ${body}) #:env (current-module)))
(do ((i 0 (+ i 1))) ((= i ${WARM_RUNS}))
  (let* ((t (get-internal-real-time)) (v (f))) (simple-format #t "~A ~A\\n" v (/ (- (get-internal-real-time) t) 1e6))))`;

// Not by get-internal-real-time, whose clock ticks every 4 ms.
const sbclWarm = (
  body,
) => `(flet ((now () (multiple-value-bind (s us) (sb-ext:get-time-of-day) (+ (* s 1000000) us))))
  (let ((f (compile nil '(lambda () ${body}))))
    (dotimes (i ${WARM_RUNS})
      (let* ((start (now)) (v (funcall f)))
        (format t "~a ~f~%" v (/ (- (now) start) 1000.0))))))`;

const nbbHead = '(require \'[clojure.string :as str] \'["fs" :as fs])';
const nbbWarm = (body) => `${nbbHead} (let [f (fn [] ${body})]
  (dotimes [_ ${WARM_RUNS}] (let [t (js/performance.now) v (f)] (println v (- (js/performance.now) t)))))`;

const sbcl = (code) => [
  'sbcl',
  '--noinform',
  '--no-sysinit',
  '--no-userinit',
  '--non-interactive',
  '--eval',
  code,
];
const guile = (code) => ['guile', '--no-auto-compile', '-c', code];
const node = (...args) => [process.execPath, ...args];
const nbb = (code) => node(path.join(HERE, 'node_modules/nbb/cli.js'), '-e', code);

function commandVersion(command, ...args) {
  const answer = spawnSync(command, args, { encoding: 'utf8' });
  return answer.status === 0
    ? (answer.stdout + answer.stderr).match(/\d+\.\d+[\w.-]*/)?.[0]
    : undefined;
}

function packageVersion(name) {
  try {
    return JSON.parse(readFileSync(path.join(HERE, 'node_modules', name, 'package.json'), 'utf8'))
      .version;
  } catch {
    return undefined;
  }
}

const PEERS = {
  'lua5.4': {
    version: () => commandVersion('lua5.4', '-v'),
    first: ({ lua }) => lua && ['lua5.4', '-e', `print((function() ${lua} end)())`],
    warm: ({ lua }) => lua && ['lua5.4', '-e', luaWarm(lua)],
  },
  luajit: {
    version: () => commandVersion('luajit', '-v'),
    first: ({ lua }) => lua && ['luajit', '-e', `print((function() ${lua} end)())`],
    warm: ({ lua }) => lua && ['luajit', '-e', luaWarm(lua)],
    embedded: ['luajit', '-e', LUAJIT_EMBEDDED],
  },
  python3: {
    version: () => commandVersion('python3', '--version'),
    first: ({ python }) => python && ['python3', '-c', `${pythonMain(python)}\nprint(main())`],
    warm: ({ python }) => python && ['python3', '-c', pythonWarm(python)],
  },
  node: {
    version: () => process.versions.node,
    first: ({ js }) => js && node('-e', `${NODE_READ} console.log((() => { ${js} })())`),
    warm: ({ js }) => js && node('-e', `${NODE_READ} ${NODE_WARM}`, js),
    embedded: node('-e', NODE_EMBEDDED),
  },
  'quickjs-emscripten': {
    version: () => packageVersion('quickjs-emscripten'),
    first: ({ js }) => js && node(QUICKJS, 'first', js),
    warm: ({ js }) => js && node(QUICKJS, 'warm', js, String(WARM_RUNS)),
    embedded: node(QUICKJS, 'embedded'),
  },
  nbb: {
    version: () => packageVersion('nbb'),
    first: ({ clojure }) => clojure && nbb(`${nbbHead} ${clojure}`),
    warm: ({ clojure }) => clojure && nbb(nbbWarm(clojure)),
  },
  guile: {
    version: () => commandVersion('guile', '--version'),
    first: ({ scheme }) => scheme && guile(`(display (let () ${scheme}))`),
    warm: ({ scheme }) => scheme && guile(guileWarm(scheme)),
  },
  sbcl: {
    version: () => commandVersion('sbcl', '--version'),
    first: ({ lisp }) => lisp && sbcl(`(print ${lisp})`),
    warm: ({ lisp }) => lisp && sbcl(sbclWarm(lisp)),
  },
  jq: {
    version: () => commandVersion('jq', '--version'),
    first: ({ jq }) => jq && ['jq', ...jq],
    warm: () => undefined,
  },
};

// [name, version, peer] of those that are installed, and the names of those that are not.
export function findPeers() {
  const all = Object.entries(PEERS).map(([name, peer]) => [name, peer.version(), peer]);
  return {
    installed: all.filter(([, version]) => version),
    missing: all.filter(([, version]) => !version).map(([name]) => name),
  };
}
