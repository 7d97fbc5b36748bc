// Reads test cases of the language from text, in a form like that of jq.test:
//
//     # What the cases that follow are about.
//     (let [a 1 b (+ a 1)] [a b])
//     => [1 2]
//
//     (str ctx/name)
//     .context {"name": "Ada"}
//     => "Ada"
//
//     (+ 1 nil)
//     !! type_error type
//     =op "+"
//
// A case is a block of lines; blank lines end it. In this order:
//     # TEXT          comment, anywhere at the beginning of a line
//     the program     as many lines as it has
//     .NAME JSON      an input, as in a record of `cadre run --batch` (.options, .tools, .context, …)
//     => TEXT         the value, as printed
//     !! REASON KIND  or the failure; the kind may be left out
//     =NAME JSON      another member of the Step (=prints, =message, =line, …)
// A program that cannot be written so (blank lines, control characters) is given as `.program JSON`.
// The id of a case is FILE:LINE, the line of its program.
import { readFileSync } from 'node:fs';
import path from 'node:path';

const DIRECTIVE = /^(?:\.[a-z_]+ |=[a-z_]+ |=> |!! )/;

function readDirective(record, line, where) {
  if (line.startsWith('=> ')) {
    record.expected.printed = line.slice(3);
  } else if (line.startsWith('!! ')) {
    const [reason, kind, ...rest] = line.slice(3).split(' ');
    if (rest.length) throw new Error(`${where}: '!! REASON KIND' has too many words`);
    record.expected.reason = reason;
    if (kind) record.expected.kind = kind;
  } else {
    const name = line.slice(1, line.indexOf(' '));
    const value = JSON.parse(line.slice(line.indexOf(' ') + 1));
    (line.startsWith('=') ? record.expected : record)[name] = value;
  }
}

function readBlock(lines, file, firstLine) {
  const where = `${path.basename(file)}:${firstLine}`;
  const start = lines.findIndex((line) => DIRECTIVE.test(line));
  if (start < 0) throw new Error(`${where}: a case without an answer`);
  const record = { id: where, program: lines.slice(0, start).join('\n'), expected: {} };
  for (const line of lines.slice(start)) {
    if (!DIRECTIVE.test(line)) throw new Error(`${where}: '${line}' stands behind the answer`);
    readDirective(record, line, where);
  }
  if (!Object.keys(record.expected).length) throw new Error(`${where}: a case without an answer`);
  return record;
}

export function readTests(file) {
  const records = [];
  let block = [];
  let firstLine = 0;
  const finish = () => {
    if (block.length) records.push(readBlock(block, file, firstLine));
    block = [];
  };
  readFileSync(file, 'utf8')
    .split('\n')
    .forEach((line, i) => {
      if (/^#( |$)/.test(line)) return;
      if (line === '') {
        finish();
        return;
      }
      if (!block.length) firstLine = i + 1;
      block.push(line);
    });
  finish();
  return records;
}
