/**
 * `npm run bench`: what a start and a change cost, at several sizes, with a real Envoy. Times are reported and never judged; what a
 * change does (units, encodes, resources) is asserted by the tests.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { findEnvoy } from '../../src/envoy/binary.ts';
import { makePair, type Pair } from '../support/pki.ts';
import { benchInCluster } from './cluster/enter.ts';
import { describeAsMarkdown } from './markdown.ts';
import { measureSize, type SizeResult } from './measure.ts';
import type { Variant } from './protocol.ts';
import { describeMachine, describeSize } from './report.ts';
import { certificateCount, makePairAt } from './world.ts';

const USAGE = `npm run bench -- [options]
  --sizes 100,1000,5000   numbers of Ingresses; even and at least 4
  --repeat 15             how often each kind of change is made
  --starts 3              how often both processes are started from nothing
  --json                  results as JSON
  --markdown              results as the tables of docs/performance.md
  --profile FOLDER        writes CPU profiles of the control plane
  --cluster               in a test cluster, as tables; takes --sizes (1000,5000), --repeat and --json`;

/** What is for few hosts, and what is for many. */
const VARIANTS: readonly Variant[] = [
  { name: 'defaults', flags: [] },
  { name: '--route-sharding --tls-on-demand', flags: ['--route-sharding', '--tls-on-demand'] },
];

interface Options {
  readonly sizes: readonly number[];
  readonly repeat: number;
  readonly starts: number;
  readonly form: 'text' | 'json' | 'markdown';
  readonly profileFolder: string | undefined;
  readonly cluster: boolean;
}

function readOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      sizes: { type: 'string' },
      repeat: { type: 'string', default: '15' },
      starts: { type: 'string', default: '3' },
      json: { type: 'boolean', default: false },
      markdown: { type: 'boolean', default: false },
      profile: { type: 'string' },
      cluster: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const sizes = (values.sizes ?? (values.cluster ? '1000,5000' : '100,1000,5000')).split(',').map(Number);
  const repeat = Number(values.repeat);
  const starts = Number(values.starts);
  const valid =
    sizes.every((size) => Number.isInteger(size / 2) && size >= 4) &&
    [repeat, starts].every((count) => Number.isInteger(count) && count > 0);
  if (values.help || !valid) return undefined;
  const form = values.json ? 'json' : values.markdown ? 'markdown' : 'text';
  return { sizes, repeat, starts, form, profileFolder: values.profile, cluster: values.cluster };
}

async function run(options: Options): Promise<void> {
  const { path: envoyPath, version } = await findEnvoy({ onProgress: (line) => console.error(line) });
  const generated = await makePair(['ingress.local']);
  const pairs: Pair[] = [];
  for (let index = 0; index < certificateCount(Math.max(...options.sizes)); index++)
    pairs.push(await makePairAt(index));
  const backends = { a: await startBackend('a'), b: await startBackend('b') };
  const machine = describeMachine(version);
  if (options.form === 'text') console.log(`${machine}\nmedian (max) of ${options.repeat} changes of each kind`);
  const results: SizeResult[] = [];
  for (const ingresses of options.sizes) {
    for (const variant of VARIANTS) {
      const { repeat, starts, profileFolder } = options;
      const world = { variant, ingresses, pairs, generated, backends };
      const result = await measureSize({ ...world, envoyPath, repeat, starts, profileFolder });
      results.push(result);
      if (options.form === 'text') console.log(`\n${describeSize(result)}`);
    }
  }
  if (options.form === 'json') console.log(JSON.stringify({ machine, results }, null, 2));
  if (options.form === 'markdown') console.log(describeAsMarkdown(machine, results));
}

/** Answers with its name. */
async function startBackend(name: string): Promise<number> {
  const server = createServer((_, response) => response.end(name))
    .listen(0, '127.0.0.1')
    .unref();
  await once(server, 'listening');
  return (server.address() as { port: number }).port;
}

const options = readOptions(process.argv.slice(2));
if (options === undefined) {
  console.error(USAGE);
  process.exitCode = 2;
} else if (options.cluster) {
  const { sizes, repeat, form } = options;
  process.exitCode = await benchInCluster({ sizes: sizes.toSorted((a, b) => a - b), repeat, json: form === 'json' });
} else {
  // Only an orderly end runs the handlers that end Envoy.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  await run(options);
}
