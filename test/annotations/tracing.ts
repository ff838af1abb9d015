import { observe, startServices } from '../envoy/behaviour/cases.ts';
import type { Exchange, Ports } from '../parity/table.ts';
import { poll } from '../support/gateway.ts';
import { configMap, ingress } from '../support/manifests.ts';
import { type OtlpCollector, type Span, startCollector } from '../support/otlp-collector.ts';
import { type AnnotationTable, annotated } from './table.ts';

const DOMAIN = 'traces.example.com';

interface Request {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Its first eight bytes, from the last on, are 400,000: in the lower half of a million. */
const IN_HALF = `801a06${'0'.repeat(26)}`;

/** What is seen of a request on both sides of it. */
interface Seen {
  /** Attributes of its span, and `name`, `failed`, `service.name`; absent where the collector has none. */
  readonly span?: Readonly<Record<string, unknown>>;
  /** The trace that the span belongs to; absent: one that it began. */
  readonly continues?: string;
  /** What its backend is told of the trace: that the span is what it continues, that nothing is sampled, or what the client said. */
  readonly told?: 'the span' | 'not sampled' | 'as it came' | 'nothing';
}

const TRACE = '0af7651916cd43dd8448eb211c80319c';

/** A `traceparent`. */
const partOf = (trace: string, flags: '00' | '01') => ({ traceparent: `00-${trace}-b7ad6b7169203331-${flags}` });
const SAMPLED = partOf(TRACE, '01');
const UNSAMPLED = partOf(TRACE, '00');

/** The requests of one world, with its collector. */
class Traces {
  collector!: OtlpCollector;
  #count = 0;

  /** Sends the request, and says what is seen of it. `attributes`: those that are looked at. */
  async see(ports: Ports, request: Request, attributes: readonly string[]): Promise<Seen> {
    this.#count += 1;
    const url = `${request.url}?request=${this.#count}`;
    const { received } = await observe(ports, { ...request, url });
    const told = received && this.#told(received.headers['traceparent'], request.headers?.['traceparent']);
    const after = await observe(ports, { url: `http://witness.${DOMAIN}/`, headers: SAMPLED });
    const [, , witness, flags] = String(after.received?.headers['traceparent']).split('-');
    // The collector gets spans in their order: one that is not there when a later one is does not come.
    if (witness !== SAMPLED.traceparent.split('-')[2] && flags === '01')
      await this.#span((one) => one.spanId === witness);
    const target = url.slice(url.indexOf('/', 'http://'.length));
    const span = this.collector.spans.find((one) => one.attributes['http.target'] === target);
    return {
      ...(span && { span: pick(span, attributes), ...(span.parentId && { continues: span.traceId }) }),
      ...(told && { told }),
    };
  }

  #told(received: unknown, sent: string | undefined): Seen['told'] {
    if (received === undefined) return 'nothing';
    if (received === sent) return 'as it came';
    return String(received).endsWith('-01') ? 'the span' : 'not sampled';
  }

  #span(wanted: (span: Span) => boolean): Promise<void> {
    return poll(
      () => this.collector.spans.some(wanted),
      () => `the span did not come; there are ${JSON.stringify(this.collector.spans)}`,
    );
  }

  /** A request with a span of which this is said. */
  traced(title: string, request: Request, expected: Seen & { readonly span: object }): Exchange {
    const told = expected.told && (request.headers?.['traceparent'] === undefined ? 'nothing' : 'as it came');
    return {
      title,
      run: (ports) => this.see(ports, request, Object.keys(expected.span)),
      expected,
      differs: 'tracing',
      nginx: told === undefined ? {} : { told },
    };
  }

  /** A request that belongs to a trace and whose span is not sent. */
  unsampled(title: string, request: Request): Exchange {
    return { ...this.traced(title, request, { span: {}, told: 'not sampled' }), expected: { told: 'not sampled' } };
  }

  untraced(title: string, request: Request): Exchange {
    const told = request.headers?.['traceparent'] === undefined ? 'nothing' : 'as it came';
    return { title, run: (ports) => this.see(ports, request, []), expected: { told } };
  }
}

