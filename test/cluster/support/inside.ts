/** First process of the namespace: sets up the network and runs the command in its arguments. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setUpNetwork } from './namespace.ts';

setUpNetwork();
const [program = '', ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: 'inherit' });
// At a terminal Ctrl-C reaches the command by itself.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => child.kill('SIGTERM'));
const [code] = (await once(child, 'close')) as [number | null];
process.exitCode = code ?? 1;
