import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { type ConnectionOptions, type TLSSocket, connect as tlsConnect } from 'node:tls';
import type { Exchange } from '../parity/table.ts';
import { ingress, tlsSecret } from '../support/manifests.ts';
import { makePair } from '../support/pki.ts';
import { edgeWorld, HOST } from './edge.ts';
import { type AnnotationTable, annotated, type KeyCases } from './table.ts';

/** With a certificate of its own. */
const OWN = 'own.edge.example.com';
const url = `https://${OWN}/`;

async function tlsWorld(data: Readonly<Record<string, string>>) {
  const pair = await makePair([OWN]);
  return edgeWorld(data, [
    tlsSecret('own', pair),
    ingress({
      name: 'own',
      rules: [{ host: OWN, paths: [{ path: '/', service: 'web:80' }] }],
      tls: [{ hosts: [OWN], secretName: 'own' }],
    }),
  ]);
}

type Seen = (socket: TLSSocket) => unknown;

/** A handshake and what is seen of it; `refused` where it does not come to an end. */
function handshake(title: string, options: ConnectionOptions, seen: Seen, expected: unknown): Exchange {
  return {
    title,
    run: async ({ httpsPort }) => {
      const socket = await shakeHands(httpsPort, options);
      if (socket === 'refused') return socket;
      const result = seen(socket);
      socket.destroy();
      return result;
    },
    expected,
  };
}

async function shakeHands(port: number, options: ConnectionOptions): Promise<TLSSocket | 'refused'> {
  const socket = tlsConnect({ host: '127.0.0.1', port, servername: OWN, rejectUnauthorized: false, ...options });
  try {
    await once(socket, 'secureConnect');
    return socket;
  } catch {
    return 'refused';
  }
}

const protocol: Seen = (socket) => socket.getProtocol();
const cipher: Seen = (socket) => socket.getCipher().name;
const spoken: Seen = (socket) => socket.alpnProtocol;
const subject: Seen = (socket) => (socket.getPeerCertificate().subjectaltname ?? '').includes(OWN);

/** Whether a second handshake takes up the session of the first. */
function resumes(title: string, options: ConnectionOptions, expected: boolean, afterMs = 0): Exchange {
  return {
    title,
    run: async ({ httpsPort }) => {
      const first = tlsConnect({
        host: '127.0.0.1',
        port: httpsPort,
        servername: OWN,
        rejectUnauthorized: false,
        maxVersion: 'TLSv1.2',
        ...options,
      });
      await once(first, 'secureConnect');
      const session = first.getSession();
      first.destroy();
      if (session === undefined) return false;
      await setTimeout(afterMs);
      const second = await shakeHands(httpsPort, { maxVersion: 'TLSv1.2', ...options, session });
      if (second === 'refused') return second;
      const reused = second.isSessionReused();
      second.destroy();
      return reused;
    },
    expected,
  };
}

/** `SSL_OP_NO_TICKET`: the client offers to be remembered, and wants no ticket. */
const NO_TICKET = 0x4000;
const withoutTickets = { secureOptions: NO_TICKET };

const [GCM, CHACHA] = ['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-CHACHA20-POLY1305'];
const onlyOld = (ciphers: string): ConnectionOptions => ({ maxVersion: 'TLSv1.2', ciphers });
const served: KeyCases['good'] = [{ url, backend: 'web' }];

const speaks12 = handshake('TLS 1.2 is spoken', { maxVersion: 'TLSv1.2' }, protocol, 'TLSv1.2');
const speaksGcm = handshake('a cipher with GCM is spoken', onlyOld(GCM), cipher, GCM);
const speaksHttp2 = handshake('HTTP/2 is spoken', { ALPNProtocols: ['h2', 'http/1.1'] }, spoken, 'h2');
const showsDefault = handshake(
  'an unknown name gets the default certificate',
  { servername: 'x.example.org' },
  subject,
  false,
);
const speaksX25519 = handshake('X25519 is spoken', { ecdhCurve: 'X25519', minVersion: 'TLSv1.3' }, protocol, 'TLSv1.3');
const remembers = resumes('the proxy remembers sessions', withoutTickets, true);
const noTickets = handshake(
  'there are no tickets',
  { maxVersion: 'TLSv1.2' },
  (socket) => socket.getTLSTicket() === undefined,
  true,
);

