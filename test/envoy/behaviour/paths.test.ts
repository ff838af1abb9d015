import { afterAll, beforeAll, describe } from 'vitest';
import type { World } from '../../parity/table.ts';
import { paths } from '../../parity/tables/paths.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { testCases } from './cases.ts';

let gateway: Gateway;
let world: World;

beforeAll(async () => {
  world = await paths.start();
  gateway = await startGateway({ manifests: world.manifests });
});
afterAll(async () => {
  await gateway?.close();
  await world?.close();
});

describe('Prefix compares whole path elements', () => {
  testCases(() => gateway, paths.groups['Prefix compares whole path elements']);
});

describe('Prefix with a slash at the end is the same as without', () => {
  testCases(() => gateway, paths.groups['Prefix with a slash at the end is the same as without']);
});

describe('Exact', () => {
  testCases(() => gateway, paths.groups['Exact']);
});

describe('ImplementationSpecific is handled as Prefix', () => {
  testCases(() => gateway, paths.groups['ImplementationSpecific is handled as Prefix']);
});

describe('the most specific path wins, however they are written down', () => {
  testCases(() => gateway, paths.groups['the most specific path wins, however they are written down']);
});

describe('a path is resolved before it is compared', () => {
  testCases(() => gateway, paths.groups['a path is resolved before it is compared']);
});

describe('percent-encoding', () => {
  testCases(() => gateway, paths.groups['percent-encoding']);
});

describe('characters that mean something in a regular expression mean themselves', () => {
  testCases(() => gateway, paths.groups['characters that mean something in a regular expression mean themselves']);
});
