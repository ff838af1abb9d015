/**
 * Annotations and keys of the ConfigMap through a real nginx, with its Lua module and without: what Envoy does, or a difference that is
 * documented.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { annotationTables } from '../annotations/index.ts';
import { allCases } from '../annotations/table.ts';
import { expectOutcome, observe, titleOf } from '../envoy/behaviour/cases.ts';
import { type NginxGateway, startNginxGateway } from '../support/nginx-gateway.ts';
import type { World } from './table.ts';

describe.each(annotationTables.map((table) => [table.title, table] as const))('%s', (_, table) => {
  let world: World;
  let proxies: readonly NginxGateway[] = [];

  beforeAll(async () => {
    world = await table.start();
    const { manifests, build = {}, dns } = world;
    const delivery = dns === undefined ? {} : { resolvers: [`${dns.address.ip}:${dns.address.port}`] };
    proxies = await Promise.all([true, false].map((lua) => startNginxGateway({ manifests, build, delivery, lua })));
  });
  afterAll(async () => {
    await Promise.all(proxies.map((proxy) => proxy.close()));
    await world?.close();
  });

  describe.concurrent('', () => {
    for (const [title, one] of allCases(table.keys)) {
      test(`${title}: ${'run' in one ? one.title : titleOf(one)}`, async () => {
        for (const [index, proxy] of proxies.entries()) {
          const reduced = index > 0 && one.withoutLua !== undefined;
          if (!('run' in one)) expectOutcome(await observe(proxy, one), (reduced ? one.withoutLua : one.nginx) ?? one);
          else if (reduced) expect(await one.run(proxy)).toEqual(one.withoutLua);
          else expect(await one.run(proxy)).toEqual(one.differs === undefined ? one.expected : one.nginx);
        }
      });
    }
  });
});
