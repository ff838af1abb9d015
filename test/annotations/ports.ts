import { once } from 'node:events';
import { connect } from 'node:net';
import { hasIpv6 } from '../../src/cli/ipv6.ts';
import type { Exchange, World } from '../parity/table.ts';
import { startBackend } from '../support/backend.ts';
import { startDnsServer } from '../support/dns-server.ts';
import { externalName, ingress } from '../support/manifests.ts';
import { edgeWorld, HOST } from './edge.ts';
import type { AnnotationTable } from './table.ts';

/** Whether the port for HTTP is open on an address. */
function opens(address: string, expected: () => boolean | Promise<boolean>, title: string): Exchange {
  return {
    title,
    run: async ({ httpPort }) => (await isOpen(address, httpPort)) === (await expected()),
    expected: true,
  };
}

async function isOpen(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

const NAMED = 'six.edge.example.com';
const url = `http://${NAMED}/`;

/** A Service outside the cluster whose name has an address of IPv6 alone. */
async function worldOfIpv6Name(data: Readonly<Record<string, string>>): Promise<World> {
  const six = await startBackend('six', undefined, '::1');
  const dns = await startDnsServer();
  dns.set('six.example.net', { addresses: ['::1'] });
  const world = await edgeWorld(data, [
    externalName('six', 'six.example.net', six.port),
    ingress({ name: 'six', rules: [{ host: NAMED, paths: [{ path: '/', service: `six:${six.port}` }] }] }),
  ]);
  return {
    ...world,
    dns,
    close: async () => {
      await world.close();
      await dns.close();
      await six.close();
    },
  };
}

export const portsSet: AnnotationTable = {
  title: 'ports, as the ConfigMap wants them',
  start: () =>
    worldOfIpv6Name({ 'bind-address': '127.0.0.1, [::1]', 'disable-ipv6': 'true', 'disable-ipv6-dns': 'true' }),
  keys: {
    'ConfigMap bind-address': {
      good: [{ url: `http://${HOST}/`, backend: 'web' }, opens('127.0.0.2', () => false, 'another address is closed')],
      default: [],
    },
    'ConfigMap disable-ipv6': { good: [opens('::1', () => false, 'IPv6 is closed')], default: [] },
    'ConfigMap disable-ipv6-dns': { good: [{ url, status: 503, nginx: { status: 502 } }], default: [] },
  },
};

export const portsUnreadable: AnnotationTable = {
  title: 'ports, with values that nobody can read',
  start: () =>
    worldOfIpv6Name({ 'bind-address': '127.0.0.1, localhost', 'disable-ipv6': 'yes', 'disable-ipv6-dns': 'yes' }),
  keys: {
    'ConfigMap bind-address': { good: [], bad: [opens('127.0.0.2', () => true, 'every address is open')], default: [] },
    'ConfigMap disable-ipv6': { good: [], bad: [opens('::1', hasIpv6, 'IPv6 is open')], default: [] },
    'ConfigMap disable-ipv6-dns': { good: [], bad: [{ url, backend: 'six' }], default: [] },
  },
};

export const portsDefault: AnnotationTable = {
  title: 'ports, by default',
  start: () => worldOfIpv6Name({}),
  keys: {
    'ConfigMap bind-address': { good: [], default: [opens('127.0.0.2', () => true, 'every address is open')] },
    'ConfigMap disable-ipv6': { good: [], default: [opens('::1', hasIpv6, 'IPv6 is open')] },
    'ConfigMap disable-ipv6-dns': { good: [], default: [{ url, backend: 'six' }] },
  },
};
