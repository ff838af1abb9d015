import type { ConfigMap } from '../../cluster/objects.ts';
import type { ObjectKey } from '../../model/object-ref.ts';
import type { RoutePolicy } from '../../model/proxy-model.ts';
import { annotationFeature, type Effects } from '../declaration/annotation.ts';
import { MAX_HEADERS, parseHeader } from '../declaration/headers.ts';
import { keyOf, objectName } from '../declaration/references.ts';
import { HONOURED } from '../declaration/support.ts';
import { quote } from '../diagnose.ts';

export const customHeaders = annotationFeature({
  title: 'Headers of answers',
  keys: {
    'custom-headers': {
      codec: objectName,
      refersTo: 'ConfigMap',
      scope: 'paths',
      risk: 'Medium',
      whenInvalid: 'deny',
      summary:
        'A ConfigMap with headers for every answer, in place of what a backend says; an empty value takes a header away. Each name must be in `global-allowed-response-headers`. Changes of the ConfigMap take effect at once.',
      example: 'security-headers',
      envoy: HONOURED,
      nginx: HONOURED,
    },
  },
  apply(values, { ingress, global, configMap }) {
    const named = values['custom-headers'];
    if (named === undefined) return {};
    const key = keyOf(named, ingress.namespace);
    if (!global['allow-cross-namespace-resources'] && !key.startsWith(`${ingress.namespace}/`))
      return denied(`ConfigMap ${key} is in another namespace, which allow-cross-namespace-resources does not allow`);
    const found = configMap(key);
    if (found === undefined) return denied(`ConfigMap ${key} does not exist`);
    return headersOf(key, found, new Set(global['global-allowed-response-headers']));
  },
});

/** Each path has them, and hardly a client takes more. */
const MAX_BYTES = 16 * 1024;

function headersOf(key: ObjectKey, { data }: ConfigMap, allowed: ReadonlySet<string>): Effects {
  const set: NonNullable<RoutePolicy['responseHeaders']>['set'][number][] = [];
  const remove: string[] = [];
  if (Object.keys(data).length > MAX_HEADERS) return denied(`ConfigMap ${key} has more than ${MAX_HEADERS} headers`);
  for (const name of Object.keys(data).toSorted()) {
    const parsed = parseHeader(name, data[name] ?? '');
    if ('reason' in parsed) return denied(`ConfigMap ${key}: ${parsed.reason}`);
    if (!allowed.has(name))
      return denied(`ConfigMap ${key}: header ${quote(name)} is not in global-allowed-response-headers`);
    if (parsed.remove !== undefined) remove.push(parsed.remove);
    else set.push({ name, value: [parsed.header.value] });
  }
  const bytes = set.reduce((sum, { name, value }) => sum + name.length + value.join('').length, 0);
  if (bytes > MAX_BYTES)
    return denied(`ConfigMap ${key}: its headers have ${bytes} bytes, and no answer more than ${MAX_BYTES}`);
  return set.length + remove.length === 0 ? {} : { route: { responseHeaders: { set, remove } } };
}

function denied(reason: string): Effects {
  return { denied: [{ annotation: 'custom-headers', reason }] };
}
