// The evaluations of a session as a tree: the lineage of the present state is the straight line on the
// left, what was left by rollbacks and adoptions branches off. Only the rows in sight are elements, so
// that ten thousand of them scroll as ten do.
import { highlight } from './code.js';
import { bytes, clip, clock, duration, empty, h, replace, svg } from './dom.js';
import { lineage, session, store } from './store.js';

const ROW = 34;
const LANE = 14;
const MOST_LANES = 8;
const AHEAD = 12;

// --- lanes ---

// Rows that leave the line form chains, each with a lane from its parent's row to its own last.
function chainsOf(rows, place, straight) {
  const chains = [];
  const chainAt = new Map();
  rows.forEach((row, index) => {
    if (straight.has(row.number)) return;
    const before = chainAt.get(row.parent);
    const continues = before && before.last === place.get(row.parent);
    const chain = continues ? before : { from: place.get(row.parent) ?? -1, first: index, lane: 1 };
    if (!continues) chains.push(chain);
    chain.last = index;
    chainAt.set(row.number, chain);
  });
  return { chains, chainAt };
}

function layOut(rows, straight) {
  const place = new Map(rows.map((row, index) => [row.number, index]));
  const { chains, chainAt } = chainsOf(rows, place, straight);
  const busyUntil = [];
  chains.sort((a, b) => a.from - b.from);
  for (const chain of chains) {
    let lane = 1;
    while (lane < MOST_LANES && (busyUntil[lane] ?? -1) > chain.from) lane++;
    busyUntil[lane] = chain.last;
    chain.lane = lane;
  }
  const lanes = rows.map((row) => chainAt.get(row.number)?.lane ?? 0);
  const end = Math.max(-1, ...[...straight].map((number) => place.get(number) ?? -1).slice(0, 1));
  return { lanes, chains, end, width: Math.max(0, ...lanes) + 1 };
}

const middle = (lane) => 12 + lane * LANE;

function gutter(index, layout, row) {
  const width = 12 + layout.width * LANE;
  const picture = svg('svg', { width, height: ROW, class: 'gutter', 'aria-hidden': 'true' });
  const line = (d, name) => picture.append(svg('path', { d, class: name }));
  const half = ROW / 2;
  if (index <= layout.end) {
    const from = index === 0 ? half : 0;
    line(`M12 ${from}V${index === layout.end ? half : ROW}`, 'straight');
  }
  for (const chain of layout.chains) {
    if (chain.from >= index || chain.last < index) continue;
    const x = middle(chain.lane);
    const parentLane = chain.from >= 0 ? layout.lanes[chain.from] : 0;
    const begins = index === chain.from + 1;
    const bottom = index === chain.last ? half : ROW;
    if (begins && chain.from >= 0) {
      const start = middle(parentLane);
      line(`M${start} ${-half}C${start} 4 ${x} -4 ${x} ${half}V${bottom}`, 'branch');
    } else line(`M${x} ${begins ? half : 0}V${bottom}`, 'branch');
  }
  const lane = layout.lanes[index];
  picture.append(
    svg('circle', { cx: middle(lane), cy: half, r: 4.5, class: `dot ${row.outcome}` }),
  );
  return picture;
}

// --- the list ---

export class Timeline {
  constructor(on) {
    this.on = on;
    this.query = '';
    this.selected = undefined;
    this.follows = true;
    this.space = h('div.rows');
    this.scroller = h(
      'div.timeline',
      { tabIndex: -1, onscroll: () => this.scrolled() },
      this.space,
    );
    this.list = this.space;
    this.element = h('div.timeline-box', this.scroller);
    this.space.setAttribute('role', 'listbox');
    this.space.setAttribute('aria-label', 'evaluations');
    new ResizeObserver(() => this.draw()).observe(this.scroller);
  }

  show(name) {
    if (this.name !== name) {
      this.name = name;
      this.follows = true;
      this.selected = undefined;
    }
    this.update();
  }

