import { findEnvoy } from '../../src/envoy/binary.ts';

/** Before any test: fetches Envoy once, so that no test waits for a download and none runs without it. */
export async function setup(): Promise<void> {
  const { path, version } = await findEnvoy({ onProgress: (line) => console.log(line) });
  console.log(`Envoy ${version} (${path})`);
}
