/** Configurations of HTTP filters as resources of their own (ECDS), under the names of the filters. */
import type { Engine } from '../derive.ts';
import type { google_protobuf_Any as Any } from '../gen/messages.ts';
import type { ProxyModel } from '../model/proxy-model.ts';
import { type ProxySettings, SETTINGS } from '../model/settings.ts';
import { deriveResource, existing } from './emit-resource.ts';
import type { Encoder } from './encoder.ts';
import { COMPRESSION, compression } from './filters/compression.ts';
import { encodedResource } from './resource.ts';

/** Every filter that `discoveredFilter` makes must stand here: a listener that names another one opens late, and without it. */
const DISCOVERED = new Map<string, (settings: ProxySettings) => Any>([
  [COMPRESSION.name, (settings) => compression(settings.compression)],
]);

export function emitDiscoveredFilters(engine: Engine, { settings }: ProxyModel, encoder: Encoder) {
  // A unit of its own, so that other settings encode nothing.
  const configs = engine.derive<Any>('filter-config', [...DISCOVERED.keys()], (name, read) =>
    DISCOVERED.get(name)?.(existing(read, settings, SETTINGS)),
  );
  return deriveResource(engine, 'filter-config-resource', configs, (name, read) => {
    const message = { name, typed_config: existing(read, configs, name) };
    return encodedResource(name, encoder.encode('envoy.config.core.v3.TypedExtensionConfig', message, name));
  });
}
