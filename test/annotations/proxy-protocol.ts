import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import type { Exchange, Ports } from '../parity/table.ts';
import type { Received } from '../support/backend.ts';
import { poll } from '../support/gateway.ts';
import { edgeWorld, HOST, SECURE_HOST } from './edge.ts';
import type { AnnotationCase, AnnotationTable } from './table.ts';

/** What a load balancer writes in front of a connection that a client made to this port of its. */
const header = (port: number) => `PROXY TCP4 203.0.113.7 192.0.2.1 40000 ${port}\r\n`;

interface Ask {
  readonly host: string;
  readonly tls?: boolean;
  /** In front of everything else; absent: nothing. */
  readonly before?: string;
  readonly headers?: readonly string[];
}

/** The status line's number and what the backend received; `closed` where the connection ends without an answer. */
async function ask(ports: Ports, { host, tls = false, before = '', headers = [] }: Ask) {
  const socket = connect({ host: '127.0.0.1', port: tls ? ports.httpsPort : ports.httpPort });
  await once(socket, 'connect');
  socket.write(before);
  const stream = tls ? tlsConnect({ socket, servername: host, rejectUnauthorized: false }) : socket;
  const lines = ['GET / HTTP/1.1', `host: ${host}`, 'connection: close', ...headers];
  stream.write(`${lines.join('\r\n')}\r\n\r\n`);
  const text = await everything(stream);
  if (!text.startsWith('HTTP/1.1 200')) return /^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 'closed';
  const { headers: received } = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)) as Received;
  return pick(received, 'x-real-ip', 'x-forwarded-proto', 'x-forwarded-port');
}

function pick(headers: Received['headers'], ...names: readonly string[]) {
  return names.map((name) => headers[name]);
}

async function everything(stream: Socket): Promise<string> {
  let text = '';
  stream.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  // A reset is an end like others.
  stream.on('error', () => {});
  await new Promise((resolve) => stream.on('close', resolve));
  return text;
}

function exchange(title: string, request: Ask, expected: unknown): Exchange {
  return { title, run: (ports) => ask(ports, request), expected };
}

const namesClient: readonly AnnotationCase[] = [
  exchange('HTTP', { host: HOST, before: header(80) }, ['203.0.113.7', 'http', '80']),
  exchange('HTTPS', { host: HOST, tls: true, before: header(443) }, ['203.0.113.7', 'https', '443']),
  exchange('TLS ended by a load balancer', { host: SECURE_HOST, before: header(443) }, ['203.0.113.7', 'https', '443']),
  exchange('plain HTTP', { host: SECURE_HOST, before: header(80) }, '308'),
];

const wantsHeader: readonly AnnotationCase[] = [
  exchange('without a header', { host: HOST }, 'closed'),
  exchange('without a header, over TLS', { host: HOST, tls: true }, 'closed'),
];

/** What the log says of a request: the values that the header has. */
async function logged(ports: Ports): Promise<string | undefined> {
  await ask(ports, { host: HOST, before: header(80), headers: ['x-request-id: logged'] });
  const line = () =>
    ports
      .accessLog?.()
      .split('\n')
      .find((one) => one.startsWith('logged '));
  await poll(
    () => line() !== undefined,
    () => 'no line',
  );
  return line();
}

const PROXY_VARIABLES = ['addr', 'port', 'server_addr', 'server_port'].map((name) => `$proxy_protocol_${name}`);

export const proxyProtocol: AnnotationTable = {
  title: 'PROXY protocol',
  start: async () => ({
    ...(await edgeWorld({
      'use-proxy-protocol': 'true',
      'proxy-protocol-header-timeout': '1s',
      'log-format-upstream': `$req_id ${PROXY_VARIABLES.join(' ')}`,
    })),
    accessLog: true,
  }),
  keys: {
    'ConfigMap log-format-upstream': {
      good: [{ title: 'what the header says', run: logged, expected: 'logged 203.0.113.7 40000 192.0.2.1 80' }],
      default: [],
    },
    'ConfigMap use-proxy-protocol': {
      good: [...namesClient, ...wantsHeader],
      neighbours: [
        exchange(
          'a list of addresses does not count',
          { host: HOST, before: header(80), headers: ['x-forwarded-for: 198.51.100.1'] },
          ['203.0.113.7', 'http', '80'],
        ),
      ],
      default: [],
    },
    'ConfigMap proxy-protocol-header-timeout': {
      good: [
        {
          title: 'half of a header is not waited for',
          run: async ({ httpPort }) => {
            const socket = connect({ host: '127.0.0.1', port: httpPort });
            socket.write('PROXY TCP4 203.0.');
            const first = await Promise.race([
              everything(socket).then(() => 'closed'),
              new Promise((resolve) => setTimeout(resolve, 2_500, 'open')),
            ]);
            socket.destroy();
            return first;
          },
          expected: 'closed',
        },
      ],
      default: [],
    },
  },
};

export const proxyProtocolAndForwarding: AnnotationTable = {
  title: 'PROXY protocol together with forwarded headers',
  start: () =>
    edgeWorld({
      'use-proxy-protocol': 'true',
      'use-forwarded-headers': 'true',
      'proxy-protocol-header-timeout': 'soon',
    }),
  keys: {
    'ConfigMap use-proxy-protocol': {
      good: [],
      neighbours: [
        ...namesClient,
        exchange(
          'what a request says counts',
          { host: SECURE_HOST, before: header(80), headers: ['x-forwarded-proto: https', 'x-forwarded-port: 4430'] },
          ['203.0.113.7', 'https', '4430'],
        ),
      ],
      default: [],
    },
    'ConfigMap forwarded-for-proxy-protocol-header': {
      good: [
        {
          ...exchange(
            'the list goes on from the address of the header',
            { host: HOST, before: header(80), headers: ['x-forwarded-for: 198.51.100.1'] },
            ['198.51.100.1', 'http', '80'],
          ),
          differs: 'proxyProtocolAndList',
          nginx: ['203.0.113.7', 'http', '80'],
        },
      ],
      default: [],
    },
    'ConfigMap proxy-protocol-header-timeout': { good: [], bad: wantsHeader, default: [] },
  },
};

export const proxyProtocolDefault: AnnotationTable = {
  title: 'PROXY protocol, where nobody can read that it is wanted',
  start: () => edgeWorld({ 'use-proxy-protocol': 'yes' }),
  keys: {
    'ConfigMap use-proxy-protocol': {
      good: [],
      bad: [exchange('a header is no request', { host: HOST, before: header(80) }, '400')],
      default: [exchange('a header is no request', { host: HOST, before: header(80) }, '400')],
    },
    'ConfigMap proxy-protocol-header-timeout': {
      good: [],
      default: [{ url: `http://${HOST}/`, backend: 'web' }],
    },
  },
};
