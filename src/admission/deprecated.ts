import type { Ingress } from '../cluster/objects.ts';

/** Annotations that ingress-nginx itself gave up, with what took their place. A trailing `*` stands for any ending. */
const DEPRECATED: readonly (readonly [name: string, advice: string])[] = [
  ['secure-backends', 'use backend-protocol: "HTTPS"'],
  ['grpc-backend', 'use backend-protocol: "GRPC"'],
  ['ssl-services', 'use backend-protocol: "HTTPS"'],
  ['secure-verify-ca-secret', 'use proxy-ssl-secret and proxy-ssl-verify'],
  ['add-base-url', 'nothing took its place'],
  ['base-url-scheme', 'nothing took its place'],
  ['enable-influxdb', 'use the metrics of the controller'],
  ['influxdb-*', 'use the metrics of the controller'],
  ['enable-opentracing', 'use enable-opentelemetry'],
  ['opentracing-*', 'use the annotations of OpenTelemetry'],
  ['global-rate-limit*', 'use limit-rps or limit-rpm, which count per proxy'],
];

/** What to tell about annotations that are no longer known. `prefix` is without its slash. */
export function* deprecatedAnnotations({ annotations }: Ingress, prefix: string): Iterable<string> {
  for (const key of Object.keys(annotations)) {
    if (!key.startsWith(`${prefix}/`)) continue;
    const name = key.slice(prefix.length + 1);
    const advice = DEPRECATED.find(([pattern]) => matches(pattern, name))?.[1];
    if (advice !== undefined) yield `annotation ${key} was removed from ingress-nginx and has no effect: ${advice}`;
  }
}

function matches(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}
