import type { Flags } from './flag.ts';

/** What is written into the cluster, and by which replica. */
export const statusFlags = {
  'update-status': { type: 'boolean', default: true, describe: 'Write addresses into the status of Ingresses' },
  'publish-service': {
    type: 'string',
    describe: 'NAMESPACE/NAME of the Service whose addresses are written; without it the nodes of these pods',
  },
  'publish-status-address': {
    type: 'string',
    describe: 'Addresses or host names to write, separated by commas; not together with --publish-service',
  },
  'report-node-internal-ip-address': {
    type: 'boolean',
    default: false,
    describe: 'Write the internal addresses of the nodes instead of their external ones',
  },
  'status-update-interval': {
    type: 'number',
    default: 60,
    atLeast: 5,
    describe: 'Seconds after which the addresses are looked up and compared again; at least 5',
  },
  'status-ack-timeout': {
    type: 'string',
    duration: true,
    default: '10s',
    describe: 'How long the leader waits for proxies to have an Ingress before it writes its status nevertheless',
  },
  'update-status-on-shutdown': {
    type: 'boolean',
    default: true,
    describe: 'Remove the addresses when the last replica ends',
  },
  'election-id': {
    type: 'string',
    default: 'ingress-controller-leader',
    describe: 'Name of the Lease, in the namespace of this pod, with which replicas elect a leader',
  },
  'election-ttl': {
    type: 'string',
    duration: true,
    default: '30s',
    describe: 'How long a leader that cannot be heard of remains the leader',
  },
  'disable-leader-election': { type: 'boolean', default: false, describe: 'Let each replica act as the leader' },
  'disable-sync-events': { type: 'boolean', default: false, describe: 'Write no Sync events for Ingresses' },
} as const satisfies Flags;

/** Review of Ingresses before the API server stores them. */
export const webhookFlags = {
  'validating-webhook': {
    type: 'string',
    describe: 'HOST:PORT on which the API server may ask for reviews; the host may be left out; without it none',
  },
  'validating-webhook-certificate': {
    type: 'string',
    describe: 'PEM file with the certificate of the webhook; read again when it changes',
  },
  'validating-webhook-key': {
    type: 'string',
    describe: 'PEM file with the private key of the webhook; read again when it changes',
  },
  'disable-full-test': {
    type: 'boolean',
    default: false,
    describe: 'Review an Ingress by itself, not together with all others',
    withoutMeaning: 'a review looks only at what an Ingress has to do with, which is quick',
  },
} as const satisfies Flags;
