import type { MemoryEntry } from '../cluster/cluster-state.ts';
import type { ConfigMap } from '../cluster/objects.ts';
import type { Engine, Key, Pass, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, type ObjectRef, objectRef } from '../model/object-ref.ts';
import type { Http3Settings } from '../model/settings.ts';
import { contentTypeFindings } from './compression-settings.ts';
import type { ConfigMapValues } from './config-map/keys.ts';
import { type ConfigMapReading, DEFAULT_VALUES, type GoodTexts, readConfigMap } from './config-map/reading.ts';
import type { ProxyName } from './declaration/support.ts';
import { diagnose, quote } from './diagnose.ts';
import { http3Findings } from './http3.ts';
import { logFindings } from './log-findings.ts';
import type { AcceptancePolicy } from './refusal.ts';
import { cipherFindings } from './tls-settings.ts';
import { tracingFindings } from './tracing.ts';

/** What the ConfigMap (`--configmap`) asks of every host. */
export interface GlobalOptions {
  readonly values: ConfigMapValues;
  /** Keys that protect every backend and cannot be honoured; while there is one, all of them are closed. */
  readonly protective: readonly string[];
  /** `held`: keys that protect cannot be read, and the last good values of them are in force. */
  readonly state: 'current' | 'held';
  /** What to remember of such keys. */
  readonly good: GoodTexts;
  readonly diagnostics: readonly Diagnostic[];
}

export const GLOBAL = 'global';

interface GlobalOptionsSources {
  readonly configMap?: ObjectKey;
  readonly proxy: ProxyName;
  readonly http3?: Http3Settings;
}

/** One unit; without a ConfigMap everything is at its default. */
export function deriveGlobalOptions(
  engine: Engine,
  { configMaps, memory }: { readonly configMaps: Table<ConfigMap>; readonly memory: Table<MemoryEntry> },
  { configMap, proxy, http3 }: GlobalOptionsSources,
): Table<GlobalOptions> {
  return engine.derive<GlobalOptions>('global-options', [GLOBAL], (_, read) => {
    if (configMap === undefined) return { ...DEFAULTS, diagnostics: [] };
    const ref = objectRef('ConfigMap', configMap);
    const data = read(configMaps, configMap)?.data;
    if (data === undefined) {
      const message = 'does not exist (--configmap); everything is at its default';
      const diagnostics = [diagnose(ref, 'warning', 'ConfigMapNotFound', message)];
      return { ...DEFAULTS, diagnostics };
    }
    const former = (key: string) => (read(memory, memoryKey(configMap))?.value as GoodTexts | undefined)?.[key];
    const found = readConfigMap(data, proxy, former);
    const more = [
      ...cipherFindings(found.values, proxy),
      ...contentTypeFindings(found.values, proxy),
      ...logFindings(found.values, proxy),
      ...http3Findings(found.values, http3),
      ...tracingFindings(found.values),
    ];
    const reading = { ...found, findings: [...found.findings, ...more] };
    const { values, protective, good, held } = reading;
    const state = held.length > 0 ? 'held' : 'current';
    return { values, protective, state, good, diagnostics: report(ref, reading) };
  });
}

const DEFAULTS = { values: DEFAULT_VALUES, protective: [], state: 'current', good: {} } as const;

/** Keyed by the ConfigMap. */
export function deriveConfigMapState(
  engine: Engine,
  globalOptions: Table<GlobalOptions>,
  configMap: ObjectKey | undefined,
): Table<Pick<GlobalOptions, 'state'>> {
  return engine.derive('config-map-state', configMap === undefined ? [] : [configMap], (_, read) => ({
    state: read(globalOptions, GLOBAL)?.state ?? 'current',
  }));
}

/** What a pass leaves to remember: texts that could be read, until the key or the ConfigMap goes. */
export function* configMapMemory(
  pass: Pass,
  globalOptions: Table<GlobalOptions>,
  configMap: ObjectKey | undefined,
): Iterable<{ readonly key: Key; readonly value: MemoryEntry | undefined }> {
  if (configMap === undefined) return;
  for (const [, { good = {} } = {}] of pass.of(globalOptions)) {
    const isEmpty = Object.keys(good).length === 0;
    yield { key: memoryKey(configMap), value: isEmpty ? undefined : { value: good } };
  }
}

function memoryKey(configMap: ObjectKey): Key {
  return `config-map/${configMap}`;
}

/** One unit: the part of the ConfigMap that decides which Ingresses are taken, so that no other key moves them. */
export function deriveAcceptancePolicy(engine: Engine, globalOptions: Table<GlobalOptions>): Table<AcceptancePolicy> {
  return engine.derive<AcceptancePolicy>('acceptance-policy', [GLOBAL], (_, read) => {
    const values = read(globalOptions, GLOBAL)?.values ?? DEFAULT_VALUES;
    return {
      'annotations-risk-level': values['annotations-risk-level'],
      'annotation-value-word-blocklist': values['annotation-value-word-blocklist'],
      'allow-snippet-annotations': values['allow-snippet-annotations'],
    };
  });
}

const CODES = {
  invalid: 'ConfigMapKeyInvalid',
  unsupported: 'ConfigMapKeyUnsupported',
  unknown: 'ConfigMapKeyUnknown',
  unsaid: 'LogVariableMissing',
} as const;

/** What comes of a protective key that cannot be honoured. */
export const ALL_CLOSED = 'every path of every Ingress answers 503';

function report(ref: ObjectRef, { protective, findings, held }: ConfigMapReading): Diagnostic[] {
  return findings.map(({ key, kind, reason, instead: stated, suggestion }) => {
    const field = `data[${quote(key)}]`;
    if (protective.includes(key)) {
      return diagnose(ref, 'error', 'ProtectionUnavailable', `${reason}; ${ALL_CLOSED}`, field);
    }
    const instead = stated ?? (kind === 'invalid' ? 'the default stays in force' : 'it has no effect');
    const severity = held.includes(key) ? 'error' : 'warning';
    const hint = suggestion === undefined ? '' : `; did you mean ${suggestion}?`;
    return diagnose(ref, severity, CODES[kind], `${reason}; ${instead}${hint}`, field);
  });
}
