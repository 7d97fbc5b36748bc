// The page: views, addresses, keys, and the connection.
import { clip, count, h, plain, replace, toast } from './dom.js';
import { ContextView } from './context.js';
import { EvaluationPanel } from './evaluation.js';
import { follow } from './events.js';
import {
  chosenWorkspace,
  enter,
  hasToken,
  hasTool,
  isEntrance,
  resource,
  setToken,
  setWorkspace,
  tool,
} from './mcp.js';
import {
  Overview,
  isLive,
  stateClass,
  stateName,
  workspaceAddress,
  workspaceName,
} from './overview.js';
import { memoryPlot } from './plot.js';
import { ProgramsView } from './programs.js';
import { Prompt } from './prompt.js';
import { apply, load, loadWorkspaces, onChange, session, store } from './store.js';
import { Timeline } from './timeline.js';

// --- parts ---

const timeline = new Timeline({ open: (number) => go(`s/${route.session}/${number}`) });
const panel = new EvaluationPanel({
  close: () => go(`s/${route.session}`),
  rollBack,
  fork,
  copy,
  interrupt,
});
const programs = new ProgramsView({
  open: (id) => go(id === undefined ? 'programs' : `programs/${id}`),
});
const context = new ContextView();
const overview = new Overview({ open: (name) => go(`s/${name}`) });
const prompt = new Prompt({
  began: () => {
    timeline.follows = true;
    timeline.update();
  },
  ended: (number) => route.view === 's' && go(`s/${route.session}/${number}`),
});
const search = h('input.search', {
  type: 'search',
  placeholder: 'search  /',
  ariaLabel: 'search evaluations',
  spellcheck: false,
  oninput: () => timeline.search(search.value),
  onkeydown: (event) => {
    if (event.key === 'Escape') {
      search.value = '';
      timeline.search('');
    }
    if (event.key === 'Escape' || event.key === 'Enter') search.blur();
  },
});
const sessionTitle = h('div.session-title');
const sessionView = h(
  'div.session-view',
  h(
    'div.session-main',
    h('div.session-bar', sessionTitle, search),
    timeline.element,
    prompt.element,
  ),
  panel.element,
);

const connection = h('span.connection');
const banner = h('div.banner', { hidden: true, role: 'status' });
const sidebar = h('nav.sidebar', { ariaLabel: 'sessions' });
const tabs = h('nav.tabs', { ariaLabel: 'views' });
const main = h('main.main', { tabIndex: -1 });
const shell = h(
  'div.shell',
  h(
    'header.top',
    h('a.mark', { href: '#/', title: 'The workspace' }, h('span.glyph', 'λ'), h('span', 'cadre')),
    tabs,
    h('span.spacer'),
    connection,
    h(
      'button.help-button',
      { type: 'button', title: 'Keys (?)', ariaLabel: 'keys', onclick: () => help() },
      '?',
    ),
  ),
  banner,
  h('div.body', sidebar, main),
);

// --- addresses: #/  #/s/NAME/NUMBER  #/programs/ID  #/context ---

let route = { view: '' };

function go(address) {
  if (location.hash !== `#/${address}`) location.hash = `#/${address}`;
  else render();
}