function pick(span: Span, wanted: readonly string[]): Record<string, unknown> {
  const all: Readonly<Record<string, unknown>> = { ...span.attributes, ...span.resource, ...span };
  return Object.fromEntries(wanted.map((name) => [name, all[name]]));
}

function host(name: string, annotations: Readonly<Record<string, string>>, more: object = {}) {
  return ingress({
    name,
    annotations: annotated(annotations),
    rules: [{ host: `${name}.${DOMAIN}`, paths: [{}, { path: '/api' }] }],
    ...more,
  });
}

const ON = { 'enable-opentelemetry': 'true' };

/** Hosts, a collector, and the ConfigMap with this data. */
function table(
  title: string,
  data: (port: number) => Readonly<Record<string, string>>,
  keys: (traces: Traces) => AnnotationTable['keys'],
): AnnotationTable {
  const traces = new Traces();
  return {
    title: `tracing: ${title}`,
    start: async () => {
      const services = await startServices('web');
      const collector = await startCollector();
      traces.collector = collector;
      return {
        close: async () => {
          await services.close();
          await collector.close();
        },
        build: { configMap: 'default/config' },
        manifests: [
          ...services.manifests,
          configMap('config', data(collector.port)),
          host('witness', { ...ON, 'opentelemetry-operation-name': 'witness' }),
          host('plain', {}),
          host('on', ON),
          host('off', { 'enable-opentelemetry': 'false' }),
          host('bad', { 'enable-opentelemetry': 'yes' }),
          host('named', { ...ON, 'opentelemetry-operation-name': 'checkout' }),
          host('misnamed', { ...ON, 'opentelemetry-operation-name': 'a$b' }),
          host('trusting', { ...ON, 'opentelemetry-trust-incoming-span': 'true' }),
          host('distrusting', { ...ON, 'opentelemetry-trust-incoming-span': 'false' }),
          host('unsure', { ...ON, 'opentelemetry-trust-incoming-span': 'maybe' }),
          host('redirected', { ...ON, 'force-ssl-redirect': 'true' }),
          ingress({
            name: 'failing',
            annotations: annotated(ON),
            rules: [{ host: `failing.${DOMAIN}`, paths: [{ service: 'nowhere:80' }] }],
          }),
          host('moved', { ...ON, 'permanent-redirect': 'https://example.com' }),
          ...['shared', 'sharing'].map((name, index) =>
            ingress({
              name,
              annotations: annotated(index === 0 ? ON : {}),
              rules: [{ host: `shared.${DOMAIN}`, paths: [{ path: `/${name}` }] }],
            }),
          ),
          ingress({
            name: 'rewritten',
            annotations: annotated({ ...ON, 'rewrite-target': '/new/$1', 'use-regex': 'true' }),
            rules: [
              {
                host: `rewritten.${DOMAIN}`,
                paths: [{ path: '/old/(.*)', pathType: 'ImplementationSpecific' }],
              },
            ],
          }),
        ],
      };
    },
    keys: keys(traces),
  };
}

const at = (name: string, path = '/', headers?: Request['headers']): Request => ({
  url: `http://${name}.${DOMAIN}${path}`,
  ...(headers && { headers }),
});

const collectorAt = (port: number) => ({ 'otlp-collector-host': '127.0.0.1', 'otlp-collector-port': String(port) });

