import type { Engine, Table } from '../derive.ts';
import { type ProxySettings, SETTINGS } from '../model/settings.ts';
import type { ConfigMapValues } from './config-map/keys.ts';
import { GLOBAL, type GlobalOptions } from './global-options.ts';

/** One unit: what the ConfigMap says about the proxy as a whole. */
export function deriveProxySettings(engine: Engine, globalOptions: Table<GlobalOptions>): Table<ProxySettings> {
  return engine.derive<ProxySettings>('proxy-settings', [SETTINGS], (_, read) => {
    const values = read(globalOptions, GLOBAL)?.values;
    return values && settingsOf(values);
  });
}

function settingsOf(values: ConfigMapValues): ProxySettings {
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
    upstream: { connectTimeoutSeconds: values['proxy-connect-timeout'] },
  };
}
