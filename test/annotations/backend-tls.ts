import type { Backend } from '../support/backend.ts';
import { configMap, ingress, type Manifest, secret, service } from '../support/manifests.ts';
import { makeAuthority } from '../support/pki.ts';
import { startSecureBackend } from '../support/secure-backend.ts';
import { type AnnotationTable, annotated, type KeyCases } from './table.ts';

const DOMAIN = 'tls-backend.example.com';
/** What certificates of backends are for. */
const POD = 'pod.example.com';

/** A host whose backends speak HTTPS, with these of the `proxy-ssl-*` annotations; `secret` is in the own namespace. */
function host(
  name: string,
  to: string,
  annotations: Readonly<Record<string, string>>,
  { secret: secretName = 'both', protocol = 'HTTPS' }: { readonly secret?: string; readonly protocol?: string } = {},
): Manifest {
  return ingress({
    name,
    annotations: annotated({
      'backend-protocol': protocol,
      ...(secretName !== '' && { 'proxy-ssl-secret': secretName.includes('/') ? secretName : `default/${secretName}` }),
      ...annotations,
    }),
    rules: [{ host: `${name}.${DOMAIN}`, paths: [{ path: '/', service: `${to}:443` }] }],
  });
}

function to(name: string) {
  return { url: `http://${name}.${DOMAIN}/` };
}

const verify = { 'proxy-ssl-verify': 'on', 'proxy-ssl-name': POD };

