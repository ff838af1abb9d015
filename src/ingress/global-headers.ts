/** The headers of every request and answer, as the ConfigMap and those that it names ask for them. */
import type { ConfigMap } from '../cluster/objects.ts';
import type { Engine, Reader, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { HeaderChanges, HeaderTemplate } from '../model/headers.ts';
import { type ObjectKey, objectRef } from '../model/object-ref.ts';
import type { HeaderSettings } from '../model/settings.ts';
import type { ConfigMapValues } from './config-map/keys.ts';
import { DEFAULT_VALUES } from './config-map/reading.ts';
import { MAX_HEADERS, parseHeaderTemplate } from './declaration/headers.ts';
import { diagnose, quote } from './diagnose.ts';
import { GLOBAL, type GlobalOptions } from './global-options.ts';

export interface GlobalHeaders {
  readonly settings: HeaderSettings;
  readonly diagnostics: readonly Diagnostic[];
}

interface Sources {
  readonly globalOptions: Table<GlobalOptions>;
  readonly configMaps: Table<ConfigMap>;
}

/** One unit, `GLOBAL`. */
export function deriveGlobalHeaders(
  engine: Engine,
  { globalOptions, configMaps }: Sources,
  { configMap }: { readonly configMap?: ObjectKey },
): Table<GlobalHeaders> {
  return engine.derive<GlobalHeaders>('global-headers', [GLOBAL], (_, read) => {
    const values = read(globalOptions, GLOBAL)?.values ?? DEFAULT_VALUES;
    const diagnostics: Diagnostic[] = [];
    const named = (key: 'add-headers' | 'proxy-set-headers') => {
      const found = readHeaders(values[key], read, configMaps);
      if (found.missing && configMap !== undefined) diagnostics.push(missing(configMap, key, values[key]));
      diagnostics.push(...found.diagnostics);
      return found.changes;
    };
    return { settings: settingsOf(values, named('add-headers'), named('proxy-set-headers')), diagnostics };
  });
}

function settingsOf(values: ConfigMapValues, answers: HeaderChanges, requests: HeaderChanges): HeaderSettings {
  const originalUri: HeaderTemplate = { name: 'X-Original-URI', value: [{ variable: 'request_uri' }] };
  const set = values['proxy-add-original-uri-header'] ? [originalUri] : [];
  const replaced = new Set([...requests.set.map(({ name }) => name), ...requests.remove].map(lowerCase));
  return {
    ...(values.hsts && { strictTransportSecurity: strictTransportSecurity(values) }),
    server: values['server-tokens'] ? (values['allow-backend-server-header'] ? 'backend' : 'proxy') : 'none',
    response: { set: answers.set, remove: [...values['hide-headers'], ...answers.remove] },
    request: {
      set: [...set.filter(({ name }) => !replaced.has(lowerCase(name))), ...requests.set],
      remove: requests.remove,
    },
  };
}

function strictTransportSecurity(values: ConfigMapValues): string {
  const parts = [
    `max-age=${values['hsts-max-age']}`,
    ...(values['hsts-include-subdomains'] ? ['includeSubDomains'] : []),
    ...(values['hsts-preload'] ? ['preload'] : []),
  ];
  return parts.join('; ');
}

interface NamedHeaders {
  readonly changes: HeaderChanges;
  readonly missing?: true;
  readonly diagnostics: readonly Diagnostic[];
}

/** The headers of a ConfigMap by name; of several spellings of one the last counts. What is not usable is left out. */
function readHeaders(key: ObjectKey, read: Reader, configMaps: Table<ConfigMap>): NamedHeaders {
  if (key === '') return { changes: NOTHING, diagnostics: [] };
  const data = read(configMaps, key)?.data;
  if (data === undefined) return { changes: NOTHING, missing: true, diagnostics: [] };
  const set = new Map<string, HeaderTemplate>();
  const remove = new Map<string, string>();
  const diagnostics: Diagnostic[] = [];
  for (const name of Object.keys(data).toSorted()) {
    const tooMany = set.size + remove.size >= MAX_HEADERS;
    const parsed = tooMany
      ? { reason: `header ${quote(name)} is one of more than ${MAX_HEADERS}` }
      : parseHeaderTemplate(name, data[name] ?? '');
    if ('reason' in parsed) {
      const ref = objectRef('ConfigMap', key);
      const message = `${parsed.reason}; it is left out`;
      diagnostics.push(diagnose(ref, 'warning', 'ConfigMapKeyInvalid', message, `data[${quote(name)}]`));
      continue;
    }
    set.delete(lowerCase(name));
    remove.delete(lowerCase(name));
    if (parsed.remove !== undefined) remove.set(lowerCase(name), name);
    else set.set(lowerCase(name), parsed.header);
  }
  return { changes: { set: [...set.values()], remove: [...remove.values()] }, diagnostics };
}

const NOTHING: HeaderChanges = { set: [], remove: [] };

function missing(configMap: ObjectKey, key: string, named: ObjectKey): Diagnostic {
  const message = `ConfigMap ${named} does not exist; ${key} has no effect`;
  return diagnose(objectRef('ConfigMap', configMap), 'warning', 'ConfigMapKeyInvalid', message, `data[${quote(key)}]`);
}

function lowerCase(name: string): string {
  return name.toLowerCase();
}
