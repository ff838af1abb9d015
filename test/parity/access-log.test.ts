/** What both proxies write about the same request, in the format of ingress-nginx. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { annotated } from '../annotations/table.ts';
import { type Case, observe, type Services, startServices } from '../envoy/behaviour/cases.ts';
import { type Gateway, poll, startGateway } from '../support/gateway.ts';
import { endpointSlice, ingress, service } from '../support/manifests.ts';
import { type NginxGateway, startNginxGateway } from '../support/nginx-gateway.ts';
import { REFUSING_PORT } from '../support/static-envoy.ts';

/** `upstreaminfo`; what differs each time (times, lengths of requests with their ports) is not named. */
const LINE =
  /^(?<remoteAddr>\S+) - (?<remoteUser>\S+) \[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000\] "(?<request>[^"]*)" (?<status>\d{3}) (?<bytesSent>\d+) "(?<referer>[^"]*)" "(?<agent>[^"]*)" \d+ \d+\.\d{3} \[(?<upstreamName>[^\]]*)\] \[(?<alternativeName>[^\]]*)\] (?<upstreamAddr>\S+(?:, \S+)*) (?<responseLength>-|\d+(?:, \d+)*) (?:-|\d+\.\d{3}(?:, \d+\.\d{3})*) (?<upstreamStatus>\S+(?:, \S+)*) (?<id>\S+)$/;

let services: Services;
let envoy: Gateway;
let nginx: NginxGateway;
const folder = mkdtempSync(join(tmpdir(), 'access-log-'));
/** Of nginx. */
const accessLog = join(folder, 'access.log');

beforeAll(async () => {
  services = await startServices('web', 'beta');
  const manifests = [
    ...services.manifests,
    service('refused'),
    endpointSlice('refused', ['127.0.0.1'], { port: REFUSING_PORT }),
    service('empty'),
    ...['web', 'refused', 'empty'].map((name) =>
      ingress({ name, rules: [{ host: `${name}.example.com`, paths: [{ service: `${name}:80` }] }] }),
    ),
    ...['web', 'beta'].map((name, age) =>
      ingress({
        name: `${name}-or-canary`,
        annotations: annotated(age === 0 ? {} : { canary: 'true', 'canary-weight': '100' }),
        rules: [{ host: 'canary.example.com', paths: [{ service: `${name}:80` }] }],
      }),
    ),
    ingress({
      name: 'secure',
      rules: [{ host: 'secure.example.com', paths: [{}] }],
      tls: [{ hosts: ['secure.example.com'] }],
    }),
  ];
  [envoy, nginx] = await Promise.all([
    startGateway({ manifests, emit: { accessLog: true } }),
    startNginxGateway({ manifests, delivery: { accessLog } }),
  ]);
});
afterAll(async () => {
  await Promise.all([envoy?.close(), nginx?.close(), services?.close()]);
  rmSync(folder, { recursive: true });
});

/** The line with this id, by the names of its fields. */
async function lineOf(log: () => string, id: string): Promise<Record<string, string>> {
  const find = () =>
    log()
      .split('\n')
      .find((line) => line.endsWith(` ${id}`));
  await poll(
    () => find() !== undefined,
    () => `no line for ${id} in:\n${log()}`,
  );
  const fields = LINE.exec(find() ?? '')?.groups;
  if (fields === undefined) throw new Error(`not of the format: ${find()}`);
  return { ...fields };
}

interface LoggedCase extends Case {
  /** Fields of nginx that differ, by rows of `differences`. */
  readonly logged?: Readonly<Record<string, string | RegExp>>;
}

const REQUESTS: Readonly<Record<string, LoggedCase>> = {
  answered: {
    url: 'http://web.example.com/x?y=1',
    headers: { 'user-agent': 'curl/8.0', referer: 'http://a.example.com/' },
  },
  'over TLS': { url: 'https://web.example.com/x' },
  'without an answer of a backend': {
    url: 'http://refused.example.com/',
    differs: 'loggedTries',
    logged: {
      responseLength: '0, 0, 0',
      upstreamAddr: /^(127\.0\.0\.1:\d+)(, \1){2}$/,
      upstreamStatus: '502, 502, 502',
    },
  },
  'of a canary': { url: 'http://canary.example.com/' },
  'without an endpoint': { url: 'http://empty.example.com/' },
  'of no host': { url: 'http://nobody.example.org/' },
  'redirected to https': {
    url: 'http://secure.example.com/a',
    differs: 'loggedRedirect',
    logged: { upstreamName: 'default-web-80' },
  },
  'too large': {
    url: 'http://web.example.com/',
    method: 'POST',
    body: 'x'.repeat(1024 * 1024 + 1),
    differs: 'loggedTooLarge',
    logged: { upstreamName: '-' },
  },
};

describe('the line of a request', () => {
  test.each(Object.entries(REQUESTS))('%s', async (name, request) => {
    const id = name.replaceAll(' ', '-');
    const sent = { ...request, headers: { ...request.headers, 'x-request-id': id } };
    await Promise.all([observe(envoy, sent), observe(nginx, sent)]);
    const [first, second] = await Promise.all([
      lineOf(envoy.log, id),
      lineOf(() => readFileSync(accessLog, 'utf8'), id),
    ]);
    for (const [field, value] of Object.entries(request.logged ?? {})) {
      expect(second[field]).toEqual(value instanceof RegExp ? expect.stringMatching(value) : value);
      expect(second[field]).not.toBe(first[field]);
    }
    expect({
      ...first,
      ...Object.fromEntries(Object.keys(request.logged ?? {}).map((field) => [field, second[field]])),
    }).toEqual(second);
  });
});
