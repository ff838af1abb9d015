import { parseWebhookAddress } from '../admission/address.ts';
import { parseXdsAddress } from '../xds/address.ts';

/** Flags that open ports beside those of HTTP and HTTPS; a command has some of them. */
export interface PortArguments {
  readonly healthzPort?: number;
  readonly validatingWebhook?: string;
  readonly xdsAddress?: readonly string[];
}

/** As long as nothing else is said: so that `translate` says the same as `run`. */
const HEALTHZ_PORT = 10254;

/** The ports of this machine that the control plane takes for itself, so that no TCP or UDP service can have them. */
export function reservedPorts({
  healthzPort = HEALTHZ_PORT,
  validatingWebhook,
  xdsAddress = [],
}: PortArguments): number[] {
  const webhook = validatingWebhook === undefined ? [] : [parseWebhookAddress(validatingWebhook).port];
  const xds = xdsAddress.map(parseXdsAddress).flatMap((address) => (address.kind === 'tcp' ? [address.port] : []));
  return [healthzPort, ...webhook, ...xds];
}
