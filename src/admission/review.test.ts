import { beforeAll, describe, expect, it } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import { createEmitter } from '../envoy/emit.ts';
import { createChecker } from '../envoy/encoder.ts';
import {
  configMap,
  externalName,
  ingress,
  ingressClass,
  type PemPair,
  rule,
  secret,
  service,
  tlsSecret,
} from '../ingress/testing.ts';
import { type RawIngress, ReviewWorld, type ReviewWorldOptions, rawIngress, rawPath, rawRule } from './testing.ts';

const PREFIX = 'nginx.ingress.kubernetes.io';
const CONFIG = 'ingress/config';

let generated: PemPair;
let other: PemPair;
beforeAll(async () => {
  [generated, other] = await Promise.all([makePair(['generated']), makePair(['other.example.com'])]);
});

const emit: ReviewWorldOptions['emit'] = (engine, model) =>
  createEmitter(engine, model, { ipv6: false, accessLog: true, routeSharding: false }, createChecker());

/** With the class, the Service and one Ingress `shop/old` that owns `old.example.com/app`. */
function cluster(options: ReviewWorldOptions = {}, config: Readonly<Record<string, string>> = {}): ReviewWorld {
  return new ReviewWorld(generated, { emit, configMap: CONFIG, ...options }).apply(
    ingressClass('nginx'),
    ingressClass('theirs', 'example.com/other'),
    service('shop/web'),
    configMap(CONFIG, config),
    ingress('shop/old', { creationTimestamp: 1000, rules: [rule('old.example.com', { 'Prefix /app': 'web:80' })] }),
  );
}

const rules = (...list: readonly unknown[]): RawIngress => ({ spec: { rules: list } });
const annotated = (annotations: Readonly<Record<string, string>>): RawIngress => ({ metadata: { annotations } });

interface Case {
  readonly name: string;
  readonly ingress?: RawIngress;
  readonly options?: ReviewWorldOptions;
  readonly config?: Readonly<Record<string, string>>;
  readonly request?: Readonly<Record<string, unknown>>;
  /** Absent: allowed. */
  readonly denial?: RegExp;
}

const DANGER = rules(rawRule('new.example.com', rawPath('/x_by_lua_block', 'ImplementationSpecific')));

