// Runs after npm has installed the package: puts a link to the program in the place of the script that
// starts it, which saves the start of Node at every call. Where that is not possible the script stays.
'use strict';
const fs = require('node:fs');
const path = require('node:path');

const script = path.join(__dirname, 'bin', 'cadre');
const link = `${script}.new`;
try {
  const { program, protect } = require('./bin/cadre');
  const file = program();
  protect(file);
  fs.rmSync(link, { force: true });
  fs.symlinkSync(path.relative(path.dirname(script), file), link);
  fs.renameSync(link, script);
} catch {
  fs.rmSync(link, { force: true });
}
