// The cases of rendering, errors and warnings as data: run through the MCP tools and the command line.
const P = '## Context\n\n';
const TENS = '0123456789';
const a100 = 'a'.repeat(100);
const b100 = 'b'.repeat(100);
const math = {
  content: '(defun add (a b) (+ a b))',
  metadata: { filename: 'math.lisp', start_line: 5, end_line: 7 },
};
const R1 = '### Code\n#### math.lisp:5-7\n```lisp\n(defun add (a b) (+ a b))\n```\n';
const three = [
  { type: 'text', content: a100 },
  { type: 'text', content: b100 },
  { content: '(c)' },
];
const C = '### Code\n```lisp\n(c)\n```\n';
const textBlock = (text) => `### Text\n\`\`\`text\n${text}\n\`\`\`\n`;

export const renderCases = [
  ['R1', [math], {}, P + R1],
  ['R2 empty', [], {}, ''],
  ['R2 limit 0', [math], { limit: 0 }, ''],
  ['R2 no such type', [math], { types: ['error'] }, ''],
  ['R3', [math, { type: 'text', content: 'hello' }], {}, `${P}${R1}\n${textBlock('hello')}`],
  [
    'R4',
    [{ type: 'file', content: 'x = 1\n', metadata: { filename: 'b.py' } }],
    {},
    `${P}### File\n#### b.py\n\`\`\`python\nx = 1\n\`\`\`\n`,
  ],
  [
    'R5',
    [
      {
        type: 'repl-history',
        content: 'CL-USER> (+ 1 2)\n=> 3',
        metadata: { start_line: 1, end_line: 2 },
      },
    ],
    {},
    `${P}### Repl-History\n\`\`\`lisp\nCL-USER> (+ 1 2)\n=> 3\n\`\`\`\n`,
  ],
  [
    'R6',
    [
      {
        type: 'error',
        content: '[ERROR] X\nboom',
        metadata: { filename: 'c.lisp', start_line: 4 },
      },
    ],
    {},
    `${P}### Error\n#### c.lisp:4\n\`\`\`text\n[ERROR] X\nboom\n\`\`\`\n`,
  ],
  [
    'R7',
    [{ type: 'custom', content: 'keep it simple', metadata: { custom_type: 'decision' } }],
    {},
    `${P}### Custom\n#### decision\n\`\`\`text\nkeep it simple\n\`\`\`\n`,
  ],
  [
    'R8',
    [
      {
        type: 'custom',
        content: '{}',
        metadata: { custom_type: 'cfg', format: 'json', filename: 'x.foo' },
      },
    ],
    {},
    `${P}### Custom\n#### cfg\n#### x.foo\n\`\`\`json\n{}\n\`\`\`\n`,
  ],
  [
    'R9',
    [{ type: 'text', content: 'a\n```lisp\n(b)\n```' }],
    {},
    `${P}### Text\n\`\`\`\`text\na\n\`\`\`lisp\n(b)\n\`\`\`\n\`\`\`\`\n`,
  ],
  [
    'R10',
    [{ type: 'text', content: '````' }],
    {},
    `${P}### Text\n\`\`\`\`\`text\n\`\`\`\`\n\`\`\`\`\`\n`,
  ],
  ['R11', [{ content: '' }], {}, `${P}### Code\n\`\`\`lisp\n\`\`\`\n`],
  [
    'R12',
    [{ content: 'x', metadata: { filename: 'a\nb.c' } }],
    {},
    `${P}### Code\n#### a b.c\n\`\`\`c\nx\n\`\`\`\n`,
  ],
  [
    'R13',
    [{ content: 'all:', metadata: { filename: 'src/Makefile' } }],
    {},
    `${P}### Code\n#### src/Makefile\n\`\`\`make\nall:\n\`\`\`\n`,
  ],
  [
    'R14',
    [math],
    { style: 'inline' },
    `${P}### Code (from math.lisp:5-7)\n\`\`\`lisp\n(defun add (a b) (+ a b))\n\`\`\`\n`,
  ],
  ['R15', three, { max_chars: 283 }, `${P}${textBlock(a100)}\n${textBlock(b100)}\n${C}`],
  ...[282, 241, 200].map((max) => [
    `R16 ${max}`,
    three,
    { max_chars: max },
    `${P}[1 item omitted to fit ${max} characters]\n\n${textBlock(b100)}\n${C}`,
  ]),
  [
    'R17',
    [{ type: 'text', content: TENS.repeat(50) }],
    { max_chars: 200 },
    P + textBlock(`${TENS.repeat(50).slice(0, 121)}\n... [truncated: 121 of 500 characters shown]`),
  ],
  [
    'R18',
    [
      { type: 'text', content: a100, pinned: true },
      { type: 'text', content: b100 },
    ],
    { max_chars: 200 },
    `${P}[1 item omitted to fit 200 characters]\n\n${textBlock(a100)}`,
  ],
  ['R19', three, { types: ['text'], limit: 1 }, P + textBlock(b100)],
];

