import type { StandsInFor } from './proxy-model.ts';
import type { Template } from './template.ts';

/** What ingress-nginx tells a backend that stands in for another. */
export function standInHeaders({
  namespace,
  ingress,
  service,
  port,
}: StandsInFor): readonly (readonly [name: string, value: Template])[] {
  return [
    ['X-Code', ['503']],
    ['X-Format', [{ variable: 'http', argument: 'accept' }]],
    ['X-Namespace', [namespace]],
    ['X-Ingress-Name', [ingress]],
    ['X-Service-Name', [service]],
    ['X-Service-Port', [port]],
  ];
}
