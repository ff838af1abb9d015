/** Annotations and keys of the ConfigMap through a real Envoy. The same cases run against nginx in test/parity. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { annotationTables } from '../../annotations/index.ts';
import { type AnnotationTable, allCases } from '../../annotations/table.ts';
import type { World } from '../../parity/table.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { expectOutcome, observe, titleOf } from '../behaviour/cases.ts';

const PARTS = 4;

/** One part of the tables, in a file of its own, so that several run at once. `part` counts from 0. */
export function testTables(part: number): void {
  const tables = annotationTables.filter((_, index) => index % PARTS === part);
  describe.each(tables.map((table) => [table.title, table] as const))('%s', (_, table) => testTable(table));
}

function testTable(table: AnnotationTable): void {
  let world: World;
  let gateway: Gateway;

  beforeAll(async () => {
    world = await table.start();
    const { manifests, build = {}, dns, accessLog = false } = world;
    gateway = await startGateway({ manifests, build, emit: { accessLog, ...(dns && { dnsServers: [dns.address] }) } });
  });
  afterAll(async () => {
    await gateway?.close();
    await world?.close();
  });

  describe.concurrent('', () => {
    for (const [title, one] of allCases(table.keys)) {
      if ('run' in one)
        test(`${title}: ${one.title}`, async () =>
          expect(await one.run({ ...gateway, accessLog: gateway.log })).toEqual(one.expected));
      else test(`${title}: ${titleOf(one)}`, async () => expectOutcome(await observe(gateway, one), one));
    }
  });
}
