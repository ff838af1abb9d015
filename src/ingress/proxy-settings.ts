import type { Engine, Table } from '../derive.ts';
import { DEFAULT_SETTINGS, type HeaderSettings, type ProxySettings, SETTINGS } from '../model/settings.ts';
import type { ConfigMapValues } from './config-map/keys.ts';
import type { GlobalHeaders } from './global-headers.ts';
import { GLOBAL, type GlobalOptions } from './global-options.ts';

/** One unit: what the ConfigMap says about the proxy as a whole. */
export function deriveProxySettings(
  engine: Engine,
  globalOptions: Table<GlobalOptions>,
  globalHeaders: Table<GlobalHeaders>,
): Table<ProxySettings> {
  return engine.derive<ProxySettings>('proxy-settings', [SETTINGS], (_, read) => {
    const values = read(globalOptions, GLOBAL)?.values;
    const headers = read(globalHeaders, GLOBAL)?.settings ?? DEFAULT_SETTINGS.headers;
    return values && settingsOf(values, headers);
  });
}

function settingsOf(values: ConfigMapValues, headers: HeaderSettings): ProxySettings {
  return {
    blocked: {
      networks: values['block-cidrs'],
      userAgents: values['block-user-agents'],
      referers: values['block-referers'],
    },
    http: {
      generateRequestId: values['generate-request-id'],
      underscoresInHeaders: values['enable-underscores-in-headers'],
    },
    headers,
    upstream: { connectTimeoutSeconds: values['proxy-connect-timeout'] },
  };
}
