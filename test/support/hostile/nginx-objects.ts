/** Objects that hold a text wherever a user can write one, and the nginx.conf that they become. */
import fc from 'fast-check';
import type { KubernetesObject } from '../../../src/cluster/objects.ts';
import {
  backend,
  configMap,
  endpointSlice,
  externalName,
  ingress,
  type PemPair,
  rule,
  service,
  tlsSecret,
  World,
} from '../../../src/ingress/testing.ts';
import type { Certificate } from '../../../src/model/proxy-model.ts';
import { certificateFile } from '../../../src/nginx/certificate-file.ts';
import type { NginxConfig } from '../../../src/nginx/config.ts';
import { createNginxEmitter, NGINX, type NginxEmitOptions } from '../../../src/nginx/emit.ts';
import { builtInTemplate } from '../../../src/nginx/template-files.ts';

/** Texts that try to end what they stand in: for nginx, its regular expressions and variables, Lua, and the template. */
const KNOWN_TEXTS: readonly string[] = [
  '',
  ' ',
  '"',
  "'",
  '\\',
  '\\"',
  '";',
  '"; return 200 "owned',
  '"} location / { return 200 owned; } #',
  "'; return 200 'owned",
  'x;} server { listen 81; }',
  '{',
  '}',
  ';',
  '#',
  '# comment',
  '$',
  '$host',
  '$'.concat('{host}'),
  '$'.concat('{ingress_dollar}'),
  '$1',
  '\n',
  '\r\n',
  'a\nreturn 200;',
  '\t',
  '\0',
  'a\0b',
  '<%= it.settings.folder %>',
  '<% process.exit(1) %>',
  "<%~ include('@server', it) %>",
  '%>',
  '{{ .Template }}',
  '~ ^/',
  '= /',
  '@named',
  '^~',
  '*',
  '*.example.com',
  '.example.com',
  '_',
  'default_server',
  '$hostname',
  '..',
  '/../..',
  '//',
  '%00',
  '%0a%22;%20return%20200;',
  '%e9%22',
  '%',
  '%zz',
  'ä€😀',
  '\u2028',
  '\ufeff',
  '\ud800',
  '(?:a+)+$',
  ']] os.execute("id") --[[',
  'unix:/tmp/x',
  '127.0.0.1',
  '::1',
  '[::1]:80',
  'localhost',
  'x'.repeat(2_500),
  '"'.repeat(2_000),
  '\\'.repeat(5_000),
  'ä'.repeat(5_000),
];

/** At least so many, always the same ones. */
export function hostileTexts(count: number): string[] {
  const syntax = fc.string({
    unit: fc.constantFrom(...'"\'\\{$};# \n\r~^<%=>/.*()[]|@:a1'),
    minLength: 1,
    maxLength: 30,
  });
  const any = fc.string({ unit: 'binary', minLength: 1, maxLength: 30 });
  return [...KNOWN_TEXTS, ...fc.sample(fc.oneof(syntax, any), { numRuns: count, seed: 1 })];
}

/** Texts of the same kinds that nobody could object to. */
export const HARMLESS_TEXTS: readonly string[] = [
  'plain',
  'b-2',
  'caf%e9',
  'x'.repeat(2_500),
  'two words',
  'a.example.org',
  '10.1.2.3',
];

/** Every byte percent-encoded, as what may stand in the path of an Ingress. */
function encoded(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

/** Objects with a text in each field that can make its way into a configuration. */
function objectsWith(text: string, number: number, pair: PemPair): KubernetesObject[] {
  const host = `host-${number}.example.com`;
  const paths = [`/${text}`, text, `/${encoded(text)}`, `/a${encoded(text)}b`, `/%ff${encoded(text)}`];
  const asPaths = paths.flatMap((path) =>
    ['Exact', 'Prefix', undefined].map((pathType) => ({
      path,
      backend: backend('web:80'),
      ...(pathType !== undefined && { pathType }),
    })),
  );
  const backends = [
    { path: '/service', backend: { service: { name: text, port: { number: 80 } } } },
    { path: '/port', backend: { service: { name: 'web', port: { name: text } } } },
    { path: '/external', backend: backend(`external-${number}:80`) },
  ];
  return [
    ingress(`shop/paths-${number}`, { rules: [{ host, paths: [...asPaths, ...backends] }] }),
    ingress(`shop/host-${number}`, {
      rules: [
        rule(text, { '/': 'web:80' }),
        rule(`${text}.example.com`, { '/': 'web:80' }),
        rule(`*.${text}`, { '/': 'web:80' }),
      ],
      tls: [{ hosts: [text, `${text}.example.com`], secretName: text }],
    }),
    ingress(`${text}/name-${number}`, { rules: [rule(`namespace-${number}.example.com`, { '/': 'web:80' })] }),
    { ...ingress('shop/x', { rules: [rule(`name-${number}.example.com`, { '/': 'web:80' })] }), name: text },
    ingress(`shop/annotation-${number}`, {
      annotations: { 'nginx.ingress.kubernetes.io/configuration-snippet': text, [text]: text },
      rules: [rule(`annotation-${number}.example.com`, { '/': 'web:80' })],
    }),
    ingress(`shop/class-${number}`, {
      ingressClassName: text,
      rules: [rule(`class-${number}.example.com`, { '/': 'web:80' })],
    }),
    externalName(`shop/external-${number}`, text, [{ port: 80 }]),
    { ...tlsSecret('shop/x', pair), name: text },
  ];
}

export interface HostileConf {
  readonly config: NginxConfig;
  readonly text: string;
  /** By file: all that the configuration names. */
  readonly certificates: ReadonlyMap<string, Certificate>;
}

/** The configuration for Services, hosts and paths of ordinary names, beside objects with each of the texts. */
export function nginxConfWith(texts: readonly string[], pair: PemPair, options: NginxEmitOptions): HostileConf {
  const world = new World(pair, { tcpServices: 'shop/tcp' });
  const emitter = createNginxEmitter(world.engine, world.model, options);
  const tcp = texts.map(
    (text, index) => [String(20_000 + index), index % 2 === 0 ? text : `shop/web:${text}`] as const,
  );
  const odd = texts.map((text) => [text, 'shop/web:80'] as const);
  world.apply(
    service('shop/web'),
    endpointSlice('shop/web-a', 'web', ['10.0.0.1', '10.0.0.2']),
    ingress('shop/web', {
      rules: [
        rule('shop.example.com', { '/': 'web:80', 'Exact /e': 'web:80' }),
        rule('*.wild.example.com', { '/a': 'web:80' }),
      ],
      tls: [{ hosts: ['shop.example.com'], secretName: 'tls' }],
    }),
    tlsSecret('shop/tls', pair),
    configMap('shop/tcp', {
      ...Object.fromEntries([...odd, ...tcp]),
      9000: 'shop/web:80',
      9001: 'shop/web:80:PROXY:PROXY',
    }),
    ...texts.flatMap((text, index) => objectsWith(text, index, pair)),
  );
  const config = emitter.config.get(NGINX);
  if (config === undefined) throw new Error('there is always a configuration');
  const certificates = [...emitter.certificates.keys()].flatMap((name) => {
    const certificate = emitter.certificates.get(name);
    return certificate === undefined ? [] : [certificate];
  });
  const files = new Map(certificates.map((certificate) => [certificateFile(options.folder, certificate), certificate]));
  const [first] = certificates;
  if (first !== undefined) files.set(config.settings.defaultCertificate, first);
  return { config, text: builtInTemplate().render(config), certificates: files };
}