function parse() {
  const [view, first, second] = location.hash
    .replace(/^#\/?/, '')
    .split('/')
    .map(decodeURIComponent);
  if (view === 's') return { view, session: first, number: second ? Number(second) : undefined };
  if (view === 'programs') return { view, id: first ? Number(first) : undefined };
  return { view: view === 'context' ? view : '' };
}

function put(element) {
  if (main.firstChild !== element) main.replaceChildren(element);
}

function render() {
  route = parse();
  drawTabs();
  drawSidebar();
  if (route.view === 's') renderSession();
  else if (route.view === 'programs') {
    put(programs.element);
    programs.show(route.id);
  } else if (route.view === 'context') {
    put(context.element);
    context.show();
  } else {
    put(overview.element);
    overview.show();
    if (store.isLoaded) lookAround();
  }
}

function lookAround() {
  loadWorkspaces().catch(() => {}); // the stream of events tells when the server is gone
}

function renderSession() {
  const name = route.session;
  put(sessionView);
  prompt.show(name, session(name).info.package_label);
  timeline.show(name);
  drawTitle();
  sessionView.classList.toggle('has-panel', route.number !== undefined);
  if (route.number === undefined) panel.close();
  else {
    panel.open(name, route.number);
    timeline.select(route.number);
  }
}

function drawTitle() {
  const of = session(route.session);
  replace(
    sessionTitle,
    h(`span.light.${stateClass(of.state)}`),
    h('b', plain(of.name)),
    h('span.dim', stateName(of)),
    of.current > 0 &&
      h('span.dim.wide', `${count(of.rows.length, 'evaluation')}, at ${of.current}`),
  );
}

function drawTabs() {
  const latest = route.session ?? [...store.sessions.keys()][0] ?? 'main';
  const tab = (address, label, isOn) =>
    h(
      isOn ? 'a.tab.on' : 'a.tab',
      { href: `#/${address}`, ariaCurrent: isOn ? 'page' : null },
      label,
    );
  replace(
    tabs,
    tab('', 'Workspace', route.view === ''),
    tab(`s/${latest}`, 'Timeline', route.view === 's'),
    tab('programs', 'Programs', route.view === 'programs'),
    tab('context', 'Context', route.view === 'context'),
  );
}

function drawSidebar() {
  replace(
    sidebar,
    h('p.side-title', 'Sessions'),
    [...store.sessions.values()].map((of) => {
      const isOn = route.view === 's' && route.session === of.name;
      return h(
        isOn ? 'a.side.on' : 'a.side',
        { href: `#/s/${of.name}` },
        h(`span.light.${stateClass(of.state)}`),
        h('span.side-name', plain(of.name)),
        h('span.dim', of.rows.length ? of.rows.length.toLocaleString('en') : ''),
        memoryPlot(of.samples, { height: 26 }),
      );
    }),
    store.workspaces.length > 0 && h('p.side-title.more', 'Other workspaces'),
    store.workspaces.map((other) =>
      h(
        'a.side',
        { href: workspaceAddress(other.path), title: other.path },
        h(`span.light.${isLive(other) ? 'live' : 'down'}`),
        h('span.side-name', plain(workspaceName(other.path))),
        h('span.dim', other.sessions.length || ''),
      ),
    ),
    h('p.side-place', { title: store.workspace }, plain(store.workspace)),
    h('p.side-place', store.version && `Cadre ${store.version}`),
  );
}

// --- what one can do ---

async function run(name, args, done) {
  try {
    const answer = await tool(name, args);
    if (!answer.ok) toast(answer.text);
    else done?.(answer);
    return answer.ok;
  } catch (error) {
    toast(error.message);
    return false;
  }
}

function rollBack(number) {
  const name = route.session;
  const before = session(name).current;
  run('rollback-session', { session: name, to: number }, () => {
    const undo = () => run('rollback-session', { session: name, to: before });
    toast(
      `${name} is in the state after evaluation ${number}.`,
      before !== number ? ['Undo', undo] : undefined,
    );
  });
}

async function fork(number) {
  if (!(await hasTool('fork-session'))) {
    toast('This server has no fork-session.');
    return;
  }
  const from = route.session;
  let name = 'fork';
  for (let i = 2; store.sessions.has(name); i++) name = `fork-${i}`;
  run('fork-session', { from: `${from}@${number}`, as: name }, async () => {
    await load();
    go(`s/${name}`);
    toast(`${name} begins in the state of ${from} after evaluation ${number}.`);
  });
}

async function copy(number) {
  const record = await resource(`cadre://sessions/${route.session}/evaluations/${number}`);
  const code = record.detail?.request?.code ?? record.row.code ?? '';
  try {
    await navigator.clipboard.writeText(`${code.trimEnd()}\n`);
    toast(`Evaluation ${number} is copied.`);
  } catch {
    toast('The browser does not allow copying.');
  }
}

function interrupt(number) {
  run('wait', { session: route.session, evaluation: number, interrupt: true, timeout: 0 });
}

// --- keys ---

const KEYS = [
  ['j, k', 'the next, the previous row'],
  ['Enter', 'open it'],
  ['Escape', 'close; leave a field'],
  ['r', 'roll back to it'],
  ['f', 'fork from it'],
  ['c', 'copy its code'],
  ['/', 'search'],
  ['i', 'the prompt'],
  ['1 2 3 4', 'workspace, timeline, programs, context'],
  ['?', 'these keys'],
];

function help() {
  if (document.querySelector('.help')) {
    document.querySelector('.help').remove();
    return;
  }
  const box = h(
    'div.help',
    { role: 'dialog', ariaLabel: 'keys', onclick: () => box.remove() },
    h(
      'div.help-box',
      h('h2', 'Keys'),
      h(
        'dl',
        KEYS.map(([key, what]) => [
          h(
            'dt',
            key.split(/,? /).map((one) => h('kbd', one)),
          ),
          h('dd', what),
        ]),
      ),
    ),
  );
  document.body.append(box);
}

const commands = {
  j: () => move(1),
  ArrowDown: () => move(1),
  k: () => move(-1),
  ArrowUp: () => move(-1),
  Enter: () =>
    timeline.selected !== undefined &&
    route.view === 's' &&
    go(`s/${route.session}/${timeline.selected}`),
  r: () => target() !== undefined && rollBack(target()),
  f: () => target() !== undefined && fork(target()),
  c: () => target() !== undefined && copy(target()),
  '/': () => route.view === 's' && search.focus(),
  i: () => route.view === 's' && prompt.focus(),
  1: () => go(''),
  2: () => go(`s/${route.session ?? [...store.sessions.keys()][0] ?? 'main'}`),
  3: () => go('programs'),
  4: () => go('context'),
  '?': help,
  Escape: () => {
    if (document.querySelector('.help')) help();
    else if (route.view === 's' && panel.isOpen) go(`s/${route.session}`);
    else if (route.view === 'programs') go('programs');
  },
};

function target() {
  return route.view === 's' ? (route.number ?? timeline.selected) : undefined;
}

function move(step) {
  if (route.view === 'programs') programs.move(step);
  if (route.view !== 's') return;
  const number = timeline.move(step);
  if (number !== undefined && panel.isOpen) go(`s/${route.session}/${number}`);
}

function onKey(event) {
  if (
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    event.target.closest('input, textarea, select')
  )
    return;
  const isButton = event.key === 'Enter' && event.target.closest('button, a');
  if (isButton || !Object.hasOwn(commands, event.key)) return;
  event.preventDefault();
  commands[event.key]();
}

// --- the connection ---

// In the place of everything: what is wrong, and what to do.
function gate(title, fault, ...how) {
  replace(
    document.querySelector('#app'),
    h(
      'div.gate',
      h(
        'div.gate-box',
        h('div.mark.big', h('span.glyph', 'λ'), h('span', 'cadre')),
        h('h1', title),
        h('p.fault', plain(fault)),
        how,
      ),
    ),
  );
}

function askForToken(fault) {
  const input = h('input', {
    type: 'password',
    placeholder: 'token',
    ariaLabel: 'token',
    autocomplete: 'off',
  });
  const enter = (event) => {
    event.preventDefault();
    setToken(input.value.trim());
    location.reload();
  };
  gate(
    "This page needs the server's token",
    fault,
    h(
      'p',
      'Run ',
      h('code', 'cadre ui'),
      ' on this machine: it opens the page with the token, which is in its address. Or paste the token:',
    ),
    h('form.inline', { onsubmit: enter }, input, h('button.primary', 'Open')),
  );
}

// The token is right, but not for this workspace, or that was opened with other options.
function refuseWorkspace(path) {
  const back = () => {
    setWorkspace(undefined);
    location.reload();
  };
  gate(
    'This server does not show the workspace',
    path,
    h(
      'p',
      'It does not exist, the token does not allow it, or its sessions were made with other options than the server has. ',
      'Run ',
      h('code', 'cadre ui'),
      ' in its directory, or see the workspace of the server.',
    ),
    h('button.primary', { type: 'button', onclick: back }, "The server's workspace"),
  );
}

async function reload() {
  try {
    await load();
    render();
  } catch (error) {
    if (error.name !== 'TypeError') toast(error.message);
  }
}

function onState(state, message, status) {
  if (state === 'refused' && status === 403 && chosenWorkspace()) {
    refuseWorkspace(chosenWorkspace());
    return;
  }
  if (state === 'refused') {
    askForToken(message || 'The token is not accepted.');
    return;
  }
  const isOpen = state === 'open';
  replace(
    connection,
    h(`span.light.${isOpen ? 'live' : 'lost'}`),
    isOpen ? 'live' : 'reconnecting',
  );
  banner.hidden = isOpen;
  if (!isOpen)
    replace(
      banner,
      plain(clip(message, 200)),
      '. What is shown may be old; the page reconnects by itself when the server is back.',
    );
}

function onEvent(event) {
  if (event.type !== 'hello') apply(event);
  else if (!event.resumed) reload();
}

function onChanges(topics) {
  const name = route.session;
  if (
    topics.has('sessions') ||
    topics.has('memory') ||
    topics.has('workspaces') ||
    [...topics].some((topic) => topic.startsWith('ended:'))
  ) {
    drawSidebar();
    if (route.view === '') overview.show();
  }
  if (topics.has('programs') || route.view === 'programs') programs.update(topics);
  if (route.view !== 's') return;
  if (topics.has('sessions') || topics.has(`rows:${name}`)) drawTitle();
  if (topics.has('memory')) prompt.show(name, session(name).info.package_label);
  if (topics.has(`rows:${name}`)) timeline.update();
  if (topics.has(`output:${name}`)) panel.outputChanged(session(name));
  if (panel.isOpen && (topics.has(`rows:${name}`) || topics.has('sessions'))) refreshPanel(name);
}

// The panel is drawn anew only when its own evaluation changes.
let panelKey;

function refreshPanel(name) {
  const of = session(name);
  const row = of.byNumber.get(panel.number);
  const key = `${name} ${panel.number} ${row?.outcome} ${of.current === panel.number}`;
  if (key === panelKey) return;
  const isEnd = panelKey?.startsWith(`${name} ${panel.number} running`);
  panelKey = key;
  if (row && isEnd) panel.open(name, panel.number);
  else if (row) panel.drawHead(of, row);
}

function start() {
  enter();
  replace(document.querySelector('#app'), shell);
  document.addEventListener('keydown', onKey);
  addEventListener('hashchange', () => {
    if (isEntrance()) {
      enter();
      location.reload();
    } else render();
  });
  onChange(onChanges);
  render();
  onState('lost', hasToken() ? 'Connecting' : 'Connecting without a token');
  banner.hidden = true;
  follow({ event: onEvent, state: onState });
  addEventListener('focus', () => store.isLoaded && lookAround());
  setInterval(() => !document.hidden && route.view === '' && overview.show(), 5000);
}

start();
