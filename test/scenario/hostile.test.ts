/**
 * Folders that nobody should write, through the command that users run: each file is reported with its place, harms nothing but
 * itself, and neither fills the memory nor holds up what is good.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { poll } from '../support/gateway.ts';
import {
  expectedReports,
  HOSTILE_FILES,
  type HostileFile,
  writeHostileFile,
  writeHostileLinks,
} from '../support/hostile/manifests.ts';
import { type RunningCommand, startRun } from '../support/hostile/run-command.ts';
import { send } from '../support/http-client.ts';

/** What a good file may wait for a bad one, the time that an edit takes anyway not counted. */
const DELAYED_AT_MOST_MS = 1_000;
/** On a busy machine everything takes longer, a delay too. */
const DELAYED_AT_MOST_EDITS = 8;
const MEMORY_AT_MOST_MB = 1_024;
const START_DEADLINE_MS = 120_000;

let folder: string;
let command: RunningCommand;
let controlPlane: number;
let edits = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hostile-'));
  writeGood('web');
  for (const file of HOSTILE_FILES) writeHostileFile(folder, file);
  writeHostileLinks(folder);
  command = await startRun(folder, ['--echo']);
  controlPlane = command.controlPlane();
}, START_DEADLINE_MS);
afterAll(async () => {
  await command?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** An Ingress whose host is answered by this Service. */
function writeGood(service: string): void {
  const rule = `{host: good.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: ${service}, port: {number: 80}}}}]}}`;
  const objects = [
    `apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n`,
    `apiVersion: v1\nkind: Service\nmetadata: {name: ${service}-too}\nspec: {ports: [{port: 80}]}\n`,
    `apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: good}\nspec: {ingressClassName: nginx, rules: [${rule}]}\n`,
  ];
  writeFileSync(join(folder, 'good.yaml'), objects.join('---\n'));
}

/** The Service that the echo backend answers for, or the status. */
async function answeredBy(host: string, path = '/'): Promise<string | number> {
  const { status, body } = await send({ port: command.httpPort, host, path });
  return status === 200 ? (JSON.parse(body) as { service: string }).service : status;
}

/** `file:line:column code` of every Diagnostic. */
function reports(): string[] {
  return command.log.flatMap(({ code, msg }) =>
    code === undefined ? [] : [`${/^\S+:\d+:\d+/.exec(msg)?.[0] ?? msg} ${code}`],
  );
}

/** Milliseconds until an edit of the good file is served. */
async function timeOfEdit(): Promise<number> {
  const service = `after-${edits++}`;
  const begin = performance.now();
  writeGood(service);
  let seen: string | number = '';
  await poll(
    async () => {
      seen = await answeredBy('good.example.com');
      return seen === `default/${service}`;
    },
    () => `answered by ${seen}, not by ${service}`,
  );
  return performance.now() - begin;
}

function memoryMb(): { now: number; peak: number | undefined } {
  const status = readFileSync(`/proc/${controlPlane}/status`, 'utf8');
  const megabytes = (name: string) => {
    const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
  };
  return { now: megabytes('VmRSS') ?? Number.NaN, peak: megabytes('VmHWM') };
}

describe('a folder with everything bad in it', () => {
  test('serves what is good', async () => {
    expect(await answeredBy('good.example.com')).toBe('default/web');
    expect(await answeredBy('wide.example.com', '/p4999/x')).toBe('default/web');
    expect(await answeredBy('constructor')).toBe('default/constructor');
    expect(await answeredBy('wide.example.com', '/elsewhere')).toBe(404);
  });

  test.each(HOSTILE_FILES)('$path: told what is wrong, and where', (file) => {
    const told = reports().filter((report) => report.startsWith(`${join(folder, file.path)}:`));
    for (const expected of expectedReports(folder, file)) expect(told).toContain(expected);
    expect([...new Set(told.map(codeOf))]).toEqual(file.told.map(({ code }) => code));
  });

  test('nothing failed inside', () => {
    const codes = new Set(reports().map(codeOf));
    for (const code of ['UnitFailed', 'ResourceRejected', 'ResourceInvalid']) expect(codes).not.toContain(code);
    expect(command.log.filter(({ msg }) => /^\s+at |Error:/.test(msg))).toEqual([]);
    expect(command.log.filter(({ msg }) => /rejected|could not be followed|starts again/.test(msg))).toEqual([]);
  });

  test('memory is bounded', () => {
    const { now, peak } = memoryMb();
    expect(now).toBeLessThan(MEMORY_AT_MOST_MB);
    if (peak !== undefined) expect(peak).toBeLessThan(MEMORY_AT_MOST_MB);
  });
});

describe('while it serves', () => {
  let usual: number;

  beforeAll(async () => {
    const times: number[] = [];
    for (let index = 0; index < 5; index++) times.push(await timeOfEdit());
    usual = times.toSorted((a, b) => a - b)[2] ?? 0;
  });

  test.each(HOSTILE_FILES)('$path delays no good file', async (file) => {
    writeHostileFile(folder, changed(file));
    expect(await timeOfEdit()).toBeLessThan(usual + Math.max(DELAYED_AT_MOST_MS, DELAYED_AT_MOST_EDITS * usual));
    expect((await send({ port: command.healthPort, host: 'localhost', path: '/healthz' })).status).toBe(200);
  });

  test('memory stays bounded', () => {
    expect(memoryMb().now).toBeLessThan(MEMORY_AT_MOST_MB);
  });

  test('it is still the same process, and it ends as asked', async () => {
    expect(command.controlPlane()).toBe(controlPlane);
    await command.close();
    expect(await command.exit).toBe(0);
  });
});

/** The same with another text, so that it is parsed again. */
function changed(file: HostileFile): HostileFile {
  const { content } = file;
  return typeof content === 'string' ? { ...file, content: content.replaceAll('{', '{ ') } : file;
}

function codeOf(report: string): string {
  return report.slice(report.lastIndexOf(' ') + 1);
}
