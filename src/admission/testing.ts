/** What the tests of this folder are written with: a cluster to review against, and reviews as the API server sends them. */
import type { BuildOptions } from '../ingress/build.ts';
import { type Change, defaultOptions, type PemPair, World } from '../ingress/testing.ts';
import { readReview } from './request.ts';
import { reviewIngress, type Verdict } from './review.ts';
import { type AdmissionWorld, indexIngressesByHost } from './world.ts';

export const UID = '11111111-2222-4333-8444-555555555555';

/** An Ingress as JSON: fields beside `metadata` and `spec` replace those of a harmless one of our class. */
export interface RawIngress {
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

export function rawPath(path: string, pathType = 'Prefix', service = 'web', port = 80): unknown {
  return { path, pathType, backend: { service: { name: service, port: { number: port } } } };
}

export function rawRule(host: string | undefined, ...paths: readonly unknown[]): unknown {
  return { ...(host !== undefined && { host }), http: { paths } };
}

/** `shop/new`, of class nginx, for `/` of `new.example.com`. */
export function rawIngress({ metadata = {}, spec = {} }: RawIngress = {}): Record<string, unknown> {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {
      namespace: 'shop',
      name: 'new',
      uid: '99999999-8888-4777-8666-555555555555',
      creationTimestamp: '2026-03-01T12:00:00Z',
      ...metadata,
    },
    spec: { ingressClassName: 'nginx', rules: [rawRule('new.example.com', rawPath('/'))], ...spec },
  };
}

export function rawReview(object: unknown, request: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: UID,
      kind: { group: 'networking.k8s.io', version: 'v1', kind: 'Ingress' },
      resource: { group: 'networking.k8s.io', version: 'v1', resource: 'ingresses' },
      operation: 'CREATE',
      namespace: 'shop',
      name: 'new',
      object,
      oldObject: null,
      dryRun: false,
      ...request,
    },
  };
}

export interface ReviewWorldOptions extends Partial<BuildOptions> {
  readonly watches?: AdmissionWorld['watches'];
  readonly emit?: AdmissionWorld['emit'];
}

/** A cluster as it is known after a pass. */
export class ReviewWorld {
  readonly cluster: World;
  readonly world: AdmissionWorld;

  constructor(generated: PemPair, { watches = () => true, emit, ...options }: ReviewWorldOptions = {}) {
    this.cluster = new World(generated, options);
    const { engine, state, build } = this.cluster;
    this.world = {
      state,
      ingressesByHost: indexIngressesByHost(engine, state),
      servedIngresses: build.servedIngresses,
      options: { ...defaultOptions(generated), ...options },
      watches,
      ...(emit && { emit }),
    };
  }

  apply(...changes: readonly Change[]): this {
    this.cluster.apply(...changes);
    return this;
  }

  /** @throws Error when the review is not one. */
  review(object: unknown, request: Readonly<Record<string, unknown>> = {}): Verdict {
    const read = readReview(rawReview(object, request));
    if ('fault' in read) throw new Error(read.fault.reason);
    const steps = reviewIngress(read.request, this.world);
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    return step.value;
  }
}
