import {
  type Field,
  isPlainMap,
  isPresent,
  member,
  readList,
  readMap,
  readOneOf,
  readPort,
  readText,
  readTexts,
  refuse,
  requireText,
  warnUnknown,
} from './decode-fields.ts';
import { readAnnotations, TOP_LEVEL } from './decode-meta.ts';
import type {
  Ingress,
  IngressBackend,
  IngressClass,
  IngressPath,
  IngressRule,
  IngressTls,
  ObjectMeta,
} from './objects.ts';

const PATH_TYPES = ['Exact', 'Prefix', 'ImplementationSpecific'];

/** networking.k8s.io/v1. Hosts, paths and whether a backend names anything are judged by the build, per rule. */
export function decodeIngress(root: Field, meta: ObjectMeta): Ingress {
  const spec = member(root, 'spec');
  warnUnknown(root, [...TOP_LEVEL, 'spec', 'status']);
  readMap(spec);
  warnUnknown(spec, ['ingressClassName', 'defaultBackend', 'rules', 'tls']);
  const ingressClassName = readText(member(spec, 'ingressClassName'));
  const defaultBackend = member(spec, 'defaultBackend');
  const loadBalancer = loadBalancerOf(root.value);
  return {
    kind: 'Ingress',
    ...meta,
    annotations: readAnnotations(root),
    ...(ingressClassName !== undefined && { ingressClassName }),
    ...(isPresent(defaultBackend) && { defaultBackend: decodeBackend(defaultBackend) }),
    rules: readList(member(spec, 'rules')).map(decodeRule),
    tls: readList(member(spec, 'tls')).map(decodeTls),
    ...(loadBalancer.length > 0 && { loadBalancer }),
  };
}

/**
 * The addresses of `status.loadBalancer` of an Ingress or a Service as the API server sent it: the IP or the host name of each entry;
 * both, with a space between, where an entry has both. The status is the work of controllers, so nobody is told of odd shapes in it.
 */
export function loadBalancerOf(raw: unknown): readonly string[] {
  const status = isPlainMap(raw) ? raw['status'] : undefined;
  const loadBalancer = isPlainMap(status) ? status['loadBalancer'] : undefined;
  const entries = isPlainMap(loadBalancer) ? loadBalancer['ingress'] : undefined;
  if (!Array.isArray(entries)) return [];
  return entries
    .filter(isPlainMap)
    .map(({ ip, hostname }) => [ip, hostname].filter((part) => typeof part === 'string' && part !== '').join(' '))
    .filter((address) => address !== '');
}

export function decodeIngressClass(root: Field, meta: ObjectMeta): IngressClass {
  return { kind: 'IngressClass', ...meta, controller: requireText(member(member(root, 'spec'), 'controller')) };
}

function decodeRule(rule: Field): IngressRule {
  readMap(rule);
  warnUnknown(rule, ['host', 'http']);
  const host = readText(member(rule, 'host'));
  const http = member(rule, 'http');
  readMap(http);
  warnUnknown(http, ['paths']);
  return { ...(host !== undefined && { host }), paths: readList(member(http, 'paths')).map(decodePath) };
}

function decodePath(field: Field): IngressPath {
  readMap(field);
  warnUnknown(field, ['path', 'pathType', 'backend']);
  const path = readText(member(field, 'path'));
  const backend = member(field, 'backend');
  if (!isPresent(backend)) refuse(backend, 'A backend is required');
  return {
    ...(path !== undefined && { path }),
    pathType: readOneOf(member(field, 'pathType'), PATH_TYPES, 'ImplementationSpecific'),
    backend: decodeBackend(backend),
  };
}

function decodeBackend(field: Field): IngressBackend {
  readMap(field);
  warnUnknown(field, ['service', 'resource']);
  const service = member(field, 'service');
  const resource = member(field, 'resource');
  if (isPresent(service) && isPresent(resource)) refuse(field, 'A backend is a service or a resource, not both');
  return {
    ...(isPresent(service) && { service: decodeServiceBackend(service) }),
    ...(isPresent(resource) && { resource: decodeResourceBackend(resource) }),
  };
}

function decodeServiceBackend(field: Field): NonNullable<IngressBackend['service']> {
  readMap(field);
  warnUnknown(field, ['name', 'port']);
  const port = member(field, 'port');
  readMap(port);
  warnUnknown(port, ['number', 'name']);
  const number = readPort(member(port, 'number'));
  const name = readText(member(port, 'name'));
  if (number !== undefined && name !== undefined) refuse(port, 'A port has a number or a name, not both');
  return {
    name: requireText(member(field, 'name')),
    port: { ...(number !== undefined && { number }), ...(name !== undefined && { name }) },
  };
}

function decodeResourceBackend(field: Field): NonNullable<IngressBackend['resource']> {
  readMap(field);
  const apiGroup = readText(member(field, 'apiGroup'));
  return {
    ...(apiGroup !== undefined && { apiGroup }),
    kind: requireText(member(field, 'kind')),
    name: requireText(member(field, 'name')),
  };
}

function decodeTls(field: Field): IngressTls {
  readMap(field);
  warnUnknown(field, ['hosts', 'secretName']);
  const secretName = readText(member(field, 'secretName'));
  return { hosts: readTexts(member(field, 'hosts')), ...(secretName !== undefined && { secretName }) };
}