const cases: readonly Case[] = [
  { name: 'a harmless one' },
  { name: 'a harmless update', request: { operation: 'UPDATE', oldObject: rawIngress() } },
  { name: 'a dry run', request: { dryRun: true } },
  // annotations
  {
    name: 'a value for which ingress-nginx refuses the whole Ingress',
    ingress: annotated({ [`${PREFIX}/auth-type`]: 'digest-ish' }),
    denial: /auth-type"\]: "digest-ish" is not basic or digest.*IngressRefused/,
  },
  { name: 'a value that is only not readable', ingress: annotated({ [`${PREFIX}/ssl-redirect`]: 'maybe' }) },
  {
    name: 'an annotation above the permitted risk',
    ingress: annotated({ [`${PREFIX}/auth-url`]: 'http://auth/' }),
    config: { 'annotations-risk-level': 'Medium' },
    denial: /its risk is High/,
  },
  // being deleted
  {
    name: 'one that is being deleted, whatever it holds',
    ingress: { ...DANGER, metadata: { deletionTimestamp: '2026-03-02T00:00:00Z', uid: 'no' } },
  },
  { name: 'a deletion', request: { operation: 'DELETE', object: null } },
  // the object itself
  { name: 'an object that is none', request: { object: null }, denial: /no Ingress of networking.k8s.io\/v1/ },
  { name: 'rules that are no list', ingress: { spec: { rules: 'all' } }, denial: /spec\.rules: "all" is a string/ },
  {
    name: 'an object of another kind',
    request: { object: { apiVersion: 'v1', kind: 'Service', metadata: { name: 'new' }, spec: {} } },
    denial: /no Ingress/,
  },
  {
    name: 'an object without namespace, which is that of the request',
    ingress: { metadata: { namespace: undefined } },
  },
  // deep inspection
  {
    name: 'what deep inspection finds',
    ingress: DANGER,
    denial: /spec\.rules\[0\]\.http\.paths\[0\]\.path: .*_by_lua/,
  },
  {
    name: 'the same in a host of spec.tls',
    ingress: { spec: { tls: [{ hosts: ['/var/run/secrets'] }] } },
    denial: /spec\.tls\[0\]\.hosts\[0\]/,
  },
  {
    name: 'the same in a Secret’s name, of another class too',
    ingress: { spec: { ingressClassName: 'theirs', tls: [{ secretName: '/etc/nginx/x' }] } },
    denial: /spec\.tls\[0\]\.secretName/,
  },
  { name: 'the same without deep inspection', ingress: DANGER, options: { deepInspect: false } },
  // class and namespace
  {
    name: 'another class, whatever is wrong with it',
    ingress: { metadata: { uid: 'no' }, spec: { ingressClassName: 'theirs' } },
  },
  { name: 'a class that does not exist', ingress: { metadata: { uid: 'no' }, spec: { ingressClassName: 'gone' } } },
  { name: 'no class at all', ingress: { metadata: { uid: 'no' }, spec: { ingressClassName: undefined } } },
  {
    name: 'the class in the old annotation',
    ingress: {
      metadata: { uid: 'no', annotations: { 'kubernetes.io/ingress.class': 'nginx' } },
      spec: { ingressClassName: undefined },
    },
    denial: /UUID/,
  },
  { name: 'a namespace that is not watched', ingress: { metadata: { uid: 'no' } }, options: { watches: () => false } },
  // catch-all
  {
    name: 'a default backend while catch-all is disabled',
    ingress: { spec: { defaultBackend: { service: { name: 'web', port: { number: 80 } } } } },
    options: { disableCatchAll: true },
    denial: /spec\.defaultBackend: .*--disable-catch-all/,
  },
  {
    name: 'a default backend',
    ingress: { spec: { defaultBackend: { service: { name: 'web', port: { number: 80 } } } } },
  },
  // uid
  {
    name: 'a uid that leads elsewhere',
    ingress: { metadata: { uid: '../../etc/x' } },
    denial: /metadata\.uid: no UUID/,
  },
  { name: 'no uid', ingress: { metadata: { uid: undefined } }, denial: /metadata\.uid/ },
  // path types
  {
    name: 'an expression as Prefix',
    ingress: rules(rawRule('new.example.com', rawPath('/a(.*)'))),
    denial: /paths\[0\]\.path: "\/a\(\.\*\)" cannot be used with pathType Prefix/,
  },
  {
    name: 'an expression as Exact',
    ingress: rules(rawRule('new.example.com', rawPath('/a/$1', 'Exact'))),
    denial: /pathType Exact/,
  },
  { name: 'a space after the path', ingress: rules(rawRule('new.example.com', rawPath('/a\n'))), denial: /pathType/ },
  {
    name: 'an expression as ImplementationSpecific',
    ingress: rules(rawRule('new.example.com', rawPath('/a(.*)', 'ImplementationSpecific'))),
  },
  { name: 'an empty path', ingress: rules(rawRule('new.example.com', rawPath('', 'Prefix'))) },
  { name: 'every plain character', ingress: rules(rawRule('new.example.com', rawPath('/aZ0/-_.~'.slice(0, -1)))) },
  {
    name: 'an expression as Prefix where that is permitted',
    ingress: rules(rawRule('new.example.com', rawPath('/a(.*)'))),
    config: { 'strict-validate-path-type': 'false' },
  },
  {
    name: 'an expression as Prefix where the key is not readable',
    ingress: rules(rawRule('new.example.com', rawPath('/a(.*)'))),
    config: { 'strict-validate-path-type': 'no' },
    denial: /pathType/,
  },
  // annotations
  {
    name: 'annotations of the usual prefix where there is another',
    ingress: annotated({ [`${PREFIX}/rewrite-target`]: '/' }),
    options: { annotationsPrefix: 'ingress.example.com' },
    denial: /the prefix of annotations is ingress\.example\.com/,
  },
  { name: 'annotations of the usual prefix', ingress: annotated({ [`${PREFIX}/rewrite-target`]: '/' }) },
  {
    name: 'a blocked word',
    ingress: annotated({ [`${PREFIX}/app-root`]: '/load_module' }),
    config: { 'annotation-value-word-blocklist': 'proxy_pass, load_module' },
    denial: /app-root.*"load_module".*annotation-value-word-blocklist/,
  },
  {
    name: 'a blocked word in a foreign annotation',
    ingress: annotated({ 'cert-manager.io/note': 'load_module' }),
    config: { 'annotation-value-word-blocklist': 'load_module' },
  },
  {
    name: 'any value, where the list ends with a comma',
    ingress: annotated({ [`${PREFIX}/app-root`]: '/x' }),
    config: { 'annotation-value-word-blocklist': 'load_module,' },
  },
  {
    name: 'a snippet',
    ingress: annotated({ [`${PREFIX}/configuration-snippet`]: 'deny all;' }),
    denial: /configuration-snippet.*snippets are not allowed/,
  },
  {
    name: 'a snippet of a foreign prefix',
    ingress: annotated({ 'example.com/my-snippet': 'x' }),
    denial: /example\.com\/my-snippet/,
  },
  {
    name: 'a snippet where they are allowed',
    ingress: annotated({ 'example.com/my-snippet': 'x' }),
    config: { 'allow-snippet-annotations': 'true' },
  },
  {
    name: 'a protection that cannot be honoured: 503 is no denial',
    ingress: annotated({ [`${PREFIX}/auth-url`]: 'x' }),
  },
  // overlap
  {
    name: 'host and path of another',
    ingress: rules(rawRule('old.example.com', rawPath('/other'), rawPath('/app'))),
    denial:
      /^spec\.rules\[0\]\.http\.paths\[1\]: host "old\.example\.com" and path "\/app" belong to Ingress shop\/old already/,
  },
  {
    name: 'the same with another type',
    ingress: rules(rawRule('old.example.com', rawPath('/app', 'Exact'))),
    denial: /belong to Ingress shop\/old/,
  },
  { name: 'another path of the host', ingress: rules(rawRule('old.example.com', rawPath('/app2'))) },
  { name: 'another text for the same path', ingress: rules(rawRule('old.example.com', rawPath('/app/'))) },
  { name: 'the path on another host', ingress: rules(rawRule('sub.old.example.com', rawPath('/app'))) },
  {
    name: 'the same of another class',
    ingress: { spec: { ingressClassName: 'theirs', rules: [rawRule('old.example.com', rawPath('/app'))] } },
  },
  {
    name: 'the same as a canary',
    ingress: { ...rules(rawRule('old.example.com', rawPath('/app'))), ...annotated({ [`${PREFIX}/canary`]: 'true' }) },
  },
  {
    name: 'the same as explicitly no canary',
    ingress: { ...rules(rawRule('old.example.com', rawPath('/app'))), ...annotated({ [`${PREFIX}/canary`]: 'false' }) },
  },
  {
    name: 'its own host and path, again',
    ingress: { metadata: { name: 'old' }, ...rules(rawRule('old.example.com', rawPath('/app'))) },
    request: { operation: 'UPDATE' },
  },
];

