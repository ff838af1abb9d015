import type { Engine, Table } from '../derive.ts';
import { withoutProxyProtocol } from '../model/log-format.ts';
import {
  DEFAULT_SETTINGS,
  type ForwardedSettings,
  type HeaderSettings,
  type Http3Settings,
  type ListenerSettings,
  type LogSettings,
  type ProxySettings,
  SETTINGS,
} from '../model/settings.ts';
import { compressionSettings } from './compression-settings.ts';
import type { ConfigMapValues } from './config-map/keys.ts';
import { clientSettings, keptConnections, nginxTuning, streamSettings } from './connection-settings.ts';
import type { ProxyName } from './declaration/support.ts';
import type { GlobalHeaders } from './global-headers.ts';
import { GLOBAL, type GlobalOptions } from './global-options.ts';
import { http3Settings } from './http3.ts';
import { tlsSettings } from './tls-settings.ts';
import { tracingSettings } from './tracing.ts';

interface SettingsSources {
  readonly globalOptions: Table<GlobalOptions>;
  readonly globalHeaders: Table<GlobalHeaders>;
}

interface SettingsOptions {
  readonly proxy: ProxyName;
  /** What `--http3` asks for. */
  readonly http3?: Http3Settings;
}

/** One unit: what the ConfigMap says about the proxy as a whole. */
export function deriveProxySettings(
  engine: Engine,
  { globalOptions, globalHeaders }: SettingsSources,
  { proxy, http3 }: SettingsOptions,
): Table<ProxySettings> {
  return engine.derive<ProxySettings>('proxy-settings', [SETTINGS], (_, read) => {
    const values = read(globalOptions, GLOBAL)?.values;
    const headers = read(globalHeaders, GLOBAL)?.settings ?? DEFAULT_SETTINGS.headers;
    if (values === undefined) return undefined;
    const served = http3Settings(values, http3);
    const { listener, ...settings } = settingsOf(values, headers);
    return {
      ...settings,
      listener: { ...listener, ...(served && { http3: served }) },
      tls: tlsSettings(values, proxy),
      compression: compressionSettings(values, proxy),
    };
  });
}

function settingsOf(values: ConfigMapValues, headers: HeaderSettings): Omit<ProxySettings, 'tls' | 'compression'> {
  return {
    blocked: {
      networks: values['block-cidrs'],
      userAgents: values['block-user-agents'],
      referers: values['block-referers'],
    },
    listener: listenerSettings(values),
    forwarded: forwardedSettings(values),
    http: {
      generateRequestId: values['generate-request-id'],
      underscoresInHeaders: values['enable-underscores-in-headers'],
      ignoresInvalidHeaders: values['ignore-invalid-headers'],
    },
    headers,
    clients: clientSettings(values),
    logs: logsOf(values),
    upstream: {
      connectTimeoutSeconds: values['proxy-connect-timeout'],
      loadBalancing: values['load-balance'],
      httpVersion: values['proxy-http-version'],
      kept: keptConnections(values),
      answerHeadersKb: Math.max(Math.ceil(values['proxy-buffer-size'] / 1024), values['grpc-buffer-size-kb']),
      resolvesIpv6: !values['disable-ipv6-dns'],
    },
    streams: streamSettings(values),
    nginx: nginxTuning(values),
    ...tracingSettings(values),
  };
}

function listenerSettings(values: ConfigMapValues): ListenerSettings {
  const addresses = values['bind-address'];
  return {
    ...(addresses.length > 0 && { addresses }),
    ipv6: !values['disable-ipv6'],
    ...(values['use-proxy-protocol'] && {
      proxyProtocol: { timeoutSeconds: values['proxy-protocol-header-timeout'] },
    }),
  };
}

function forwardedSettings(values: ConfigMapValues): ForwardedSettings {
  const trustsHeaders = values['use-forwarded-headers'];
  return {
    trustedPeers: values['proxy-real-ip-cidr'],
    namesClient: trustsHeaders || values['enable-real-ip'],
    forwardedForHeader: values['forwarded-for-header'].toLowerCase(),
    forwardedHostHeader: values['forwarded-host-header'].toLowerCase(),
    trustsHeaders,
    appendsPeer: trustsHeaders && values['compute-full-forwarded-for'],
  };
}

function logsOf(values: ConfigMapValues): LogSettings {
  const quiet = values['disable-access-log'];
  const json = values['log-format-escape-json'];
  const format = values['log-format-upstream'];
  const requests = {
    format: values['use-proxy-protocol'] ? format : withoutProxyProtocol(format),
    escape: json ? 'json' : values['log-format-escape-none'] ? 'none' : 'default',
    skip: values['skip-access-log-urls'],
  } as const;
  return {
    ...(!quiet && !values['disable-http-access-log'] && { requests }),
    ...(!quiet && !values['disable-stream-access-log'] && { streams: values['log-format-stream'] }),
    errors: values['error-log-level'],
  };
}
