import type { Ingress } from '../cluster/objects.ts';
import { quote } from '../ingress/diagnose.ts';
import { parseHost } from '../ingress/host.ts';
import { objectKey } from '../model/object-ref.ts';
import { DEFAULT_HOST } from '../model/proxy-model.ts';
import { type AdmissionWorld, type Canary, canaryOf, hostsOf, neighboursOn } from './world.ts';

/**
 * Which host and path belong to another Ingress already, as it is told to the user; `undefined` if none does. As in ingress-nginx
 * the types of the paths do not matter, an Ingress and its canary may share a path, and so may two Ingresses as soon as one
 * of them says that it is no canary.
 */
export function findOverlap(ingress: Ingress, world: AdmissionWorld): string | undefined {
  const { annotationsPrefix: prefix } = world.options;
  const canary = canaryOf(ingress, prefix);
  const claimed = new Map(claimsOf(ingress).map(({ key, field }) => [key, field]));
  for (const neighbour of neighboursOn(hostsOf(ingress), ingress, world)) {
    if (!excludeEachOther(canary, canaryOf(neighbour, prefix)) || !counts(neighbour, world)) continue;
    const shared = claimsOf(neighbour).find(({ key }) => claimed.has(key));
    if (shared === undefined) continue;
    const host = shared.host === DEFAULT_HOST ? 'no host' : `host ${quote(shared.host)}`;
    const field = claimed.get(shared.key);
    return `${field}: ${host} and path ${quote(shared.path)} belong to Ingress ${objectKey(neighbour)} already (${shared.field})`;
  }
  return undefined;
}

/** What is not served takes nothing away from others. A canary is served by its primary. */
function counts(neighbour: Ingress, { servedIngresses, options }: AdmissionWorld): boolean {
  if (canaryOf(neighbour, options.annotationsPrefix) === 'on') return true;
  return servedIngresses.get(objectKey(neighbour))?.served !== undefined;
}

function excludeEachOther(a: Canary, b: Canary): boolean {
  return a === b && a !== 'off';
}

interface WrittenClaim {
  /** Host and path. */
  readonly key: string;
  readonly host: string;
  readonly path: string;
  /** `spec.rules[0].http.paths[0]` */
  readonly field: string;
}

/** Hosts and paths as they are written; no path means `/`. */
function claimsOf({ rules }: Ingress): WrittenClaim[] {
  return rules.flatMap((rule, index) => {
    const parsed = parseHost(rule.host);
    if ('reason' in parsed) return [];
    const { host } = parsed;
    return rule.paths.map(({ path = '' }, at) => {
      const text = path === '' ? '/' : path;
      return { key: `${host} ${text}`, host, path: text, field: `spec.rules[${index}].http.paths[${at}]` };
    });
  });
}