const TYPES = 'INV-001: type must be one of code, text, file, repl-history, error, custom; got ';

// [name, tool, arguments, code, message]
export const errorCases = [
  ['E1', 'add-context', { content: 'x', type: 'foo' }, 'invalid-type', `${TYPES}"foo"`],
  [
    'E2',
    'add-context',
    { content: 'x', type: 'repl_history' },
    'invalid-type',
    `${TYPES}"repl_history"; did you mean "repl-history"?`,
  ],
  [
    'E3 number',
    'add-context',
    { content: 42 },
    'invalid-content',
    'INV-002: content must be a string; got a number',
  ],
  [
    'E3 absent',
    'add-context',
    {},
    'invalid-content',
    'INV-002: content must be a string; got nothing',
  ],
  [
    'E4',
    'add-context',
    { content: 'x', metadata: [] },
    'invalid-metadata',
    'INV-005: metadata must be an object or null; got an array',
  ],
  [
    'E5 string',
    'add-context',
    { content: 'x', metadata: { start_line: '5' } },
    'invalid-metadata',
    'metadata.start_line must be an integer >= 1; got "5"',
  ],
  [
    'E5 zero',
    'add-context',
    { content: 'x', metadata: { start_line: 0 } },
    'invalid-metadata',
    'metadata.start_line must be an integer >= 1; got 0',
  ],
  [
    'E5 order',
    'add-context',
    { content: 'x', metadata: { start_line: 5, end_line: 3 } },
    'invalid-metadata',
    'metadata.end_line 3 is before start_line 5',
  ],
  [
    'E6 null',
    'add-context',
    { content: 'x', type: 'custom', metadata: null },
    'custom-type-required',
    'type custom needs metadata.custom_type, a non-empty string',
  ],
  [
    'E6 empty',
    'add-context',
    { content: 'x', type: 'custom', metadata: { custom_type: '' } },
    'custom-type-required',
    'type custom needs metadata.custom_type, a non-empty string',
  ],
  [
    'E7',
    'add-context',
    { content: 'x', id: 'ctx-1' },
    'immutable-field',
    'INV-004: id and timestamp are assigned by the store; got "id"',
  ],
  ['E8', 'remove-context', { id: 'ctx-99' }, 'not-found', 'no context item ctx-99'],
  ['E9', 'remove-context', { id: '7' }, 'invalid-id', 'id must look like ctx-12; got "7"'],
  ['E10', 'list-context', { limit: -1 }, 'invalid-limit', 'limit must be an integer >= 0; got -1'],
  [
    'E11',
    'render-context',
    { max_chars: 199 },
    'max-chars-too-small',
    'max_chars must be an integer >= 200; got 199',
  ],
  [
    'too large',
    'add-context',
    { content: 'x'.repeat(2_000_000) },
    'too-large',
    'content has 2000000 bytes; the limit max-content-bytes is 1048576',
  ],
];

// [name, metadata, [key, expected] or undefined]
export const warningCases = [
  ['M1', { 'start-line': 5 }, ['start-line', 'start_line']],
  ['M2', { 'start-line': 5, start_line: 5 }, undefined],
  ['M3 filname', { filname: 'a' }, ['filname', 'filename']],
  ['M3 file', { file: 'a' }, ['file', 'filename']],
  ['M3 startLine', { startLine: 1 }, ['startLine', 'start_line']],
  ['M3 pkg', { pkg: 'P' }, ['pkg', 'package']],
  ['M4', { start_time: 1, name: 'n' }, undefined],
];
