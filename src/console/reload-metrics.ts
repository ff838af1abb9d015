/** What became of configurations that a proxy has to load, under the names and labels of ingress-nginx. */
import { Counter, Gauge, type Registry } from 'prom-client';
import { CONTROLLER_PREFIX, type ControllerIdentity, controllerLabels } from './controller-identity.ts';

export type ReloadOutcome =
  /** `hash`: hexadecimal digits, at least twelve. */
  { readonly kind: 'loaded'; readonly hash: string } | { readonly kind: 'unchanged' } | { readonly kind: 'failed' };

/** As many bits as a sample can hold. */
const HASH_DIGITS = 12;

/** Without any outcome there are no samples, as where nothing is ever loaded. */
export function addReloadMetrics(registry: Registry, identity?: ControllerIdentity): (outcome: ReloadOutcome) => void {
  const labels = controllerLabels(identity);
  const options = (name: string, help: string) => ({
    name: `${CONTROLLER_PREFIX}${name}`,
    help: `${help}; only where nginx is the proxy`,
    labelNames: Object.keys(labels),
    registers: [registry],
  });
  const successful = new Gauge(
    options('config_last_reload_successful', 'Whether nginx has loaded the last configuration (1) or not (0)'),
  );
  const since = new Gauge(
    options('config_last_reload_successful_timestamp_seconds', 'When nginx has loaded a configuration last'),
  );
  const hash = new Gauge(options('config_hash', 'Checksum of the configuration that nginx has loaded, as a number'));
  const success = new Counter(options('success', 'Configurations that nginx has loaded'));
  const errors = new Counter(options('errors', 'Attempts to load a configuration that have failed'));
  return (outcome) => {
    if (outcome.kind === 'unchanged') {
      // What could not be loaded is not wanted any more.
      successful.set(labels, 1);
    } else if (outcome.kind === 'failed') {
      errors.inc(labels);
      successful.set(labels, 0);
    } else {
      success.inc(labels);
      successful.set(labels, 1);
      since.set(labels, Math.floor(Date.now() / 1_000));
      hash.set(labels, Number.parseInt(outcome.hash.slice(0, HASH_DIGITS), 16));
    }
  };
}
