/**
 * Clusters that were sent and are not known to be ready for traffic.
 *
 * Envoy withholds the ACK of every response of clusters while any cluster warms, so that one slow cluster makes it silent about
 * all. But a cluster is warm once its endpoints were accepted, and their ACK is not withheld: it counts as well.
 */
import type { InFlight } from './channel.ts';
import type { Batch } from './subscription.ts';

interface WarmingCluster {
  readonly order: number;
  readonly sentAt: number;
  readonly endpoints: string | undefined;
  readonly added: boolean;
}

export class WarmingClusters {
  private readonly clusters = new Map<string, WarmingCluster>();

  sent({ resources, added }: Batch, { order, sentAt }: InFlight): void {
    const isNew = new Set(added);
    for (const { name, endpoints } of resources) {
      const former = this.clusters.get(name);
      const stillNew = isNew.has(name) || former?.added === true;
      this.clusters.set(name, { order, sentAt, endpoints, added: stillNew });
    }
  }

  /** A response of clusters was accepted or rejected. */
  replied({ order }: InFlight): void {
    for (const [name, cluster] of this.clusters) if (cluster.order === order) this.clusters.delete(name);
  }

  /** A response of endpoints was accepted: what was sent before it, and names these endpoints, is warm. */
  endpointsAccepted({ order, versions }: InFlight): void {
    for (const [name, { order: sent, endpoints }] of this.clusters) {
      if (endpoints !== undefined && sent < order && versions.has(endpoints)) this.clusters.delete(name);
    }
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
