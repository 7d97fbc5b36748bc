// The tasks of programs.bench.mjs: small ones that stress one thing each, in three spellings, and
// programs over a JSON context as language models write them. A task has a program for each language
// it is written in (peers.mjs); its value is an integer.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { dataTasks } from './data_tasks.mjs';
import { picker } from './random.mjs';

function makeRecords() {
  const pick = picker(42);
  return Array.from({ length: 10_000 }, (_, i) => ({
    id: i,
    name: `customer number ${pick(5000)}`,
    region: `region-${pick(20)}`,
    active: pick(3) > 0,
    amount: pick(100_000),
    tags: [`t${pick(50)}`, `t${pick(50)}`],
    address: {
      street: `${pick(300)} Long Street`,
      city: `City ${pick(80)}`,
      zip: String(10_000 + pick(80_000)),
    },
    comment: `parcel ${pick(1000)} of order ${i} was left with the neighbour at ${pick(24)} h`,
  }));
}

function makeOrders() {
  const pick = picker(11);
  const two = (number) => String(number + 1).padStart(2, '0');
  const customers = Array.from({ length: 500 }, (_, id) => ({
    id,
    name: `Customer ${id}`,
    tier: ['gold', 'silver', 'basic'][pick(3)],
    country: `C${pick(12)}`,
  }));
  const orders = Array.from({ length: 5_000 }, (_, id) => ({
    id,
    customer_id: pick(500),
    status: ['paid', 'open', 'cancelled'][pick(3)],
    region: `region-${pick(20)}`,
    amount: pick(100_000),
    date: `2025-${two(pick(12))}-${two(pick(28))}`,
    tags: [`t${pick(50)}`, `t${pick(50)}`],
    comment: `Parcel ${pick(1000)} of order ${id} was left with the Neighbour at ${pick(24)} h`,
  }));
  return { orders, customers };
}

function makeText() {
  const pick = picker(7);
  let text = '';
  while (text.length < 1_000_000) {
    const number = pick(1 << 24);
    text += number % 5 === 0 ? `user${'abc'[number % 3]}@host.com ` : `word${number % 1000} `;
  }
  return text;
}

// --- in three spellings ----------------------------------------------------------------------------

const SUM = [
  {
    name: 'sum to 10^6: loop',
    expected: 499999500000,
    program: '(loop [i 0 s 0] (if (< i 1000000) (recur (inc i) (+ s i)) s))',
    lua: 'local i, s = 0, 0 while i < 1000000 do s = s + i i = i + 1 end return string.format("%d", s)',
    python: 'i = s = 0\nwhile i < 1000000:\n  s += i\n  i += 1\nreturn s',
    js: 'let i = 0, s = 0; while (i < 1e6) { s += i; i++; } return s',
    scheme: '(let loop ((i 0) (s 0)) (if (< i 1000000) (loop (+ i 1) (+ s i)) s))',
    lisp: '(do ((i 0 (1+ i)) (s 0 (+ s i))) ((>= i 1000000) s))',
    jq: ['-n', '[0, 0] | until(.[0] >= 1000000; [.[0] + 1, .[1] + .[0]]) | .[1]'],
  },
  {
    name: 'sum to 10^6: function',
    expected: 499999500000,
    program: '(reduce (fn [s i] (+ s i)) 0 (range 1000000))',
    lua: `local function reduce(f, s, n) for i = 0, n - 1 do s = f(s, i) end return s end
      return string.format("%d", reduce(function(s, i) return s + i end, 0, 1000000))`,
    python: 'from functools import reduce\nreturn reduce(lambda s, i: s + i, range(1000000), 0)',
    js: 'let s = 0; const add = (s, i) => s + i; for (let i = 0; i < 1e6; i++) s = add(s, i); return s',
    scheme: '(use-modules (srfi srfi-1)) (fold (lambda (i s) (+ s i)) 0 (iota 1000000))',
    lisp: '(flet ((add (s i) (+ s i))) (let ((s 0)) (dotimes (i 1000000 s) (setf s (add s i)))))',
    jq: ['-n', 'def f($s; $i): $s + $i; reduce range(1000000) as $i (0; f(.; $i))'],
  },
  {
    name: 'sum to 10^6: range',
    expected: 499999500000,
    program: '(reduce + (range 1000000))',
    clojure: '(reduce + (range 1000000))',
    lua: 'local s = 0 for i = 0, 999999 do s = s + i end return string.format("%d", s)',
    python: 's = 0\nfor i in range(1000000):\n  s += i\nreturn s',
    js: 'let s = 0; for (let i = 0; i < 1e6; i++) s += i; return s',
    scheme: '(do ((i 0 (+ i 1)) (s 0 (+ s i))) ((= i 1000000) s))',
    lisp: '(loop for i below 1000000 sum i)',
    jq: ['-n', 'reduce range(1000000) as $i (0; . + $i)'],
  },
];