export const tracingTables: readonly AnnotationTable[] = [
  table('where an Ingress asks for it', collectorAt, (traces) => ({
    'enable-opentelemetry': {
      good: [
        traces.traced('a span says what the request was', at('on', '/api/x', { 'user-agent': 'browser' }), {
          span: {
            kind: 'SPAN_KIND_SERVER',
            failed: false,
            'http.method': 'GET',
            'http.flavor': '1.1',
            'http.host': `on.${DOMAIN}`,
            'http.server_name': `on.${DOMAIN}`,
            'http.scheme': 'http',
            'http.user_agent': 'browser',
            'http.status_code': 200,
            'net.peer.ip': '127.0.0.1',
            'ingress.namespace': 'default',
            'ingress.name': 'on',
            'ingress.service_name': 'web',
            'ingress.service_port': '80',
          },
          told: 'the span',
        }),
        traces.traced('it continues the trace of the request', at('on', '/', SAMPLED), {
          span: { 'http.status_code': 200 },
          continues: TRACE,
          told: 'the span',
        }),
        traces.untraced('not where it is off', at('off', '/', SAMPLED)),
      ],
      bad: [traces.untraced('the default holds', at('bad'))],
      default: [
        traces.untraced('backends are told nothing', at('plain')),
        traces.untraced('or what the client said', at('plain', '/', SAMPLED)),
        traces.untraced('whatever it is', at('plain', '/', { traceparent: 'anything' })),
      ],
      neighbours: [
        traces.traced('what cannot be read begins a trace', at('on', '/', { traceparent: 'anything' }), {
          span: { name: '/' },
          told: 'the span',
        }),
        traces.traced('so does a trace without an id', at('on', '/', partOf('0'.repeat(32), '01')), {
          span: { name: '/' },
          told: 'the span',
        }),
        traces.traced('the id of a request may be any', at('on', '/', { 'x-request-id': 'zzz' }), {
          span: { 'guid:x-request-id': 'zzz' },
          told: 'the span',
        }),
        traces.unsampled('clients cannot force it', at('on', '/', { ...UNSAMPLED, 'x-client-trace-id': 'x' })),
        traces.untraced(
          'nor bring it about',
          at('plain', '/', { 'x-client-trace-id': 'x', 'x-envoy-force-trace': 'x' }),
        ),
        traces.traced('on a host of several Ingresses its paths', at('shared', '/shared'), {
          span: { 'ingress.name': 'shared' },
          told: 'the span',
        }),
        traces.untraced('not those of the others', at('shared', '/sharing', SAMPLED)),
        traces.traced('a redirect to https', at('redirected'), { span: { 'http.status_code': 308, name: '/' } }),
        traces.traced('an answer that says that the proxy has failed', at('failing'), {
          span: { 'http.status_code': 503, failed: true },
        }),
        traces.traced('another redirect', at('moved'), { span: { 'http.status_code': 301, name: '/' } }),
        traces.traced('the path before a rewrite', at('rewritten', '/old/x'), {
          span: { name: '/old/(.*)', 'ingress.name': 'rewritten' },
          told: 'the span',
        }),
      ],
    },
    'opentelemetry-operation-name': {
      good: [traces.traced('the name', at('named'), { span: { name: 'checkout' }, told: 'the span' })],
      bad: [{ url: `http://misnamed.${DOMAIN}/`, status: 404 }],
      default: [
        traces.traced('the path of the Ingress', at('on', '/api/x'), { span: { name: '/api' }, told: 'the span' }),
      ],
    },
    'opentelemetry-trust-incoming-span': {
      good: [
        traces.traced('as the ConfigMap says', at('trusting', '/', SAMPLED), {
          span: {},
          continues: TRACE,
          told: 'the span',
        }),
        traces.traced('also otherwise', at('distrusting', '/', SAMPLED), {
          span: {},
          continues: TRACE,
          told: 'the span',
        }),
      ],
      bad: [
        traces.traced('the default holds', at('unsure', '/', SAMPLED), {
          span: {},
          continues: TRACE,
          told: 'the span',
        }),
      ],
      default: [traces.traced('it is', at('on', '/', SAMPLED), { span: {}, continues: TRACE, told: 'the span' })],
    },
    'ConfigMap otlp-collector-host': {
      good: [traces.traced('an address', at('on'), { span: { name: '/' }, told: 'the span' })],
      default: [],
    },
    'ConfigMap otlp-collector-port': {
      good: [traces.traced('another than 4317', at('on'), { span: { name: '/' }, told: 'the span' })],
      default: [],
    },
    'ConfigMap enable-opentelemetry': { good: [], default: [traces.untraced('nothing', at('plain'))] },
    'ConfigMap otel-service-name': {
      good: [],
      default: [
        traces.traced('that of ingress-nginx', at('on'), { span: { 'service.name': 'nginx' }, told: 'the span' }),
      ],
    },
    'ConfigMap opentelemetry-operation-name': {
      good: [],
      default: [traces.traced('the path', at('on'), { span: { name: '/' }, told: 'the span' })],
    },
    'ConfigMap opentelemetry-trust-incoming-span': {
      good: [],
      default: [traces.traced('it is', at('on', '/', SAMPLED), { span: {}, continues: TRACE, told: 'the span' })],
    },
    'ConfigMap otel-sampler': {
      good: [],
      default: [traces.traced('all', at('on'), { span: {}, told: 'the span' })],
    },
    'ConfigMap otel-sampler-parent-based': {
      good: [],
      default: [traces.unsampled('as what came before', at('on', '/', UNSAMPLED))],
    },
    ...Object.fromEntries(
      ['opentelemetry-config', 'otel-max-queuesize', 'otel-schedule-delay-millis', 'otel-max-export-batch-size'].map(
        (key) => [
          `ConfigMap ${key}`,
          { good: [], default: [traces.traced('spans are sent', at('on'), { span: {}, told: 'the span' })] },
        ],
      ),
    ),
  })),
  table(
    'for all',
    (port) => ({
      ...collectorAt(port),
      'enable-opentelemetry': 'true',
      'opentelemetry-trust-incoming-span': 'false',
      'opentelemetry-operation-name': 'HTTP $request_method $service_name $uri 100%',
      'opentelemetry-config': '/nowhere/opentelemetry.toml',
      'otel-service-name': 'edge',
      'otel-max-queuesize': '4096',
      'otel-schedule-delay-millis': '1000',
      'otel-max-export-batch-size': '1024',
      'generate-request-id': 'false',
    }),
    (traces) => {
      const named = traces.traced('a span with a name of parts', at('plain', '/api/x'), {
        span: { name: 'HTTP GET web /api/x 100%', 'service.name': 'edge', 'ingress.name': 'plain' },
        told: 'the span',
      });
      return {
        'enable-opentelemetry': {
          good: [traces.untraced('off for one', at('off', '/', SAMPLED))],
          default: [named],
          neighbours: [
            {
              title: 'no id is made for backends',
              run: async (ports) => (await observe(ports, at('on'))).received?.headers['x-request-id'],
              expected: undefined,
            },
          ],
        },
        'ConfigMap enable-opentelemetry': {
          good: [
            named,
            traces.traced(
              'also what nobody takes',
              { url: 'http://nobody.example.org/' },
              {
                span: { 'http.status_code': 404, 'http.server_name': '_', 'ingress.name': undefined },
              },
            ),
          ],
          default: [],
        },
        'ConfigMap opentelemetry-operation-name': { good: [named], default: [] },
        'opentelemetry-operation-name': {
          good: [traces.traced('its own name', at('named'), { span: { name: 'checkout' }, told: 'the span' })],
          default: [],
        },
        'ConfigMap opentelemetry-trust-incoming-span': {
          good: [
            traces.traced('each begins a trace', at('plain', '/', SAMPLED), { span: {}, told: 'the span' }),
            traces.traced('also one that would not be sampled', at('plain', '/', UNSAMPLED), {
              span: {},
              told: 'the span',
            }),
          ],
          default: [],
        },
        'opentelemetry-trust-incoming-span': {
          good: [traces.traced('as the ConfigMap says', at('trusting', '/', SAMPLED), { span: {}, told: 'the span' })],
          default: [],
        },
        ...Object.fromEntries(
          [
            'otel-service-name',
            'opentelemetry-config',
            'otel-max-queuesize',
            'otel-schedule-delay-millis',
            'otel-max-export-batch-size',
          ].map((key) => [`ConfigMap ${key}`, { good: [named], default: [] }]),
        ),
      };
    },
  ),
  table(
    'a part, by the ids of traces',
    (port) => ({
      ...collectorAt(port),
      'otel-sampler': 'TraceIdRatioBased',
      'otel-sampler-ratio': '0.5',
      'otel-sampler-parent-based': 'false',
    }),
    (traces) => {
      const few = traces.traced('an id of the part', at('on', '/', partOf(IN_HALF, '00')), {
        span: {},
        continues: IN_HALF,
        told: 'the span',
      });
      const others = traces.unsampled('others are not', at('on', '/', partOf('f'.repeat(32), '01')));
      return Object.fromEntries(
        ['otel-sampler', 'otel-sampler-ratio', 'otel-sampler-parent-based'].map((key) => [
          `ConfigMap ${key}`,
          { good: [few, others], default: [] },
        ]),
      );
    },
  ),
  table(
    'none that begins here',
    (port) => ({ ...collectorAt(port), 'otel-sampler': 'AlwaysOff' }),
    (traces) => ({
      'ConfigMap otel-sampler': {
        good: [
          traces.unsampled('not what begins here', at('on')),
          traces.traced('what is part of another', at('on', '/', SAMPLED), {
            span: {},
            continues: TRACE,
            told: 'the span',
          }),
        ],
        default: [],
      },
      'ConfigMap otel-sampler-ratio': { good: [], default: [traces.unsampled('says nothing here', at('on'))] },
    }),
  ),
  table(
    'unreadable',
    (port) => ({
      ...collectorAt(port),
      'enable-opentelemetry': 'yes',
      'opentelemetry-trust-incoming-span': 'maybe',
      'opentelemetry-operation-name': '$no_such_variable',
      'otel-sampler': 'Sometimes',
      'otel-sampler-ratio': '1.5',
      'otel-sampler-parent-based': 'maybe',
      'otel-max-queuesize': '0',
      'otel-schedule-delay-millis': '5s',
      'otel-max-export-batch-size': 'many',
    }),
    (traces) => ({
      'ConfigMap enable-opentelemetry': {
        good: [],
        bad: [traces.untraced('the default holds', at('plain'))],
        default: [],
      },
      ...Object.fromEntries(
        [
          'opentelemetry-trust-incoming-span',
          'opentelemetry-operation-name',
          'otel-sampler',
          'otel-sampler-ratio',
          'otel-sampler-parent-based',
          'otel-max-queuesize',
          'otel-schedule-delay-millis',
          'otel-max-export-batch-size',
        ].map((key) => [
          `ConfigMap ${key}`,
          {
            good: [],
            bad: [
              traces.traced('the default holds', at('on', '/', SAMPLED), {
                span: { name: '/' },
                continues: TRACE,
                told: 'the span',
              }),
            ],
            default: [],
          },
        ]),
      ),
    }),
  ),
  table(
    'an unreadable collector',
    () => ({
      'enable-opentelemetry': 'true',
      'otlp-collector-host': 'http://collector.example.com',
      'otlp-collector-port': '0',
    }),
    (traces) => ({
      'ConfigMap otlp-collector-host': { good: [], bad: [traces.untraced('nothing is traced', at('on'))], default: [] },
      'ConfigMap otlp-collector-port': { good: [], bad: [traces.untraced('nothing is traced', at('on'))], default: [] },
    }),
  ),
  table(
    'without a collector',
    () => ({ 'enable-opentelemetry': 'true' }),
    (traces) => ({
      'ConfigMap otlp-collector-host': {
        good: [],
        default: [traces.untraced('nothing is traced', at('on', '/', SAMPLED))],
      },
      'ConfigMap otlp-collector-port': { good: [], default: [traces.untraced('nothing is traced', at('plain'))] },
    }),
  ),
];
