import { createAdmin } from '../envoy/admin.ts';
import { liveUntilStopped } from './child-life.ts';
import { createControlPlane } from './composition.ts';
import { checkRunArguments, type RunArguments } from './flags.ts';
import { keptCertificate } from './generated-certificate.ts';
import { connectToParent } from './ipc.ts';
import { hasIpv6 } from './ipv6.ts';
import { RunReadiness } from './readiness.ts';
import { xdsDelivery } from './xds-delivery.ts';

/**
 * The control plane of a process tree: a child of `run`, which says when to end. Resolves with the exit code; faults of the
 * configuration are thrown.
 */
export async function runControlPlane(args: RunArguments): Promise<number> {
  checkRunArguments(args);
  const stopped = Promise.withResolvers<void>();
  const ending = new AbortController();
  const parent = connectToParent({ onDraining: () => ending.abort(), onStop: stopped.resolve });
  if (parent === undefined) throw new Error('control-plane is a part of ingress-xds run, which starts it');
  const readiness = new RunReadiness(createAdmin({ socketPath: parent.paths.adminSocket }));
  const controlPlane = await createControlPlane({
    proxy: 'envoy',
    args,
    ipv6: await hasIpv6(),
    generatedCertificate: await keptCertificate(parent.paths.folder),
    delivery: xdsDelivery({ args, addresses: [`unix:${parent.paths.xdsSocket}`] }),
    debugSocket: args.debugSocket ?? parent.paths.debugSocket,
    readiness,
    ending: ending.signal,
  });
  await liveUntilStopped(controlPlane, { parent, readiness, stopped: stopped.promise, ports: args });
  parent.close();
  return 0;
}
