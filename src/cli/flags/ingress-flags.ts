import type { Flags } from './flag.ts';

/** Which Ingresses are served, and how. */
export const ingressFlags = {
  'ingress-class': {
    type: 'string',
    default: 'nginx',
    describe:
      'Value of the annotation kubernetes.io/ingress.class that is ours; also the class name for --ingress-class-by-name',
  },
  'controller-class': {
    type: 'string',
    default: 'k8s.io/ingress-nginx',
    describe: 'Value of spec.controller of the IngressClasses that are ours',
  },
  'ingress-class-by-name': {
    type: 'boolean',
    default: false,
    describe: 'Serve the IngressClass that is called like --ingress-class, whatever its controller',
  },
  'watch-ingress-without-class': {
    type: 'boolean',
    default: false,
    describe: 'Serve Ingresses that name no class at all',
  },
  'annotations-prefix': {
    type: 'string',
    default: 'nginx.ingress.kubernetes.io',
    describe: 'Prefix of the annotations that configure an Ingress',
  },
  configmap: {
    type: 'string',
    describe: 'NAMESPACE/NAME of the ConfigMap with the global options',
  },
  'tcp-services-configmap': {
    type: 'string',
    describe: 'NAMESPACE/NAME of the ConfigMap with the TCP ports to serve and their Services',
  },
  'udp-services-configmap': {
    type: 'string',
    describe: 'NAMESPACE/NAME of the ConfigMap with the UDP ports to serve and their Services',
  },
  'default-backend-service': {
    type: 'string',
    describe: 'NAMESPACE/NAME of the Service that answers what no rule matches; without it 404',
  },
  'default-ssl-certificate': {
    type: 'string',
    describe:
      'NAMESPACE/NAME of the TLS Secret for hosts without a certificate of their own; without it a generated one',
  },
  'tls-on-demand': {
    type: 'boolean',
    default: false,
    describe:
      'Let Envoy look up certificates for single hosts when they are asked for; for more than 200 certificates. Server names that nobody claims are then refused, and TLS sessions are not resumed',
  },
  'enable-ssl-passthrough': {
    type: 'boolean',
    default: false,
    describe: 'Pass TLS through to the backend where the annotation ssl-passthrough asks for it',
  },
  'disable-catch-all': {
    type: 'boolean',
    default: false,
    describe: 'Ignore Ingresses that have spec.defaultBackend',
  },
  'route-sharding': {
    type: 'boolean',
    default: false,
    describe:
      'Divide the route table, so that a changed host costs Envoy little, however many there are; for more than 1,000 hosts',
  },
  'disable-svc-external-name': {
    type: 'boolean',
    default: false,
    describe: 'Resolve no Service of type ExternalName: its paths answer 503',
  },
  'access-log': {
    type: 'boolean',
    default: true,
    describe: "Write a line for each request to Envoy's standard output, in the format of ingress-nginx",
  },
  'deep-inspect': {
    type: 'boolean',
    default: true,
    describe: 'Refuse Ingresses with dangerous text in hosts, paths or tls, as ingress-nginx does',
  },
  'http-port': { type: 'number', default: 80, describe: 'Port for HTTP' },
  'https-port': { type: 'number', default: 443, describe: 'Port for HTTPS' },
  http3: {
    type: 'boolean',
    default: false,
    describe: 'Serve HTTP/3, too: over UDP on the port for HTTPS. Answers over TLS tell clients of it (Alt-Svc)',
  },
  'http3-advertised-port': {
    type: 'number',
    describe: 'UDP port that clients are told of, where it is not --https-port: that of a Service in front',
  },
} as const satisfies Flags;

/** What only a running control plane can honour, because it depends on where it runs. */
export const routingFlags = {
  'enable-topology-aware-routing': {
    type: 'boolean',
    default: false,
    describe:
      'Prefer endpoints in the zone of this pod, for Services with the annotation service.kubernetes.io/topology-mode: auto',
  },
} as const satisfies Flags;
