// The page's way to the server: MCP over HTTP, as any client speaks it. The token and the workspace come
// from the fragment of the address, which is never sent, and stay in this tab's storage.

const VERSION = '2025-11-25';
const TOKEN = 'cadre-token';
const WORKSPACE = 'cadre-workspace';

export class Refused extends Error {}

let sessionId;
let opening;
let lastId = 0;

// #token=TEXT, #workspace=PATH, #token=TEXT&workspace=PATH. An address with a token and no workspace means
// the server's.
export function isEntrance() {
  return /^#(token|workspace)=/.test(location.hash);
}

export function enter() {
  if (!isEntrance()) return;
  const given = Object.fromEntries(
    location.hash
      .slice(1)
      .split('&')
      .map((part) => part.split('=', 2).map(decodeURIComponent)),
  );
  if (given.token) setToken(given.token);
  setWorkspace(given.workspace);
  history.replaceState(null, '', `${location.pathname}#/`);
}

export function hasToken() {
  return sessionStorage.getItem(TOKEN) !== null;
}

export function setToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

// Undefined: the server's.
export function chosenWorkspace() {
  return sessionStorage.getItem(WORKSPACE) ?? undefined;
}

export function setWorkspace(path) {
  if (path) sessionStorage.setItem(WORKSPACE, path);
  else sessionStorage.removeItem(WORKSPACE);
}

// A header holds bytes: those of the path in UTF-8.
function bytesOf(text) {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

export function headers(more = {}) {
  const token = sessionStorage.getItem(TOKEN);
  const workspace = chosenWorkspace();
  return {
    ...(token ? { Authorization: `Bearer ${token}` } : {}),
    ...(workspace ? { 'Cadre-Workspace': bytesOf(workspace) } : {}),
    ...more,
  };
}

// The response with this id in a stream of server-sent events.
async function readStream(response, id) {
  for await (const event of events(response)) {
    if (!event.data) continue;
    const message = JSON.parse(event.data);
    if (message.id === id) return message;
  }
  throw new Error('The server closed the connection before it answered');
}

export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      const event = { data: '' };
      for (const line of block.split('\n')) {
        if (line.startsWith('id:')) event.id = line.slice(3).trim();
        else if (line.startsWith('data:')) event.data += line.slice(5).trimStart();
      }
      yield event;
    }
  }
}

async function post(message) {
  const response = await fetch('/mcp', {
    method: 'POST',
    headers: headers({
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': VERSION,
      ...(sessionId ? { 'Mcp-Session-Id': sessionId } : {}),
    }),
    body: JSON.stringify(message),
  });
  if (response.status === 401 || response.status === 403) {
    const answer = await response.json().catch(() => ({}));
    throw new Refused(answer.error?.message ?? `refused (${response.status})`);
  }
  return response;
}

async function open() {
  sessionId = undefined;
  const id = ++lastId;
  const response = await post({
    jsonrpc: '2.0',
    id,
    method: 'initialize',
    params: {
      protocolVersion: VERSION,
      capabilities: {},
      clientInfo: { name: 'inspector', version: '1' },
      _meta: { 'cadre/results': 'structured', 'cadre/tools': 'full' },
    },
  });
  if (!response.ok) throw new Error(`The server answers ${response.status}`);
  sessionId = response.headers.get('Mcp-Session-Id');
  await response.json();
  await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
}

export async function request(method, params, again = true) {
  if (!sessionId) {
    opening ??= open().finally(() => {
      opening = undefined;
    });
    await opening;
  }
  const id = ++lastId;
  const response = await post({ jsonrpc: '2.0', id, method, params });
  if (response.status === 404 && again) {
    sessionId = undefined; // the server has been started anew
    return request(method, params, false);
  }
  const type = response.headers.get('Content-Type') ?? '';
  const message = type.startsWith('text/event-stream')
    ? await readStream(response, id)
    : await response.json();
  if (message.error) throw new Error(message.error.message);
  return message.result;
}

// {ok, text, data}: a failure of the tool is no exception.
export async function tool(name, args = {}) {
  const result = await request('tools/call', { name, arguments: args });
  const text = result.content.find((block) => block.type === 'text')?.text ?? '';
  return { ok: !result.isError, text, data: result.structuredContent ?? {} };
}

export async function resource(uri) {
  const result = await request('resources/read', { uri });
  return JSON.parse(result.contents[0].text);
}

export async function hasTool(name) {
  const result = await request('tools/list', {});
  return result.tools.some((one) => one.name === name);
}

// What the server tells without being asked, as subscriptions do; until the connection breaks.
export async function notifications(on) {
  const response = await fetch('/mcp', {
    headers: headers({
      Accept: 'text/event-stream',
      'Mcp-Session-Id': sessionId,
      'MCP-Protocol-Version': VERSION,
    }),
  });
  if (!response.ok) return;
  for await (const event of events(response)) if (event.data) on(JSON.parse(event.data));
}
