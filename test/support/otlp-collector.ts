/** A collector of OpenTelemetry: takes spans as OTLP over gRPC, and keeps them. */
import { readFileSync } from 'node:fs';
import {
  Server,
  ServerCredentials,
  type ServiceDefinition,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import descriptor from 'protobufjs/ext/descriptor.js';
import { extractDescriptors } from '../../protos/extract.ts';
import { findEnvoy } from '../../src/envoy/binary.ts';

/** What a span says of itself. Ids are in hexadecimal digits. */
export interface Span {
  readonly name: string;
  readonly kind: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Absent where it began the trace. */
  readonly parentId?: string;
  readonly attributes: Readonly<Record<string, string | number>>;
  /** What sent it. */
  readonly resource: Readonly<Record<string, string | number>>;
  readonly failed: boolean;
}

export interface OtlpCollector {
  readonly port: number;
  /** All so far, in the order in which they came. */
  readonly spans: readonly Span[];
  /** Names of hosts that it was called by. */
  readonly authorities: ReadonlySet<string>;
  close(): Promise<void>;
}

export interface CollectorBehaviour {
  /** Takes what it gets, answers nothing. */
  readonly silent?: boolean;
  /** Refuses what it gets. */
  readonly refuses?: boolean;
  /** 0 for any that is free. */
  readonly port?: number;
}

const EXPORT = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';

export async function startCollector(behaviour: CollectorBehaviour = {}): Promise<OtlpCollector> {
  const { request, response } = await schema();
  const spans: Span[] = [];
  const authorities = new Set<string>();
  const server = new Server();
  const service = {
    Export: {
      path: EXPORT,
      requestStream: false,
      responseStream: false,
      requestSerialize: (value: Buffer) => value,
      requestDeserialize: (bytes: Buffer) => request.toObject(request.decode(bytes), TO_OBJECT) as ExportRequest,
      responseSerialize: (value: object) => Buffer.from(response.encode(value).finish()),
      responseDeserialize: (bytes: Buffer) => response.decode(bytes),
    },
  } satisfies ServiceDefinition;
  const implementation: UntypedServiceImplementation = {
    Export: (
      call: { readonly request: ExportRequest; getHost(): string },
      answer: (error: object | null, value?: object) => void,
    ) => {
      authorities.add(call.getHost());
      if (behaviour.silent) return;
      if (behaviour.refuses) return answer({ code: status.UNAVAILABLE, details: 'no' });
      spans.push(...spansOf(call.request));
      answer(null, {});
    },
  };
  server.addService(service, implementation);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.bindAsync(`127.0.0.1:${behaviour.port ?? 0}`, ServerCredentials.createInsecure(), (error, port) =>
    error === null ? resolve(port) : reject(error),
  );
  const port = await promise;
  return {
    port,
    spans,
    authorities,
    close: async () => server.forceShutdown(),
  };
}

/** The messages of OTLP, which Envoy's binary carries. */
async function schema() {
  const { path } = await findEnvoy();
  const writer = protobuf.Writer.create();
  for (const [name, file] of extractDescriptors(readFileSync(path))) {
    if (name.startsWith('opentelemetry/')) writer.uint32((1 << 3) | 2).bytes(file);
  }
  const set = descriptor.FileDescriptorSet.decode(writer.finish());
  const root = (protobuf.Root as unknown as { fromDescriptor(set: unknown): protobuf.Root }).fromDescriptor(set);
  const trace = 'opentelemetry.proto.collector.trace.v1.ExportTrace';
  return {
    request: root.lookupType(`${trace}ServiceRequest`),
    response: root.lookupType(`${trace}ServiceResponse`),
  };
}

const TO_OBJECT = { longs: String, enums: String, arrays: true } as const;

type Attributes = readonly {
  readonly key: string;
  readonly value: { readonly string_value?: string; readonly int_value?: string };
}[];

interface SpanMessage {
  readonly name: string;
  readonly kind: string;
  readonly trace_id: Buffer;
  readonly span_id: Buffer;
  readonly parent_span_id?: Buffer;
  readonly attributes: Attributes;
  readonly status?: { readonly code?: string };
}

interface ExportRequest {
  readonly resource_spans: readonly {
    readonly resource?: { readonly attributes: Attributes };
    readonly scope_spans: readonly { readonly spans: readonly SpanMessage[] }[];
  }[];
}

function spansOf({ resource_spans }: ExportRequest): Span[] {
  return resource_spans.flatMap(({ resource, scope_spans }) =>
    scope_spans.flatMap(({ spans }) =>
      spans.map(({ name, kind, trace_id, span_id, parent_span_id, attributes, status: end }) => ({
        name,
        kind,
        traceId: trace_id.toString('hex'),
        spanId: span_id.toString('hex'),
        ...(parent_span_id?.length && { parentId: parent_span_id.toString('hex') }),
        attributes: read(attributes),
        resource: read(resource?.attributes ?? []),
        failed: end?.code === 'STATUS_CODE_ERROR',
      })),
    ),
  );
}

function read(attributes: Attributes): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value: { string_value, int_value } }) => [
      key,
      int_value === undefined ? (string_value ?? '') : Number(int_value),
    ]),
  );
}
