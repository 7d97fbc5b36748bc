// Six data tasks of programs.bench.mjs, larger than those of tasks.mjs: group and join 20,000 orders, count
// 100,000 words, read 20,000 lines of a log by a regex, walk a tree, and a million steps of a generator. Lua
// reads JSON by lua-cjson.
import { picker } from './random.mjs';

function makeOrders() {
  const pick = picker(5);
  return {
    customers: Array.from({ length: 2_000 }, (_, id) => ({
      id,
      name: `Customer ${id}`,
      tier: ['gold', 'silver', 'basic'][pick(3)],
    })),
    orders: Array.from({ length: 20_000 }, (_, id) => ({
      id,
      customer_id: pick(2_000),
      region: `region-${pick(20)}`,
      amount: pick(100_000),
    })),
  };
}

function makeWords() {
  const pick = picker(6);
  return { text: Array.from({ length: 100_000 }, () => `w${pick(5_000)}`).join(' ') };
}

function makeLog() {
  const pick = picker(8);
  const line = (_, i) =>
    `2025-11-${10 + pick(20)} 12:${10 + pick(50)}:01 ${['INFO', 'WARN', 'ERROR'][pick(3)]} [svc-${pick(9)}] request ${i} took ${pick(2_000)} ms`;
  return { lines: Array.from({ length: 20_000 }, line) };
}

function makeTree() {
  const pick = picker(9);
  let left = 20_000;
  const node = (depth) => {
    left--;
    const count = depth === 0 || left <= 0 ? 0 : 1 + pick(5);
    return { v: pick(100), children: Array.from({ length: count }, () => node(depth - 1)) };
  };
  return { tree: node(12) };
}

const GROUP = {
  program: `(->> ctx/orders (group-by :region) (map (fn [[_ rows]] (reduce + (map :amount rows)))) (apply max))`,
  lua: `local groups = {}
    for _, o in ipairs(data.orders) do
      local rows = groups[o.region] if not rows then rows = {} groups[o.region] = rows end rows[#rows + 1] = o end
    local most = 0
    for _, rows in pairs(groups) do
      local sum = 0 for _, o in ipairs(rows) do sum = sum + o.amount end if sum > most then most = sum end end
    return string.format("%d", most)`,
  python: `groups = {}
for o in data["orders"]: groups.setdefault(o["region"], []).append(o)
return max(sum(o["amount"] for o in rows) for rows in groups.values())`,
  js: `const groups = {}; for (const o of data.orders) (groups[o.region] ??= []).push(o);
    return Math.max(...Object.values(groups).map((rows) => rows.reduce((s, o) => s + o.amount, 0)))`,
};

const JOIN = {
  program: `(let [by-id (into {} (map (juxt :id identity) ctx/customers))]
    (->> ctx/orders (filter #(= "gold" (:tier (get by-id (:customer_id %))))) (map :amount) (reduce +)))`,
  lua: `local by_id = {} for _, c in ipairs(data.customers) do by_id[c.id] = c end
    local sum = 0
    for _, o in ipairs(data.orders) do if by_id[o.customer_id].tier == "gold" then sum = sum + o.amount end end
    return string.format("%d", sum)`,
  python: `by_id = {c["id"]: c for c in data["customers"]}
return sum(o["amount"] for o in data["orders"] if by_id[o["customer_id"]]["tier"] == "gold")`,
  js: `const byId = new Map(data.customers.map((c) => [c.id, c]));
    return data.orders.filter((o) => byId.get(o.customer_id).tier === "gold").reduce((s, o) => s + o.amount, 0)`,
};

