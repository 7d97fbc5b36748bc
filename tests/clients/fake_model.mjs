// A model for tests of real MCP clients: an HTTP server on loopback that speaks enough of Anthropic's
// Messages API and OpenAI's Responses API for one turn. It asks for one call of a tool, and keeps what
// the client hands it as the result, which is what a real model would read.
import { createServer } from 'node:http';

const TOOL = 'evaluate-lisp';

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    return JSON.parse(Buffer.concat(chunks).toString() || '{}');
  } catch {
    return {};
  }
}

function streamEvents(response, events) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events)
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
}

// --- Anthropic's Messages API ------------------------------------------------------------------

function messageEvents(block, delta, stop) {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'fake',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  return [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: stop, stop_sequence: null },
      usage: { output_tokens: 1 },
    },
    { type: 'message_stop' },
  ];
}

const sayMessage = (text) =>
  messageEvents({ type: 'text', text: '' }, { type: 'text_delta', text }, 'end_turn');

function answerMessages(body, call, seen) {
  const blocks = (body.messages ?? []).flatMap(({ content }) =>
    Array.isArray(content) ? content : [],
  );
  const results = blocks.filter((block) => block.type === 'tool_result');
  const tool = (body.tools ?? []).find(({ name }) => name?.endsWith(TOOL));
  if (results.length > 0) {
    seen.push(results.at(-1).content);
    return sayMessage('done');
  }
  if (!tool) return sayMessage('no tools');
  return messageEvents(
    { type: 'tool_use', id: 'toolu_1', name: tool.name, input: {} },
    { type: 'input_json_delta', partial_json: JSON.stringify(call) },
    'tool_use',
  );
}

// --- OpenAI's Responses API --------------------------------------------------------------------

function responseEvents(item) {
  const response = { id: 'resp_1', object: 'response', status: 'in_progress', output: [] };
  return [
    { type: 'response.created', response },
    { type: 'response.output_item.done', output_index: 0, item },
    {
      type: 'response.completed',
      response: {
        ...response,
        status: 'completed',
        output: [item],
        usage: {
          input_tokens: 1,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: 1,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 2,
        },
      },
    },
  ];
}

const sayResponse = (text) =>
  responseEvents({
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  });

// A tool of the list, which may be inside a namespace.
function findFunction(tools, namespace) {
  for (const tool of tools ?? []) {
    if (tool.type === 'namespace') {
      const found = findFunction(tool.tools, tool.name);
      if (found) return found;
    } else if (tool.name?.replaceAll('_', '-').endsWith(TOOL)) {
      return { name: tool.name, namespace };
    }
  }
  return undefined;
}

function answerResponses(body, call, seen) {
  const outputs = (Array.isArray(body.input) ? body.input : []).filter(
    (item) => item.type === 'function_call_output',
  );
  const tool = findFunction(body.tools);
  if (outputs.length > 0) {
    seen.push(outputs.at(-1).output);
    return sayResponse('done');
  }
  if (!tool) return sayResponse('no tools');
  return responseEvents({
    type: 'function_call',
    id: 'fc_1',
    call_id: 'call_1',
    ...tool,
    arguments: JSON.stringify(call),
    status: 'completed',
  });
}

// --- the server --------------------------------------------------------------------------------

// {port, seen, requests, close()}: `seen` has the results that the client handed over, `requests` the
// path and the names of the tools of every request. `call` is what the model gives to evaluate-lisp.
export async function startModel(call) {
  const seen = [];
  const requests = [];
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request);
    const path = request.url.split('?')[0];
    requests.push({ path, tools: (body.tools ?? []).map(({ name, type }) => name ?? type) });
    if (path.endsWith('/messages')) {
      streamEvents(response, answerMessages(body, call, seen));
    } else if (path.endsWith('/responses')) {
      streamEvents(response, answerResponses(body, call, seen));
    } else {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(path.endsWith('/count_tokens') ? '{"input_tokens":1}' : '{"data":[]}');
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: server.address().port,
    seen,
    requests,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
