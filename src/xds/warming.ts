/**
 * Clusters that were sent and are not known to be ready for traffic.
 *
 * Envoy withholds the ACK of every response of clusters while any cluster warms, so that one slow cluster makes it silent about
 * all. But a cluster is warm once its endpoints and its secrets were accepted, and their ACK is not withheld: it counts as well.
 */
import type { InFlight } from './channel.ts';
import type { Batch } from './subscription.ts';

interface WarmingCluster {
  readonly order: number;
  readonly sentAt: number;
  readonly endpoints: string | undefined;
  readonly secrets: readonly string[];
  readonly added: boolean;
  /** Its endpoints were accepted; it waits for secrets. */
  hasEndpoints: boolean;
}

export class WarmingClusters {
  private readonly clusters = new Map<string, WarmingCluster>();

  sent({ resources, added }: Batch, { order, sentAt }: InFlight): void {
    const isNew = new Set(added);
    for (const { name, endpoints, secrets } of resources) {
      const former = this.clusters.get(name);
      const stillNew = isNew.has(name) || former?.added === true;
      this.clusters.set(name, { order, sentAt, endpoints, secrets, added: stillNew, hasEndpoints: false });
    }
  }

  /** A response of clusters was accepted or rejected. */
  replied({ order }: InFlight): void {
    for (const [name, cluster] of this.clusters) if (cluster.order === order) this.clusters.delete(name);
  }

  /**
   * A response of endpoints was accepted: what was sent before it, and names these endpoints, is warm once the client has its secrets.
   * @param hasSecret whether the client has a secret.
   */
  endpointsAccepted({ order, versions }: InFlight, hasSecret: (name: string) => boolean): void {
    for (const cluster of this.clusters.values()) {
      const { order: sent, endpoints } = cluster;
      if (endpoints !== undefined && sent < order && versions.has(endpoints)) cluster.hasEndpoints = true;
    }
    this.secretsAccepted(hasSecret);
  }

  secretsAccepted(hasSecret: (name: string) => boolean): void {
    for (const [name, { hasEndpoints, secrets }] of this.clusters)
      if (hasEndpoints && secrets.every(hasSecret)) this.clusters.delete(name);
  }

  /** Whether clusters of this response are among them. */
  includes({ order }: InFlight): boolean {
    for (const cluster of this.clusters.values()) if (cluster.order === order) return true;
    return false;
  }

  /** When the last of those was sent that the client did not have before; minus infinity if there is none. */
  get lastAddedAt(): number {
    return this.added().reduce((last, [, { sentAt }]) => Math.max(last, sentAt), Number.NEGATIVE_INFINITY);
  }

  /** Stops waiting for those that the client did not have before. @returns whether there were any. */
  giveUp(): boolean {
    const added = this.added();
    for (const [name] of added) this.clusters.delete(name);
    return added.length > 0;
  }

  private added(): (readonly [name: string, cluster: WarmingCluster])[] {
    return [...this.clusters].filter(([, { added }]) => added);
  }
}
