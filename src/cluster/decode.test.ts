import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodedOwner, decodeObject, expandLists } from './decode.ts';
import type { Ingress } from './objects.ts';

const options = { defaultNamespace: 'default', keepResourceVersion: false };

function decode(raw: unknown) {
  return decodeObject(raw, options);
}

function problemsOf(raw: unknown): string[] {
  return decode(raw).problems.map(({ severity, field, message }) => `${severity} ${field}: ${message}`);
}

function ingress(spec: unknown, metadata: object = {}) {
  return { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { name: 'web', ...metadata }, spec };
}

function withBackend(backend: unknown) {
  return ingress({ rules: [{ http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }] });
}

describe('Ingress', () => {
  it('is cut down to what is read', () => {
    const spec = {
      ingressClassName: 'nginx',
      defaultBackend: { resource: { apiGroup: 'k8s.example.com', kind: 'Bucket', name: 'files' } },
      tls: [{ hosts: ['a.example.com'], secretName: 'a-tls' }],
      rules: [
        {
          host: 'a.example.com',
          http: { paths: [{ backend: { service: { name: 'web', port: { name: 'http' } } } }] },
        },
        { host: 'b.example.com' },
      ],
    };
    const metadata = {
      namespace: 'shop',
      creationTimestamp: '2026-03-01T12:00:00Z',
      generation: 3,
      resourceVersion: '4711',
      uid: 'x',
      annotations: { 'example.com/a': 'b', 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
    };
    expect(decode(ingress(spec, metadata))).toEqual({
      invalid: false,
      problems: [],
      ref: { kind: 'Ingress', namespace: 'shop', name: 'web' },
      objects: [
        {
          kind: 'Ingress',
          namespace: 'shop',
          name: 'web',
          creationTimestamp: 1772366400,
          generation: 3,
          annotations: { 'example.com/a': 'b' },
          ingressClassName: 'nginx',
          defaultBackend: { resource: { apiGroup: 'k8s.example.com', kind: 'Bucket', name: 'files' } },
          tls: [{ hosts: ['a.example.com'], secretName: 'a-tls' }],
          rules: [
            {
              host: 'a.example.com',
              paths: [
                { pathType: 'ImplementationSpecific', backend: { service: { name: 'web', port: { name: 'http' } } } },
              ],
            },
            { host: 'b.example.com', paths: [] },
          ],
        },
      ],
    });
  });

  it('keeps the resourceVersion and uid of an API server only', () => {
    const raw = ingress({}, { resourceVersion: '7', uid: 'u', namespace: 'a' });
    expect(decodeObject(raw, { keepResourceVersion: true }).objects).toMatchObject([
      { resourceVersion: '7', uid: 'u' },
    ]);
    expect(decode(raw).objects[0]).not.toHaveProperty('resourceVersion');
    expect(decode(raw).objects[0]).not.toHaveProperty('uid');
  });

  it.each([
    [
      { loadBalancer: { ingress: [{ ip: '192.0.2.1', ports: [{ port: 80 }] }, { hostname: 'lb.example.com' }] } },
      ['192.0.2.1', 'lb.example.com'],
    ],
    [
      { loadBalancer: { ingress: [{ ip: '192.0.2.1', hostname: 'lb.example.com' }, {}] } },
      ['192.0.2.1 lb.example.com'],
    ],
    [{ loadBalancer: {} }, undefined],
    [{ loadBalancer: { ingress: 'x' } }, undefined],
    ['x', undefined],
  ])('reads the addresses of the status %j', (status, addresses) => {
    const { objects, problems } = decode({ ...ingress({}), status });
    expect(problems).toEqual([]);
    expect((objects[0] as Ingress).loadBalancer).toEqual(addresses);
  });

  it('takes null for absent, as the API server does', () => {
    expect(
      decode(ingress({ rules: null, tls: null, defaultBackend: null }, { annotations: { a: null } })),
    ).toMatchObject({
      invalid: false,
      objects: [{ rules: [], tls: [], annotations: { a: '' } }],
    });
  });

  it.each([
    ['a spec that is text', ingress('x'), 'error spec: "x" is a string; a map is expected'],
    ['rules that are a map', ingress({ rules: {} }), 'error spec.rules: The value is a map; a list is expected'],
    ['a rule that is text', ingress({ rules: ['x'] }), 'error spec.rules[0]: "x" is a string; a map is expected'],
    [
      'a number for an annotation',
      ingress({}, { annotations: { 'nginx.ingress.kubernetes.io/proxy-body-size': 8 } }),
      'error metadata.annotations["nginx.ingress.kubernetes.io/proxy-body-size"]: 8 is a number; a string (in quotes) is expected',
    ],
    [
      'text for a port number',
      withBackend({ service: { name: 'web', port: { number: '80' } } }),
      'error spec.rules[0].http.paths[0].backend.service.port.number: "80" is a string; a number from 1 to 65535 is expected',
    ],
    [
      'a port out of range',
      withBackend({ service: { name: 'web', port: { number: 65536 } } }),
      'error spec.rules[0].http.paths[0].backend.service.port.number: 65536 is a number; a number from 1 to 65535 is expected',
    ],
    [
      'a port with number and name',
      withBackend({ service: { name: 'web', port: { number: 80, name: 'http' } } }),
      'error spec.rules[0].http.paths[0].backend.service.port: A port has a number or a name, not both',
    ],
    [
      'a backend without a Service name',
      withBackend({ service: { port: { number: 80 } } }),
      'error spec.rules[0].http.paths[0].backend.service.name: A value is required',
    ],
    ['no backend', withBackend(undefined), 'error spec.rules[0].http.paths[0].backend: A backend is required'],
    [
      'an unknown path type',
      ingress({ rules: [{ http: { paths: [{ pathType: 'prefix', backend: {} }] } }] }),
      'error spec.rules[0].http.paths[0].pathType: "prefix" is not one of Exact, Prefix, ImplementationSpecific',
    ],
    [
      'a host list with a null',
      ingress({ tls: [{ hosts: [null] }] }),
      'error spec.tls[0].hosts[0]: The value is nothing; a string is expected',
    ],
    [
      'a name with capitals',
      ingress({}, { name: 'Web' }),
      'error metadata.name: "Web" is no DNS name: lower-case letters, digits and "-"',
    ],
    ['no name', ingress({}, { name: undefined }), 'error metadata.name: A name is required'],
    [
      'a time that is none',
      ingress({}, { creationTimestamp: 'yesterday' }),
      'error metadata.creationTimestamp: "yesterday" is no time such as "2026-03-01T12:00:00Z"',
    ],
  ])('refuses %s', (_, raw, problem) => {
    expect(problemsOf(raw)).toEqual([problem]);
    expect(decode(raw)).toMatchObject({ invalid: true, objects: [] });
  });

  it('names unknown fields, and serves the rest', () => {
    const raw = withBackend({ service: { name: 'web', port: { number: 80 } }, serviceName: 'web' });
    expect(problemsOf(raw)).toEqual([
      'warning spec.rules[0].http.paths[0].backend.serviceName: No such field; it is ignored (known here: service, resource)',
    ]);
    expect(decode(raw).objects).toHaveLength(1);
  });

  it.each(['extensions/v1beta1', 'networking.k8s.io/v1beta1'])('of %s is not served', (apiVersion) => {
    const decoded = decode({ ...ingress({}), apiVersion });
    expect(decoded).toMatchObject({ invalid: true, objects: [], problems: [{ code: 'IngressApiVersionOld' }] });
    expect(decoded.ref?.name).toBe('web');
  });

  it('survives names that mean something to JavaScript', () => {
    const annotations = JSON.parse('{"__proto__": "x", "constructor": "y"}') as object;
    const [object] = decode(ingress({}, { annotations })).objects;
    expect(Object.entries((object as { annotations: object }).annotations)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
    expect(decode({ ...ingress({}), kind: 'constructor' }).objects).toEqual([]);
    expect(decode({ ...ingress({}), apiVersion: 'toString' }).objects).toEqual([]);
  });
});

describe('Service, Secret, ConfigMap, IngressClass', () => {
  it('reads Services', () => {
    const spec = {
      type: 'ClusterIP',
      clusterIP: 'None',
      selector: { app: 'web' },
      ports: [
        { name: 'http', port: 80, targetPort: 'web' },
        { port: 81, targetPort: 0, protocol: 'UDP' },
        { port: 82 },
      ],
    };
    expect(decode({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, spec }).objects).toMatchObject([
      {
        type: 'ClusterIP',
        clusterIP: 'None',
        ports: [
          { name: 'http', port: 80, targetPort: 'web', protocol: 'TCP' },
          { port: 81, protocol: 'UDP' },
          { port: 82, protocol: 'TCP' },
        ],
      },
    ]);
  });

  it('reads where traffic should stay', () => {
    const raw = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } };
    expect(decode({ ...raw, spec: { trafficDistribution: 'PreferClose' } }).objects).toMatchObject([
      { trafficDistribution: 'PreferClose' },
    ]);
    expect(problemsOf({ ...raw, spec: { trafficDistribution: 1 } })).toEqual([
      'error spec.trafficDistribution: 1 is a number; a string (in quotes) is expected',
    ]);
  });

  it('merges stringData into data', () => {
    const raw = { data: { a: 'YWJj', b: 'YW\nJj\n' }, stringData: { a: 'text' } };
    const secret = decode({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, ...raw }).objects[0];
    const bytes = (text: string) => new TextEncoder().encode(text);
    expect(secret).toEqual(expect.objectContaining({ type: 'Opaque', data: { a: bytes('text'), b: bytes('abc') } }));
  });

  it.each(['abc', 'ab=c', 'YWJj YWJj', 'ÄÄÄÄ', 5, { x: 'hunter2' }])('refuses %j as base64 without showing it', (a) => {
    const raw = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { a }, stringData: { b: 7777 } };
    const [problem, other] = problemsOf(raw);
    expect(problem).toMatch(/^error data\.a: The value is /);
    expect(other).toBe('error stringData.b: The value is a number; a string (in quotes) is expected');
  });

  it('reads ConfigMaps, also values without quotes, and refuses values that are no text', () => {
    const raw = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } };
    expect(decode({ ...raw, data: { a: '1' }, binaryData: { b: 'AA==' } }).objects).toMatchObject([
      { data: { a: '1' } },
    ]);
    expect(decode({ ...raw, data: { a: true, b: 8 } }).objects).toMatchObject([{ data: { a: 'true', b: '8' } }]);
    expect(problemsOf({ ...raw, data: { a: true } })).toEqual([
      'warning data.a: The value true is not text, so that no cluster takes it; it counts as "true", and belongs in quotes',
    ]);
    expect(problemsOf({ ...raw, data: { a: ['x'] } })).toEqual([
      'error data.a: The value is a list; a string is expected',
    ]);
  });

  it('reads IngressClasses, which have no namespace', () => {
    const raw = { kind: 'IngressClass', metadata: { name: 'nginx', namespace: 'x' }, spec: { controller: 'a.b/c' } };
    expect(decode({ ...raw, apiVersion: 'networking.k8s.io/v1' }).objects).toMatchObject([
      { namespace: '', name: 'nginx', controller: 'a.b/c' },
    ]);
    expect(problemsOf({ ...raw, apiVersion: 'networking.k8s.io/v1beta1' })).toHaveLength(1);
  });

  it.each([
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata: 5 },
    { apiVersion: 'networking.internal.knative.dev/v1alpha1', kind: 'Ingress' },
    undefined,
    null,
    'text',
    [{ kind: 'Ingress' }],
    { kind: 7 },
  ])('ignores %j', (raw) => {
    expect(decode(raw)).toEqual({ objects: [], problems: [], invalid: false });
  });

  it('tells of misspelt metadata, which may have been to protect something', () => {
    const [problem] = problemsOf(ingress({}, { anotations: { a: 'b' } }));
    expect(problem).toMatch(/^warning metadata\.anotations: No such field; .*annotations/);
    const known = {
      labels: {},
      annotations: {},
      finalizers: [],
      ownerReferences: [],
      managedFields: [],
      generation: 1,
    };
    expect(problemsOf(ingress({}, known))).toEqual([]);
  });

  it('asks for the apiVersion of a kind that it knows', () => {
    expect(problemsOf({ kind: 'Service', metadata: { name: 'a' } })).toEqual([
      'error apiVersion: The value is no apiVersion; a Service needs one',
    ]);
  });
});