describe('a review', () => {
  it.each(cases)('of $name', ({ ingress: fields, options, config, request, denial }) => {
    const verdict = cluster(options, config).review(rawIngress(fields), request);
    if (denial === undefined) expect(verdict.denial).toBeUndefined();
    else expect(verdict.denial).toMatch(denial);
  });

  it('leaves the cluster as it is', () => {
    const world = cluster();
    const before = JSON.stringify(world.cluster.dump());
    world.review(rawIngress());
    expect(JSON.stringify(world.apply().cluster.dump())).toBe(before);
    expect(world.world.state.ingresses.get('shop/new')).toBeUndefined();
  });

  it('decides by the first rule that is broken', () => {
    const broken = {
      metadata: { uid: 'no' },
      ...rules(rawRule('old.example.com', rawPath('/app'), rawPath('/a(.*)'))),
    };
    expect(cluster().review(rawIngress(broken)).denial).toMatch(/uid/);
    expect(cluster().review(rawIngress({ ...broken, metadata: {} })).denial).toMatch(/pathType/);
  });
});

describe('canaries', () => {
  const canary = (value: string) => annotated({ [`${PREFIX}/canary`]: value });
  const claim = rules(rawRule('c.example.com', rawPath('/')));
  const withExisting = (annotations: Readonly<Record<string, string>>) =>
    cluster().apply(ingress('shop/c', { annotations, rules: [rule('c.example.com', { 'Prefix /': 'web:80' })] }));

  it.each([
    ['absent', 'absent', true],
    ['absent', 'true', false],
    ['absent', 'false', false],
    ['true', 'absent', false],
    ['true', 'true', true],
    ['true', 'false', false],
    ['false', 'absent', false],
    ['false', 'true', false],
    ['false', 'false', false],
  ])('%s beside an Ingress with canary %s', (reviewed, existing, denied) => {
    const world = withExisting(existing === 'absent' ? {} : { [`${PREFIX}/canary`]: existing });
    const { denial } = world.review(rawIngress({ ...claim, ...(reviewed === 'absent' ? {} : canary(reviewed)) }));
    expect(denial !== undefined).toBe(denied);
  });
});

