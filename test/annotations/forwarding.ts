import { edgeWorld, HOST, SECURE_HOST } from './edge.ts';
import type { AnnotationCase, AnnotationTable } from './table.ts';

const url = `http://${HOST}/`;
const secure = `https://${SECURE_HOST}/`;
const plain = `http://${SECURE_HOST}/`;
const LIST = '203.0.113.5, 198.51.100.4, 10.1.1.1';

function client(ip: string, headers: Readonly<Record<string, string>> = { 'x-forwarded-for': LIST }): AnnotationCase {
  return { url, headers, backend: 'web', received: { 'x-real-ip': ip, 'x-forwarded-for': ip } };
}

/** What a request says of its scheme, host and port does not count. */
const believesNothing: readonly AnnotationCase[] = [
  {
    url,
    headers: { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'other.example.com', 'x-forwarded-port': '4430' },
    backend: 'web',
    received: {
      host: HOST,
      'x-forwarded-proto': 'http',
      'x-forwarded-scheme': 'http',
      'x-scheme': 'http',
      'x-forwarded-host': HOST,
      'x-original-forwarded-host': 'other.example.com',
    },
  },
  { url: plain, headers: { 'x-forwarded-proto': 'https' }, status: 308 },
  { url: secure, headers: { 'x-forwarded-proto': 'http' }, backend: 'web', received: { 'x-forwarded-proto': 'https' } },
];

export const forwardingTrusted: AnnotationTable = {
  title: 'forwarding, where a load balancer is believed',
  start: () =>
    edgeWorld({
      'use-forwarded-headers': 'true',
      'compute-full-forwarded-for': 'true',
      'proxy-real-ip-cidr': '127.0.0.0/8, 10.0.0.0/8',
      'forwarded-host-header': 'X-First-Host',
      'forwarded-for-proxy-protocol-header': 'X-Way',
    }),
  keys: {
    'ConfigMap use-forwarded-headers': {
      good: [
        { url: plain, headers: { 'x-forwarded-proto': 'https' }, backend: 'web' },
        {
          url: plain,
          headers: { 'x-forwarded-proto': 'http', 'x-forwarded-host': 'asked.example.com:8443, proxy.example.com' },
          status: 308,
          answered: { location: 'https://asked.example.com' },
        },
        { url: plain, status: 308, answered: { location: `https://${SECURE_HOST}` } },
        { url: plain, headers: { 'x-forwarded-proto': 'HTTPS' }, status: 308 },
        { url: secure, headers: { 'x-forwarded-proto': 'http' }, status: 308 },
        { url: secure, backend: 'web', received: { 'x-forwarded-proto': 'https' } },
        {
          url,
          headers: {
            'x-forwarded-proto': 'https',
            'x-forwarded-host': 'asked.example.com, proxy.example.com',
            'x-forwarded-port': '4430',
          },
          backend: 'web',
          received: {
            host: 'asked.example.com',
            'x-forwarded-host': 'asked.example.com',
            'x-forwarded-proto': 'https',
            'x-forwarded-scheme': 'https',
            'x-scheme': 'https',
            'x-forwarded-port': '4430',
          },
        },
        { url, backend: 'web', received: { host: HOST, 'x-forwarded-host': HOST, 'x-forwarded-proto': 'http' } },
      ],
      default: [],
    },
    'ConfigMap proxy-real-ip-cidr': {
      good: [
        { url, headers: { 'x-forwarded-for': LIST }, backend: 'web', received: { 'x-real-ip': '198.51.100.4' } },
        {
          url,
          headers: { 'x-forwarded-for': '2001:db8::1, 10.1.1.1' },
          backend: 'web',
          received: { 'x-real-ip': '2001:db8::1' },
        },
      ],
      default: [],
    },
    'ConfigMap compute-full-forwarded-for': {
      good: [
        {
          url,
          headers: { 'x-forwarded-for': LIST },
          backend: 'web',
          received: { 'x-forwarded-for': `${LIST}, 127.0.0.1`, 'x-original-forwarded-for': LIST },
        },
        { url, backend: 'web', received: { 'x-forwarded-for': '127.0.0.1', 'x-original-forwarded-for': undefined } },
      ],
      default: [],
    },
    'ConfigMap forwarded-host-header': {
      good: [
        {
          url,
          headers: { 'x-first-host': 'first.example.com', 'x-forwarded-host': 'other.example.com' },
          backend: 'web',
          received: { 'x-original-forwarded-host': 'first.example.com' },
        },
      ],
      default: [],
    },
    'ConfigMap forwarded-for-proxy-protocol-header': {
      good: [{ url, headers: { 'x-way': '1' }, backend: 'web', received: { 'x-way': '1' } }],
      default: [],
    },
  },
};

