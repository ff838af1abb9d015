import { isLabel } from '../cluster/decode-fields.ts';
import type { StreamListener } from '../model/proxy-model.ts';
import { quote } from './diagnose.ts';

/** An entry of a ConfigMap of TCP or UDP services: `"9000": "shop/db:5432:PROXY:PROXY"`. */
export interface StreamEntry {
  /** Of the proxy. */
  readonly port: number;
  readonly namespace: string;
  readonly service: string;
  /** The number or the name of the Service port. */
  readonly servicePort: string;
  /** Connections begin with a PROXY protocol header: that of clients is read, one is sent to the Service. */
  readonly proxyProtocol: { readonly fromClient: boolean; readonly toService: boolean };
  /** Parts of the value that mean nothing. */
  readonly ignored: readonly string[];
}

/** Where ingress-nginx itself listens in a pod, whatever the flags say: 404 pages, profiler, status, stream configuration. */
const RESERVED_PORTS: ReadonlySet<number> = new Set([8181, 10245, 10246, 10247]);

const PORT = /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/i;

/**
 * Reads an entry as ingress-nginx does.
 * @param reserved ports that listen for something else already, beside those that always do
 */
export function parseStreamEntry(
  protocol: StreamListener['protocol'],
  key: string,
  value: string,
  reserved: ReadonlySet<number>,
): StreamEntry | { readonly reason: string } {
  // The listener is called like its key, so a port has one spelling.
  const port = /^[1-9]\d{0,4}$/.test(key) ? Number(key) : 0;
  if (port < 1 || port > 65_535) return { reason: `${quote(key)} is no port from 1 to 65535` };
  if (RESERVED_PORTS.has(port) || reserved.has(port))
    return { reason: `port ${port} is used by the controller itself` };
  const [target = '', servicePort = '', ...options] = value.trim().split(':');
  const [namespace = '', service = '', ...more] = target.split('/');
  if (!isLabel(namespace) || !isLabel(service) || more.length > 0 || !PORT.test(servicePort)) {
    return { reason: `${quote(value)} is not NAMESPACE/SERVICE:PORT, with :PROXY or ::PROXY behind it for TCP` };
  }
  const isProxy = (text: string | undefined) => protocol === 'tcp' && text?.toUpperCase() === 'PROXY';
  return {
    port,
    namespace,
    service,
    servicePort,
    proxyProtocol: { fromClient: isProxy(options[0]), toService: isProxy(options[1]) },
    ignored: options.filter((text, index) => text !== '' && !(index < 2 && isProxy(text))),
  };
}
