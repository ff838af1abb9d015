import type { ClusterState } from '../cluster/cluster-state.ts';
import type { Controller } from '../controller.ts';
import type { BuildOptions } from '../ingress/build.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { describeRef } from '../model/object-ref.ts';
import { describeDiagnostic, positionOf } from './describe-diagnostic.ts';
import { buildOptionsFrom, ConfigurationError, type IngressArguments, type SourceArguments } from './flags.ts';
import { createManifestSource } from './manifest-source.ts';

/** What is built when nothing runs. `zone`: where the proxy stands; absent: nobody knows. */
export function translateBuildOptions(
  args: IngressArguments,
  proxy: BuildOptions['proxy'],
  generatedCertificate?: BuildOptions['generatedCertificate'],
  zone?: string,
): BuildOptions {
  return {
    ...buildOptionsFrom(args, proxy),
    ...(zone !== undefined && { zone }),
    ...(generatedCertificate && { generatedCertificate }),
  };
}

/**
 * Reads the manifests and settles, once. Resolves with what is to be said of them, with positions in the files.
 * @throws ConfigurationError when there are no manifests to read.
 */
export async function runOnce(
  args: SourceArguments,
  { state, controller }: { readonly state: ClusterState; readonly controller: Controller },
): Promise<Diagnostic[]> {
  return await readOnce(args, state).settle(controller);
}

export interface Reading {
  /** Resolves when everything is read, or a thread parses what is large, so that there is time for other things. */
  readonly underWay: Promise<void>;
  /** As `runOnce`, with what was read. */
  settle(controller: Controller): Promise<Diagnostic[]>;
}

/** Begins to read the manifests into `state`. */
export function readOnce(args: SourceArguments, state: ClusterState): Reading {
  const { promise: underWay, resolve: onThread } = Promise.withResolvers<void>();
  const source = createManifestSource(
    { ...args, watch: false, onThread },
    {
      state,
      onApplied: () => {},
      onDiagnostics: () => {},
      onError: (error) => {
        throw error;
      },
    },
  );
  const started = source.start();
  // What went wrong is told by `settle`.
  started.then(onThread, onThread);
  return {
    underWay,
    async settle(controller) {
      await started.catch((error: Error) => {
        throw new ConfigurationError(`--manifests: ${error.message}`);
      });
      await controller.start();
      const diagnostics = [...source.diagnostics(), ...controller.currentDiagnostics()];
      // What is said of one object together: its document is looked at once.
      const byObject = Map.groupBy(diagnostics, ({ ref }) => ref && describeRef(ref));
      const located = [...byObject.values()].flat().map((diagnostic) => {
        const position = positionOf(diagnostic, source.locate);
        return position === undefined ? diagnostic : { ...diagnostic, source: position };
      });
      await source.stop();
      return sortByText(located);
    },
  };
}

/** In an order that depends on nothing but what is said. */
export function sortByText(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const described = diagnostics.map((diagnostic) => ({ diagnostic, text: describeDiagnostic(diagnostic) }));
  described.sort((a, b) => (a.text < b.text ? -1 : Number(a.text > b.text)));
  return described.map(({ diagnostic }) => diagnostic);
}