describe('what is not served takes no path away', () => {
  const rules = [rule('x.example.com', { 'Prefix /': 'web:80' })];
  it.each([
    ['of another class', ingress('shop/x', { rules, ingressClassName: 'theirs' })],
    ['refused', ingress('shop/x', { rules: [...rules, rule('/etc/nginx', {})] })],
  ])('%s', (_, existing) => {
    const claim = { spec: { rules: [rawRule('x.example.com', rawPath('/'))] } };
    expect(cluster().apply(existing).review(rawIngress(claim)).denial).toBeUndefined();
    const served = ingress('shop/y', { rules });
    expect(cluster().apply(existing, served).review(rawIngress(claim)).denial).toMatch(/shop\/y/);
  });
});

describe('warnings', () => {
  const warningsOf = (fields: RawIngress, world = cluster()) => {
    const { denial, warnings } = world.review(rawIngress(fields));
    expect(denial).toBeUndefined();
    return warnings;
  };

  it('are absent where there is nothing to say', () => {
    expect(warningsOf({})).toEqual([]);
  });

  it('say what the build finds: a missing Service and port, a host that is none', () => {
    const warnings = warningsOf(
      rules(
        rawRule('new.example.com', rawPath('/', 'Prefix', 'nowhere'), rawPath('/p', 'Prefix', 'web', 81)),
        rawRule('10.0.0.1', rawPath('/')),
      ),
    );
    expect(warnings).toEqual([
      'spec.rules[1].host: host "10.0.0.1" is an IP address, not a DNS name; the rule is not served (IngressHostInvalid)',
      'spec.rules[0].http.paths[1].backend.service.port: Service shop/web has no port "81" (ServicePortNotFound)',
      'spec.rules[0].http.paths[0].backend.service.name: Service shop/nowhere does not exist (ServiceNotFound)',
    ]);
  });

  it('tell of an annotation without which the paths are closed, once what it names is not there', () => {
    const fields = annotated({ [`${PREFIX}/custom-headers`]: 'shop/headers' });
    const world = cluster({}, { 'global-allowed-response-headers': 'X-Shop' });
    expect(warningsOf(fields, world)).toEqual([expect.stringMatching(/custom-headers.*503 \(AnnotationDenied\)/)]);
    expect(warningsOf(fields, world.apply(configMap('shop/headers', { 'X-Shop': 'a' })))).toEqual([]);
  });

  it('tell that TLS is not passed through without the flag, and of paths that it does not reach', () => {
    const fields = {
      ...annotated({ [`${PREFIX}/ssl-passthrough`]: 'true' }),
      ...rules(rawRule('new.example.com', rawPath('/ui'))),
    };
    expect(warningsOf(fields)).toEqual([expect.stringMatching(/only with the flag --enable-ssl-passthrough/)]);
    const world = cluster({ sslPassthrough: true });
    expect(warningsOf(fields, world)).toEqual([
      expect.stringMatching(/no Ingress has the path \/.*PassthroughUnavail/),
    ]);
  });

  it('say which older Ingress wins a path that is the same in other words', () => {
    const [warning = ''] = warningsOf(rules(rawRule('old.example.com', rawPath('/app/'))));
    expect(warning).toMatch(/belongs to Ingress shop\/old \(spec\.rules\[0\]\.http\.paths\[0\]\).*PathConflict/);
  });

  it('say so with the number of the rule, also where only one of many hosts is shared', () => {
    const hosts = Array.from({ length: 20 }, (_, index) => rule(`h${index}.example.com`, { 'Prefix /a': 'web:80' }));
    const world = cluster().apply(ingress('shop/many', { creationTimestamp: 5, rules: hosts }));
    const { warnings, outcome } = world.review(rawIngress(rules(rawRule('h7.example.com', rawPath('/a/')))));
    expect(warnings[0]).toMatch(/shop\/many \(spec\.rules\[7\]\.http\.paths\[0\]\)/);
    expect(outcome?.ingresses).toBe(2);
  });

  it('tell of Secrets: missing, broken, not covering, and not of those of others', () => {
    const world = cluster().apply(
      secret('shop/broken', { 'tls.crt': 'x', 'tls.key': 'y' }),
      tlsSecret('shop/other', other),
      ingress('shop/o', { rules: [rule('old.example.com', {})], tls: [{ hosts: [], secretName: 'unrelated' }] }),
    );
    const tls = (secretName: string) => ({ spec: { tls: [{ hosts: ['new.example.com'], secretName }] } });
    expect(warningsOf(tls('gone'), world)).toEqual([expect.stringMatching(/Secret shop\/gone does not exist/)]);
    expect(warningsOf(tls('broken'), world)).toEqual([
      expect.stringMatching(/^Secret shop\/broken data: .*SecretInvalid/),
    ]);
    expect(warningsOf(tls('other'), world)).toEqual([expect.stringMatching(/covers other\.example\.com, not new/)]);
  });

  it('tell of an external name that may not be resolved', () => {
    const world = cluster().apply(externalName('shop/ext', 'localhost', [{ port: 80 }]));
    const fields = rules(rawRule('new.example.com', rawPath('/', 'Prefix', 'ext')));
    expect(warningsOf(fields, world)).toEqual([expect.stringMatching(/ExternalNameInvalid/)]);
  });

  it('tell of paths against their type where these are permitted', () => {
    const world = cluster({}, { 'strict-validate-path-type': 'false' });
    const warnings = warningsOf(rules(rawRule('new.example.com', rawPath('/a(.*)'))), world);
    expect(warnings).toContainEqual(expect.stringMatching(/cannot be used with pathType Prefix/));
  });

  it.each(['secure-verify-ca-secret', 'influxdb-host', 'enable-opentracing', 'global-rate-limit-window'])(
    'tell of the old annotation %s',
    (name) => {
      const warnings = warningsOf(annotated({ [`${PREFIX}/${name}`]: 'x' }));
      expect(warnings).toContainEqual(expect.stringMatching(`${name}.*removed from ingress-nginx`));
    },
  );

  it('tell of fields that do not exist, and of protections that close paths, errors first', () => {
    const fields = { metadata: { annotations: { [`${PREFIX}/auth-url`]: 'x', [`${PREFIX}/cors` as string]: 'y' } } };
    const warnings = warningsOf({ ...fields, spec: { rulez: [] } });
    expect(warnings[0]).toMatch(/auth-url.*answers 503 \(ProtectionUnavailable\)/);
    expect(warnings[1]).toMatch(/^spec\.rulez: No such field/);
  });

  it('stay within what the API server passes on', () => {
    const paths = Array.from({ length: 300 }, (_, index) =>
      rawPath(`/${'x'.repeat(300)}${index}`, 'Prefix', `s${index}`),
    );
    const warnings = warningsOf(rules(rawRule('new.example.com', ...paths)));
    expect(Math.max(...warnings.map((text) => text.length))).toBeLessThanOrEqual(256);
    expect(warnings.join('').length).toBeLessThanOrEqual(4096);
    expect(warnings.at(-1)).toMatch(/^\d+ more warnings are not shown$/);
  });
});

