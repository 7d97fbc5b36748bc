// Context: the items in the order in which they are rendered, and the document beside them.
import { code } from './code.js';
import { clip, empty, h, plain, replace, toast } from './dom.js';
import { notifications, request, tool } from './mcp.js';

const ITEMS = 'context://items';

// The document has the types in this order, within a type the older first.
function inOrder(items, markdown) {
  const heading = {
    code: 'Code',
    text: 'Text',
    file: 'File',
    'repl-history': 'REPL',
    error: 'Error',
    custom: 'Custom',
  };
  const place = (type) => {
    const at = markdown.indexOf(`\n### ${heading[type] ?? type}`);
    return at < 0 ? Number.MAX_SAFE_INTEGER : at;
  };
  const number = (id) => Number(id.replace(/\D/g, ''));
  return [...items].sort((a, b) => place(a.type) - place(b.type) || number(a.id) - number(b.id));
}

export class ContextView {
  constructor() {
    this.list = h('div.item-list');
    this.page = h('div.document');
    const content = h('textarea', {
      rows: 3,
      placeholder: 'Text to keep for later prompts',
      ariaLabel: 'new item',
    });
    const type = h(
      'select',
      { ariaLabel: 'type' },
      ['text', 'code', 'error', 'repl-history'].map((name) => h('option', { value: name }, name)),
    );
    const add = async (event) => {
      event.preventDefault();
      if (!content.value.trim()) return;
      if (await this.run('add-context', { content: content.value, type: type.value }))
        content.value = '';
    };
    this.element = h(
      'div.context',
      h(
        'div.items',
        h('h2', 'Items'),
        h(
          'form.add-item',
          { onsubmit: add },
          content,
          h('div.inline', type, h('button.primary', 'Add')),
        ),
        this.list,
      ),
      h('div.rendered', h('h2', 'Rendered'), this.page),
    );
  }

  async run(name, args) {
    try {
      const answer = await tool(name, args);
      if (!answer.ok) toast(answer.text);
      await this.show();
      return answer.ok;
    } catch (error) {
      toast(error.message);
      return false;
    }
  }

  async show() {
    try {
      await this.subscribe();
      const [items, rendered] = await Promise.all([tool('list-context'), tool('render-context')]);
      this.draw(items.data.summaries ?? [], rendered.data.markdown ?? '');
    } catch (error) {
      this.isSubscribed = false;
      replace(this.list, h('p.fault', plain(error.message)));
    }
  }

  async subscribe() {
    if (this.isSubscribed) return;
    this.isSubscribed = true;
    await request('resources/subscribe', { uri: ITEMS });
    const end = () => {
      this.isSubscribed = false;
    };
    notifications((message) => {
      if (message.method === 'notifications/resources/updated' && this.element.isConnected)
        this.show();
    }).then(end, end);
  }

  draw(items, markdown) {
    replace(
      this.list,
      items.length === 0
        ? empty(
            'No items yet.',
            'Add one above; an agent adds them with add-context, and auto-context keeps errors by itself.',
          )
        : inOrder(items, markdown).map((item) => this.item(item)),
    );
    replace(
      this.page,
      markdown && items.length
        ? code(markdown)
        : empty('Nothing to render.', 'The document that prompts get appears here.'),
    );
  }

  item(item) {
    const name = item.metadata?.filename;
    return h(
      item.pinned ? 'div.item.pinned' : 'div.item',
      h(
        'div.item-head',
        h('b', plain(item.id)),
        h('span.tag', item.type),
        item.pinned && h('span.tag.pin', 'pinned'),
        name && h('span.dim', plain(clip(String(name), 60))),
        h('span.dim', `${item.characters.toLocaleString('en')} characters`),
        h('span.spacer'),
        h(
          'button.small',
          {
            type: 'button',
            onclick: () => this.run('add-context', { id: item.id, pinned: !item.pinned }),
          },
          item.pinned ? 'Unpin' : 'Pin',
        ),
        h(
          'button.small',
          { type: 'button', onclick: () => this.run('remove-context', { id: item.id }) },
          'Remove',
        ),
      ),
      h('pre.text.preview', clip(item.preview ?? '', 400)),
    );
  }
}
