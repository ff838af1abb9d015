import type { ControlPlane } from './composition.ts';
import type { ParentLink } from './ipc.ts';
import type { ReadinessWatch } from './readiness.ts';

/** The life of a control plane that has a parent: from its start until the parent wants its end. */
export async function liveUntilStopped(
  controlPlane: ControlPlane,
  options: {
    readonly parent: ParentLink;
    readonly readiness: ReadinessWatch;
    /** Resolves when the parent wants the end. */
    readonly stopped: Promise<void>;
    readonly ports: { readonly httpPort: number; readonly httpsPort: number };
  },
): Promise<void> {
  const { parent, readiness, stopped, ports } = options;
  // The API server may be away for long; the end must not wait for it.
  const started = controlPlane.start().then(() => parent.tellListening());
  await Promise.race([started, stopped]);
  void readiness.ready.then(() => {
    controlPlane.reporter.ready({ http: ports.httpPort, https: ports.httpsPort });
  });
  await stopped;
  await controlPlane.stop();
}
