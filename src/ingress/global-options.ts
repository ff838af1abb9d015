import type { ConfigMap } from '../cluster/objects.ts';
import type { Engine, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, type ObjectRef, objectRef } from '../model/object-ref.ts';
import type { Http3Settings } from '../model/settings.ts';
import { contentTypeFindings } from './compression-settings.ts';
import type { ConfigMapValues } from './config-map/keys.ts';
import { type ConfigMapReading, DEFAULT_VALUES, readConfigMap } from './config-map/reading.ts';
import type { ProxyName } from './declaration/support.ts';
import { diagnose, quote } from './diagnose.ts';
import { http3Findings } from './http3.ts';
import type { AcceptancePolicy } from './refusal.ts';
import { cipherFindings } from './tls-settings.ts';
import { tracingFindings } from './tracing.ts';

/** What the ConfigMap (`--configmap`) asks of every host. */
export interface GlobalOptions {
  readonly values: ConfigMapValues;
  /** Keys that protect every backend and cannot be honoured; while there is one, all of them are closed. */
  readonly protective: readonly string[];
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
  configMaps: Table<ConfigMap>,
  { configMap, proxy, http3 }: GlobalOptionsSources,
): Table<GlobalOptions> {
  return engine.derive<GlobalOptions>('global-options', [GLOBAL], (_, read) => {
    if (configMap === undefined) return { values: DEFAULT_VALUES, protective: [], diagnostics: [] };
    const ref = objectRef('ConfigMap', configMap);
    const data = read(configMaps, configMap)?.data;
    if (data === undefined) {
      const message = 'does not exist (--configmap); everything is at its default';
      const diagnostics = [diagnose(ref, 'warning', 'ConfigMapNotFound', message)];
      return { values: DEFAULT_VALUES, protective: [], diagnostics };
    }
    const found = readConfigMap(data, proxy);
    const more = [
      ...cipherFindings(found.values, proxy),
      ...contentTypeFindings(found.values, proxy),
      ...http3Findings(found.values, http3),
      ...tracingFindings(found.values),
    ];
    const reading = { ...found, findings: [...found.findings, ...more] };
    const { values, protective } = reading;
    return { values, protective, diagnostics: report(ref, reading) };
  });
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
} as const;

function report(ref: ObjectRef, { protective, findings }: ConfigMapReading): Diagnostic[] {
  return findings.map(({ key, kind, reason, instead: stated }) => {
    const field = `data[${quote(key)}]`;
    if (protective.includes(key)) {
      return diagnose(
        ref,
        'error',
        'ProtectionUnavailable',
        `${reason}; every path of every Ingress answers 503`,
        field,
      );
    }
    const instead = stated ?? (kind === 'invalid' ? 'the default stays in force' : 'it has no effect');
    return diagnose(ref, 'warning', CODES[kind], `${reason}; ${instead}`, field);
  });
}
