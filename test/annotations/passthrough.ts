import { once } from 'node:events';
import { connect } from 'node:net';
import { type PeerCertificate, type TLSSocket, connect as tlsConnect } from 'node:tls';
import { startServices } from '../envoy/behaviour/cases.ts';
import type { Exchange, Ports, World } from '../parity/table.ts';
import type { Received } from '../support/backend.ts';
import { sendHttp2 } from '../support/http-client.ts';
import { configMap, ingress, type Manifest, service, tlsSecret } from '../support/manifests.ts';
import { makePair } from '../support/pki.ts';
import { startSecureBackend } from '../support/secure-backend.ts';
import { type AnnotationTable, annotated } from './table.ts';

const DOMAIN = 'pass.example.com';
const VAULT = `vault.${DOMAIN}`;
const on = annotated({ 'ssl-passthrough': 'true' });

/** A Service that speaks TLS with a certificate of its own, one that speaks plain HTTP, and hosts that lead to them. */
async function passthroughWorld(options: {
  readonly flag: boolean;
  readonly data?: Readonly<Record<string, string>>;
}): Promise<World> {
  const services = await startServices('web');
  const names = [VAULT, `*.any.${DOMAIN}`];
  const vault = await startSecureBackend('vault', { pair: await makePair(names) });
  const ended = await makePair([`*.${DOMAIN}`]);
  const host = (label: string, spec: { path?: string; service?: string; annotations?: Record<string, string> } = {}) =>
    ingress({
      name: label.replace('*', 'star'),
      annotations: spec.annotations ?? on,
      rules: [
        { host: `${label}.${DOMAIN}`, paths: [{ path: spec.path ?? '/', service: spec.service ?? 'vault:8200' }] },
      ],
    });
  const manifests: Manifest[] = [
    ...services.manifests,
    service('vault', [{ port: 8200 }]),
    vault.slice('vault'),
    service('nowhere', [{ port: 8200 }]),
    configMap('config', options.data ?? {}),
    tlsSecret('ended', ended),
    ingress({
      name: 'vault',
      annotations: {
        ...on,
        ...annotated({ 'whitelist-source-range': '192.0.2.1', 'server-alias': `bao.${DOMAIN}`, 'app-root': '/ui' }),
      },
      rules: [{ host: VAULT, paths: [{ service: 'vault:8200' }] }],
      tls: [{ hosts: [VAULT] }],
    }),
    ingress({
      name: 'canary',
      annotations: annotated({ canary: 'true', 'canary-weight': '100' }),
      rules: [{ host: VAULT, paths: [{ service: 'web:80' }] }],
    }),
    // Its certificate covers all the others, so that a browser may use its connections for them.
    ingress({
      name: 'web',
      rules: [{ host: `web.${DOMAIN}`, paths: [{ service: 'web:80' }] }],
      tls: [{ hosts: [`web.${DOMAIN}`], secretName: 'ended' }],
    }),
    host('both', { annotations: { ...on, ...annotated({ 'backend-protocol': 'HTTPS' }) } }),
    host('off', { service: 'web:80', annotations: annotated({ 'ssl-passthrough': 'false' }) }),
    host('odd', { service: 'web:80', annotations: annotated({ 'ssl-passthrough': 'maybe' }) }),
    host('pathless', { service: 'web:80', path: '/ui' }),
    host('nowhere', { service: 'nowhere:8200' }),
    host('*.any'),
    host('own.any', { service: 'web:80', annotations: {} }),
  ];
  return {
    build: { configMap: 'default/config', sslPassthrough: options.flag },
    manifests,
    close: async () => {
      await services.close();
      await vault.close();
    },
  };
}

/** What the backend received says who spoke TLS with the client. */
const byBackend = (name: string) => ({
  backend: 'vault',
  received: { 'seen-server-name': name, 'x-forwarded-for': undefined, 'x-request-id': undefined },
});
const byProxy = { backend: 'web', received: { 'x-forwarded-proto': 'https', 'x-real-ip': '127.0.0.1' } };

/** Whose certificate is shown; `closed` where the handshake does not come to an end. */
function handshake(title: string, options: { servername: string; before?: string }, expected: string): Exchange {
  return { title, run: ({ httpsPort }) => shown(httpsPort, options), expected };
}

async function shown(port: number, { servername, before = '' }: { servername: string; before?: string }) {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(before);
  const tls: TLSSocket = tlsConnect({ socket, servername, rejectUnauthorized: false });
  try {
    await once(tls, 'secureConnect');
    return certificateName(tls.getPeerCertificate());
  } catch {
    return 'closed';
  } finally {
    socket.destroy();
  }
}

function certificateName({ subjectaltname = '' }: PeerCertificate): string {
  if (subjectaltname.includes(VAULT)) return 'of the backend';
  return subjectaltname.includes(`*.${DOMAIN}`) ? 'of the proxy' : 'the default one';
}

/** As browsers do that have a connection to another host with a certificate for this one too. */
const reused: Exchange = {
  title: 'a connection of HTTP/2 that was opened for another host is not used',
  run: async ({ httpsPort }) => {
    const answer = await sendHttp2({ port: httpsPort, host: VAULT, serverName: `web.${DOMAIN}` });
    return answer.status;
  },
  expected: 421,
};

