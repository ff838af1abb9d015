/** Metrics about the controller itself that dashboards of ingress-nginx show, under their names and labels. */
import { Gauge, type Registry } from 'prom-client';
import { CONTROLLER_PREFIX, type ControllerIdentity, controllerLabels } from './controller-identity.ts';

export interface LeaderState {
  /** Of the Lease. */
  readonly name: string;
  readonly leading: () => boolean;
}

export interface ControllerMetricSources {
  readonly identity?: ControllerIdentity;
  /** Absent where nobody is elected. */
  readonly leader?: LeaderState;
  /** Of this package. */
  readonly version: string;
}

export function addControllerMetrics(registry: Registry, sources: ControllerMetricSources): void {
  const { identity, leader, version } = sources;
  const labels = controllerLabels(identity);
  const labelNames = Object.keys(labels);
  new Gauge({
    name: `${CONTROLLER_PREFIX}build_info`,
    help: 'Always 1; the labels say which release this is',
    labelNames: [...labelNames, 'release', 'build', 'repository'],
    registers: [registry],
  }).set({ ...labels, release: version, build: '', repository: 'ingress-xds' }, 1);
  new Gauge({
    name: `${CONTROLLER_PREFIX}leader_election_status`,
    help: 'Whether this replica leads (1) or follows (0); absent where nobody is elected',
    labelNames: [...labelNames, 'name'],
    registers: [registry],
    collect() {
      if (leader !== undefined) this.set({ ...labels, name: leader.name }, leader.leading() ? 1 : 0);
    },
  });
}
