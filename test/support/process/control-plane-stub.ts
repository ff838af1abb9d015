/**
 * A control plane that publishes nothing. It prints what it is told, so that tests see it in the output of the parent.
 * Arguments: `exit=CODE` ends it before it listens; `stubborn` ignores `stop` and SIGTERM.
 */
import { createServer } from 'node:net';
import { connectToParent } from '../../../src/cli/ipc.ts';

const args = process.argv.slice(2);
const exitCode = args.find((arg) => arg.startsWith('exit='))?.slice('exit='.length);
if (exitCode !== undefined) process.exit(Number(exitCode));

const isStubborn = args.includes('stubborn');
if (isStubborn) process.on('SIGTERM', () => console.log('stub: SIGTERM'));

const link = connectToParent({
  onDraining: () => console.log('stub: draining'),
  onStop: () => {
    console.log('stub: stop');
    if (!isStubborn) process.exit(0);
  },
});
if (link === undefined) throw new Error('no parent');
createServer().listen(link.paths.xdsSocket, () => link.tellListening());
