/** Targets of redirects that are whole URLs. */
import type { CapturingTemplate } from './proxy-model.ts';
import type { TemplatePart, VariableName } from './template.ts';

export interface UrlTemplate {
  /** Absent: that of the request. */
  readonly scheme?: string;
  readonly authority: readonly CapturingTemplate[number][];
  /** Begins with `/`, or is empty. */
  readonly path: CapturingTemplate;
}

/** `undefined` for what nginx takes for a path. */
export function urlTemplate(target: CapturingTemplate): UrlTemplate | undefined {
  const [first, second, ...others] = target;
  if (typeof first === 'string') {
    const [, scheme, rest] = /^(https?):\/\/(.*)$/.exec(first) ?? [];
    if (scheme === undefined || rest === undefined) return undefined;
    return { scheme, ...split([rest, ...target.slice(1)]) };
  }
  if (first === undefined || !('variable' in first) || first.variable !== 'scheme') return undefined;
  if (typeof second !== 'string' || !second.startsWith('://')) return { authority: [first], path: target.slice(1) };
  return split([second.slice('://'.length), ...others]);
}

function split(rest: CapturingTemplate): Pick<UrlTemplate, 'authority' | 'path'> {
  const index = rest.findIndex((part) => typeof part === 'string' && part.includes('/'));
  if (index < 0) return { authority: rest.filter((part) => part !== ''), path: [] };
  const part = String(rest[index]);
  const slash = part.indexOf('/');
  return {
    authority: [...rest.slice(0, index), part.slice(0, slash)].filter((piece) => piece !== ''),
    path: [part.slice(slash), ...rest.slice(index + 1)],
  };
}

export interface HostAndPort {
  /** Absent: that of the request. */
  readonly host?: string;
  readonly port?: number;
}

/** A host, or that of the request, with a port or without; `undefined` for what is known only with a request. */
export function hostAndPort(authority: UrlTemplate['authority']): HostAndPort | undefined {
  const [first, second = '', ...others] = authority;
  if (others.length > 0 || typeof second !== 'string') return undefined;
  if (typeof first === 'string' && second === '') {
    const [, host, port] = /^([A-Za-z0-9.~_-]+)(?::(\d{1,5}))?$/.exec(first) ?? [];
    return host === undefined ? undefined : { host, ...(port !== undefined && { port: Number(port) }) };
  }
  if (!isRequestHost(first)) return undefined;
  const [, port] = /^(?::(\d{1,5}))?$/.exec(second) ?? ['', 'none'];
  if (port === 'none') return undefined;
  return port === undefined ? {} : { port: Number(port) };
}

function isRequestHost(part: CapturingTemplate[number] | undefined): part is TemplatePart {
  return typeof part === 'object' && 'variable' in part && REQUEST_HOSTS.has(part.variable);
}

const REQUEST_HOSTS: ReadonlySet<VariableName> = new Set(['host', 'http_host', 'best_http_host']);
