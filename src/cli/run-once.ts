import type { ClusterState } from '../cluster/cluster-state.ts';
import type { Controller } from '../controller.ts';
import type { BuildOptions } from '../ingress/build.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { buildOptionsFrom, ConfigurationError, type IngressArguments, type SourceArguments } from './flags.ts';
import { createManifestSource } from './manifest-source.ts';
import { describeDiagnostic, positionOf } from './report.ts';

/** What is built when nothing runs. `zone`: where the proxy stands; absent: nobody knows. */
export function translateBuildOptions(
  args: IngressArguments,
  proxy: BuildOptions['proxy'],
  generatedCertificate: BuildOptions['generatedCertificate'],
  zone?: string,
): BuildOptions {
  return { ...buildOptionsFrom(args, proxy), ...(zone !== undefined && { zone }), generatedCertificate };
}

/**
 * Reads the manifests and settles, once. Resolves with what is to be said of them, with positions in the files.
 * @throws ConfigurationError when there are no manifests to read.
 */
export async function runOnce(
  args: SourceArguments,
  { state, controller }: { readonly state: ClusterState; readonly controller: Controller },
): Promise<Diagnostic[]> {
  const source = createManifestSource(
    { ...args, watch: false },
    {
      state,
      onApplied: () => {},
      onDiagnostics: () => {},
      onError: (error) => {
        throw error;
      },
    },
  );
  await source.start().catch((error: Error) => {
    throw new ConfigurationError(`--manifests: ${error.message}`);
  });
  await controller.start();
  const diagnostics = [...source.diagnostics(), ...controller.currentDiagnostics()].map((diagnostic) => {
    const position = positionOf(diagnostic, source.locate);
    return position === undefined ? diagnostic : { ...diagnostic, source: position };
  });
  await source.stop();
  return diagnostics.toSorted(compareByText);
}

/** In an order that depends on nothing but what is said. */
export function compareByText(a: Diagnostic, b: Diagnostic): number {
  const [left, right] = [describeDiagnostic(a), describeDiagnostic(b)];
  return left < right ? -1 : Number(left > right);
}
