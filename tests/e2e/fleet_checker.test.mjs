// The checker finds each kind of fault, and none where there is none.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findFaults } from '../fleet/checker.mjs';

function evaluation(token, number, epoch, began, owner = `n${epoch}`) {
  return {
    workspace: 'w',
    kind: 'evaluation',
    token,
    number,
    owner,
    epoch,
    began,
    ended: began + 1,
  };
}

function recorded(number, token) {
  return [
    {
      session: 'main',
      entry: { evaluation: number, event: 'started', request: { code: `(f "${token}")` } },
    },
    { session: 'main', entry: { evaluation: number, event: 'completed', ok: true } },
  ];
}

const good = () => ({
  answers: [evaluation('a', 1, 1, 10), evaluation('b', 2, 1, 20), evaluation('c', 3, 2, 30)],
  journals: new Map([
    [
      'w',
      [
        { claim: { node: 'n1', epoch: 1 } },
        ...recorded(1, 'a'),
        ...recorded(2, 'b'),
        { claim: { node: 'n2', epoch: 2 } },
        ...recorded(3, 'c'),
      ],
    ],
  ]),
  items: new Map([['w', ['one']]]),
});

describe('the checker', () => {
  it('finds nothing in a good history', () => {
    const history = good();
    history.answers.push({ ...evaluation('one', undefined, 2, 40), kind: 'item' });
    assert.deepEqual(findFaults(history), []);
  });

  const faults = {
    'an answer that is not recorded': [
      (history) => history.answers.push(evaluation('d', 4, 2, 50)),
      /d was answered and is 0 times/,
    ],
    'a number that is missing': [
      (history) => history.journals.get('w').splice(3, 2),
      /evaluation 3 stands at place 2/,
    ],
    'a number that was used twice': [
      (history) => history.journals.get('w').push(...recorded(3, 'x')),
      /evaluation 3 stands at place 4/,
    ],
    'a number that was answered twice': [
      (history) => {
        history.answers.push(evaluation('e', 3, 2, 60));
        history.journals.get('w').push(...recorded(4, 'e'));
      },
      /number 3 was answered twice/,
    ],
    'another number than the recorded one': [
      (history) => {
        history.answers[1].number = 7;
      },
      /b was answered as 7, not 2/,
    ],
    'an earlier owner that answers after a later one': [
      (history) => {
        history.answers.push(evaluation('z', 4, 1, 70));
        history.journals.get('w').push(...recorded(4, 'z'));
      },
      /n1 \(epoch 1\) answered z after n2 \(epoch 2\)/,
    ],
    'two owners of one epoch': [
      (history) => {
        history.answers[1].owner = 'n3';
      },
      /epoch 1 has two owners/,
    ],
    'an epoch that does not rise': [
      (history) => history.journals.get('w').push({ claim: { node: 'n3', epoch: 2 } }),
      /epoch 2 after 2/,
    ],
    'a lost item': [
      (history) => history.answers.push({ ...evaluation('two', undefined, 2, 40), kind: 'item' }),
      /item two is there 0 times/,
    ],
    'an item that is there twice': [
      (history) => {
        history.answers.push({ ...evaluation('one', undefined, 2, 40), kind: 'item' });
        history.items.get('w').push('one');
      },
      /item one is there 2 times/,
    ],
  };
  for (const [name, [break_, expected]] of Object.entries(faults))
    it(`finds ${name}`, () => {
      const history = good();
      break_(history);
      assert.match(findFaults(history).join('\n'), expected);
    });
});
