// Files of the user: what somebody else made, or could have changed, is not used.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { CADRE, Server, temporaryDirectory } from './support.mjs';

const NOBODY = 65534;
const isRoot = process.getuid() === 0;
const cadre = (args, env) =>
  spawnSync(CADRE, args, { encoding: 'utf8', env: { ...process.env, ...env }, timeout: 120000 });

test('directories are made for the user alone', () => {
  const place = temporaryDirectory();
  const { status, stderr } = cadre(['context', 'add', '--type', 'text', 'x'], {
    XDG_STATE_HOME: path.join(place, 'state'),
    CADRE_CONTEXT_DB: '',
  });
  assert.equal(status, 0, stderr);
  assert.equal(statSync(path.join(place, 'state/cadre')).mode & 0o777, 0o700);
  const workspaces = path.join(place, 'state/cadre/workspaces');
  const [home] = readdirSync(workspaces);
  assert.equal(statSync(path.join(workspaces, home)).mode & 0o777, 0o700);
  assert.equal(statSync(path.join(workspaces, home, 'context.db')).mode & 0o777, 0o600);
});

test('a state directory that is a link is refused, and nothing is written through it', () => {
  const place = temporaryDirectory();
  mkdirSync(path.join(place, 'elsewhere'));
  symlinkSync(path.join(place, 'elsewhere'), path.join(place, 'cadre'));
  const { status, stderr } = cadre(['context', 'add', '--type', 'text', 'x'], {
    XDG_STATE_HOME: place,
    CADRE_CONTEXT_DB: '',
  });
  assert.notEqual(status, 0);
  assert.match(stderr, /cadre is a link or no directory: it is not used/);
  assert.deepEqual(readdirSync(path.join(place, 'elsewhere')), []);
});

test('a state directory of another user is refused', { skip: !isRoot }, () => {
  const place = temporaryDirectory();
  mkdirSync(path.join(place, 'cadre'));
  chownSync(path.join(place, 'cadre'), NOBODY, NOBODY);
  const { status, stderr } = cadre(['context', 'list'], {
    XDG_STATE_HOME: place,
    CADRE_CONTEXT_DB: '',
  });
  assert.notEqual(status, 0);
  assert.match(stderr, /cadre belongs to another user: it is not used/);
});

test('a core that others made, or could change, is not run', async () => {
  const place = temporaryDirectory();
  const evaluate = async () => {
    const server = await Server.start({ args: ['--heap', '512'], env: { XDG_CACHE_HOME: place } });
    const { text } = await server.call('evaluate-lisp', { code: '(+ 1 2)' });
    server.transport.stderr = server.transport.stderr.replace(
      /^cadre: (building the Lisp core|warning: no cache directory).*\n/gm,
      '',
    );
    await server.stop();
    return text;
  };
  assert.match(await evaluate(), /=> 3$/); // builds it
  const directory = path.join(place, 'cadre');
  const core = path.join(
    directory,
    readdirSync(directory).find((name) => /\.core$/.test(name)),
  );
  assert.equal(statSync(core).mode & 0o022, 0);
  chmodSync(core, 0o666);
  assert.match(await evaluate(), /CORE-UNSAFE[\s\S]*\.core can be written by others/i);
  chmodSync(core, 0o644);
  assert.match(await evaluate(), /=> 3$/);
  if (!isRoot) return;
  chownSync(core, NOBODY, NOBODY);
  assert.match(await evaluate(), /CORE-UNSAFE[\s\S]*\.core belongs to another user/i);
  chownSync(core, 0, 0);
  chownSync(directory, NOBODY, NOBODY);
  assert.match(await evaluate(), /CORE-UNSAFE[\s\S]*cadre belongs to another user/i);
});
