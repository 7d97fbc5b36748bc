// The line at the bottom: evaluates in the session as "inspector", with history and completion.
import { clip, h, plain, replace, toast } from './dom.js';
import { tool } from './mcp.js';

const KEY = 'cadre-history';
const KEPT = 200;

function readHistory() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? [];
  } catch {
    return [];
  }
}

export class Prompt {
  constructor(on) {
    this.on = on;
    this.history = readHistory();
    this.at = this.history.length;
    this.input = h('textarea', {
      rows: 1,
      spellcheck: false,
      autocapitalize: 'off',
      autocomplete: 'off',
      ariaLabel: 'evaluate in this session',
      placeholder: 'evaluate in this session',
      onkeydown: (event) => this.key(event),
      oninput: () => this.grow(),
      onblur: () => setTimeout(() => this.hide(), 150),
    });
    this.menu = h('div.completions', { hidden: true, role: 'listbox' });
    this.label = h('span.prompt-label');
    this.element = h(
      'form.prompt',
      { onsubmit: (event) => this.submit(event) },
      this.menu,
      this.label,
      this.input,
      h(
        'span.hint',
        h('kbd', 'Tab'),
        ' completes ',
        h('kbd', '↑'),
        ' recalls ',
        h('kbd', 'Enter'),
        ' evaluates',
      ),
    );
  }

  show(name, packageName) {
    this.name = name;
    replace(this.label, plain(`${packageName || 'CL-USER'}>`));
    this.input.placeholder = `evaluate in ${name}`;
  }

  focus() {
    this.input.focus();
  }

  grow() {
    this.hide();
    this.input.style.height = 'auto';
    this.input.style.height = `${Math.min(this.input.scrollHeight, 180)}px`;
  }

  set(text) {
    this.input.value = text;
    this.grow();
    this.input.setSelectionRange(text.length, text.length);
  }

  key(event) {
    const isMenu = !this.menu.hidden;
    if (event.key === 'Tab') {
      event.preventDefault();
      if (isMenu) this.choose(this.chosen);
      else this.complete();
    } else if (isMenu && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      event.preventDefault();
      this.mark(this.chosen + (event.key === 'ArrowDown' ? 1 : -1));
    } else if (isMenu && event.key === 'Enter') {
      event.preventDefault();
      this.choose(this.chosen);
    } else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      this.submit(event);
    } else if (event.key === 'Escape') {
      event.stopPropagation();
      if (isMenu) this.hide();
      else this.input.blur();
    } else if (
      event.key === 'ArrowUp' &&
      !this.input.value.slice(0, this.input.selectionStart).includes('\n')
    ) {
      event.preventDefault();
      this.recall(-1);
    } else if (
      event.key === 'ArrowDown' &&
      !this.input.value.slice(this.input.selectionEnd).includes('\n')
    ) {
      event.preventDefault();
      this.recall(1);
    }
  }

  recall(step) {
    const next = this.at + step;
    if (next < 0 || next > this.history.length) return;
    if (this.at === this.history.length) this.draft = this.input.value;
    this.at = next;
    this.set(next === this.history.length ? (this.draft ?? '') : this.history[next]);
  }

  async submit(event) {
    event.preventDefault();
    const text = this.input.value.trim();
    if (!text || !this.name) return;
    this.history = [...this.history.filter((line) => line !== text), text].slice(-KEPT);
    this.at = this.history.length;
    this.draft = '';
    sessionStorage.setItem(KEY, JSON.stringify(this.history));
    this.set('');
    this.on.began();
    try {
      const answer = await tool('evaluate-lisp', { code: text, session: this.name });
      if (answer.data.evaluation) this.on.ended(answer.data.evaluation);
      else if (!answer.ok) toast(answer.text);
    } catch (error) {
      toast(error.message);
    }
  }

  // --- completion ---

  word() {
    const before = this.input.value.slice(0, this.input.selectionStart);
    return before.match(/[^\s()[\]{}"';,`#]*$/)[0];
  }

  async complete() {
    const word = this.word();
    if (word.length < 2) return;
    const pattern = word.split(':').pop();
    const answer = await tool('describe-symbol', { pattern, session: this.name }).catch(
      (error) => ({ ok: false, text: error.message }),
    );
    if (!answer.ok || this.word() !== word) return;
    const names = (answer.data.matches ?? []).map((match) => {
      const [home, name] = match.symbol.split('::');
      const isUsed =
        ['COMMON-LISP', 'COMMON-LISP-USER', 'CL-USER'].includes(home) ||
        (word === pattern && home !== 'KEYWORD' && !home.includes('-'));
      const prefix = word.includes(':') ? word.slice(0, word.lastIndexOf(':') + 1) : '';
      return { text: prefix + name.toLowerCase(), kind: match.kind, home, isUsed };
    });
    const fits = names.filter((one) => one.text.startsWith(word.toLowerCase()));
    const order = (one) => (one.home.startsWith('COMMON-LISP') ? 0 : one.isUsed ? 1 : 2);
    this.options = fits
      .sort((a, b) => order(a) - order(b) || a.text.length - b.text.length)
      .slice(0, 12);
    if (this.options.length === 0) return;
    if (this.options.length === 1) {
      this.choose(0);
      return;
    }
    this.menu.hidden = false;
    this.mark(0);
  }

  mark(index) {
    this.chosen = (index + this.options.length) % this.options.length;
    replace(
      this.menu,
      this.options.map((one, at) =>
        h(
          at === this.chosen ? 'div.option.chosen' : 'div.option',
          {
            role: 'option',
            onmousedown: (event) => {
              event.preventDefault();
              this.choose(at);
            },
          },
          h('code', plain(clip(one.text, 80))),
          h('span.dim', plain(`${one.home.toLowerCase()} · ${one.kind.toLowerCase()}`)),
        ),
      ),
    );
  }

  choose(index) {
    const one = this.options[index];
    const at = this.input.selectionStart;
    const start = at - this.word().length;
    const value = this.input.value;
    this.input.value = value.slice(0, start) + one.text + value.slice(at);
    const end = start + one.text.length;
    this.input.setSelectionRange(end, end);
    this.hide();
  }

  hide() {
    this.menu.hidden = true;
  }
}
