import { expect, test } from 'vitest';
import { spellBooleans } from './boolean-flags.ts';
import { main } from './main.ts';

const BOOLEANS = new Set(['echo']);

test.each([
  [['--echo=1'], ['--echo=true']],
  [['--echo=T'], ['--echo=true']],
  [['--echo=False'], ['--echo=false']],
  [['--echo=0'], ['--echo=false']],
  [
    ['--echo', '--other=maybe', 'echo=maybe', '--echoes=x'],
    ['--echo', '--other=maybe', 'echo=maybe', '--echoes=x'],
  ],
])('%j', (args, spelt) => {
  expect(spellBooleans(args, BOOLEANS)).toEqual(spelt);
});

test.each(['maybe', '', 'yes', 'true\n', '--echo=true'])('refuses %j', (value) => {
  expect(() => spellBooleans([`--echo=${value}`], BOOLEANS)).toThrow('must be true or false');
});

test.each([
  ['--watch-ingress-without-class=maybe'],
  ['--annotations-prefix=a b'],
  ['--http-port=1.5'],
  ['--http-port='],
  ['--configmap=../x/y'],
  ['--no-such-flag'],
  ['--__proto__=x'],
])('the command line refuses %s', async (flag) => {
  expect(await main(['translate', '--manifests', 'nowhere', flag])).toBe(2);
});

test.each([['--envoy-concurrency=1.5'], ['--health-check-path=/:any'], ['--health-check-path=/a*b']])(
  'the command run refuses %s',
  async (flag) => {
    expect(await main(['run', '--manifests', 'nowhere', '--envoy-path', '/nonexistent', flag])).toBe(2);
  },
);
