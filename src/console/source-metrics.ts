import { Counter, type Registry } from 'prom-client';

/** What a source does to follow an API server. */
export interface SourceActivity {
  /** `list`, `watch`, … */
  readonly type: string;
  /** Of the objects; absent where it is about no kind. */
  readonly kind?: string;
}

const NAME = 'ingress_xds_source_events_total';

/** Counts, by kind of object, how often the API server was asked and what came of it. */
export function addSourceMetrics(registry: Registry): (activity: SourceActivity) => void {
  const events = new Counter({
    name: NAME,
    help: 'What happened between this process and the API server, by kind of object',
    labelNames: ['kind', 'event'],
    registers: [registry],
  });
  return ({ type, kind = '' }) => events.inc({ kind, event: type });
}
