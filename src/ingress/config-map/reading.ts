/** What the keys of the ConfigMap say. */

import { boolean } from '../declaration/codecs.ts';
import type { ConfigMapKey } from '../declaration/config-map-key.ts';
import { CONTROL_CHARACTERS, contentOf } from '../declaration/content.ts';
import { isEffective, type ProxyName } from '../declaration/support.ts';
import { quote } from '../diagnose.ts';
import { nearestNameIn } from '../nearest-name.ts';
import { type ConfigMapKeyName, type ConfigMapValues, configMapKeys } from './keys.ts';

export interface ConfigMapReading {
  readonly values: ConfigMapValues;
  /** Keys that protect every backend and cannot be honoured, in a fixed order. */
  readonly protective: readonly string[];
  readonly findings: readonly KeyFinding[];
  /** Keys that cannot be read, of which the last good value is in force. */
  readonly held: readonly string[];
  /** The texts of keys that a mistake must not make less safe, as they are in force. */
  readonly good: GoodTexts;
}

/** By key. */
export type GoodTexts = Readonly<Record<string, string>>;

export interface KeyFinding {
  readonly key: string;
  /** `invalid`: the value. `unsupported`: the key. `unknown`: its name. `unsaid`: variables of a log format. */
  readonly kind: 'invalid' | 'unsupported' | 'unknown' | 'unsaid';
  /** What is wrong, to be followed by what happens. */
  readonly reason: string;
  /** What happens, where it is not what the kind says. */
  readonly instead?: string;
  /** Of an unknown name: the one that was probably meant. */
  readonly suggestion?: string;
}

const entries = Object.entries(configMapKeys) as [ConfigMapKeyName, ConfigMapKey][];
const defaults = Object.fromEntries(entries.map(([key, declaration]) => [key, declaration.default]));

export const DEFAULT_VALUES = defaults as unknown as ConfigMapValues;

/** @param formerText what was in force of a key before it could not be read any more */
export function readConfigMap(
  data: Readonly<Record<string, string>>,
  proxy: ProxyName,
  formerText: (key: string) => string | undefined = () => undefined,
): ConfigMapReading {
  const values: Record<string, unknown> = { ...defaults };
  const protective: string[] = [];
  const findings: KeyFinding[] = [];
  const held: string[] = [];
  const good: Record<string, string> = {};
  for (const [key, declaration] of entries) {
    const text = contentOf(data, key);
    if (text === undefined) {
      // A switch without a value is off, whatever its default: so ingress-nginx reads it.
      if (Object.hasOwn(data, key) && (declaration.codec as unknown) === boolean) values[key] = false;
      continue;
    }
    const { whenUnreadable, protects } = declaration;
    const isGuarded = whenUnreadable !== undefined || protects !== undefined;
    const written = decode(text, declaration);
    const former = isGuarded && 'reason' in written ? formerText(key) : undefined;
    const decoded = former === undefined ? written : decode(former, declaration);
    const support = declaration[proxy];
    if ('value' in decoded) {
      if (isGuarded) good[key] = former ?? text;
      if (former !== undefined) held.push(key);
    }
    if ('value' in decoded && isEffective(support)) values[key] = decoded.value;
    else if ('reason' in decoded && whenUnreadable !== undefined) values[key] = whenUnreadable.value;
    else if (protects !== undefined && (!('value' in decoded) || protects(decoded.value))) protective.push(key);
    if ('reason' in written) {
      const instead =
        'value' in decoded ? `${quote(former ?? '')}, the last good value, stays in force` : whenUnreadable?.means;
      findings.push({ key, kind: 'invalid', reason: `${quote(text)} ${written.reason}`, ...(instead && { instead }) });
    } else if (support.state === 'refused') findings.push({ key, kind: 'unsupported', reason: support.why });
    else if (support.state === 'planned') findings.push({ key, kind: 'unsupported', reason: 'not supported yet' });
  }
  for (const key of Object.keys(data)) {
    if (!Object.hasOwn(configMapKeys, key) && contentOf(data, key) !== undefined) findings.push(unknownKey(key));
  }
  return { values: values as unknown as ConfigMapValues, protective, findings, held, good };
}

function decode(text: string, { codec }: ConfigMapKey) {
  // Texts of several lines are formats and snippets.
  if (CONTROL_CHARACTERS.test(text.replaceAll('\n', ''))) return { reason: 'holds control characters' };
  return codec.decode(text);
}

const nearestName = nearestNameIn(Object.keys(configMapKeys));

function unknownKey(key: string): KeyFinding {
  const suggestion = nearestName(key);
  return { key, kind: 'unknown', reason: 'no key of that name is known', ...(suggestion && { suggestion }) };
}
