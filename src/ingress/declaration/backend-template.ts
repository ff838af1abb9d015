import type { IngressBackend } from '../../cluster/objects.ts';
import type { Template, TemplatePart } from '../../model/template.ts';
import type { Decoded } from './codec.ts';
import { parseTemplate } from './template.ts';

/** A template that may also name the Ingress or the backend of a path. */
export type BackendTemplate = readonly (TemplatePart | BackendVariable)[];

interface BackendVariable {
  readonly backend: (typeof NAMES)[number];
}

const NAMES = ['namespace', 'ingress_name', 'service_name', 'service_port'] as const;

export function parseBackendTemplate(text: string): Decoded<BackendTemplate> {
  const parts: BackendTemplate[number][] = [];
  for (const piece of text.split(/(\$(?:\{(?:\w+)\}|\w+))/)) {
    const name = /^\$\{?(\w+)\}?$/.exec(piece)?.[1];
    const backend = NAMES.find((one) => one === name);
    const parsed = backend === undefined ? parseTemplate(piece) : { value: [{ backend }] };
    if ('reason' in parsed) return parsed;
    parts.push(...parsed.value);
  }
  return { value: parts };
}

/** The template for one path. Text that stands side by side is one part. */
export function forBackend(
  template: BackendTemplate,
  ingress: { readonly namespace: string; readonly name: string },
  backend: IngressBackend | undefined,
): Template {
  const { name = '', port } = backend?.service ?? {};
  const values: Readonly<Record<(typeof NAMES)[number], string>> = {
    namespace: ingress.namespace,
    ingress_name: ingress.name,
    service_name: name,
    service_port: String(port?.number ?? port?.name ?? ''),
  };
  const parts: TemplatePart[] = [];
  for (const one of template) {
    const part = typeof one === 'object' && 'backend' in one ? values[one.backend] : one;
    const last = parts.at(-1);
    if (typeof part === 'string' && typeof last === 'string') parts.splice(-1, 1, last + part);
    else parts.push(part);
  }
  return parts;
}