  search(query) {
    this.query = query.toLowerCase();
    this.update();
  }

  matches(row) {
    const text = `${row.number} ${row.code} ${row.summary ?? ''} ${row.by ?? ''} ${row.outcome}`;
    return text.toLowerCase().includes(this.query);
  }

  update() {
    const of = session(this.name);
    this.straight = lineage(of);
    this.rows = this.query ? of.rows.filter((row) => this.matches(row)) : of.rows;
    this.layout = layOut(this.rows, this.straight);
    this.space.style.height = `${this.rows.length * ROW}px`;
    if (this.follows) this.scroller.scrollTop = this.scroller.scrollHeight;
    this.draw();
  }

  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    this.follows = scrollTop + clientHeight >= scrollHeight - ROW;
    this.draw();
  }

  draw() {
    if (!this.rows) return;
    if (this.rows.length === 0) {
      replace(this.space, this.nothing());
      return;
    }
    const { scrollTop, clientHeight } = this.scroller;
    const from = Math.max(0, Math.floor(scrollTop / ROW) - AHEAD);
    const to = Math.min(this.rows.length, Math.ceil((scrollTop + clientHeight) / ROW) + AHEAD);
    const parts = [];
    for (let index = from; index < to; index++) parts.push(this.row(index));
    this.space.replaceChildren(...parts);
  }

  nothing() {
    if (this.query) return empty('No evaluation matches.', 'Escape clears the search.');
    if (!store.isLoaded) return empty('Reading the session…');
    return empty(
      'Nothing has been evaluated yet.',
      'Evaluate something below, or let an agent connected to this server do so: rows appear as it happens.',
    );
  }

  row(index) {
    const row = this.rows[index];
    const isCurrent = session(this.name).current === row.number;
    const isLeft = !this.straight.has(row.number) && row.outcome !== 'running';
    const classes = [
      'row',
      row.number === this.selected && 'selected',
      isCurrent && 'current',
      isLeft && 'left',
      row.outcome === 'running' && 'is-running',
    ].filter(Boolean);
    const isBad = row.outcome === 'error' || row.outcome === 'rolled-back';
    const element = h(
      `div.${classes.join('.')}`,
      { onclick: () => this.on.open(row.number), title: clip(row.code, 500) },
      gutter(index, this.layout, row),
      h('span.number', String(row.number)),
      h(
        'span.what',
        h('code', highlight(row.code || '(no code)')),
        row.summary &&
          h(isBad ? 'span.summary.bad' : 'span.summary', isBad ? '' : '⇒ ', clip(row.summary, 160)),
      ),
      isCurrent && h('span.badge', 'now'),
      h('span.by', row.by ?? ''),
      h('span.time', row.us === undefined ? 'running' : duration(row.us)),
      h('span.memory-cell', bytes(row.live)),
      h('span.clock', clock(row.at)),
    );
    element.style.top = `${index * ROW}px`;
    element.dataset.number = row.number;
    element.setAttribute('role', 'option');
    element.setAttribute('aria-selected', String(row.number === this.selected));
    return element;
  }

  select(number) {
    this.selected = number;
    const index = this.rows?.findIndex((row) => row.number === number) ?? -1;
    if (index >= 0) {
      const { scrollTop, clientHeight } = this.scroller;
      const top = index * ROW;
      if (top < scrollTop) this.scroller.scrollTop = top - ROW;
      if (top + ROW > scrollTop + clientHeight)
        this.scroller.scrollTop = top + 2 * ROW - clientHeight;
    }
    this.draw();
  }

  // j and k
  move(step) {
    if (!this.rows?.length) return undefined;
    const index = this.rows.findIndex((row) => row.number === this.selected);
    const next = index < 0 ? this.rows.length - 1 : index + step;
    const row = this.rows[Math.min(this.rows.length - 1, Math.max(0, next))];
    this.select(row.number);
    return row.number;
  }
}
