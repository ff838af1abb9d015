/** Annotations that ingress-nginx itself gave up, with what took their place. A trailing `*` stands for any ending. */
const LEGACY: readonly (readonly [name: string, advice: string])[] = [
  ['secure-backends', 'use backend-protocol: "HTTPS"'],
  ['grpc-backend', 'use backend-protocol: "GRPC"'],
  ['ssl-services', 'use backend-protocol: "HTTPS"'],
  ['websocket-services', 'WebSocket is served on every path'],
  ['secure-verify-ca-secret', 'use proxy-ssl-secret and proxy-ssl-verify'],
  ['session-cookie-hash', 'nothing took its place'],
  ['add-base-url', 'nothing took its place'],
  ['base-url-scheme', 'nothing took its place'],
  ['enable-influxdb', 'use the metrics of the controller'],
  ['influxdb-*', 'use the metrics of the controller'],
  ['enable-opentracing', 'use enable-opentelemetry'],
  ['opentracing-*', 'use the annotations of OpenTelemetry'],
  ['global-rate-limit*', 'use limit-rps or limit-rpm, which count per proxy'],
];

/** What to use in place of an annotation that is no longer known; `undefined` for a name that never was. */
export function legacyAdvice(name: string): string | undefined {
  return LEGACY.find(([pattern]) => matches(pattern, name))?.[1];
}

function matches(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}