describe('age', () => {
  it('a new Ingress without a time loses what older ones hold, though absent times sort first', () => {
    const fields = { metadata: { creationTimestamp: null }, ...rules(rawRule('old.example.com', rawPath('/app/'))) };
    expect(cluster().review(rawIngress(fields)).warnings).toContainEqual(expect.stringMatching(/PathConflict/));
  });
});

describe('the versions before', () => {
  it('of a neighbour count where its newest is refused', () => {
    const former = ingress('shop/n', {
      creationTimestamp: 5,
      rules: [rule('n.example.com', { 'Prefix /a': 'web:80' })],
    });
    const refused = ingress('shop/n', { ...former, rules: [rule('n.example.com', { '/b_by_lua': 'web:80' })] });
    const world = cluster().apply(former).apply(refused);
    const { warnings } = world.review(rawIngress(rules(rawRule('n.example.com', rawPath('/a/')))));
    expect(warnings).toEqual([expect.stringMatching(/belongs to Ingress shop\/n/)]);
  });

  it('of the reviewed Ingress does not make a refused one acceptable', () => {
    const world = cluster().apply(ingress('shop/new', { rules: [rule('new.example.com', { 'Prefix /': 'web:80' })] }));
    expect(world.review(rawIngress(DANGER), { operation: 'UPDATE' }).denial).toMatch(/_by_lua/);
  });
});

