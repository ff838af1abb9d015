import type { LocalEndpoints, LocalEndpointsKey } from '../cluster/cluster-state.ts';
import { isLabel } from '../cluster/decode-fields.ts';
import { canonicalIp } from '../ip-address.ts';
import type { Address } from '../model/proxy-model.ts';

export interface LocalEndpointFlags {
  /** Keyed by Service port as written: `shop/web/http` or `shop/web/80`. Addresses in the order given, each once. */
  readonly endpoints: ReadonlyMap<LocalEndpointsKey, LocalEndpoints>;
  /** One line per value that cannot be used. */
  readonly problems: readonly string[];
}

/** The values of `--endpoint`: `shop/web:http=127.0.0.1:3000`, `web:80=[::1]:3000`. Several for one Service port add up. */
export function parseLocalEndpoints(values: readonly string[], namespace = 'default'): LocalEndpointFlags {
  const addresses = new Map<LocalEndpointsKey, Address[]>();
  const problems: string[] = [];
  for (const value of values) {
    const parsed = parseValue(value, namespace);
    if (typeof parsed === 'string') {
      problems.push(`--endpoint ${value}: ${parsed}`);
      continue;
    }
    const { key, address } = parsed;
    const former = addresses.get(key) ?? [];
    if (former.some(({ ip, port }) => ip === address.ip && port === address.port)) continue;
    addresses.set(key, [...former, address]);
  }
  return { endpoints: new Map([...addresses].map(([key, always]) => [key, { always }])), problems };
}

const FORM = /^(?:([^/:=]*)\/)?([^/:=]*):([^/:=]*)=(.*)$/;

/** What is wrong, if it is a string. */
function parseValue(value: string, defaultNamespace: string): { key: LocalEndpointsKey; address: Address } | string {
  const match = FORM.exec(value);
  if (match === null) return 'expected NAMESPACE/SERVICE:PORT=IP:PORT, such as shop/web:http=127.0.0.1:3000';
  const [, namespace = defaultNamespace, service = '', port = '', target = ''] = match;
  if (!isLabel(namespace)) return `"${namespace}" is no namespace`;
  if (!isLabel(service)) return `"${service}" is no name of a Service`;
  if (!isServicePort(port)) return `"${port}" is neither the number nor the name of a Service port`;
  const address = parseAddress(target);
  return typeof address === 'string' ? address : { key: `${namespace}/${service}/${port}`, address };
}

function isServicePort(port: string): boolean {
  return /^\d+$/.test(port) ? portNumber(port) !== undefined : isLabel(port);
}

function parseAddress(target: string): Address | string {
  const match = /^(?:\[([^\]]*)\]|([^:[\]]*)):([^:]*)$/.exec(target);
  if (match === null) return `"${target}" is no address; write IP:PORT, an IPv6 address in brackets`;
  const [, bracketed, plain, portText = ''] = match;
  const literal = canonicalIp(bracketed ?? plain ?? '');
  const port = portNumber(portText);
  if (literal?.family !== (bracketed === undefined ? 'IPv4' : 'IPv6')) {
    return `"${bracketed ?? plain}" is no ${bracketed === undefined ? 'IPv4' : 'IPv6'} address (names are not looked up)`;
  }
  if (port === undefined) return `"${portText}" is no port from 1 to 65535`;
  return { ip: literal.ip, port };
}

function portNumber(text: string): number | undefined {
  const port = Number(text);
  return /^[1-9]\d{0,4}$/.test(text) && port <= 65535 ? port : undefined;
}