const FIB = [
  {
    name: 'fib 27: if',
    expected: 196418,
    program: '(do (defn fib [n] (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 27))',
    clojure: '(do (defn fib [n] (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 27))',
    lua: 'local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end return fib(27)',
    python: 'def fib(n):\n  return n if n < 2 else fib(n - 1) + fib(n - 2)\nreturn fib(27)',
    js: 'const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2)); return fib(27)',
    scheme: '(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 27)',
    lisp: '(labels ((fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))) (fib 27))',
    jq: ['-n', 'def fib: if . < 2 then . else (. - 1 | fib) + (. - 2 | fib) end; 27 | fib'],
  },
  {
    name: 'fib 27: cond',
    expected: 196418,
    program:
      '(do (defn fib [n] (cond (= n 0) 0 (= n 1) 1 :else (+ (fib (- n 1)) (fib (- n 2))))) (fib 27))',
    lua: `local function fib(n)
      if n == 0 then return 0 elseif n == 1 then return 1 else return fib(n-1) + fib(n-2) end end return fib(27)`,
    python: `def fib(n):
  if n == 0: return 0
  if n == 1: return 1
  return fib(n - 1) + fib(n - 2)
return fib(27)`,
    js: `const fib = (n) => { switch (n) { case 0: return 0; case 1: return 1; default: return fib(n - 1) + fib(n - 2); } };
      return fib(27)`,
    scheme:
      '(define (fib n) (cond ((= n 0) 0) ((= n 1) 1) (else (+ (fib (- n 1)) (fib (- n 2)))))) (fib 27)',
    jq: [
      '-n',
      'def fib: if . == 0 then 0 elif . == 1 then 1 else (. - 1 | fib) + (. - 2 | fib) end; 27 | fib',
    ],
  },
  {
    name: 'fib 27: local',
    expected: 196418,
    program: '((fn fib [n] (if (<= n 1) n (let [a (fib (dec n)) b (fib (- n 2))] (+ a b)))) 27)',
    lua: `local function fib(n)
      if n <= 1 then return n end local a, b = fib(n-1), fib(n-2) return a + b end return fib(27)`,
    python: `def fib(n):
  if n <= 1: return n
  a = fib(n - 1)
  b = fib(n - 2)
  return a + b
return fib(27)`,
    js: 'function fib(n) { if (n <= 1) return n; const a = fib(n - 1), b = fib(n - 2); return a + b; } return fib(27)',
    scheme:
      '(define (fib n) (if (<= n 1) n (let* ((a (fib (- n 1))) (b (fib (- n 2)))) (+ a b)))) (fib 27)',
    jq: [
      '-n',
      'def fib: if . <= 1 then . else (. - 1 | fib) as $a | (. - 2 | fib) as $b | $a + $b end; 27 | fib',
    ],
  },
];