describe('cost', () => {
  const costWith = (count: number) => {
    const others = Array.from({ length: count }, (_, index) =>
      ingress(`ns${index % 50}/web${index}`, { rules: [rule(`h${index}.example.com`, { 'Prefix /': 'web:80' })] }),
    );
    const world = cluster().apply(...others);
    const before = JSON.stringify(world.cluster.engine.counters());
    const { outcome } = world.review(rawIngress(rules(rawRule('old.example.com', rawPath('/two')))));
    expect(JSON.stringify(world.cluster.engine.counters())).toBe(before);
    return { units: outcome?.unitRuns, ingresses: outcome?.ingresses, bytes: outcome?.bytes };
  };

  it('does not grow with the other hosts of a neighbour', () => {
    const unitsBeside = (count: number) => {
      const hosts = Array.from({ length: count }, (_, index) =>
        rule(`h${index}.example.com`, { 'Prefix /': 'web:80' }),
      );
      const world = cluster().apply(ingress('shop/many', { rules: hosts }));
      return world.review(rawIngress(rules(rawRule('h0.example.com', rawPath('/two'))))).outcome?.unitRuns;
    };
    expect(unitsBeside(500)).toBe(unitsBeside(2));
  });

  it('does not grow with the number of Ingresses', () => {
    const [few, many] = [costWith(100), costWith(2000)];
    expect(many).toEqual(few);
    expect(many.ingresses).toBe(2);
  });
});