describe('endpoints', () => {
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
  };

  it('reads EndpointSlices with canonical addresses', () => {
    const raw = {
      ...slice,
      addressType: 'IPv6',
      ports: [{ name: 'http', port: 3000 }, { name: '' }],
      endpoints: [
        { addresses: ['2001:DB8:0::1'], conditions: { ready: false, serving: true, terminating: true }, zone: 'a' },
        { addresses: ['::1'] },
      ],
    };
    expect(decode(raw).objects).toMatchObject([
      {
        service: 'web',
        addressType: 'IPv6',
        ports: [
          { name: 'http', port: 3000, protocol: 'TCP' },
          { name: '', protocol: 'TCP' },
        ],
        endpoints: [
          { addresses: ['2001:db8::1'], ready: false, serving: true, terminating: true, zone: 'a' },
          { addresses: ['::1'], ready: true },
        ],
      },
    ]);
  });

  it('reads hints for zones', () => {
    const endpoints = [
      { addresses: ['10.0.0.1'], hints: { forZones: [{ name: 'a' }, { name: 'b' }] } },
      { addresses: ['10.0.0.2'], hints: { forZones: [] } },
    ];
    const [decoded] = decode({ ...slice, addressType: 'IPv4', endpoints }).objects;
    expect(decoded).toMatchObject({ endpoints: [{ forZones: ['a', 'b'] }, { addresses: ['10.0.0.2'] }] });
    expect((decoded as unknown as { endpoints: object[] }).endpoints[1]).not.toHaveProperty('forZones');
    const wrong = [{ addresses: ['10.0.0.1'], hints: { forZones: [{ zone: 'a' }] } }];
    expect(problemsOf({ ...slice, addressType: 'IPv4', endpoints: wrong })).toEqual([
      'error endpoints[0].hints.forZones[0].name: A value is required',
    ]);
  });

  it('reads the zone of v1beta1', () => {
    const endpoints = [{ addresses: ['10.0.0.1'], topology: { 'topology.kubernetes.io/zone': 'z' } }];
    const raw = { ...slice, apiVersion: 'discovery.k8s.io/v1beta1', addressType: 'IPv4', endpoints };
    expect(decode(raw).objects).toMatchObject([{ endpoints: [{ zone: 'z' }] }]);
  });

  it.each([
    ['IPv4', '010.0.0.1'],
    ['IPv4', '127.1'],
    ['IPv4', '::1'],
    ['IPv4', 'web.example.com'],
    ['IPv6', 'fe80::1%eth0'],
    ['IPv6', '10.0.0.1'],
  ])('refuses the %s address %s', (addressType, address) => {
    expect(problemsOf({ ...slice, addressType, endpoints: [{ addresses: [address] }] })).toEqual([
      `error endpoints[0].addresses[0]: "${address}" is no ${addressType} address`,
    ]);
  });

  it('leaves out slices of names, and says so', () => {
    const decoded = decode({ ...slice, addressType: 'FQDN', endpoints: [{ addresses: ['a.example.com'] }] });
    expect(decoded).toMatchObject({ invalid: false, objects: [], problems: [{ code: 'AddressTypeUnsupported' }] });
  });

  it('makes slices of Endpoints, one per subset and address family', () => {
    const subsets = [
      {
        addresses: [{ ip: '10.0.0.1' }, { ip: 'FD00::1' }],
        notReadyAddresses: [{ ip: '10.0.0.2' }],
        ports: [{ name: 'http', port: 80 }],
      },
      { addresses: [{ ip: '10.0.0.3' }], ports: [{ port: 81 }] },
    ];
    const { objects, ref } = decode({ apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'web' }, subsets });
    expect(ref).toEqual({ kind: 'Endpoints', namespace: 'default', name: 'web' });
    expect(objects).toMatchObject([
      {
        name: 'web~0',
        service: 'web',
        addressType: 'IPv4',
        ports: [{ name: 'http', port: 80 }],
        endpoints: [
          { addresses: ['10.0.0.1'], ready: true },
          { addresses: ['10.0.0.2'], ready: false },
        ],
      },
      { name: 'web~1', addressType: 'IPv6', endpoints: [{ addresses: ['fd00::1'], ready: true }] },
      { name: 'web~2', addressType: 'IPv4', ports: [{ name: '', port: 81 }] },
    ]);
    expect(decodedOwner({ kind: 'EndpointSlice', namespace: 'default', name: 'web~1' })).toEqual(ref);
  });
});

