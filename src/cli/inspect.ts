import { readdir } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { answers } from './answers.ts';
import { type InspectArguments, UsageError } from './flags.ts';
import { runtimePaths } from './runtime-folder.ts';

/** The command `inspect`: asks a running control plane and prints what it says. Resolves with the exit code. */
export async function inspect(args: InspectArguments): Promise<number> {
  const { what, type, name, output } = args;
  if (what === 'streams' && type !== undefined) throw new UsageError('inspect streams takes no TYPE');
  const query = new URLSearchParams({ ...(type !== undefined && { type }), ...(name !== undefined && { name }) });
  const socketPath = args.debugSocket ?? (await findSocket());
  const { status, body } = await get(socketPath, `/debug/${what}?${query}`);
  if (status !== 200) throw new Error((body as { readonly error?: string }).error ?? `status ${status}`);
  process.stdout.write(output === 'json' ? `${JSON.stringify(body, null, 2)}\n` : stringify(body, { lineWidth: 0 }));
  return 0;
}

/** The one control plane of this user that `run` has started on this machine. */
async function findSocket(): Promise<string> {
  const folders = (await readdir(tmpdir())).filter((folder) => folder.startsWith('ingress-xds-'));
  const sockets = folders.map((folder) => runtimePaths(join(tmpdir(), folder)).debugSocket);
  const living = (await Promise.all(sockets.map(async (path) => ((await answers({ path })) ? [path] : [])))).flat();
  if (living.length === 1) return living[0]!;
  if (living.length === 0)
    throw new UsageError('no ingress-xds run was found here; to ask serve, give both --debug-socket PATH');
  throw new UsageError(`several are running: give --debug-socket, one of ${living.join(', ')}`);
}

function get(socketPath: string, path: string): Promise<{ readonly status: number; readonly body: unknown }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly status: number; readonly body: unknown }>();
  const outgoing = request({ socketPath, path }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    response.on('error', reject);
    response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
  });
  outgoing.on('error', (error) => reject(new Error(`no control plane answers at ${socketPath}: ${error.message}`)));
  outgoing.end();
  return promise;
}
