import type { Controller } from '../../controller.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import type { CheckArguments } from '../check.ts';
import { createClient } from '../cluster.ts';
import { createClusterSource } from '../cluster-source.ts';
import { sortByText } from '../run-once.ts';
import type { World } from '../world.ts';

/** Reads everything once, with the rights of whoever asks. */
export async function readCluster(
  args: CheckArguments,
  { state, controller }: World & { readonly controller: Controller },
): Promise<Diagnostic[]> {
  const source = createClusterSource(args, {
    client: createClient(args),
    state,
    onApplied: () => {},
    onDiagnostics: () => {},
    onError: (error) => {
      throw error;
    },
  });
  await source.start();
  await controller.start();
  const diagnostics = [...source.diagnostics(), ...controller.currentDiagnostics()];
  await source.stop();
  controller.stop();
  return sortByText(diagnostics);
}
