// The form and size of answers: text alone by default, structuredContent where the server or the
// client asks for it; null for an optional argument; sets of tools and what their lists cost.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { initialize, request2024, request2026 } from './mcp_support.mjs';
import { askStdio, temporaryDirectory } from './support.mjs';

const RESULTS = 'cadre/results';

const ask = (requests, options = []) =>
  askStdio(requests, ['--context-db', ':memory:', ...options]);

const initializeWith = (meta) => {
  const message = initialize('2025-11-25');
  return { ...message, params: { ...message.params, _meta: meta } };
};
const lisp = (id, args) =>
  request2024(id, 'tools/call', { name: 'evaluate-lisp', arguments: args });

function assertText(list, call) {
  assert.ok(list.result.tools.every((tool) => !('outputSchema' in tool)));
  assert.deepEqual(call.result.content, [{ type: 'text', text: '=> 3' }]);
  assert.ok(!('structuredContent' in call.result));
}

function assertStructured(list, call) {
  assert.ok(list.result.tools.every((tool) => tool.outputSchema));
  assert.deepEqual(call.result.content, [{ type: 'text', text: '=> 3' }]);
  assert.deepEqual(call.result.structuredContent.values, ['3']);
}

describe('the form of answers', () => {
  const questions = [request2024(1, 'tools/list'), lisp(2, { code: '(+ 1 2)' })];
  const after = (first, options) => ask([first, ...questions], options).slice(1);

  test('text by default', () => assertText(...after(initialize('2025-11-25'))));
  test('--results structured', () =>
    assertStructured(...after(initialize('2025-11-25'), ['--results', 'structured'])));
  test('a client asks for structured results when it opens', () =>
    assertStructured(...after(initializeWith({ [RESULTS]: 'structured' }))));
  test('a client asks for text when it opens', () =>
    assertText(...after(initializeWith({ [RESULTS]: 'text' }), ['--results', 'structured'])));
  test('errors are text, too', () => {
    const [, result] = ask([initialize('2025-11-25'), lisp(2, { code: '(car 1)' })]);
    assert.equal(result.result.isError, true);
    assert.match(result.result.content[0].text, /^\[ERROR\] TYPE-ERROR/);
    assert.ok(!('structuredContent' in result.result));
  });
  test('2026: by request', () => {
    const list = (id, meta) => request2026(id, 'tools/list', {}, meta);
    const call = (id, meta) =>
      request2026(
        id,
        'tools/call',
        { name: 'evaluate-lisp', arguments: { code: '(+ 1 2)' } },
        meta,
      );
    const structured = { [RESULTS]: 'structured' };
    const answers = ask([list(1, {}), call(2, {}), list(3, structured), call(4, structured)]);
    assertText(...answers.slice(0, 2));
    assertStructured(...answers.slice(2));
  });
  test('another form is refused', () => {
    const [refused] = ask([initializeWith({ [RESULTS]: 'xml' })]);
    assert.match(refused.error.message, /cadre\/results.*"text" or "structured"/);
    const [refused2026] = ask([request2026(1, 'tools/list', {}, { [RESULTS]: 3 })]);
    assert.match(refused2026.error.message, /cadre\/results/);
  });
});

describe('null means: not given', () => {
  test('for optional arguments', () => {
    const [, result] = ask([
      initialize('2025-11-25'),
      lisp(2, { code: '(+ 1 2)', package: null, session: null, timeout: null }),
    ]);
    assert.equal(result.result.content[0].text, '=> 3');
  });
  test('for all arguments at once', () => {
    const [, result] = ask([
      initialize('2025-11-25'),
      request2024(2, 'tools/call', { name: 'session-info', arguments: null }),
    ]);
    assert.equal(result.result.isError, false);
  });
  test('not for a required one', () => {
    const [, result] = ask([initialize('2025-11-25'), lisp(2, { code: null })]);
    assert.match(result.result.content[0].text, /'code' must be a string/);
  });
});

