import type { Flags } from './flag.ts';

/** A folder of manifests instead of a cluster. */
export const sourceFlags = {
  manifests: {
    type: 'string',
    array: true,
    describe:
      'Folder of Kubernetes manifests to serve instead of a cluster (*.yaml, *.yml, *.json below it); may be repeated; - is the standard input, for check and translate',
  },
  endpoint: {
    type: 'string',
    array: true,
    describe: 'Where a Service lives on this machine: NAMESPACE/SERVICE:PORT=ADDRESS:PORT; may be repeated',
  },
} as const satisfies Flags;

export const echoFlags = {
  echo: {
    type: 'boolean',
    default: false,
    describe:
      'Answer for every Service without endpoints with a built-in backend that shows what the Service would receive',
  },
} as const satisfies Flags;

/** Which cluster, and which part of it. */
export const clusterFlags = {
  kubeconfig: {
    type: 'string',
    describe: 'kubeconfig file; without it the cluster that this pod runs in, else $KUBECONFIG or ~/.kube/config',
  },
  'apiserver-host': {
    type: 'string',
    describe: 'URL of the API server, instead of what the pod or the kubeconfig says',
  },
  'certificate-authority': {
    type: 'string',
    describe: 'PEM file with the certificate authority of the API server; only with --apiserver-host',
  },
  'watch-namespace': { type: 'string', describe: 'Namespace to serve; without it all' },
  'watch-namespace-selector': {
    type: 'string',
    describe: 'Label selector of the namespaces to serve; without it all',
  },
  'sync-period': {
    type: 'string',
    duration: true,
    default: '0s',
    describe: 'How often everything is read again',
    withoutMeaning: 'changes are followed without gaps, so nothing needs to be read again',
  },
} as const satisfies Flags;