function mapTask(name, key, keys) {
  return {
    name: `map of 100k: ${name}`,
    expected: 199998,
    program: `(get (reduce (fn [m i] (assoc m ${key} (* 2 i))) {} (range 100000)) (let [i 99999] ${key}))`,
    clojure: `(get (reduce (fn [m i] (assoc m ${key} (* 2 i))) {} (range 100000)) (let [i 99999] ${key}))`,
    lua: `local m = {} for i = 0, 99999 do m[${keys.lua}] = 2 * i end local i = 99999 return m[${keys.lua}]`,
    python: `m = {}\nfor i in range(100000):\n  m[${keys.python}] = 2 * i\nreturn m[${keys.python}]`,
    js: `const m = new Map(); for (let i = 0; i < 100000; i++) m.set(${keys.js}, 2 * i); const i = 99999; return m.get(${keys.js})`,
    scheme: `(let ((m (make-hash-table))) (do ((i 0 (+ i 1))) ((= i 100000)) (hash-set! m ${keys.scheme} (* 2 i)))
      (let ((i 99999)) (hash-ref m ${keys.scheme})))`,
    lisp: `(let ((m (make-hash-table :test 'equal))) (dotimes (i 100000) (setf (gethash ${keys.lisp} m) (* 2 i)))
      (let ((i 99999)) (gethash ${keys.lisp} m)))`,
    jq: [
      '-n',
      `reduce range(100000) as $i ({}; .[${keys.jq}] = 2 * $i) | 99999 as $i | .[${keys.jq}]`,
    ],
  };
}

const MAPS = [
  mapTask('keys i', 'i', {
    lua: 'i',
    python: 'i',
    js: 'i',
    scheme: 'i',
    lisp: 'i',
    jq: '$i | tostring',
  }),
  mapTask('keys 7i', '(* 7 i)', {
    lua: '7 * i',
    python: '7 * i',
    js: '7 * i',
    scheme: '(* 7 i)',
    lisp: '(* 7 i)',
    jq: '7 * $i | tostring',
  }),
  mapTask('keys (str i)', '(str i)', {
    lua: 'tostring(i)',
    python: 'str(i)',
    js: 'String(i)',
    scheme: '(number->string i)',
    lisp: '(princ-to-string i)',
    jq: '$i | tostring',
  }),
];

const JOIN = [
  {
    name: 'join 100k: join',
    expected: 588889,
    program: '(count (join "," (range 100000)))',
    clojure: '(count (str/join "," (range 100000)))',
    lua: 'local t = {} for i = 0, 99999 do t[#t + 1] = tostring(i) end return #table.concat(t, ",")',
    python: 'return len(",".join(map(str, range(100000))))',
    js: 'return Array.from({ length: 100000 }, (_, i) => String(i)).join(",").length',
    scheme: '(string-length (string-join (map number->string (iota 100000)) ","))',
    jq: ['-n', '[range(100000) | tostring] | join(",") | length'],
  },
  {
    name: 'join 100k: interpose',
    expected: 588889,
    program: '(count (apply str (interpose "," (range 100000))))',
    clojure: '(count (apply str (interpose "," (range 100000))))',
    lua: `local t = {} for i = 0, 99999 do if i > 0 then t[#t + 1] = "," end t[#t + 1] = tostring(i) end
      return #table.concat(t)`,
    python: `parts = []
for i in range(100000):
  if i: parts.append(",")
  parts.append(str(i))
return len("".join(parts))`,
    js: 'const t = []; for (let i = 0; i < 100000; i++) { if (i) t.push(","); t.push(String(i)); } return t.join("").length',
    jq: ['-n', '[range(100000) | if . > 0 then ",", tostring else tostring end] | add | length'],
  },
  {
    name: 'join 100k: append',
    expected: 588889,
    program: '(count (reduce (fn [s i] (str s (when (pos? i) ",") i)) "" (range 100000)))',
    python: `s = ""
for i in range(100000):
  s += ("," if i else "") + str(i)
return len(s)`,
    js: 'let s = ""; for (let i = 0; i < 100000; i++) s += (i ? "," : "") + i; return s.length',
    jq: [
      '-n',
      'reduce range(100000) as $i (""; . + (if $i > 0 then "," else "" end) + ($i | tostring)) | length',
    ],
  },
];

