import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as streamText } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CheckReport } from './check/report.ts';

const MANIFESTS = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  annotations:
    nginx.ingress.kubernetes.io/proxy-read-timeout: "60s"
    nginx.ingress.kubernetes.io/proxy-send-timeout: "300"
    nginx.ingress.kubernetes.io/proxy-red-timeout: "60"
    nginx.ingress.kubernetes.io/ssl-redirect: "false"
    nginx.ingress.kubernetes.io/grpc-backend: "true"
    cert-manager.io/cluster-issuer: letsencrypt
spec:
  ingressClassName: nginx
  rules:
    - host: web.example.com
      http:
        paths:
          - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: guarded
  annotations:
    nginx.ingress.kubernetes.io/auth-url: http://auth.example.com/
    nginx.ingress.kubernetes.io/configuration-snippet: deny all;
spec:
  ingressClassName: nginx
  rules: [{host: guarded.example.com}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: other}
spec:
  ingressClassName: theirs
  rules: [{host: other.example.com}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: config}
data:
  proxy-connect-timeout: "7"
  proxy-read-timeout: soon
  annotations-risk-level: High
  no-such-key: "1"
`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'check-'));
  writeFileSync(join(folder, 'all.yaml'), MANIFESTS);
});
afterAll(() => rmSync(folder, { recursive: true }));

async function check(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const main = join(import.meta.dirname, 'main.ts');
  const all = [main, 'check', '--manifests', folder, '--configmap', 'default/config', ...args];
  try {
    return { code: 0, ...(await promisify(execFile)(process.execPath, all)) };
  } catch (error) {
    return error as { code: number; stdout: string; stderr: string };
  }
}

function ingress(name: string, annotations: Readonly<Record<string, string>>) {
  const prefixed = Object.entries(annotations).map(([key, value]) => [`nginx.ingress.kubernetes.io/${key}`, value]);
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name, annotations: Object.fromEntries(prefixed) },
    spec: { ingressClassName: 'nginx', rules: [{ host: `${name}.example.com` }] },
  };
}

/** Checks what comes from the standard input. */
async function checkText(text: string, ...args: readonly string[]): Promise<{ code: number; stdout: string }> {
  const all = [join(import.meta.dirname, 'main.ts'), 'check', '--manifests', '-', ...args];
  const child = spawn(process.execPath, all);
  child.stdin.end(text);
  const [stdout, [code]] = await Promise.all([streamText(child.stdout), once(child, 'close') as Promise<[number]>]);
  return { code, stdout };
}

/** What is said of the annotations of Ingresses, by `name annotation`. */
async function statesOf(ingresses: readonly object[], ...args: readonly string[]): Promise<Record<string, string>> {
  const { stdout } = await checkText(
    ingresses.map((one) => JSON.stringify(one)).join('\n---\n'),
    '--output',
    'json',
    ...args,
  );
  const report = JSON.parse(stdout) as CheckReport;
  return Object.fromEntries(
    report.ingresses.flatMap((one) =>
      one.annotations.map(({ name, state }) => [`${one.ingress.replace('default/', '')} ${name}`, state]),
    ),
  );
}

describe('check', () => {
  test('a failure cuts no report short that goes into a pipe', () => {
    const faulty = Array.from({ length: 300 }, (_, index) =>
      JSON.stringify(ingress(`web-${index}`, { 'proxy-read-timeout': 'soon', 'proxy-body-size': '1m' })),
    );
    const program = [process.execPath, join(import.meta.dirname, 'main.ts')];
    const args = ['check', '--manifests', '-', '--output', 'json', '--fail-on', 'warning'];
    const { stdout, stderr } = spawnSync(
      '/bin/sh',
      ['-c', '{ "$@"; echo "status $?" >&2; } | cat', 'sh', ...program, ...args],
      { encoding: 'utf8', input: faulty.join('\n---\n') },
    );
    expect(stderr).toBe('status 1\n');
    expect(stdout.length).toBeGreaterThan(2 * 65_536);
    expect((JSON.parse(stdout) as CheckReport).totals.annotations).toMatchObject({ honoured: 300, invalid: 300 });
  });

  test('tells once what several annotations bring along', async () => {
    const manifests = [
      ingress('one', { 'use-regex': 'true', 'rewrite-target': '/$1' }),
      ingress('two', { 'rewrite-target': '/$1' }),
    ];
    const text = manifests.map((one) => JSON.stringify(one)).join('\n---\n');
    const lines = async (output: string) => (await checkText(text, '--output', output)).stdout.split('\n');
    const told = (line: string) => line.includes('every path of the host becomes a regular expression');
    expect((await lines('text')).filter(told)).toEqual([
      expect.stringMatching(/^ {2}rewrite-target \(2 Ingresses\), use-regex \(1 Ingress\): With/),
    ]);
    expect((await lines('markdown')).filter(told)).toEqual([
      expect.stringMatching(/^\| `rewrite-target`, `use-regex` \| 2, 1 \| With/),
    ]);
  });

  test('calls nothing honoured that has no effect, nor what counts in part alone', async () => {
    const cors = { 'cors-allow-origin': 'https://a.example.com, nonsense', 'cors-max-age': '5' };
    const ingresses = [
      ingress('plain', { ...cors, 'canary-weight': '5', 'ssl-passthrough': 'true', 'session-cookie-name': 'a' }),
      ingress('canary', {
        ...cors,
        'enable-cors': 'true',
        canary: 'true',
        'canary-weight': '5',
        'auth-url': 'http://a/',
      }),
      ingress('shared', { ...cors, 'enable-cors': 'true', 'ssl-ciphers': 'AES128-SHA' }),
      ingress('redirects', {
        'temporal-redirect': 'http://a.example.com',
        'permanent-redirect': 'http://b.example.com',
      }),
      ingress('doubtful', { 'permanent-redirect': 'http://b.example.com', 'permanent-redirect-code': '306' }),
    ];
    const expected = {
      'plain cors-allow-origin': 'ignored',
      'plain cors-max-age': 'ignored',
      'plain canary-weight': 'ignored',
      'plain ssl-passthrough': 'ignored',
      'plain session-cookie-name': 'ignored',
      'canary cors-allow-origin': 'ignored',
      'canary cors-max-age': 'ignored',
      'canary enable-cors': 'ignored',
      'canary auth-url': 'ignored',
      'canary canary': 'ignored',
      'canary canary-weight': 'ignored',
      'shared cors-allow-origin': 'invalid',
      'shared cors-max-age': 'honoured',
      'shared enable-cors': 'honoured',
      'shared ssl-ciphers': 'approximated',
      'redirects temporal-redirect': 'honoured',
      'redirects permanent-redirect': 'ignored',
      'doubtful permanent-redirect': 'honoured',
      'doubtful permanent-redirect-code': 'honoured',
    };
    expect(await statesOf(ingresses)).toEqual(expected);
    expect(await statesOf(ingresses, '--enable-ssl-passthrough')).toMatchObject({ 'plain ssl-passthrough': 'ignored' });
  });

  test('names what is empty, and what is left over', async () => {
    const left = ingress('left', { 'auth-realm': 'Staff', 'auth-url': ' ', 'app-root': '', 'no-such-key': '' });
    const shut = ingress('shut', { 'denylist-source-range': '' });
    const data = { 'app-root': '', hsts: '', 'proxy-read-timeout': ' ', 'no-such-key': '' };
    const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'config' }, data };
    const input = [left, shut, config].map((one) => JSON.stringify(one)).join('\n---\n');
    const { stdout } = await checkText(input, '--output', 'json', '--configmap', 'default/config');
    const report = JSON.parse(stdout) as CheckReport;
    const isEmpty = 'it is empty, as if it were not there';
    const why = (keys: readonly { name: string; state: string; note?: string }[] = []) =>
      keys.map(({ name, state, note }) => [name, state, ...(note === undefined ? [] : [note])]);
    expect(report.ingresses.map(({ state, annotations }) => [state, ...why(annotations)])).toEqual([
      [
        'served',
        ['app-root', 'ignored', isEmpty],
        ['auth-realm', 'ignored', 'it has no effect without auth-type'],
        ['auth-url', 'ignored', isEmpty],
        ['no-such-key', 'unknown'],
      ],
      ['closed', ['denylist-source-range', 'invalid', 'it is empty']],
    ]);
    expect(why(report.configMap?.keys)).toEqual([
      ['app-root', 'unknown'],
      ['hsts', 'honoured', 'it is empty: off'],
      ['no-such-key', 'unknown'],
      ['proxy-read-timeout', 'ignored', 'it is empty: the default holds'],
    ]);
    const told = report.findings.map(({ severity, field }) => [severity, field?.split('/')[1]?.slice(0, -2)]);
    expect(told.filter(([, name]) => name !== undefined)).toEqual([
      ['error', 'denylist-source-range'],
      ['warning', 'no-such-key'],
      ['info', 'auth-realm'],
      ['info', 'auth-url'],
    ]);
  });

  test('says what has effect on some hosts alone', async () => {
    const annotations = { 'ssl-ciphers': 'AES128-SHA' };
    const older = {
      ...ingress('a', {}),
      metadata: { name: 'a', namespace: 'other' },
    };
    const one = ingress('a', annotations);
    const both = {
      ...ingress('b', annotations),
      spec: { ingressClassName: 'nginx', rules: [{ host: 'a.example.com' }, { host: 'b.example.com' }] },
    };
    expect(await statesOf([older, one, both])).toEqual({ 'a ssl-ciphers': 'ignored', 'b ssl-ciphers': 'approximated' });
  });

  test('says that there is no Ingress', async () => {
    const { code, stdout } = await checkText('', '--output', 'json', '--fail-on', 'warning');
    expect(code).toBe(1);
    expect((JSON.parse(stdout) as CheckReport).findings).toEqual([
      {
        severity: 'warning',
        code: 'IngressesMissing',
        message: 'there is no Ingress among the manifests, so nothing was checked',
      },
    ]);
  });

  test('says that no Ingress is ours', async () => {
    const foreign = { ...ingress('a', {}), spec: { ingressClassName: 'theirs' } };
    const without = { ...ingress('b', {}), spec: {} };
    const all = [foreign, without].map((one) => JSON.stringify(one));
    const { code, stdout } = await checkText(all.join('\n---\n'), '--output', 'json', '--fail-on', 'warning');
    expect(code).toBe(1);
    const { findings } = JSON.parse(stdout) as CheckReport;
    expect(findings).toEqual([
      {
        severity: 'warning',
        code: 'IngressesMissing',
        message: expect.stringMatching(
          /^none of the 2 Ingresses is ours, so nothing is served: IngressClass "theirs" does not exist; .*; and 1 other reason, said at each$/,
        ),
      },
    ]);
    const withOurs = [...all, JSON.stringify(ingress('c', {}))].join('\n---\n');
    expect(await checkText(withOurs, '--fail-on', 'warning')).toMatchObject({ code: 0 });
  });

  test.each([
    ['global-auth-url', 'https://auth.example.com/verify'],
    ['enable-modsecurity', 'true'],
    ['block-cidrs', 'foo'],
    ['whitelist-source-range', '10.0.0.0/8,foo'],
  ])('calls everything closed with %s %j in the ConfigMap', async (key, value) => {
    const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'config' }, data: { [key]: value } };
    const text = [ingress('a', {}), config].map((one) => JSON.stringify(one)).join('\n---\n');
    const [inText, inJson, inMarkdown, inSarif] = await Promise.all(
      ['text', 'json', 'markdown', 'sarif'].map(async (output) => {
        const { stdout } = await checkText(text, '--configmap', 'default/config', '--output', output);
        return stdout;
      }),
    );
    expect(inText).toMatch(/^Ingress default\/a: closed$/m);
    expect(inText).toMatch(/^1 Ingress: 1 closed$/m);
    const report = JSON.parse(inJson ?? '') as CheckReport;
    expect(report.ingresses[0]?.state).toBe('closed');
    expect(report.configMap?.keys[0]?.note).toMatch(/; every path of every Ingress answers 503$/);
    expect(inMarkdown).toMatch(/^\| `default\/a` \| closed \|/m);
    expect(inSarif).toContain('every path of every Ingress answers 503');
  });

  test('says which names of server-alias count, and which canaries take no requests', async () => {
    const at = (name: string, host: string, path: string, annotations: Readonly<Record<string, string>>) => {
      const backend = { service: { name, port: { number: 80 } } };
      const rules = [{ host, http: { paths: [{ path, pathType: 'Prefix', backend }] } }];
      return { ...ingress(name, annotations), spec: { ingressClassName: 'nginx', rules } };
    };
    const canary = { canary: 'true', 'canary-weight': '5' };
    const services = ['web', 'used'].map((name) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { ports: [{ port: 80 }] },
    }));
    const all = [
      ...services,
      at('web', 'web.example.com', '/', {}),
      at('lost', 'lost.example.com', '/', { 'server-alias': 'web.example.com' }),
      at('part', 'part.example.com', '/', { 'server-alias': 'a.example.com,web.example.com,b.example.com,~^x$' }),
      at('none', 'none.example.com', '/', { 'server-alias': '~^x$' }),
      at('used', 'web.example.com', '/', canary),
      at('elsewhere', 'web.example.com', '/elsewhere', canary),
      at('lonely', 'lonely.example.com', '/', canary),
    ];
    const { stdout } = await checkText(all.map((one) => JSON.stringify(one)).join('\n---\n'), '--output', 'json');
    const { ingresses, absent } = JSON.parse(stdout) as CheckReport;
    const said = Object.fromEntries(
      ingresses.map(({ ingress: key, annotations }) => [key, annotations.map(({ state, note }) => [state, note])]),
    );
    expect(said).toEqual({
      'default/web': [],
      'default/lost': [['ignored', 'web.example.com is a host of Ingress default/web']],
      'default/part': [
        [
          'approximated',
          'what counts: a.example.com, b.example.com; what does not, as the findings say: ~^x$, web.example.com',
        ],
      ],
      'default/none': [['invalid', expect.stringContaining('"~^x$" is an expression')]],
      'default/used': [
        ['honoured', undefined],
        ['honoured', undefined],
      ],
      'default/elsewhere': Array(2).fill(['ignored', expect.stringContaining('serves the prefix path /elsewhere')]),
      'default/lonely': Array(2).fill(['ignored', expect.stringContaining('serves host lonely.example.com')]),
    });
    // The Services that are there have no EndpointSlices, but no Service has one.
    expect(absent.map(({ code }) => code)).not.toContain('ServiceWithoutEndpoints');
    const slice = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'x', labels: { 'kubernetes.io/service-name': 'x' } },
      addressType: 'IPv4',
      endpoints: [],
    };
    const more = await checkText([...all, slice].map((one) => JSON.stringify(one)).join('\n---\n'));
    expect(more.stdout).toContain('Service default/web: no endpoint of port 80 is ready');
  });

  test('says why an Ingress is refused at the annotation, and that to allow it is no help', async () => {
    const { stdout } = await check();
    expect(stdout).toMatch(
      /^ {2}refused {6}configuration-snippet: .*\(its risk is Critical, above High, .*; to allow it is no help, its paths would answer 503 /m,
    );
    expect(stdout).not.toContain('Differences from ingress-nginx:\n  configuration-snippet');
    expect(stdout).toMatch(/^ {2}unknown {6}no-such-key: "1"$/m);
  });

  test('says of each Ingress and each key what becomes of it', async () => {
    const { code, stdout } = await check('--output', 'json');
    const report = JSON.parse(stdout) as CheckReport;
    expect(code).toBe(1);
    const states = report.ingresses.map(({ ingress, state, annotations }) => [
      ingress,
      state,
      Object.fromEntries(annotations.map((key) => [key.name, key.state])),
    ]);
    expect(states).toEqual([
      ['default/guarded', 'refused', { 'auth-url': 'planned', 'configuration-snippet': 'refused' }],
      ['default/other', 'not ours', {}],
      [
        'default/web',
        'served',
        {
          'grpc-backend': 'removed',
          'proxy-read-timeout': 'invalid',
          'proxy-red-timeout': 'unknown',
          'proxy-send-timeout': 'approximated',
          'ssl-redirect': 'honoured',
        },
      ],
    ]);
    expect(report.configMap?.keys.map(({ name, state }) => [name, state])).toEqual([
      ['annotations-risk-level', 'honoured'],
      ['no-such-key', 'unknown'],
      ['proxy-connect-timeout', 'honoured'],
      ['proxy-read-timeout', 'invalid'],
    ]);
    expect(report.totals.ingresses).toEqual({ served: 1, closed: 0, held: 0, refused: 1, 'not ours': 1 });
    const [finding] = report.findings.filter(({ code: id }) => id === 'AnnotationUnknown');
    expect(finding).toMatchObject({ source: { line: 9 }, message: expect.stringContaining('proxy-read-timeout?') });
    expect(report.absent.map(({ code: id }) => id)).toEqual(['ServiceNotFound', 'IngressClassMissing']);
  });

  test('a Service that the folder does not hold is no failure, nor is what is only worth a warning', async () => {
    const clean = mkdtempSync(join(tmpdir(), 'check-clean-'));
    writeFileSync(join(clean, 'web.yaml'), MANIFESTS.split('---')[0] ?? '');
    const args = [join(import.meta.dirname, 'main.ts'), 'check', '--manifests', clean];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toContain('Not among the manifests:');
    expect(stdout).toMatch(/^1 Ingress: 1 served$/m);
    await expect(promisify(execFile)(process.execPath, [...args, '--fail-on', 'warning'])).rejects.toMatchObject({
      code: 1,
    });
    rmSync(clean, { recursive: true });
  });

  test('finds nothing wrong with the example', async () => {
    const example = join(import.meta.dirname, '../../examples/annotations');
    const args = ['check', '--manifests', example, '--configmap', 'default/controller', '--fail-on', 'warning'];
    const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args]);
    expect(stdout).toMatch(/^0 findings$/m);
    expect(stdout).toContain('whitelist-source-range');
  });

  test('reads the standard input', async () => {
    const lists = {
      apiVersion: 'v1',
      kind: 'List',
      items: [ingress('one', { 'use-regex': 'true' }), ingress('two', {})],
    };
    const { stdout } = await checkText(JSON.stringify(lists));
    expect(stdout).toMatch(/^2 Ingresses: 2 served$/m);
    expect(await checkText('kind: [')).toMatchObject({ code: 1, stdout: expect.stringContaining('error: -:1:8: ') });
  });

  test('tells of what is only meant to be ours, and of what is no Ingress', async () => {
    const misspelt = {
      ...ingress('web', {}),
      metadata: {
        name: 'web',
        annotations: { 'nginx.ingres.kubernetes.io/use-regex': 'true', 'haproxy.org/cors-enable': 'true' },
      },
    };
    const { code, stdout } = await checkText(
      [misspelt, { ...ingress('broken', {}), spec: { rules: 'x' } }].map((one) => JSON.stringify(one)).join('\n---\n'),
    );
    expect(code).toBe(1);
    expect(stdout).toContain('did you mean nginx.ingress.kubernetes.io/use-regex?');
    expect(stdout).toMatch(/^Ingress default\/broken: refused$/m);
    expect(stdout).not.toContain('haproxy');
    expect(stdout).toMatch(/^2 Ingresses: 1 served, 1 refused$/m);
  });

  test('calls a value approximated only where it differs, and says the difference once', async () => {
    const all = [
      ingress('one', {
        'rewrite-target': '/',
        'use-regex': 'false',
        'backend-protocol': 'HTTPS',
        'http2-push-preload': 'false',
      }),
      ingress('two', { 'rewrite-target': '/$1', 'use-regex': 'true' }),
      ingress('three', { 'rewrite-target': '/$1' }),
    ];
    const { stdout } = await checkText(all.map((one) => JSON.stringify(one)).join('\n---\n'));
    expect(stdout).toMatch(/^7 annotations: 4 honoured, 3 approximated$/m);
    expect(stdout.match(/^ {2}rewrite-target \(2 Ingresses\): /gm)).toHaveLength(1);
  });

  test('tells what is closed, what is not there, and of a ConfigMap that nobody has named', async () => {
    const controller = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'controller' },
      data: { 'use-gzip': 'true' },
    };
    const closed = ingress('closed', { 'auth-url': 'http://auth.example.com/' });
    const { spec, ...rest } = ingress('other', {});
    const other = { ...rest, spec: { ...spec, ingressClassName: 'public' } };
    const { stdout } = await checkText([closed, other, controller].map((one) => JSON.stringify(one)).join('\n---\n'));
    expect(stdout).toMatch(/^Ingress default\/closed: closed$/m);
    expect(stdout).toMatch(/^2 Ingresses: 1 closed, 1 not ours$/m);
    expect(stdout).toContain('--configmap default/controller lets it count');
    const absent = stdout.slice(stdout.indexOf('Not among the manifests:'));
    expect(absent).toContain('IngressClass "public" does not exist');
  });

  test('as Markdown: a table for each part', async () => {
    const { stdout } = await check('--output', 'markdown');
    expect(stdout.match(/^## .+$/gm)).toEqual([
      '## Ingresses',
      '## Annotations that are not simply honoured',
      '## ConfigMap default/config',
      '## Findings',
      '## Not among the manifests',
    ]);
    for (const line of stdout.split('\n').filter((text) => text.startsWith('|')))
      expect(line).toMatch(/^\|( [^|]* \|)+$/);
  });

  test.each(['text', 'markdown', 'sarif'])(
    'as %s: nothing of a name or a value moves a cursor, breaks a line or is markup',
    async (output) => {
      const evil = '\u001b[2J\n\u202e@team <img src=x> &amp; [a](b) \\| `x` ``';
      const hostile = {
        ...ingress('web', { 'proxy-read-timeout': evil, 'custom-http-errors': evil, [`no${evil}`]: evil }),
        spec: { ingressClassName: 'nginx', rules: [{ host: `a${evil}` }] },
      };
      const named = { ...ingress('x', {}), metadata: { name: evil, namespace: evil } };
      const { stdout } = await checkText(
        `${JSON.stringify(hostile)}\n---\n${JSON.stringify(named)}`,
        '--output',
        output,
      );
      expect(stdout).toContain('team');
      const texts = output === 'sarif' ? textsOf(JSON.parse(stdout)) : stdout.split('\n');
      expect(texts.filter((text) => /[\p{Cc}\p{Bidi_Control}]/u.test(text))).toEqual([]);
      if (output !== 'markdown') return;
      const outsideCode = texts.map((text) => text.replace(/`[^`]*`/g, '').replaceAll(/<\/?code>/g, ''));
      expect(outsideCode.filter((text) => /@team|[<>`\\]|&(?!#\d+;)|\]\(/.test(text))).toEqual([]);
      for (const line of texts.filter((text) => text.startsWith('|'))) expect(line).toMatch(/^\|( [^|]* \|)+$/);
    },
  );

  test('as SARIF: each result has a rule, and a place in a file', async () => {
    const { stdout } = await check('--output', 'sarif');
    const [run] = (JSON.parse(stdout) as { runs: [Run] }).runs;
    expect(run.results.length).toBeGreaterThan(4);
    for (const { ruleId, ruleIndex, locations } of run.results) {
      expect(run.tool.driver.rules[ruleIndex]?.id).toBe(ruleId);
      expect(locations[0]?.physicalLocation.region.startLine).toBeGreaterThan(0);
    }
  });
});

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

interface Run {
  readonly tool: { readonly driver: { readonly rules: readonly { readonly id: string }[] } };
  readonly results: readonly {
    readonly ruleId: string;
    readonly ruleIndex: number;
    readonly locations: readonly { readonly physicalLocation: { readonly region: { readonly startLine: number } } }[];
  }[];
}
