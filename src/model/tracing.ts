/** Traces in the sense of OpenTelemetry: what a request is part of, across all services that it reaches. */
import type { ObjectKey } from './object-ref.ts';
import type { Template } from './template.ts';

/** What holds for all spans. Which requests have one, routes say. */
export interface TracingSettings {
  readonly collector: Collector;
  /** The attribute `service.name`. */
  readonly serviceName: string;
  /** Whether a request continues the trace that it names; else it begins one. */
  readonly trustsContext: boolean;
  readonly sampler: Sampler;
  /** More spans do not wait to be sent; at least 1. */
  readonly maxQueuedSpans: number;
}

/** Takes spans as OTLP over gRPC, without TLS. `host`: a DNS name in lower case, or an address in canonical form. */
export interface Collector {
  readonly host: string;
  readonly port: number;
}

/** Of which requests spans are sent. */
export interface Sampler {
  /** From 0, none, to 1, all: the part of the traces, chosen by their ids. */
  readonly ratio: number;
  /** A request that continues a trace is part of it exactly if what came before is; the ratio is for the others. */
  readonly parentBased: boolean;
}

/** Requests of a route have a span, and backends are told of it. */
export interface RouteTracing {
  /** The name of the span. */
  readonly operation: Template;
  /** Absent where no Ingress made the route. */
  readonly ingress?: ObjectKey;
  /** That which the requests are for, also where a canary takes them. */
  readonly service?: { readonly name: string; readonly port: string };
}
