/** The part of `npm run bench -- --cluster` that runs in the network namespace. Options: JSON in the first argument. */
import { findEnvoy } from '../../../src/envoy/binary.ts';
import { describeMachine } from '../report.ts';
import { type ClusterBenchOptions, measureCluster } from './measure.ts';
import { describeClusterAsMarkdown } from './report.ts';

const { json, ...options } = JSON.parse(process.argv[2] ?? '') as ClusterBenchOptions & { readonly json: boolean };
const { version } = await findEnvoy();
const results = await measureCluster({ ...options, onProgress: (line) => console.error(line) });
const machine = describeMachine(version);
console.log(json ? JSON.stringify({ machine, results }, null, 2) : describeClusterAsMarkdown(machine, results));