export const clientTlsSet: AnnotationTable = {
  title: 'TLS with clients, as the ConfigMap wants it',
  start: () =>
    tlsWorld({
      'use-http2': 'false',
      'ssl-protocols': 'SSLv3 TLSv1.2',
      'ssl-ciphers': `DHE-RSA-AES128-GCM-SHA256:${CHACHA}:!aNULL`,
      'ssl-session-cache': 'false',
      'ssl-session-cache-size': '20m',
      'ssl-session-tickets': 'true',
      'ssl-buffer-size': '16k',
      'ssl-reject-handshake': 'true',
    }),
  keys: {
    'ConfigMap use-http2': {
      good: [handshake('only HTTP/1.1 is spoken', { ALPNProtocols: ['h2', 'http/1.1'] }, spoken, 'http/1.1')],
      default: [],
    },
    'ConfigMap ssl-protocols': {
      good: [
        handshake('the newest version of the list is spoken', {}, protocol, 'TLSv1.2'),
        handshake('no other version', { minVersion: 'TLSv1.3' }, protocol, 'refused'),
      ],
      default: [],
    },
    'ConfigMap ssl-ciphers': {
      good: [
        handshake('a cipher of the list', onlyOld(`${GCM}:${CHACHA}`), cipher, CHACHA),
        handshake('no other cipher', onlyOld(GCM), cipher, 'refused'),
      ],
      default: [],
    },
    'ConfigMap ssl-session-cache': {
      good: [resumes('no session is remembered', withoutTickets, false)],
      default: [],
    },
    'ConfigMap ssl-session-tickets': { good: [resumes('a ticket is taken', {}, true)], default: [] },
    'ConfigMap ssl-session-cache-size': { good: served, default: [] },
    'ConfigMap ssl-buffer-size': { good: served, default: [] },
    'ConfigMap ssl-reject-handshake': {
      good: [
        handshake('an unknown name is refused', { servername: 'x.example.org' }, subject, 'refused'),
        handshake('a known name is served', {}, subject, true),
      ],
      default: [],
    },
  },
};

export const clientTlsUnreadable: AnnotationTable = {
  title: 'TLS with clients, with values that nobody can read',
  start: () =>
    tlsWorld({
      'use-http2': 'off',
      'ssl-protocols': 'TLSv1.4',
      'ssl-ciphers': '(all)',
      'ssl-ecdh-curve': 'curve-of-mine',
      'ssl-session-cache': 'off',
      'ssl-session-cache-size': 'large',
      'ssl-session-tickets': 'on',
      'ssl-session-timeout': 'soon',
      'ssl-buffer-size': 'large',
      'ssl-reject-handshake': 'on',
    }),
  keys: {
    'ConfigMap use-http2': { good: [], bad: [speaksHttp2], default: [] },
    'ConfigMap ssl-protocols': { good: [], bad: [speaks12], default: [] },
    'ConfigMap ssl-ciphers': { good: [], bad: [speaksGcm], default: [] },
    'ConfigMap ssl-ecdh-curve': { good: [], bad: [speaksX25519], default: [] },
    'ConfigMap ssl-session-cache': { good: [], bad: [remembers], default: [] },
    'ConfigMap ssl-session-tickets': { good: [], bad: [noTickets], default: [] },
    'ConfigMap ssl-session-timeout': { good: [], bad: [remembers], default: [] },
    'ConfigMap ssl-session-cache-size': { good: [], bad: served, default: [] },
    'ConfigMap ssl-buffer-size': { good: [], bad: served, default: [] },
    'ConfigMap ssl-reject-handshake': { good: [], bad: [showsDefault], default: [] },
  },
};

export const clientTlsOther: AnnotationTable = {
  title: 'TLS with clients, ciphers that the proxy has not and a short session',
  start: () =>
    tlsWorld({
      'ssl-ciphers': 'RC4-SHA:DES-CBC3-SHA',
      'ssl-session-timeout': '1s',
      'ssl-ecdh-curve': 'secp256r1',
    }),
  keys: {
    'ConfigMap ssl-session-timeout': {
      good: [resumes('an old session is not taken up', withoutTickets, false, 2_100)],
      default: [],
    },
    'ConfigMap ssl-ciphers': { good: [], bad: [speaksGcm], default: [] },
    'ConfigMap ssl-ecdh-curve': {
      good: [
        handshake('a curve of the list', { ecdhCurve: 'P-256' }, protocol, 'TLSv1.3'),
        handshake('no other curve', { ecdhCurve: 'X25519', minVersion: 'TLSv1.3' }, protocol, 'refused'),
      ],
      default: [],
    },
  },
};

