/**
 * The same manifests and requests through Envoy and through nginx, with its Lua module and without: the same is seen, or a difference
 * that is documented.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { annotationTables } from '../annotations/index.ts';
import { allCases } from '../annotations/table.ts';
import { type Case, expectOutcome, observe, titleOf } from '../envoy/behaviour/cases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { type NginxGateway, startNginxGateway } from '../support/nginx-gateway.ts';
import { type DifferenceName, differences } from './differences.ts';
import { type Picture, picture } from './picture.ts';
import type { Table, World } from './table.ts';
import { backends } from './tables/backends.ts';
import { defaultServer } from './tables/default-server.ts';
import { externalNames } from './tables/external-names.ts';
import { headers } from './tables/headers.ts';
import { hosts } from './tables/hosts.ts';
import { messages } from './tables/messages.ts';
import { paths } from './tables/paths.ts';
import { redirect } from './tables/redirect.ts';
import { tls } from './tables/tls.ts';
import { wildcardHosts } from './tables/wildcard-hosts.ts';

const tables: Readonly<Record<string, Table>> = {
  hosts,
  'wildcard hosts': wildcardHosts,
  paths,
  backends,
  'external names': externalNames,
  'default server': defaultServer,
  redirect,
  tls,
  headers,
  messages,
};

describe.each(Object.entries(tables))('%s', (_, table) => {
  let world: World;
  let envoy: Gateway;
  let nginx: NginxGateway;
  /** Without the Lua module. */
  let plain: NginxGateway;

  beforeAll(async () => {
    world = await table.start();
    const { manifests, build = {}, dns } = world;
    const emit = dns === undefined ? {} : { dnsServers: [dns.address] };
    const delivery = dns === undefined ? {} : { resolvers: [`${dns.address.ip}:${dns.address.port}`] };
    [envoy, nginx, plain] = await Promise.all([
      startGateway({ manifests, build, emit }),
      startNginxGateway({ manifests, build, delivery }),
      startNginxGateway({ manifests, build, delivery, lua: false }),
    ]);
  });
  afterAll(async () => {
    await Promise.all([envoy?.close(), nginx?.close(), plain?.close()]);
    await world?.close();
  });

  for (const [title, rows] of Object.entries(table.groups)) {
    describe(title, () => {
      for (const row of rows) {
        test(titleOf(row), () => compare(row));
      }
    });
  }

  for (const { title, run, expected, differs, nginx: other } of table.exchanges ?? []) {
    test(title, async () => {
      const seen = await Promise.all([run(envoy), run(nginx), run(plain)]);
      const ofNginx = differs === undefined ? expected : other;
      expect(seen).toEqual([expected, ofNginx, ofNginx]);
      if (differs !== undefined) expect(ofNginx, `${differs} makes no difference any more`).not.toEqual(expected);
    });
  }

  async function compare(row: Case): Promise<void> {
    const { differs, nginx: otherwise } = row;
    const [ofEnvoy, ofNginx, ofPlain] = await Promise.all([envoy, nginx, plain].map((proxy) => observe(proxy, row)));
    expectOutcome(ofEnvoy!, row);
    expectOutcome(ofNginx!, otherwise ?? row);
    const [first, second, third] = [picture(ofEnvoy!, envoy), picture(ofNginx!, nginx), picture(ofPlain!, plain)];
    if (differs === undefined) expect(second, 'nginx, as Envoy').toEqual(first);
    else expect(second, `${differs} makes no difference any more`).not.toEqual(first);
    const { server, ...answered } = third.answered;
    expect({ ...third, answered }, 'nginx without Lua, but for Server').toEqual(withoutServer(second));
    expect(server).toBe('nginx');
  }
});

function withoutServer({ answered, ...rest }: Picture): unknown {
  const { server: _, ...others } = answered;
  return { ...rest, answered: others };
}

test('each difference is shown by a case, or by another test', () => {
  const shown = new Set<DifferenceName | undefined>();
  for (const { groups, exchanges = [] } of Object.values(tables)) {
    for (const { differs } of [...Object.values(groups).flat(), ...exchanges]) shown.add(differs);
  }
  for (const { keys } of annotationTables) for (const [, { differs }] of allCases(keys)) shown.add(differs);
  const names = Object.keys(differences) as DifferenceName[];
  expect(names.filter((name) => shown.has(name) === (differences[name].shownElsewhere ?? false))).toEqual([]);
});