// Later tools of a set must fit as well: these are the limits of the sets once they are complete.
describe('the size of what a model reads at every turn', () => {
  const SETS = { core: 3500, default: 10000, full: 18000 };
  const open = (set) =>
    ask(
      [initialize('2025-11-25'), request2024(1, 'tools/list')],
      set === 'default' ? [] : ['--tools', set],
    ).map((message) => message.result);
  for (const [set, limit] of Object.entries(SETS)) {
    test(`tools/list of the set ${set}`, () => {
      const [, list] = open(set);
      const bytes = Buffer.byteLength(JSON.stringify(list));
      assert.ok(bytes <= limit, `${bytes} bytes`);
    });
    test(`instructions with the set ${set}`, () => {
      const [{ instructions }] = open(set);
      assert.ok([...instructions].length <= 1200, `${[...instructions].length} characters`);
    });
  }
  // Tools that come; those that are there count as they are.
  const LATER = {
    default: ['run-tests', 'edit-form'],
    full: [
      ...['run-tests', 'edit-form', 'trace-calls', 'break-at', 'explain', 'read-forms'],
      ...['find-definition', 'rename', 'fork-session', 'try-alternatives', 'adopt-session'],
      ...['export-session', 'save-program', 'resume-program'],
    ],
  };
  for (const [set, later] of Object.entries(LATER))
    test(`the set ${set} has room for the tools that come`, () => {
      const [, list] = open(set);
      const missing = later.filter((name) => !list.tools.some((tool) => tool.name === name));
      const bytes = Buffer.byteLength(JSON.stringify(list)) + missing.length * 350;
      assert.ok(bytes <= SETS[set], `${bytes} bytes`);
    });
  test('each set has the tools of the smaller ones', () => {
    const [core, byDefault, full] = Object.keys(SETS).map((set) =>
      open(set)[1].tools.map((tool) => tool.name),
    );
    assert.ok(core.length < byDefault.length && byDefault.length < full.length);
    assert.deepEqual(
      core.filter((name) => !byDefault.includes(name)),
      [],
    );
    assert.deepEqual(
      byDefault.filter((name) => !full.includes(name)),
      [],
    );
  });
});

