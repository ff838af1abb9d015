/** When a response may be written: what waits for which reply, and for how long. */
import type { InFlight, TypeChannel } from './channel.ts';
import type { StreamLimits } from './limits.ts';
import { typeUrls } from './resource.ts';
import type { Batch } from './subscription.ts';
import { WarmingClusters } from './warming.ts';

const NEVER = Number.POSITIVE_INFINITY;

export class Gates {
  private readonly limits: StreamLimits;
  private readonly openedAt: number;
  private readonly warming = new WarmingClusters();
  private clusters: TypeChannel | undefined;
  private secrets: TypeChannel | undefined;
  private clustersSynced = false;
  /** Whether the client holds routes from an earlier stream, so that it will ask for its clusters too. */
  private hadRoutes = false;

  /** @param openedAt when the stream was opened. */
  constructor(limits: StreamLimits, openedAt: number) {
    this.limits = limits;
    this.openedAt = openedAt;
  }

  /** The client has asked for a type for the first time, and holds some of it from an earlier stream or not. */
  begin(channel: TypeChannel, holdsSome: boolean): void {
    if (channel.typeUrl === typeUrls.cluster) this.clusters = channel;
    if (channel.typeUrl === typeUrls.secret) this.secrets = channel;
    if (isRoutes(channel.typeUrl) && holdsSome) this.hadRoutes = true;
  }

  private readonly hasSecret = (name: string): boolean => this.secrets?.hasAccepted(name) ?? false;

  /** @returns whether what leads to clusters went past some that were not acknowledged in time. */
  sent(channel: TypeChannel, batch: Batch, response: InFlight): boolean {
    if (channel.typeUrl === typeUrls.cluster) this.warming.sent(batch, response);
    const leadsToClusters = isRoutes(channel.typeUrl) || batch.resources.some((resource) => resource.leadsToClusters);
    return leadsToClusters && this.warming.giveUp();
  }

  replied(channel: TypeChannel, response: InFlight, accepted: boolean): void {
    if (channel.typeUrl === typeUrls.endpoints && accepted) this.warming.endpointsAccepted(response, this.hasSecret);
    if (channel.typeUrl === typeUrls.secret && accepted) this.warming.secretsAccepted(this.hasSecret);
    if (channel.typeUrl !== typeUrls.cluster) return;
    this.warming.replied(response);
    if (channel.quiet) this.clustersSynced = true;
  }

  /** From when on the next response of a type may be written, if nothing else happens; infinity if something must. */
  openAt(channel: TypeChannel): number {
    return Math.max(this.formerGivesWayAt(channel), this.clustersGiveWayAt(channel));
  }

  /**
   * One response of a type is under way at a time, so that a slow client gets the latest state and not every state. Clusters
   * are the exception: Envoy withholds their ACK while any cluster warms, and one slow cluster must not hold up all others.
   */
  private formerGivesWayAt(channel: TypeChannel): number {
    const former = channel.lastUnanswered;
    if (former === undefined) return 0;
    if (channel.typeUrl !== typeUrls.cluster) return NEVER;
    const isWarm = former.versions.size > 0 && !this.warming.includes(former);
    return isWarm ? 0 : former.sentAt + this.limits.gateMs;
  }

  /** Routes wait until the client has the clusters they may name, and in the first sync listeners wait with them. */
  private clustersGiveWayAt({ typeUrl }: TypeChannel): number {
    const waits = isRoutes(typeUrl) || (typeUrl === typeUrls.listener && !this.clustersSynced);
    if (!waits) return 0;
    if (this.clusters === undefined) {
      return isRoutes(typeUrl) && this.hadRoutes ? this.openedAt + this.limits.gateMs : 0;
    }
    return this.clustersReadyAt();
  }

  /** From when on something may lead to the clusters that the client has been sent; infinity while more of them are to be sent. */
  clustersReadyAt(): number {
    if (this.clusters === undefined) return 0;
    if (this.clusters.hasAdditions) return NEVER;
    const patience = this.clustersSynced ? this.limits.gateMs : this.limits.firstSyncGateMs;
    return this.warming.lastAddedAt + patience;
  }
}

function isRoutes(typeUrl: string): boolean {
  return typeUrl === typeUrls.routes || typeUrl === typeUrls.scopedRoutes;
}