function jsonTasks(file, size, expected) {
  const quoted = JSON.stringify(file);
  const task = (name, rest) => ({
    name: `JSON of ${size} MB: ${name}`,
    expected,
    context: file,
    ...rest,
  });
  const python = `import json\nrecords = json.load(open(${quoted}))["records"]\n`;
  const js = `const { records } = JSON.parse(readText(${quoted}));`;
  return [
    task('group', {
      program: `(->> ctx/records (filter :active) (group-by :region)
        (map (fn [[region rows]] [region (sum-by :amount rows)])) (sort-by second >) first second)`,
      python: `${python}groups = {}
for r in records:
  if r["active"]: groups.setdefault(r["region"], []).append(r)
return max(sum(r["amount"] for r in rows) for rows in groups.values())`,
      js: `${js} const groups = {}; for (const r of records.filter((r) => r.active)) (groups[r.region] ??= []).push(r);
        return Math.max(...Object.values(groups).map((rows) => rows.reduce((s, r) => s + r.amount, 0)))`,
      jq: [
        '[.records[] | select(.active)] | group_by(.region) | map([.[].amount] | add) | max',
        file,
      ],
    }),
    task('update', {
      program: `(->> ctx/records (filter :active)
        (reduce (fn [m r] (update m (:region r) (fnil + 0) (:amount r))) {}) vals (apply max))`,
      python: `${python}from collections import defaultdict
sums = defaultdict(int)
for r in filter(lambda r: r["active"], records): sums[r["region"]] += r["amount"]
return max(sums.values())`,
      js: `${js} const sums = records.filter((r) => r.active)
        .reduce((m, r) => m.set(r.region, (m.get(r.region) ?? 0) + r.amount), new Map()); return Math.max(...sums.values())`,
      jq: [
        'reduce (.records[] | select(.active)) as $r ({}; .[$r.region] += $r.amount) | [.[]] | max',
        file,
      ],
    }),
    task('destructure', {
      program: `(apply max (vals (reduce (fn [sums {:keys [active region amount]}]
        (if active (assoc sums region (+ amount (get sums region 0))) sums)) {} ctx/records)))`,
      python: `${python}sums = {}
for r in records:
  if r["active"]: sums[r["region"]] = sums.get(r["region"], 0) + r["amount"]
return max(sums.values())`,
      js: `${js} const sums = {}; for (const { active, region, amount } of records) if (active) sums[region] = (sums[region] ?? 0) + amount;
        return Math.max(...Object.values(sums))`,
      jq: [
        'reduce .records[] as {$active, $region, $amount} ({}; if $active then .[$region] += $amount else . end) | [.[]] | max',
        file,
      ],
    }),
  ];
}

function regexTasks(context, file, expected) {
  const quoted = JSON.stringify(file);
  const task = (name, rest) => ({ name: `regex over 1 MB: ${name}`, expected, context, ...rest });
  const pattern = '[a-z]+@[a-z]+\\\\.com';
  return [
    task('re-seq', {
      program: `(count (re-seq #"[a-z]+@[a-z]+\\.com" ctx/text))`,
      lua: `local n = 0 for _ in io.open(${quoted}):read("*a"):gmatch("[a-z]+@[a-z]+%.com") do n = n + 1 end return n`,
      python: `import re\nreturn len(re.findall(r"[a-z]+@[a-z]+\\.com", open(${quoted}).read()))`,
      js: `return readText(${quoted}).match(/[a-z]+@[a-z]+\\.com/g).length`,
    }),
    task('words', {
      program: `(count (filter (fn [w] (re-matches #"[a-z]+@[a-z]+\\.com" w)) (split ctx/text #" ")))`,
      lua: `local n = 0 for w in io.open(${quoted}):read("*a"):gmatch("[^ ]+") do
        if w:match("^[a-z]+@[a-z]+%.com$") then n = n + 1 end end return n`,
      python: `import re\nreturn sum(1 for w in open(${quoted}).read().split(" ") if re.fullmatch(r"[a-z]+@[a-z]+\\.com", w))`,
      js: `return readText(${quoted}).split(" ").filter((w) => new RegExp("^${pattern}$").test(w)).length`,
    }),
    task('count', {
      program: `(reduce (fn [n w] (if (re-find #"@[a-z]+\\.com" w) (inc n) n)) 0 (split ctx/text #" "))`,
      lua: `local n = 0 for w in io.open(${quoted}):read("*a"):gmatch("[^ ]+") do
        if w:find("@[a-z]+%.com") then n = n + 1 end end return n`,
      python: `import re
n = 0
for w in open(${quoted}).read().split(" "):
  if re.search(r"@[a-z]+\\.com", w): n += 1
return n`,
      js: `let n = 0; for (const w of readText(${quoted}).split(" ")) if (/@[a-z]+\\.com/.test(w)) n++; return n`,
    }),
  ];
}