// The description of run-program is all that most models read of the language.
describe('the twelve rules of the language', () => {
  const tools = path.join(temporaryDirectory(), 'tools.json');
  writeFileSync(tools, '{"x": {"echo": true, "description": "gives back words"}}');
  const program = (source, more) => ({ source, context: { x: 7, m: { k: 1 } }, ...more });
  const RULES = [
    [
      'Run sandboxed Clojure for its last value and prints',
      '1 (println "p") 2',
      /^\[prints\]\np\n\n=> 2$/,
    ],
    ['ctx/x is the context', 'ctx/x', /^=> 7$/],
    ['(tool/x {:k v}), (server/x {}) call tools', '(tool/x {:k 1})', /=> \{"k" 1\}$/],
    ['pmap at once', '(pmap (fn [n] (tool/x {:k n})) [1 2])', /=> \[\{"k" 1\},? \{"k" 2\}\]$/],
    ['(tool/search "words") finds them', '(:name (first (tool/search "words")))', /=> "tool\/x"$/],
    [
      'JSON keys are strings: keywords find and change them',
      '[(:k ctx/m) (update ctx/m :k inc)]',
      /^=> \[1 \{"k" 2\}\]$/,
    ],
    ['= and case are exact', '(map (fn [k] (= k :k)) (keys ctx/m))', /=> \[false\]$/],
    [
      'str/ set/ json/ Math/ need no require',
      '[(str/upper-case "a") (set/union #{1} #{2}) (json/parse-string "[1]") (Math/abs -1)]',
      /^=> \["A" #\{1 2\} \[1\] 1\]$/,
    ],
    ['try catches failures', '(try (/ 1 0) (catch e :caught))', /^=> :caught$/],
    [
      'not limits',
      '(try (loop [] (recur)) (catch e :caught))',
      /^\[ERROR\] timeout/,
      { limits: { timeout: 100 } },
    ],
    ['def keeps values under memory_name', 'memory/kept', /^=> 5$/, { memory_name: 'rules' }],
    ['No macros, files, Java', '(defmacro m [x] x)', /^\[ERROR\]/],
  ];
  const runs = [{ source: '(def kept 5)', memory_name: 'rules' }].concat(
    RULES.map(([, source, , more]) => program(source, { limits: { timeout: 20_000 }, ...more })),
  );
  let answers;
  const answered = () =>
    (answers ??= askStdio(
      [
        initialize('2025-11-25'),
        request2024(1, 'tools/list'),
        ...runs.map((each, i) =>
          request2024(i + 2, 'tools/call', { name: 'run-program', arguments: each }),
        ),
      ],
      ['--tools', 'core', '--program-tools', tools],
      { XDG_STATE_HOME: temporaryDirectory() },
    ));
  test('are in its description, within 900 characters', () => {
    const tool = answered()[1].result.tools.find(({ name }) => name === 'run-program');
    const [rules] = tool.description.split('\nTools:');
    assert.ok([...rules].length <= 900, `${rules.length} characters`);
    for (const [rule] of RULES) assert.ok(rules.includes(rule), rule);
    assert.equal(RULES.length, 12);
  });
  for (const [i, [rule, , expected]] of RULES.entries())
    test(rule, () => assert.match(answered()[i + 3].result.content[0].text, expected));
});

describe('tools that are not there', () => {
  const refusal = (name) =>
    ask([initialize('2025-11-25'), request2024(2, 'tools/call', { name, arguments: {} })])[1].error;
  for (const [old, now] of [
    ['who-calls', 'find-references'],
    ['who-references', 'find-references'],
    ['class-info', 'describe-symbol'],
    ['find-methods', 'describe-symbol'],
    ['apropos-search', 'describe-symbol'],
    ['validate-syntax', 'check-syntax'],
    ['match-paren', 'check-syntax'],
    ['inspect-frame', 'inspect'],
    ['describe-system', 'list-systems'],
  ])
    test(`${old} answers with its new name`, () =>
      assert.match(refusal(old).message, new RegExp(`^Unknown tool: ${old}\\. It is ${now}\\b`)));
  test('a tool of a larger set is named with the set', () =>
    assert.equal(
      refusal('list-errors').message,
      'Unknown tool: list-errors. This server offers fewer tools; cadre serve --tools full has it.',
    ));
  test('any other name is unknown', () =>
    assert.equal(refusal('no-such-tool').message, 'Unknown tool: no-such-tool'));
});

// What a model pays for at every turn. The values themselves are not counted.
describe('the size of typical answers', () => {
  const FRAMES = '(defun f (x) (/ x 0)) (defun g (x) (1+ (f x))) (g 3)';
  const call = (name, args) => ({ name, arguments: args });
  const code = (text, more = {}) => call('evaluate-lisp', { code: text, ...more });
  const program = (source) => call('run-program', { source });
  const LIMITS = [
    [code('(+ 1 2)'), 8],
    [code('(values 1 2 3)'), 17],
    [code('(defun sq (x) (* x x))'), 5],
    [code('(format t "hello~%")'), 22],
    [code(FRAMES), 300],
    [code('(car 1)'), 260],
    [code('(undefined-thing 1)'), 400],
    [call('compile-form', { code: '(defun ok (x) (list x))' }), 50],
    [program('(+ 1 2)'), 8],
    [program('(println "hi") {:a 1}'), 30],
    [code('(loop for i below 100000 collect i)'), 1000],
    [code('(make-string 100000 :initial-element #\\x)'), 20300],
  ];
  const requests = LIMITS.map(([params], i) => request2024(i + 1, 'tools/call', params));
  let answers;
  for (const [i, [{ arguments: args }, limit]] of LIMITS.entries())
    test(JSON.stringify(args).slice(0, 60), () => {
      answers ??= ask([initialize('2025-11-25'), ...requests]);
      const { text } = answers[i + 1].result.content[0];
      assert.ok(
        [...text].length <= limit,
        `${[...text].length} characters:\n${text.slice(0, 600)}`,
      );
      assert.equal(answers[i + 1].result.content.length, 1);
    });
});