export const clientTlsDefault: AnnotationTable = {
  title: 'TLS with clients, by default',
  start: () => tlsWorld({}),
  keys: {
    'ConfigMap use-http2': { good: [], default: [speaksHttp2] },
    'ConfigMap ssl-protocols': {
      good: [],
      default: [speaks12, handshake('TLS 1.3 is spoken', {}, protocol, 'TLSv1.3')],
    },
    'ConfigMap ssl-ciphers': {
      good: [],
      default: [speaksGcm, handshake('no old ciphers', onlyOld('ECDHE-ECDSA-AES128-SHA'), cipher, 'refused')],
    },
    'ConfigMap ssl-ecdh-curve': { good: [], default: [speaksX25519] },
    'ConfigMap ssl-session-cache': { good: [], default: [remembers] },
    'ConfigMap ssl-session-tickets': { good: [], default: [noTickets] },
    'ConfigMap ssl-session-timeout': { good: [], default: [remembers] },
    'ConfigMap ssl-session-cache-size': { good: [], default: served },
    'ConfigMap ssl-buffer-size': { good: [], default: served },
    'ConfigMap ssl-reject-handshake': {
      good: [],
      default: [showsDefault, { url: `https://${HOST}/`, backend: 'web' }],
    },
  },
};

const FIRST = `${GCM}:${CHACHA}`;
/** In the reverse order, in which the client prefers them. */
const LAST = `${CHACHA}:${GCM}`;
const ofHost = (host: string, options: ConnectionOptions): ConnectionOptions => ({
  servername: `${host}.hosts.example.com`,
  ...options,
});
const speaks = (title: string, host: string, offered: string, expected: string) =>
  handshake(title, ofHost(host, onlyOld(offered)), cipher, expected);

export const clientTlsOfHosts: AnnotationTable = {
  title: 'TLS with clients, of single hosts',
  start: async () => {
    const pair = await makePair(['*.hosts.example.com']);
    const host = (
      label: string,
      annotations: Readonly<Record<string, string>>,
      secretName: string | undefined = 'all',
    ) =>
      ingress({
        name: label,
        annotations: annotated(annotations),
        rules: [{ host: `${label}.hosts.example.com`, paths: [{ path: '/', service: 'web:80' }] }],
        ...(secretName && { tls: [{ hosts: [`${label}.hosts.example.com`], secretName }] }),
      });
    return edgeWorld({}, [
      tlsSecret('all', pair),
      host('listed', { 'ssl-ciphers': `DHE-RSA-AES128-GCM-SHA256:${CHACHA}:!aNULL` }),
      host('ordered', { 'ssl-ciphers': FIRST, 'ssl-prefer-server-ciphers': 'true' }),
      host('reversed', { 'ssl-ciphers': FIRST, 'ssl-prefer-server-ciphers': 'false' }),
      host('odd', { 'ssl-ciphers': FIRST, 'ssl-prefer-server-ciphers': 'maybe' }),
      host('group', { 'ssl-ciphers': 'HIGH:!aNULL' }),
      host('old', { 'ssl-ciphers': 'RC4-SHA' }),
      host('refused', { 'ssl-ciphers': '(all)' }),
      host('silent', {}),
      host('fallback', { 'ssl-ciphers': CHACHA }, ''),
      ingress({
        name: 'later',
        created: '2030-01-01T00:00:00Z',
        annotations: annotated({ 'ssl-ciphers': GCM }),
        rules: [{ host: 'listed.hosts.example.com', paths: [{ path: '/later', service: 'web:80' }] }],
      }),
    ]);
  },
  keys: {
    'ssl-ciphers': {
      good: [
        speaks('a cipher of the list', 'listed', FIRST, CHACHA),
        speaks('no other cipher', 'listed', GCM, 'refused'),
        handshake('TLS 1.3 as ever', ofHost('listed', { minVersion: 'TLSv1.3' }), protocol, 'TLSv1.3'),
        { url: 'https://listed.hosts.example.com/', backend: 'web' },
        { url: 'https://listed.hosts.example.com/later', backend: 'web' },
        speaks('a group leaves the choice to the proxy', 'group', GCM, GCM),
        speaks('without a certificate of its own', 'fallback', GCM, 'refused'),
      ],
      bad: [
        speaks('no cipher that the proxy has', 'old', GCM, GCM),
        { url: 'https://refused.hosts.example.com/', status: 404, because: 'the Ingress is not taken' },
      ],
      default: [speaks('another host with the same certificate', 'silent', GCM, GCM)],
      neighbours: [
        speaks('a name that no Ingress has', 'nobody', GCM, GCM),
        handshake(
          'the certificate stays',
          ofHost('listed', {}),
          (socket) => socket.getPeerCertificate().subjectaltname,
          'DNS:*.hosts.example.com',
        ),
      ],
    },
    'ssl-prefer-server-ciphers': {
      good: [
        speaks('the order of the client', 'reversed', LAST, CHACHA),
        speaks('the order of the client, who likes others', 'reversed', FIRST, GCM),
        speaks('the order of the host', 'ordered', LAST, GCM),
      ],
      bad: [speaks('the order of the host', 'odd', LAST, GCM)],
      default: [speaks('nobody is asked', 'silent', CHACHA, CHACHA)],
    },
  },
};
