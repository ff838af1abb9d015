import { expect, test } from 'vitest';
import { main } from '../main.ts';
import { spellFlags } from './spelling.ts';

const flags = {
  echo: { type: 'boolean', default: false },
  name: { type: 'string' },
  'log-dir': { type: 'string' },
  part: { type: 'string', array: true },
  ttl: { type: 'string', duration: true },
  v: { type: 'number', alias: 'verbosity' },
  form: { choices: ['text', 'json'] },
  old: { type: 'string', refused: 'write --name' },
} as const;

const spell = (args: readonly string[]) =>
  spellFlags(args, { flags, commandsWith: (name) => (name === 'elsewhere' ? ['serve', 'inspect'] : []) });

test.each<[string[], string[]]>([
  [['--echo'], ['--echo=true']],
  [['--echo=1'], ['--echo=true']],
  [['--echo=T'], ['--echo=true']],
  [['--echo=False'], ['--echo=false']],
  [['--echo=0'], ['--echo=false']],
  [
    ['--echo', '--name=maybe', 'word'],
    ['--echo=true', '--name=maybe', 'word'],
  ],
  [['--name', 'a b'], ['--name=a b']],
  [['--name', ''], ['--name=']],
  [['--name=a=b\nc'], ['--name=a=b\nc']],
  [['--name', '-x'], ['--name=-x']],
  [['--log_dir', '/tmp'], ['--log-dir=/tmp']],
  [['--log-dir=/a_b'], ['--log-dir=/a_b']],
  [['--ttl=1m30s'], ['--ttl=1m30s']],
  [['-v=3'], ['--v=3']],
  [['-v', '3'], ['--v=3']],
  [['-v3'], ['--v=3']],
  [['--v=3'], ['--v=3']],
  [['--verbosity', '3'], ['--v=3']],
  [
    ['--help', '-h'],
    ['--help', '-h'],
  ],
  [
    ['--', '--unknown'],
    ['--', '--unknown'],
  ],
])('%j', (args, spelt) => {
  expect(spell(args)).toEqual(spelt);
  expect(spell(spelt)).toEqual(spelt);
});

test.each<[string[], string]>([
  ...['maybe', '', 'yes', 'true\n', '--echo=true'].map<[string[], string]>((value) => [
    [`--echo=${value}`],
    `--echo=${value}: must be true or false`,
  ]),
  [['--echo', 'false'], '--echo false: write --echo=false'],
  [['--name'], '--name needs a value'],
  [['--name', '--echo'], '--name needs a value'],
  [['-v'], '-v needs a value'],
  [['-v=x'], '-v=x: must be a number'],
  [['--v='], '-v=: must be a number'],
  [['--ttl=10'], '--ttl=10: must be a duration such as 30s or 1m30s'],
  [['--form=xml'], '--form=xml: must be text or json'],
  [['--nme=x'], 'unknown flag --nme; did you mean --name?'],
  [['--log-dri', 'x'], 'unknown flag --log-dri; did you mean --log-dir?'],
  [['--something-else'], 'unknown flag --something-else'],
  [['-x'], 'unknown flag -x'],
  [['--elsewhere'], '--elsewhere is a flag of serve and inspect'],
  [['--__proto__=x'], 'unknown flag --__proto__'],
  [['--part', ''], '--part is empty'],
  [['--old=x'], '--old is not supported: write --name'],
])('refuses %j', (args, message) => {
  expect(() => spell(args)).toThrow(message);
});

test.each([
  ['--watch-ingress-without-class=maybe'],
  ['--annotations-prefix=a b'],
  ['--http-port=1.5'],
  ['--http-port='],
  ['--configmap=../x/y'],
  ['--no-such-flag'],
  ['--manifests='],
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
