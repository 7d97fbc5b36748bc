// Messages and raw requests for the tests of Streamable HTTP.
import { request2024, request2026 } from './mcp_support.mjs';

export const discover = request2026(1, 'server/discover');
export const ping = (id) => request2024(id, 'ping');
export const code = async (response) => (await response.json()).error?.code;
export const request = (_server, lines, body = '') =>
  [...lines, `Content-Length: ${Buffer.byteLength(body)}`, '', body].join('\r\n');
export const lines2026 = (host, more = []) => [
  'POST /mcp HTTP/1.1',
  `Host: ${host}`,
  'Content-Type: application/json',
  'Accept: application/json, text/event-stream',
  'MCP-Protocol-Version: 2026-07-28',
  'Mcp-Method: server/discover',
  'Connection: close',
  ...more,
];