// --- as models write them ----------------------------------------------------------------------------

function modelTasks(file) {
  const quoted = JSON.stringify(file);
  const task = (name, program, js, python) => ({
    name,
    program,
    context: file,
    js: `const { orders, customers } = JSON.parse(readText(${quoted})); ${js}`,
    python: `import json, re\nfrom collections import Counter, defaultdict\ndata = json.load(open(${quoted}))
orders, customers = data["orders"], data["customers"]\n${python}`,
  });
  return [
    task(
      'revenue by region',
      `(->> ctx/orders (filter #(= "paid" (:status %))) (group-by :region)
        (map (fn [[region rows]] {:region region :total (reduce + (map :amount rows)) :orders (count rows)}))
        (sort-by :total >) first :total)`,
      `const groups = {}; for (const o of orders.filter((o) => o.status === 'paid')) (groups[o.region] ??= []).push(o);
      return Object.entries(groups).map(([region, rows]) =>
        ({ region, total: rows.reduce((s, o) => s + o.amount, 0), orders: rows.length })).sort((a, b) => b.total - a.total)[0].total`,
      `groups = defaultdict(list)
for o in orders:
  if o["status"] == "paid": groups[o["region"]].append(o)
rows = [{"region": r, "total": sum(o["amount"] for o in g), "orders": len(g)} for r, g in groups.items()]
return sorted(rows, key=lambda r: -r["total"])[0]["total"]`,
    ),
    task(
      'join with customers',
      `(let [by-id (into {} (map (juxt :id identity) ctx/customers))]
        (->> ctx/orders (map (fn [o] (assoc o :customer (get by-id (:customer_id o)))))
          (filter #(= "gold" (get-in % [:customer :tier]))) (map :amount) (reduce +)))`,
      `const byId = new Map(customers.map((c) => [c.id, c]));
      return orders.map((o) => ({ ...o, customer: byId.get(o.customer_id) }))
        .filter((o) => o.customer.tier === 'gold').map((o) => o.amount).reduce((a, b) => a + b, 0)`,
      `by_id = {c["id"]: c for c in customers}
joined = [{**o, "customer": by_id[o["customer_id"]]} for o in orders]
return sum(o["amount"] for o in joined if o["customer"]["tier"] == "gold")`,
    ),
    task(
      'top ten customers',
      `(let [totals (reduce (fn [acc {:keys [customer_id amount]}] (update acc customer_id (fnil + 0) amount)) {} ctx/orders)]
        (->> totals (sort-by val >) (take 10) (map second) (reduce +)))`,
      `const totals = new Map(); for (const o of orders) totals.set(o.customer_id, (totals.get(o.customer_id) ?? 0) + o.amount);
      return [...totals].sort((a, b) => b[1] - a[1]).slice(0, 10).reduce((s, e) => s + e[1], 0)`,
      `totals = defaultdict(int)
for o in orders: totals[o["customer_id"]] += o["amount"]
return sum(v for _, v in sorted(totals.items(), key=lambda e: -e[1])[:10])`,
    ),
    task(
      'report of large orders',
      `(->> ctx/orders (filter #(> (:amount %) 50000)) (sort-by (juxt :region :id))
        (map (fn [{:keys [region id amount]}] (format "%-12s %6d %8d" region id amount))) (join "\\n") count)`,
      `return orders.filter((o) => o.amount > 50000).sort((a, b) => (a.region < b.region ? -1 : a.region > b.region ? 1 : a.id - b.id))
        .map((o) => o.region.padEnd(12) + ' ' + String(o.id).padStart(6) + ' ' + String(o.amount).padStart(8)).join('\\n').length`,
      `rows = sorted((o for o in orders if o["amount"] > 50000), key=lambda o: (o["region"], o["id"]))
return len("\\n".join("%-12s %6d %8d" % (o["region"], o["id"], o["amount"]) for o in rows))`,
    ),
    task(
      'months',
      `(->> ctx/orders (group-by #(subs (:date %) 0 7))
        (map (fn [[month rows]] (let [amounts (map :amount rows)]
          {:month month :mean (/ (reduce + amounts) (count amounts)) :most (apply max amounts)})))
        (sort-by :month) (map :most) (reduce +))`,
      `const groups = {}; for (const o of orders) (groups[o.date.slice(0, 7)] ??= []).push(o.amount);
      return Object.entries(groups).map(([month, a]) => ({ month, mean: a.reduce((x, y) => x + y, 0) / a.length, most: Math.max(...a) }))
        .sort((a, b) => (a.month < b.month ? -1 : 1)).reduce((s, m) => s + m.most, 0)`,
      `groups = defaultdict(list)
for o in orders: groups[o["date"][:7]].append(o["amount"])
rows = [{"month": m, "mean": sum(a) / len(a), "most": max(a)} for m, a in sorted(groups.items())]
return sum(r["most"] for r in rows)`,
    ),
    task(
      'most frequent tags',
      '(->> ctx/orders (mapcat :tags) frequencies (sort-by val >) (take 3) (map second) (reduce +))',
      `const counts = {}; for (const tag of orders.flatMap((o) => o.tags)) counts[tag] = (counts[tag] ?? 0) + 1;
      return Object.entries(counts).sort((a, b) => b[1] - a[1]).slice(0, 3).reduce((s, e) => s + e[1], 0)`,
      `counts = Counter(tag for o in orders for tag in o["tags"])
return sum(n for _, n in counts.most_common(3))`,
    ),
    task(
      'words of comments',
      `(->> ctx/orders (map :comment) (map lower-case) (mapcat #(re-seq #"[a-z]+" %))
        (remove #{"the" "of" "at" "was" "with"}) frequencies vals (reduce +))`,
      `const stop = new Set(['the', 'of', 'at', 'was', 'with']), counts = {};
      for (const w of orders.flatMap((o) => o.comment.toLowerCase().match(/[a-z]+/g))) if (!stop.has(w)) counts[w] = (counts[w] ?? 0) + 1;
      return Object.values(counts).reduce((a, b) => a + b, 0)`,
      `stop = {"the", "of", "at", "was", "with"}
counts = Counter(w for o in orders for w in re.findall(r"[a-z]+", o["comment"].lower()) if w not in stop)
return sum(counts.values())`,
    ),
    task(
      'orders until a budget is spent',
      `(loop [orders ctx/orders spent 0 n 0]
        (cond (empty? orders) n
              (not= "paid" (:status (first orders))) (recur (rest orders) spent n)
              (> (+ spent (:amount (first orders))) 50000000) n
              :else (recur (rest orders) (+ spent (:amount (first orders))) (inc n))))`,
      `let spent = 0, n = 0; for (const o of orders) {
        if (o.status !== 'paid') continue; if (spent + o.amount > 50000000) return n; spent += o.amount; n++; } return n`,
      `spent = n = 0
for o in orders:
  if o["status"] != "paid": continue
  if spent + o["amount"] > 50000000: return n
  spent += o["amount"]
  n += 1
return n`,
    ),
  ];
}

