import { isPlainMap } from '../cluster/decode-fields.ts';
import { loadYaml } from './load-yaml.ts';

type PlainMap = Readonly<Record<string, unknown>>;

/** The networking.k8s.io/v1 manifest that means the same, as YAML. What has no old form is kept as it stands. */
export function convertOldIngress(manifest: unknown): string {
  if (!isPlainMap(manifest)) return '';
  const { status: _status, metadata, spec, ...rest } = manifest;
  const converted = {
    ...rest,
    apiVersion: 'networking.k8s.io/v1',
    ...(isPlainMap(metadata) && { metadata: ownMetadata(metadata) }),
    ...(isPlainMap(spec) && { spec: convertSpec(spec) }),
  };
  return loadYaml().stringify(converted, { aliasDuplicateObjects: false });
}

/** Without what the API server wrote. */
function ownMetadata(metadata: PlainMap): PlainMap {
  const own = ['name', 'namespace', 'labels', 'annotations'];
  const entries = Object.entries(metadata).filter(([name]) => own.includes(name));
  return Object.fromEntries(
    entries.map(([name, value]) => [name, name === 'annotations' ? withoutLastApplied(value) : value]),
  );
}

function withoutLastApplied(annotations: unknown): unknown {
  if (!isPlainMap(annotations)) return annotations;
  const { 'kubectl.kubernetes.io/last-applied-configuration': _, ...rest } = annotations;
  return rest;
}

function convertSpec({ backend, rules, ...rest }: PlainMap): PlainMap {
  return {
    ...rest,
    ...(backend !== undefined && { defaultBackend: convertBackend(backend) }),
    ...(rules !== undefined && { rules: Array.isArray(rules) ? rules.map(convertRule) : rules }),
  };
}

function convertRule(rule: unknown): unknown {
  if (!isPlainMap(rule) || !isPlainMap(rule['http']) || !Array.isArray(rule['http']['paths'])) return rule;
  return { ...rule, http: { ...rule['http'], paths: rule['http']['paths'].map(convertPath) } };
}

function convertPath(entry: unknown): unknown {
  if (!isPlainMap(entry)) return entry;
  const { path, pathType, backend, ...rest } = entry;
  return {
    ...(path !== undefined && { path }),
    pathType: pathType ?? 'ImplementationSpecific',
    ...rest,
    backend: convertBackend(backend),
  };
}

function convertBackend(backend: unknown): unknown {
  if (!isPlainMap(backend)) return backend;
  const { serviceName, servicePort, ...rest } = backend;
  if (serviceName === undefined && servicePort === undefined) return backend;
  return { ...rest, service: { name: serviceName, port: convertPort(servicePort) } };
}

/** A text of digits was a number too. */
function convertPort(port: unknown): PlainMap {
  return /^\d+$/.test(String(port)) ? { number: Number(port) } : { name: port };
}
