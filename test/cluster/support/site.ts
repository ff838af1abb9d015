/** A cluster with the product in it, which reaches the API server through a proxy that can make faults. */
import { ingress, ingressClass } from '../../support/manifests.ts';
import type { Manifest } from './api.ts';
import { type Backend, startBackend } from './backend.ts';
import { type Cluster, type ClusterOptions, startCluster } from './cluster.ts';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import { type Account, createAccount } from './permissions.ts';
import { type Product, type ProductOptions, served, startProduct } from './product.ts';
import { namespace } from './workloads.ts';

export interface Site {
  readonly cluster: Cluster;
  readonly proxy: FaultProxy;
  /** Its kubeconfig leads through the proxy. */
  readonly account: Account;
  /** Where the Service `web` is, which answers `web`. */
  readonly namespace: string;
  /** The one that runs. */
  readonly product: Product;
  /** Starts the product, instead of one that ran before. Does not wait for it to be ready. */
  start(options?: Partial<ProductOptions>): Promise<Product>;
  /** An Ingress called like its host with `-` for dots, to the Service `web`. */
  ingress(host: string, path?: string): Manifest;
  close(): Promise<void>;
}

/** Without pods, unless told otherwise; the host `steady.test` is served. */
export async function startSite(options: ClusterOptions = { pods: false }): Promise<Site> {
  const cluster = await startCluster(options);
  const closers: (() => Promise<unknown>)[] = [() => cluster.stop()];
  const close = async () => {
    for (const each of closers.toReversed()) await each();
  };
  try {
    const proxy = await startFaultProxy(cluster);
    closers.push(proxy.close);
    const account = await createAccount(cluster, { server: proxy.url });
    const where = await namespace(cluster);
    const backend: Backend = await startBackend('web');
    closers.push(backend.close);
    const webIngress = (host: string, path = '/') => {
      const name = host.replaceAll('.', '-');
      return ingress({ name, namespace: where, rules: [{ host, paths: [{ path, service: 'web:80' }] }] });
    };
    await cluster.api.apply(ingressClass('nginx', 'k8s.io/ingress-nginx'), ...backend.manifests(where, 'web'));
    await cluster.api.apply(webIngress(STEADY_HOST));
    let product: Product | undefined;
    closers.push(async () => product?.stop());
    const start: Site['start'] = async (more = {}) => {
      await product?.stop();
      product = startProduct(cluster, { account, ...more });
      return product;
    };
    await (await start()).ready();
    await served(STEADY_HOST, { product: product! });
    return {
      cluster,
      proxy,
      account,
      namespace: where,
      get product() {
        return product!;
      },
      start,
      ingress: webIngress,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Served from the start to the end. */
export const STEADY_HOST = 'steady.test';