// What the JavaScript of a task gives here.
function expectedOf({ js }) {
  return new Function('readText', js)((file) => readFileSync(file, 'utf8'));
}

export function makeTasks(folder) {
  const write = (name, content) => {
    const file = path.join(folder, name);
    writeFileSync(file, content);
    return file;
  };
  const text = makeText();
  const records = JSON.stringify({ records: makeRecords() });
  const json = jsonTasks(write('records.json', records), (records.length / 1e6).toFixed(1));
  const regex = regexTasks(write('text.json', JSON.stringify({ text })), write('text.txt', text));
  const model = modelTasks(write('orders.json', JSON.stringify(makeOrders())));
  const start = {
    name: 'start',
    startOnly: true,
    expected: 3,
    program: '(+ 1 2)',
    clojure: '(+ 1 2)',
    lua: 'return 1 + 2',
    python: 'return 1 + 2',
    js: 'return 1 + 2',
    scheme: '(+ 1 2)',
    lisp: '(+ 1 2)',
    jq: ['-n', '1 + 2'],
  };
  const data = dataTasks(write);
  return [start, ...SUM, ...FIB, ...MAPS, ...JOIN, ...json, ...regex, ...model, ...data].map(
    (task) => ({
      ...task,
      expected: task.expected ?? expectedOf(task),
    }),
  );
}
