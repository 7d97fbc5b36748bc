// MCP servers over HTTP, one per path, that behave as the path says. Tools: add {a, b}, and work, which
// does what the behaviour says.
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';

const tool = (name, properties = {}) => ({
  name,
  inputSchema: { type: 'object', properties, required: Object.keys(properties) },
});
const number = { type: 'number' };
const jsonrpc = '2.0';
const result = (id, text) => ({ jsonrpc, id, result: { content: [{ type: 'text', text }] } });
const notification = (method, params) => ({ jsonrpc, method, params });
const event = (message) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;

export class HostileHttp {
  counts = {}; // path → how often it was asked to work
  seen = []; // { path, method, headers, message } of each request
  sessions = new Set();
  closed = []; // paths whose connection was closed before the answer had ended
  tools = [
    tool('add', { a: number, b: number }),
    tool('work'),
    tool('where', {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      inner: { type: 'object', properties: { n: { type: 'integer', 'x-mcp-header': 'N' } } },
    }),
  ];

  async start() {
    this.http = createServer((request, response) => this.#serve(request, response));
    await new Promise((resolve) => this.http.listen(0, '127.0.0.1', resolve));
    this.port = this.http.address().port;
  }
  stop() {
    this.http.closeAllConnections();
    this.http.close();
  }
  url(path) {
    return `http://127.0.0.1:${this.port}/${path}`;
  }

  async #serve(request, response) {
    const path = request.url.slice(1);
    let text = '';
    for await (const block of request) text += block;
    const message = text ? JSON.parse(text) : undefined;
    this.seen.push({ path, method: request.method, headers: request.headers, message });
    const exchange = { path, request, response, message };
    if (this.refuse(exchange)) return;
    if (request.method === 'GET') this.listen(exchange);
    else if (request.method === 'DELETE') response.writeHead(200).end();
    else if (message.method === undefined || message.id === undefined) {
      response.writeHead(202).end();
      if (message.method === undefined) this.answered?.(message);
    } else this.answer(exchange);
  }
  json(response, message, status = 200, headers = {}) {
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
    response.end(JSON.stringify(message));
  }
  stream(response) {
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
    return response;
  }

  // What whole servers do, and sessions that are over. True: it is answered.
  refuse({ path, request, response, message }) {
    const whole = {
      'to-good': () => response.writeHead(307, { Location: '/good' }).end(),
      'to-other': () =>
        response.writeHead(307, { Location: `http://localhost:${this.port}/good` }).end(),
      'to-itself': () => response.writeHead(308, { Location: '/to-itself' }).end(),
      login: () => response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end(),
      token: () => response.writeHead(401).end(`not ${request.headers.authorization}`),
      'old-sse': () => response.writeHead(405).end('Cannot POST'),
      html: () => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>hello'),
      broken: () => response.writeHead(500).end('something\nis  wrong'),
    };
    whole[path]?.();
    if (whole[path]) return true;
    const session = request.headers['mcp-session-id'];
    if (message?.method === 'initialize' || !session || this.sessions.has(session)) return false;
    const error = { code: -32000, message: 'Bad Request: No valid session ID provided' };
    if (path === 'forget') this.json(response, { jsonrpc, error, id: null }, 400);
    else response.writeHead(404).end();
    return true;
  }

  listen({ path, request, response }) {
    const from = request.headers['last-event-id'];
    if (path === 'resume' && from) {
      this.stream(response).end(event(result(this.resumed, `resumed from ${from}`)));
      return;
    }
    if (path !== 'listen') {
      response.writeHead(405).end();
      return;
    }
    this.stream(response).write(': open\n\n');
    this.listener = response;
  }
  // Says on the stream of `listen` that there is another tool.
  changeTools() {
    this.tools = [...this.tools, tool('another')];
    this.listener.write(event(notification('notifications/tools/list_changed')));
  }

