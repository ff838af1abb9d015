/**
 * Annotations and keys of the ConfigMap through a real nginx, with its Lua module and without: what Envoy does, or a difference that is
 * documented.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { annotationTables } from '../annotations/index.ts';
import { allCases } from '../annotations/table.ts';
import { expectOutcome, observe, titleOf } from '../envoy/behaviour/cases.ts';
import { type NginxGateway, startNginxGateway } from '../support/nginx-gateway.ts';
import type { Ports, World } from './table.ts';

describe.each(annotationTables.map((table) => [table.title, table] as const))('%s', (_, table) => {
  let world: World;
  let folder: string;
  let proxies: readonly (NginxGateway & Ports)[] = [];

  beforeAll(async () => {
    world = await table.start();
    folder = await mkdtemp(join(tmpdir(), 'nginx-log-'));
    const { manifests, build = {}, dns, accessLog = false } = world;
    proxies = await Promise.all(
      [true, false].map(async (lua) => {
        const file = join(folder, `${lua}`);
        const delivery = {
          ...(dns && { resolvers: [`${dns.address.ip}:${dns.address.port}`] }),
          ...(accessLog && { accessLog: file }),
        };
        const gateway = await startNginxGateway({ manifests, build, delivery, lua });
        return { ...gateway, accessLog: () => readFileSync(file, 'utf8') };
      }),
    );
  });
  afterAll(async () => {
    await Promise.all(proxies.map((proxy) => proxy.close()));
    await world?.close();
    await rm(folder, { recursive: true, force: true });
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