export const passthrough: AnnotationTable = {
  title: 'TLS that is passed through',
  start: () => passthroughWorld({ flag: true }),
  keys: {
    'ssl-passthrough': {
      good: [
        { url: `https://${VAULT}/v1/x?y`, path: '/v1/x?y', ...byBackend(VAULT) },
        { url: `https://both.${DOMAIN}/`, ...byBackend(`both.${DOMAIN}`) },
        { url: `http://both.${DOMAIN}/`, backend: 'vault', received: { 'x-forwarded-proto': 'http' } },
        { url: `https://${VAULT}/`, serverName: VAULT.toUpperCase(), backend: 'vault' },
        { url: `https://off.${DOMAIN}/`, ...byProxy },
        handshake('the certificate is that of the backend', { servername: VAULT }, 'of the backend'),
        handshake('without endpoints the connection is closed', { servername: `nowhere.${DOMAIN}` }, 'closed'),
        { url: `http://nowhere.${DOMAIN}/`, status: 503 },
      ],
      bad: [{ url: `https://odd.${DOMAIN}/`, status: 404, because: 'the Ingress is not taken' }],
      default: [
        { url: `https://web.${DOMAIN}/`, ...byProxy },
        handshake('the certificate is that of the proxy', { servername: `web.${DOMAIN}` }, 'of the proxy'),
        handshake('no name, no backend', { servername: '' }, 'the default one'),
      ],
      neighbours: [
        { url: `http://${VAULT}/`, status: 302, answered: { location: `http://${VAULT}/ui` } },
        { url: `http://${VAULT}/ui`, status: 308, answered: { location: `https://${VAULT}/ui` } },
        { url: `https://bao.${DOMAIN}/`, ...byBackend(`bao.${DOMAIN}`) },
        { url: `https://${VAULT}/`, serverName: `web.${DOMAIN}`, status: 421, text: '421 Misdirected Request' },
        { url: `https://bao.${DOMAIN}/`, serverName: '', status: 421 },
        { url: `https://web.${DOMAIN}/`, serverName: `off.${DOMAIN}`, ...byProxy },
        reused,
        { url: `https://pathless.${DOMAIN}/ui`, ...byProxy },
        { url: `https://pathless.${DOMAIN}/`, status: 404 },
        { url: `https://x.any.${DOMAIN}/`, ...byBackend(`x.any.${DOMAIN}`) },
        { url: `https://own.any.${DOMAIN}/`, ...byProxy },
        { url: `https://x.y.any.${DOMAIN}/`, status: 404, because: 'a wildcard stands for one label' },
        { url: `https://x.any.${DOMAIN}/`, serverName: `web.${DOMAIN}`, status: 421 },
      ],
    },
  },
};

export const passthroughWithoutFlag: AnnotationTable = {
  title: 'TLS that is not passed through without the flag',
  start: () => passthroughWorld({ flag: false }),
  keys: {
    'ssl-passthrough': {
      good: [
        handshake('the certificate is that of the proxy', { servername: `both.${DOMAIN}` }, 'of the proxy'),
        { url: `https://both.${DOMAIN}/`, backend: 'vault', received: { 'x-forwarded-proto': 'https' } },
        { url: `https://${VAULT}/ui`, status: 403, because: 'the list of addresses counts' },
      ],
      default: [{ url: `https://web.${DOMAIN}/`, ...byProxy }],
    },
  },
};

export const passthroughOfKnownNames: AnnotationTable = {
  title: 'TLS that is passed through, where unknown names are refused',
  start: () => passthroughWorld({ flag: true, data: { 'ssl-reject-handshake': 'true' } }),
  keys: {
    'ssl-passthrough': {
      good: [{ url: `https://${VAULT}/`, ...byBackend(VAULT) }],
      default: [
        handshake('a known name', { servername: `web.${DOMAIN}` }, 'of the proxy'),
        handshake('an unknown name', { servername: 'x.example.org' }, 'closed'),
      ],
    },
  },
};

const PROXIED = 'PROXY TCP4 203.0.113.7 192.0.2.1 40000 443\r\n';

export const passthroughBehindBalancer: AnnotationTable = {
  title: 'TLS that is passed through, behind a load balancer that speaks the PROXY protocol',
  start: () => passthroughWorld({ flag: true, data: { 'use-proxy-protocol': 'true' } }),
  keys: {
    'ssl-passthrough': {
      good: [
        handshake('the header is taken away', { servername: VAULT, before: PROXIED }, 'of the backend'),
        handshake('and it has to be there', { servername: VAULT }, 'closed'),
      ],
      default: [
        handshake('a host whose TLS ends here', { servername: `web.${DOMAIN}`, before: PROXIED }, 'of the proxy'),
        {
          title: 'knows the address of the client, and the port that it asked',
          run: clientSeen,
          expected: ['203.0.113.7', 443],
          differs: 'passthroughPort',
          nginx: ['203.0.113.7', 'that of the proxy'],
        },
      ],
    },
  },
};

/** What the backend of a host whose TLS ends here learns of the client. */
async function clientSeen({ httpsPort }: Ports): Promise<unknown> {
  const socket = connect({ host: '127.0.0.1', port: httpsPort });
  socket.write(PROXIED);
  const tls = tlsConnect({ socket, servername: `web.${DOMAIN}`, rejectUnauthorized: false });
  tls.write(`GET / HTTP/1.1\r\nhost: web.${DOMAIN}\r\nconnection: close\r\n\r\n`);
  let text = '';
  for await (const chunk of tls) text += chunk;
  const { headers } = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)) as Received;
  const port = Number(headers['x-forwarded-port']);
  return [headers['x-real-ip'], port === httpsPort ? 'that of the proxy' : port];
}
