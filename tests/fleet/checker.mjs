// Looks for faults in the history of all answers of a cluster, as clients have seen them, and in the
// journals of its workspaces: what was answered and is not in a journal, numbers of evaluations that are
// missing or used twice, answers of two owners at one time, context items lost or there twice.
//
// An answer: {workspace, kind: 'evaluation' | 'item', token, number, owner, epoch, began, ended}; times
// are those of one clock. A journal: its records in order (nats.mjs).

// The evaluations of each session in a journal, in order: {number, code, isComplete}. One that was
// cancelled has a number and is not complete.
export function evaluationsOf(records) {
  const sessions = new Map();
  const ended = new Set();
  for (const record of records) {
    if (!record.session) continue;
    const { evaluation, event, request } = record.entry;
    const key = `${record.session} ${evaluation}`;
    if (event === 'completed') ended.add(key);
    if (event !== 'started') continue;
    if (!sessions.has(record.session)) sessions.set(record.session, []);
    sessions.get(record.session).push({ number: evaluation, code: request.code ?? '', key });
  }
  for (const evaluations of sessions.values())
    for (const each of evaluations) each.isComplete = ended.has(each.key);
  return sessions;
}

function checkNumbers(workspace, sessions, faults) {
  for (const [session, evaluations] of sessions)
    evaluations.forEach(({ number }, index) => {
      if (number !== index + 1)
        faults.push(`${workspace}/${session}: evaluation ${number} stands at place ${index + 1}`);
    });
}

function checkEvaluations(workspace, answers, sessions, faults) {
  const all = [...sessions.values()].flat();
  for (const answer of answers.filter(({ kind }) => kind === 'evaluation')) {
    const found = all.filter(({ code, isComplete }) => isComplete && code.includes(answer.token));
    if (found.length !== 1)
      faults.push(
        `${workspace}: ${answer.token} was answered and is ${found.length} times in the journal`,
      );
    else if (answer.number !== undefined && found[0].number !== answer.number)
      faults.push(
        `${workspace}: ${answer.token} was answered as ${answer.number}, not ${found[0].number}`,
      );
  }
  const numbers = answers.filter(({ kind }) => kind === 'evaluation').map(({ number }) => number);
  for (const number of new Set(numbers))
    if (number !== undefined && numbers.filter((each) => each === number).length > 1)
      faults.push(`${workspace}: number ${number} was answered twice`);
}

// Who was asked after a later owner had answered must not be answered by an earlier one.
function checkOwners(workspace, answers, faults) {
  for (const late of answers)
    for (const early of answers)
      if (late.epoch < early.epoch && late.began > early.ended)
        faults.push(
          `${workspace}: ${late.owner} (epoch ${late.epoch}) answered ${late.token} after ` +
            `${early.owner} (epoch ${early.epoch}) had answered ${early.token}`,
        );
  const owners = new Map();
  for (const { epoch, owner } of answers) {
    if (owners.has(epoch) && owners.get(epoch) !== owner)
      faults.push(`${workspace}: epoch ${epoch} has two owners, ${owners.get(epoch)} and ${owner}`);
    owners.set(epoch, owner);
  }
}

function checkClaims(workspace, records, faults) {
  let last = 0;
  for (const { claim } of records.filter((record) => record.claim)) {
    if (claim.epoch <= last) faults.push(`${workspace}: epoch ${claim.epoch} after ${last}`);
    last = claim.epoch;
  }
}

// `items`: the contents that the store has in the end, where one was asked.
function checkItems(workspace, answers, items, faults) {
  for (const answer of answers.filter(({ kind }) => kind === 'item')) {
    const count = items.filter((item) => item.includes(answer.token)).length;
    if (count !== 1) faults.push(`${workspace}: item ${answer.token} is there ${count} times`);
  }
}

export function findFaults({ answers, journals, items = new Map() }) {
  const faults = [];
  for (const workspace of new Set([...answers.map((each) => each.workspace), ...journals.keys()])) {
    const own = answers.filter((answer) => answer.workspace === workspace);
    const records = journals.get(workspace) ?? [];
    const sessions = evaluationsOf(records);
    checkClaims(workspace, records, faults);
    checkNumbers(workspace, sessions, faults);
    checkEvaluations(workspace, own, sessions, faults);
    checkOwners(workspace, own, faults);
    if (items.has(workspace)) checkItems(workspace, own, items.get(workspace), faults);
  }
  return faults;
}