export const backendTls: AnnotationTable = {
  title: 'TLS to backends',
  start: async () => {
    const [root, other] = await Promise.all([makeAuthority('root'), makeAuthority('other')]);
    const middle = await root.below('middle');
    const [client, pod, deepPod, foreignPod] = await Promise.all([
      root.issue('client'),
      root.issue(POD),
      middle.issue(POD),
      other.issue(POD),
    ]);
    const backends: readonly Backend[] = await Promise.all([
      startSecureBackend('pod', { pair: pod }),
      startSecureBackend('deep', { pair: deepPod }),
      startSecureBackend('foreign', { pair: foreignPod }),
      startSecureBackend('asking', { pair: pod, clientAuthority: root.certificate }),
      startSecureBackend('newest', { pair: pod, versions: { min: 'TLSv1.3' } }),
      startSecureBackend('oldest', { pair: pod, versions: { max: 'TLSv1.2' } }),
    ]);
    const services = backends.flatMap(({ name, slice }) => [service(name, [{ port: 443 }]), slice(name)]);
    const pair = { 'tls.crt': client.chain, 'tls.key': client.key };
    return {
      close: async () => {
        await Promise.all(backends.map((backend) => backend.close()));
      },
      manifests: [
        ...services,
        secret('both', { ...pair, 'ca.crt': root.certificate }),
        secret('pair', pair),
        secret('authority', { 'ca.crt': root.certificate }),
        secret('broken', { ...pair, 'tls.key': 'none' }),
        secret('both', pair, 'elsewhere'),
        host('shown', 'asking', {}),
        host('shown-too', 'asking', { 'proxy-connect-timeout': '7' }),
        host('shown-pair', 'asking', {}, { secret: 'pair' }),
        host('shown-none', 'asking', {}, { secret: '' }),
        host('hidden', 'asking', {}, { secret: 'authority' }),
        host('missing', 'pod', {}, { secret: 'nothing' }),
        host('broken', 'pod', {}, { secret: 'broken' }),
        host('foreign-secret', 'pod', {}, { secret: 'elsewhere/both' }),
        host('bad-secret', 'pod', {}, { secret: 'No Name/' }),
        host('plain-missing', 'pod', {}, { secret: 'nothing', protocol: 'HTTP' }),
        host('verified', 'pod', verify),
        host('verified-authority', 'pod', verify, { secret: 'authority' }),
        host('verified-foreign', 'foreign', verify),
        host('verified-pair', 'pod', verify, { secret: 'pair' }),
        host('verified-nothing', 'foreign', verify, { secret: '' }),
        host('badly-verified', 'foreign', { 'proxy-ssl-verify': 'true' }),
        host('unverified', 'foreign', { 'proxy-ssl-verify': 'off' }),
        host('deep', 'deep', verify),
        host('shallow', 'deep', { ...verify, 'proxy-ssl-verify-depth': '0' }),
        host('badly-deep', 'deep', { ...verify, 'proxy-ssl-verify-depth': 'all' }),
        host('other-name', 'pod', { ...verify, 'proxy-ssl-name': 'other.example.com' }),
        host('no-name', 'pod', { 'proxy-ssl-verify': 'on' }),
        host('bad-name', 'pod', { ...verify, 'proxy-ssl-name': '(pod)' }),
        host('sni', 'pod', { 'proxy-ssl-server-name': 'on', 'proxy-ssl-name': POD }),
        host('bad-sni', 'pod', { 'proxy-ssl-server-name': 'yes', 'proxy-ssl-name': POD }),
        host('newest', 'newest', { 'proxy-ssl-protocols': 'TLSv1.3' }),
        host('both-versions', 'newest', { 'proxy-ssl-protocols': 'TLSv1.2 TLSv1.3' }),
        host('bad-versions', 'pod', { 'proxy-ssl-protocols': 'TLSv1.1' }),
        host('too-new', 'oldest', { 'proxy-ssl-protocols': 'TLSv1.3' }),
        host('too-old', 'newest', {}),
        host('cipher', 'oldest', { 'proxy-ssl-ciphers': 'ECDHE-ECDSA-AES256-GCM-SHA384' }),
        host('some-cipher', 'oldest', { 'proxy-ssl-ciphers': 'ECDHE-ECDSA-AES256-GCM-SHA384:RC4-MD5:!aNULL' }),
        host('no-cipher', 'oldest', { 'proxy-ssl-ciphers': 'RC4-MD5' }),
        host('bad-cipher', 'oldest', { 'proxy-ssl-ciphers': '{}' }),
        host('cipher-group', 'oldest', { 'proxy-ssl-ciphers': 'HIGH:!aNULL' }),
      ],
    };
  },
  keys: {
    'proxy-ssl-secret': {
      good: [
        { ...to('shown'), backend: 'asking', received: { 'seen-client': 'client' } },
        {
          ...to('shown-too'),
          backend: 'asking',
          received: { 'seen-client': 'client' },
          because: 'clusters share a Secret',
        },
        { ...to('shown-pair'), backend: 'asking', received: { 'seen-client': 'client' } },
        { ...to('hidden'), status: 502, because: 'the Secret holds no certificate to show' },
      ],
      bad: [
        { ...to('missing'), status: 503 },
        { ...to('broken'), status: 503 },
        { ...to('foreign-secret'), status: 503, because: 'it is in another namespace' },
        { ...to('bad-secret'), status: 404, because: 'the Ingress is not taken' },
        { ...to('plain-missing'), status: 503, because: 'whatever backends speak' },
      ],
      default: [{ ...to('shown-none'), status: 502 }],
    },
    'proxy-ssl-verify': {
      good: [
        { ...to('verified'), backend: 'pod', received: { 'seen-client': 'none', 'seen-server-name': 'none' } },
        { ...to('verified-authority'), backend: 'pod' },
        { ...to('verified-foreign'), status: 502 },
        { ...to('unverified'), backend: 'foreign' },
      ],
      bad: [{ ...to('badly-verified'), backend: 'foreign' }],
      default: [{ ...to('bad-versions'), backend: 'pod' }],
      neighbours: [
        { ...to('verified-pair'), status: 503, because: 'there is nothing to verify against' },
        { ...to('verified-nothing'), backend: 'foreign', because: 'without proxy-ssl-secret it has no effect' },
      ],
    },
    'proxy-ssl-verify-depth': {
      good: [{ ...to('shallow'), backend: 'deep', nginx: { status: 502 }, because: 'Envoy heeds no depth' }],
      bad: [{ ...to('badly-deep'), backend: 'deep' }],
      default: [{ ...to('deep'), backend: 'deep' }],
    },
    'proxy-ssl-name': {
      good: [{ ...to('other-name'), status: 502 }],
      bad: [{ ...to('bad-name'), status: 502, because: 'nothing says which name is right' }],
      default: [{ ...to('no-name'), status: 502 }],
    },
    'proxy-ssl-server-name': {
      good: [{ ...to('sni'), backend: 'pod', received: { 'seen-server-name': POD } }],
      bad: [{ ...to('bad-sni'), backend: 'pod', received: { 'seen-server-name': 'none' } }],
      default: [{ ...to('verified'), backend: 'pod', received: { 'seen-server-name': 'none' } }],
    },
    'proxy-ssl-protocols': {
      good: [
        { ...to('newest'), backend: 'newest', received: { 'seen-version': 'TLSv1.3' } },
        { ...to('both-versions'), backend: 'newest', received: { 'seen-version': 'TLSv1.3' } },
        { ...to('too-new'), status: 502 },
      ],
      bad: [{ ...to('bad-versions'), backend: 'pod', received: { 'seen-version': 'TLSv1.2' } }],
      default: [
        { ...to('too-old'), status: 502 },
        { ...to('verified'), backend: 'pod', received: { 'seen-version': 'TLSv1.2' } },
      ],
    },
    'proxy-ssl-ciphers': {
      good: [
        { ...to('cipher'), backend: 'oldest', received: { 'seen-cipher': 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384' } },
        {
          ...to('some-cipher'),
          backend: 'oldest',
          received: { 'seen-cipher': 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384' },
        },
        { ...to('no-cipher'), backend: 'oldest' },
        { ...to('cipher-group'), backend: 'oldest' },
      ],
      bad: [{ ...to('bad-cipher'), backend: 'oldest' }],
      default: [{ ...to('verified'), backend: 'pod' }],
    },
  },
};

/** A Secret of another namespace, by what the ConfigMap says about it. */
function acrossNamespaces(title: string, value: string | undefined, cases: KeyCases): AnnotationTable {
  return {
    title: `TLS to backends with what another namespace holds: ${title}`,
    start: async () => {
      const root = await makeAuthority('root');
      const [pod, client] = await Promise.all([root.issue(POD), root.issue('client')]);
      const backend = await startSecureBackend('asking', { pair: pod, clientAuthority: root.certificate });
      return {
        build: { configMap: 'default/config' },
        close: backend.close,
        manifests: [
          configMap('config', value === undefined ? {} : { 'allow-cross-namespace-resources': value }),
          service('asking', [{ port: 443 }]),
          backend.slice('asking'),
          secret('both', { 'tls.crt': client.chain, 'tls.key': client.key }, 'elsewhere'),
          host('across', 'asking', {}, { secret: 'elsewhere/both' }),
        ],
      };
    },
    keys: { 'ConfigMap allow-cross-namespace-resources': cases },
  };
}

export const backendTlsAcrossNamespaces: readonly AnnotationTable[] = [
  acrossNamespaces('allowed', 'true', {
    good: [{ ...to('across'), backend: 'asking', received: { 'seen-client': 'client' } }],
    default: [],
  }),
  acrossNamespaces('not said', undefined, { good: [], default: [{ ...to('across'), status: 503 }] }),
  acrossNamespaces('not readable', 'yes', { good: [], bad: [{ ...to('across'), status: 503 }], default: [] }),
];
