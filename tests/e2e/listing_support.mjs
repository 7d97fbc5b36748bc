// Listing servers for tests of programs: configurations, and what was called.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from './support.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
export const directory = temporaryDirectory();

// A configuration with listing servers: name → {tools, and more of the entry}; `more` stands beside.
export function configure(name, servers, more = {}) {
  const mcpServers = {};
  for (const [server, { tools, ...entry }] of Object.entries(servers)) {
    const file = path.join(directory, `${name}-${server}.json`);
    writeFileSync(file, JSON.stringify({ log: `${file}.log`, tools }));
    writeFileSync(`${file}.log`, '');
    mcpServers[server] = {
      command: process.execPath,
      args: [path.join(here, 'listing_server.mjs'), file],
      ...entry,
    };
  }
  const file = path.join(directory, `${name}.json`);
  writeFileSync(file, JSON.stringify({ mcpServers, ...more }));
  return file;
}
export const fileOf = (name, server) => path.join(directory, `${name}-${server}.json`);

// The calls that a server got, and forgets: [name, arguments].
export function takeCalls(name, server) {
  const log = `${fileOf(name, server)}.log`;
  const lines = readFileSync(log, 'utf8').trim();
  writeFileSync(log, '');
  return lines ? lines.split('\n').map((line) => JSON.parse(line)) : [];
}

export async function run(server, source, more = {}) {
  const {
    structured,
    text: shown,
    isError,
  } = await server.call('run-program', { source, ...more });
  return { ...structured, shown, isError };
}
