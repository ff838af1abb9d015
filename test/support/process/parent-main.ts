/** Runs `runParent` as a process of its own, with an Envoy that serves a static listener. Options: JSON in the first argument. */
import { join } from 'node:path';
import { envoyProxy } from '../../../src/cli/envoy-proxy.ts';
import { runParent } from '../../../src/cli/parent.ts';
import type { DrainSettings } from '../../../src/envoy/drain.ts';
import { staticBootstrap } from './static-proxy.ts';

export interface ParentMainOptions {
  readonly envoyPath: string;
  readonly listenPort: number;
  readonly backendPort: number;
  readonly runtimeDir: string;
  readonly drain: DrainSettings;
  readonly controlPlaneArgs?: readonly string[];
}

const options = JSON.parse(process.argv[2] ?? '') as ParentMainOptions;
process.exitCode = await runParent({
  proxy: envoyProxy({
    path: options.envoyPath,
    concurrency: 1,
    drain: options.drain,
    bootstrap: (paths) => staticBootstrap({ ...options, adminSocket: paths.adminSocket }),
  }),
  controlPlane: {
    modulePath: join(import.meta.dirname, 'control-plane-stub.ts'),
    args: options.controlPlaneArgs ?? [],
  },
  ports: [{ port: options.listenPort, flag: '--http-port' }],
  runtimeDir: options.runtimeDir,
  onLog: ({ level, source, message }) => console.log(`${level} ${source}: ${message}`),
});
