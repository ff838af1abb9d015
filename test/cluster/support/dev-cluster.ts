/** The part of `npm run dev:cluster` that runs in the namespace. */
import { once } from 'node:events';
import { ingress, ingressClass } from '../../support/manifests.ts';
import { findBinaries } from './binaries.ts';
import { startCluster } from './cluster.ts';
import { NODE_ADDRESS } from './namespace.ts';
import { echoService, readyEndpoints } from './workloads.ts';

const HOST = 'echo.example.com';
const ended = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);

const cluster = await startCluster();
await cluster.api.apply(ingressClass('nginx', 'k8s.io/ingress-nginx'));
const workload = echoService({ namespace: 'default', name: 'echo', replicas: 2 });
await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(workload));
await cluster.api.apply(ingress({ name: 'echo', rules: [{ host: HOST, paths: [{ service: 'echo:http' }] }] }));
await readyEndpoints(cluster, 'default', 'echo', 2);

const { kubectl } = await findBinaries();
const enter = `nsenter -t ${process.env['HOST_PID']} -n`;
const source = `--kubeconfig ${cluster.kubeconfig} --publish-status-address ${NODE_ADDRESS} --disable-leader-election`;
console.log(`
The cluster runs, with two echo pods and an Ingress for ${HOST}. In another shell, as root:

  ${enter} bash
  export KUBECONFIG=${cluster.kubeconfig}
  alias kubectl=${kubectl}
  npm run -s cli -- run ${source}
  curl -H 'Host: ${HOST}' http://${NODE_ADDRESS}/

Logs are in ${cluster.folder}. Ctrl-C ends everything.
`);
await ended;
console.log('ending');
await cluster.stop();