export const forwardingRealIp: AnnotationTable = {
  title: 'forwarding, where only the address of the client is believed',
  start: () => edgeWorld({ 'enable-real-ip': 'true', 'forwarded-for-header': 'CF-Connecting-IP' }),
  keys: {
    'ConfigMap enable-real-ip': {
      good: [client('198.51.100.9', { 'cf-connecting-ip': '198.51.100.9' }), ...believesNothing],
      default: [],
    },
    'ConfigMap forwarded-for-header': {
      good: [
        {
          url,
          headers: { 'cf-connecting-ip': '198.51.100.9', 'x-forwarded-for': '203.0.113.66' },
          backend: 'web',
          received: {
            'x-real-ip': '198.51.100.9',
            'x-forwarded-for': '198.51.100.9',
            'x-original-forwarded-for': '198.51.100.9',
          },
        },
        client('127.0.0.1'),
      ],
      default: [],
    },
  },
};

export const forwardingForeignPeer: AnnotationTable = {
  title: 'forwarding, by a peer that is not trusted',
  start: () => edgeWorld({ 'use-forwarded-headers': 'true', 'proxy-real-ip-cidr': '10.0.0.0/8' }),
  keys: {
    'ConfigMap proxy-real-ip-cidr': { good: [client('127.0.0.1')], default: [] },
    'ConfigMap use-forwarded-headers': {
      good: [{ url: plain, headers: { 'x-forwarded-proto': 'https' }, backend: 'web' }],
      default: [],
    },
  },
};

export const forwardingUnreadablePeers: AnnotationTable = {
  title: 'forwarding, with a list of peers that nobody can read',
  start: () =>
    edgeWorld({
      'use-forwarded-headers': 'true',
      'proxy-real-ip-cidr': '127.0.0.0/8, loadbalancer',
      'compute-full-forwarded-for': 'yes',
      'forwarded-for-proxy-protocol-header': '(way)',
    }),
  keys: {
    'ConfigMap proxy-real-ip-cidr': { good: [], bad: [client('127.0.0.1')], default: [] },
    'ConfigMap compute-full-forwarded-for': { good: [], bad: [client('127.0.0.1')], default: [] },
    'ConfigMap forwarded-for-proxy-protocol-header': { good: [], bad: [{ url, backend: 'web' }], default: [] },
  },
};

export const forwardingUnreadable: AnnotationTable = {
  title: 'forwarding, with values that nobody can read',
  start: () =>
    edgeWorld({
      'use-forwarded-headers': 'yes',
      'enable-real-ip': 'true',
      'forwarded-for-header': '(nothing)',
      'forwarded-host-header': '(nothing)',
    }),
  keys: {
    'ConfigMap use-forwarded-headers': { good: [], bad: believesNothing, default: [] },
    'ConfigMap forwarded-for-header': { good: [], bad: [client('203.0.113.5')], default: [] },
    'ConfigMap proxy-real-ip-cidr': { good: [], default: [client('203.0.113.5')] },
    'ConfigMap forwarded-host-header': {
      good: [],
      bad: [
        {
          url,
          headers: { 'x-forwarded-host': 'other.example.com' },
          backend: 'web',
          received: { 'x-original-forwarded-host': 'other.example.com' },
        },
      ],
      default: [],
    },
  },
};

export const forwardingDefault: AnnotationTable = {
  title: 'forwarding, by default',
  start: () => edgeWorld({ 'enable-real-ip': 'yes' }),
  keys: {
    'ConfigMap use-forwarded-headers': { good: [], default: [client('127.0.0.1'), ...believesNothing] },
    'ConfigMap enable-real-ip': { good: [], bad: [client('127.0.0.1')], default: [client('127.0.0.1')] },
    'ConfigMap forwarded-for-header': {
      good: [],
      default: [
        {
          url,
          headers: { 'x-forwarded-for': LIST },
          backend: 'web',
          received: { 'x-original-forwarded-for': LIST },
        },
      ],
    },
    'ConfigMap forwarded-host-header': {
      good: [],
      default: [
        {
          url,
          headers: { 'x-forwarded-host': 'other.example.com', 'x-original-forwarded-host': 'faked.example.com' },
          backend: 'web',
          received: { 'x-original-forwarded-host': 'other.example.com' },
        },
      ],
    },
    'ConfigMap compute-full-forwarded-for': { good: [], default: [client('127.0.0.1')] },
    'ConfigMap forwarded-for-proxy-protocol-header': { good: [], default: [{ url, backend: 'web' }] },
  },
};