  answer(exchange) {
    const { path, request, response, message } = exchange;
    const { id, method, params } = message;
    if (path === 'stateless' && !this.isStateless(exchange)) {
      const error = { code: -32022, message: 'Unsupported protocol version' };
      this.json(response, { jsonrpc, id, error }, 400);
    } else if (method === 'initialize') this.greet(exchange);
    else if (method === 'tools/list')
      this.json(response, { jsonrpc, id, result: { tools: this.tools } });
    else if (params.name === 'add')
      this.json(response, result(id, `[${params.arguments.a + params.arguments.b}]`));
    else if (params.name === 'where') {
      const { 'mcp-param-region': region = '', 'mcp-param-n': n = '' } = request.headers;
      this.json(response, result(id, `${region} ${n}`));
    } else if (method !== 'tools/call')
      this.json(response, { jsonrpc, id, error: { code: -32601, message: 'unknown' } }, 404);
    else {
      this.counts[path] = (this.counts[path] ?? 0) + 1;
      response.on('close', () => response.writableFinished || this.closed.push(path));
      const work = this[path.replaceAll('-', '_')];
      if (work) work.call(this, exchange);
      else this.json(response, result(id, `done by ${path} for ${request.headers['x-who']}`));
    }
  }
  greet({ path, response, message: { id, params } }) {
    const session = `${path}-${this.sessions.size}`;
    this.sessions.add(session);
    const greeting = {
      protocolVersion: path === 'year-2024' ? '2024-11-05' : params.protocolVersion,
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: path, version: '1' },
    };
    const headers = { 'Mcp-Session-Id': session };
    this.json(response, { jsonrpc, id, result: greeting }, 200, headers);
  }
  isStateless({ request, message: { method, params } }) {
    const version = params?._meta?.['io.modelcontextprotocol/protocolVersion'];
    return (
      version === '2026-07-28' &&
      request.headers['mcp-protocol-version'] === version &&
      request.headers['mcp-method'] === method &&
      request.headers['mcp-name'] === params.name
    );
  }

  // --- what `work` does ------------------------------------------------------------------------

  events({ response, message }) {
    const [first, ...rest] = JSON.stringify(result(message.id, 'by events'), null, 1).split('\n');
    const lines = [': a comment', 'id: 7', `data: ${first}`, ...rest.map((line) => `data:${line}`)];
    this.stream(response).write(event(notification('notifications/progress', { progress: 1 })));
    for (const byte of `${lines.join('\r\n')}\r\n\r\n`) response.write(byte);
    response.end();
  }
  open({ response, message }) {
    this.stream(response).write(event(result(message.id, 'not closed')));
  }
  resume({ response, message }) {
    this.resumed = message.id;
    this.stream(response).end('id: there\nretry: 10\ndata:\n\n');
  }
  asks({ response, message }) {
    const answers = [];
    this.answered = ({ id, error, result: roots }) => {
      answers[id] = error?.code ?? roots.roots[0].uri;
      if (Object.keys(answers).length === 2)
        response.end(event(result(message.id, JSON.stringify([answers[0], answers[1]]))));
    };
    this.stream(response);
    response.write(event({ jsonrpc, id: 0, method: 'sampling/createMessage', params: {} }));
    response.write(event({ jsonrpc, id: 1, method: 'roots/list' }));
  }
  expire({ request, response, message }) {
    if (this.counts.expire > 1) {
      this.json(response, result(message.id, 'in a new session'));
      return;
    }
    this.sessions.delete(request.headers['mcp-session-id']);
    response.writeHead(404).end();
  }
  forget(exchange) {
    const { request, response, message } = exchange;
    if (this.counts.forget > 1) {
      this.json(response, result(message.id, 'in a new session'));
      return;
    }
    this.sessions.delete(request.headers['mcp-session-id']);
    this.refuse(exchange);
  }
  hang() {}
  slow() {}
  die({ request }) {
    request.socket.destroy();
  }
  half({ request, response }) {
    this.stream(response).write('data: {"jsonrpc"', () => request.socket.destroy());
  }
  ids({ response, message: { id } }) {
    this.stream(response);
    for (const wrong of [`${id}0`, Number(id), null, `-${id}`, {}])
      response.write(event(result(wrong, 'wrong')));
    response.end(event(result(id, 'right')) + event(result(id, 'twice')));
  }
  noise({ response, message }) {
    this.stream(response).write('data: no message\n\ndata\n\n\n\nevent: endpoint\ndata: {}\n\n');
    for (let i = 0; i < 5000; i++)
      response.write(event(notification('notifications/message', { level: 'info', data: i })));
    response.end(event(result(message.id, 'heard')));
  }
  endless({ response }) {
    this.stream(response);
    const block = event(notification('notifications/message', { data: 'x'.repeat(50_000) }));
    const more = () => {
      if (response.destroyed) return;
      if (response.write(block)) setImmediate(more);
      else response.once('drain', more);
    };
    more();
  }
  slow_headers({ request: { socket } }) {
    socket.on('error', () => {});
    socket.write('HTTP/1.1 200 OK\r\n');
    const timer = setInterval(() => socket.write('X-A: b\r\n'), 50);
    socket.on('close', () => clearInterval(timer));
  }
  headers({ request: { socket } }) {
    socket.on('error', () => {});
    socket.write(`HTTP/1.1 200 OK\r\n${`X-A: ${'b'.repeat(50_000)}\r\n`.repeat(20)}`);
  }
  bomb({ response }) {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' });
    response.end(gzipSync(Buffer.alloc(50 << 20)));
  }
  huge({ response, message }) {
    this.json(response, result(message.id, 'x'.repeat(9 << 20)));
  }
  line({ response }) {
    this.stream(response).write('data: ');
    const block = 'x'.repeat(1 << 20);
    const more = (error) => error || response.destroyed || response.write(block, more);
    more();
  }
  late_redirect({ response }) {
    response.writeHead(302, { Location: '/good' }).end();
  }
  garbage({ response }) {
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"jsonrpc": "2.0", ');
  }
}
