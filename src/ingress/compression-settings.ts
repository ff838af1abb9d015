/** How answers are compressed, as the ConfigMap says. */
import type { CompressionSettings } from '../model/compression.ts';
import type { ConfigMapValues } from './config-map/keys.ts';
import type { KeyFinding } from './config-map/reading.ts';
import type { ContentTypes } from './declaration/content-types.ts';
import type { ProxyName } from './declaration/support.ts';

export function compressionSettings(values: ConfigMapValues, proxy: ProxyName): CompressionSettings {
  const exceptAgents = values['gzip-disable'];
  return {
    ...(values['use-gzip'] && {
      gzip: {
        level: values['gzip-level'],
        minBytes: values['gzip-min-length'],
        types: typesFor(proxy, values['gzip-types']).taken,
        ...(exceptAgents !== '' && { exceptAgents }),
      },
    }),
    ...(values['enable-brotli'] && {
      brotli: {
        level: values['brotli-level'],
        minBytes: values['brotli-min-length'],
        types: typesFor(proxy, values['brotli-types']).taken,
      },
    }),
  };
}

/** What a proxy has not of the lists of types. */
export function contentTypeFindings(values: ConfigMapValues, proxy: ProxyName): KeyFinding[] {
  return (['gzip-types', 'brotli-types'] as const).flatMap((key): KeyFinding[] => {
    const { dropped } = typesFor(proxy, values[key]);
    if (dropped.length === 0) return [];
    const reason = `nginx takes no type of more than ${NGINX_LENGTH} characters: ${dropped.join(', ')}`;
    return [{ key, kind: 'invalid', reason, instead: 'the others of the list hold' }];
  });
}

/** A longer one has no place in its table of types, whose size cannot be set, and nginx would refuse its whole configuration. */
const NGINX_LENGTH = 46;

function typesFor(proxy: ProxyName, types: ContentTypes): { taken: ContentTypes; dropped: readonly string[] } {
  if (proxy !== 'nginx' || types === 'all') return { taken: types, dropped: [] };
  const [taken = [], dropped = []] = [true, false].map((fits) =>
    types.filter((type) => type.length <= NGINX_LENGTH === fits),
  );
  return { taken, dropped };
}
