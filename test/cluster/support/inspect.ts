/** What a running `run` has, asked for over its socket for inspection. */
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runtimePaths } from '../../../src/cli/runtime-folder.ts';

export type ResourceType = (typeof TYPES)[number];

const TYPES = ['listeners', 'routes', 'clusters', 'endpoints', 'secrets', 'extensions'] as const;

interface Listed {
  readonly name: string;
  readonly version: string;
}

/** Every resource: `clusters shop/web/80 VERSION`. The same text means the same configuration, down to the last byte. */
export async function allResources(): Promise<readonly string[]> {
  const lists = await Promise.all(
    TYPES.map(async (type) => (await list(type)).map(({ name, version }) => `${type} ${name} ${version}`)),
  );
  return lists.flat();
}

export async function resourceNames(type: ResourceType): Promise<readonly string[]> {
  return (await list(type)).map(({ name }) => name);
}

/** The whole route table of plain HTTP, a line for each route: `a.test exact /shop -> shop/web/80`. In order of precedence. */
export async function routeTable(): Promise<readonly string[]> {
  const { resource } = (await ask({ type: 'routes', name: 'http' })) as { readonly resource: RouteConfiguration };
  return resource.virtual_hosts.flatMap(({ domains, routes = [] }) =>
    domains.flatMap((domain) =>
      routes.map(({ match, ...action }) => `${domain} ${describe(match)} -> ${target(action)}`),
    ),
  );
}

interface RouteConfiguration {
  readonly virtual_hosts: readonly {
    readonly domains: readonly string[];
    readonly routes?: readonly ({ readonly match: Readonly<Record<string, unknown>> } & Action)[];
  }[];
}

interface Action {
  readonly route?: { readonly cluster?: string };
  readonly redirect?: unknown;
  readonly direct_response?: { readonly status?: number };
}

/** How it compares paths; what else it demands is left out. */
function describe(match: Readonly<Record<string, unknown>>): string {
  const kinds = { path: 'exact', path_separated_prefix: 'prefix', prefix: 'prefix', safe_regex: 'regex' };
  const [field, kind] = Object.entries(kinds).find(([name]) => name in match) ?? ['', 'other'];
  const value = match[field];
  return `${kind} ${typeof value === 'string' ? value : JSON.stringify(value)}`;
}

function target({ route, redirect, direct_response: answer }: Action): string {
  return route?.cluster ?? (redirect === undefined ? String(answer?.status) : 'redirect');
}

async function list(type: ResourceType): Promise<readonly Listed[]> {
  return (await ask({ type })) as readonly Listed[];
}

/** @throws Error when no control plane answers. */
async function ask(query: Readonly<Record<string, string>>): Promise<unknown> {
  const folders = readdirSync(tmpdir()).filter((name) => name.startsWith('ingress-xds-'));
  const sockets = folders.map((folder) => runtimePaths(join(tmpdir(), folder)).debugSocket);
  // Who was killed has left its own behind.
  return await Promise.any(
    sockets.map((socketPath) => get(socketPath, `/debug/resources?${new URLSearchParams(query)}`)),
  );
}

function get(socketPath: string, path: string): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const outgoing = request({ socketPath, path }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    response.on('error', reject);
    response.on('end', () => {
      if (response.statusCode === 200) resolve(JSON.parse(text));
      else reject(new Error(`${path}: ${response.statusCode} ${text}`));
    });
  });
  outgoing.on('error', reject);
  outgoing.end();
  return promise;
}