const WORDS = {
  program: `(->> (split ctx/text #" ") frequencies (sort-by val >) (take 10) (map second) (reduce +))`,
  lua: `local counts, list = {}, {}
    for w in data.text:gmatch("[^ ]+") do counts[w] = (counts[w] or 0) + 1 end
    for _, n in pairs(counts) do list[#list + 1] = n end
    table.sort(list, function(a, b) return a > b end)
    local sum = 0 for i = 1, 10 do sum = sum + list[i] end return sum`,
  python: `from collections import Counter
return sum(n for _, n in Counter(data["text"].split(" ")).most_common(10))`,
  js: `const counts = new Map(); for (const w of data.text.split(" ")) counts.set(w, (counts.get(w) ?? 0) + 1);
    return [...counts.values()].sort((a, b) => b - a).slice(0, 10).reduce((s, n) => s + n, 0)`,
};

const LOG = {
  program: `(->> ctx/lines
    (map #(re-find #"(\\S+) (\\S+) (\\w+) \\[([^\\]]+)\\] request (\\d+) took (\\d+) ms" %))
    (filter #(= "ERROR" (nth % 3))) (map #(parse-long (nth % 6))) (reduce +))`,
  lua: `local sum = 0
    for _, line in ipairs(data.lines) do
      local _, _, level, _, _, ms = line:match("(%S+) (%S+) (%w+) %[([^%]]+)%] request (%d+) took (%d+) ms")
      if level == "ERROR" then sum = sum + tonumber(ms) end end
    return sum`,
  python: `import re
matches = (re.search(r"(\\S+) (\\S+) (\\w+) \\[([^\\]]+)\\] request (\\d+) took (\\d+) ms", l) for l in data["lines"])
return sum(int(m[6]) for m in matches if m[3] == "ERROR")`,
  js: `let sum = 0; for (const line of data.lines) {
      const m = line.match(/(\\S+) (\\S+) (\\w+) \\[([^\\]]+)\\] request (\\d+) took (\\d+) ms/);
      if (m[3] === "ERROR") sum += Number(m[6]); } return sum`,
};

const TREE = {
  program: `(do (defn total [n] (+ (:v n) (reduce + 0 (map total (:children n))))) (total ctx/tree))`,
  lua: `local function total(n) local sum = n.v for _, c in ipairs(n.children) do sum = sum + total(c) end return sum end
    return total(data.tree)`,
  python: `def total(n): return n["v"] + sum(total(c) for c in n["children"])
return total(data["tree"])`,
  js: `const total = (n) => n.children.reduce((s, c) => s + total(c), n.v); return total(data.tree)`,
};

const NUMBERS = {
  name: 'data: 10^6 numeric steps',
  program: `(loop [i 0 x 42 s 0]
    (if (< i 1000000) (let [x (mod (+ (* x 1664525) 1013904223) 4294967296)] (recur (inc i) x (+ s (mod x 100)))) s))`,
  lua: `local x, s = 42, 0
    for i = 1, 1000000 do x = (x * 1664525 + 1013904223) % 4294967296 s = s + x % 100 end return string.format("%d", s)`,
  python: `x, s = 42, 0
for _ in range(1000000):
  x = (x * 1664525 + 1013904223) % 4294967296
  s += x % 100
return s`,
  js: `let x = 42, s = 0; for (let i = 0; i < 1e6; i++) {
      x = (Math.imul(x, 1664525) + 1013904223) >>> 0; s += x % 100; } return s`,
};

// write(NAME, TEXT) makes a file and gives its path.
export function dataTasks(write) {
  const task = (name, content, { program, lua, python, js }) => {
    const file = write(`${name}.json`, JSON.stringify(content));
    const quoted = JSON.stringify(file);
    return {
      name: `data: ${name}`,
      context: file,
      program,
      lua: `local data = require("cjson").decode(io.open(${quoted}):read("*a")) ${lua}`,
      python: `import json\ndata = json.load(open(${quoted}))\n${python}`,
      js: `const data = JSON.parse(readText(${quoted})); ${js}`,
    };
  };
  const orders = makeOrders();
  return [
    task('group', orders, GROUP),
    task('join', orders, JOIN),
    task('words', makeWords(), WORDS),
    task('log', makeLog(), LOG),
    task('tree', makeTree(), TREE),
    NUMBERS,
  ];
}