describe('expandLists', () => {
  it('finds the items of lists in lists, with their paths', () => {
    const value = {
      kind: 'List',
      items: [{ kind: 'Service' }, { kind: 'IngressList', apiVersion: 'v', items: [{ spec: 1 }, 'x'] }],
    };
    expect(expandLists(value)).toEqual([
      { path: 'items[0]', value: { kind: 'Service' } },
      { path: 'items[1].items[0]', value: { apiVersion: 'v', kind: 'Ingress', spec: 1 } },
      { path: 'items[1].items[1]', value: 'x' },
    ]);
    expect(expandLists(5)).toEqual([{ path: '', value: 5 }]);
  });
});

describe('any manifest', () => {
  const kinds = [
    ['networking.k8s.io/v1', 'Ingress'],
    ['extensions/v1beta1', 'Ingress'],
    ['networking.k8s.io/v1', 'IngressClass'],
    ['v1', 'Service'],
    ['v1', 'Secret'],
    ['v1', 'ConfigMap'],
    ['v1', 'Endpoints'],
    ['discovery.k8s.io/v1', 'EndpointSlice'],
  ];
  const names =
    'metadata name spec rules http paths backend service port number tls hosts ports data subsets addresses';
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 6, withCrossShrink: true },
      fc.constantFrom<unknown>(null, true, 80, -1, '', 'web', '10.0.0.1'),
      fc.array(tie('value'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom(...names.split(' '), '__proto__'), tie('value'), { maxKeys: 4 }),
    ),
  }));

  it('gives objects, or says why not', () => {
    fc.assert(
      fc.property(fc.constantFrom(...kinds), value, value, value, ([apiVersion, kind], metadata, spec, data) => {
        const raw = { apiVersion, kind, metadata, spec, data, subsets: spec, endpoints: data, addressType: 'IPv4' };
        const { objects, problems, invalid } = decode(raw);
        expect(invalid).toBe(problems.some(({ severity }) => severity === 'error'));
        if (invalid) expect(objects).toEqual([]);
        else if (kind !== 'Endpoints') expect(objects).toHaveLength(1);
      }),
      { numRuns: 2000 },
    );
  });
});
