import { startWith } from '../envoy/behaviour/cases.ts';
import { ingress } from '../support/manifests.ts';
import { type AnnotationTable, annotated, type KeyCases } from './table.ts';

/** What leads to authentication or a firewall, and what is left over where it is taken away. */
const FEATURES: readonly {
  readonly leader: string;
  readonly value: string;
  readonly details: Readonly<Record<string, string>>;
}[] = [
  {
    leader: 'auth-type',
    value: 'basic',
    details: { 'auth-secret': 'users', 'auth-realm': 'Staff only', satisfy: 'any' },
  },
  {
    leader: 'auth-url',
    value: 'http://auth.example.com/',
    details: {
      'auth-signin': 'http://auth.example.com/start',
      'auth-response-headers': 'X-User',
      'auth-keepalive': '0',
      'enable-global-auth': 'false',
    },
  },
  {
    leader: 'auth-tls-secret',
    value: 'default/ca',
    details: {
      'auth-tls-verify-client': 'on',
      'auth-tls-match-cn': 'CN=client',
      'auth-tls-pass-certificate-to-upstream': 'true',
    },
  },
  { leader: 'enable-modsecurity', value: 'true', details: { 'enable-owasp-core-rules': 'true' } },
];

function host(name: string, annotations: Readonly<Record<string, string>>) {
  return ingress({
    name,
    annotations: annotated(annotations),
    rules: [{ host: `${name}.leftovers.example.com`, paths: [{ path: '/' }] }],
  });
}

const at = (name: string) => `http://${name}.leftovers.example.com/`;
const closed = (name: string): KeyCases['good'] => [
  { url: at(name), status: 503, because: 'it protects, and cannot be honoured yet' },
];
const served = (name: string): KeyCases['default'] => [
  { url: at(name), backend: 'web', because: 'without what it belongs to it does nothing' },
];

export const leftovers: AnnotationTable = {
  title: 'leftovers of what protects',
  start: startWith(['web'], () => [
    ...FEATURES.flatMap(({ leader, value, details }) => [
      host(leader, { [leader]: value }),
      host(`emptied-${leader}`, { ...details, [leader]: '' }),
      ...Object.entries(details).flatMap(([name, detail]) => [
        host(`all-${name}`, { [leader]: value, [name]: detail }),
        host(name, { [name]: detail }),
      ]),
    ]),
  ]),
  keys: Object.fromEntries(
    FEATURES.flatMap(({ leader, details }) => [
      [leader, { good: closed(leader), default: served(`emptied-${leader}`) }],
      ...Object.keys(details).map((name): [string, KeyCases] => [
        name,
        { good: closed(`all-${name}`), default: served(name) },
      ]),
    ]),
  ),
};
