/** Services that are a name of somewhere else. */
import { observe } from '../../envoy/behaviour/cases.ts';
import { startBackend } from '../../support/backend.ts';
import { startDnsServer } from '../../support/dns-server.ts';
import { externalName, ingress, type Manifest } from '../../support/manifests.ts';
import { type Exchange, type Ports, table } from '../table.ts';

/** An ExternalName Service and an Ingress for the host `NAME.example.com`. */
function external(name: string, hostname: string, port: number): Manifest[] {
  return [
    externalName(name, hostname, port),
    ingress({ name, rules: [{ host: `${name}.example.com`, paths: [{ service: `${name}:${port}` }] }] }),
  ];
}

const HOPELESS = ['localhost', 'upper', 'loopback', 'loopback6', 'link-local', 'unspecified', 'no-name'];

/** Envoy resolves names by itself, and may not have done so yet. */
async function answerOf({ httpPort, httpsPort }: Ports, host: string): Promise<unknown> {
  const request = { url: `http://${host}.example.com/x?y=1` };
  const deadline = Date.now() + 10_000;
  let { answer, received } = await observe({ httpPort, httpsPort }, request);
  while (answer.status === 503 && Date.now() < deadline) {
    ({ answer, received } = await observe({ httpPort, httpsPort }, request));
  }
  return [answer.status, received?.backend, received?.url, received?.headers.host];
}

export const externalNames = table({
  start: async () => {
    const dns = await startDnsServer();
    const far = await startBackend('far');
    dns.set('api.internal', { addresses: ['127.0.0.1'], ttl: 600 });
    return {
      dns,
      close: async () => {
        await Promise.all([dns.close(), far.close()]);
      },
      manifests: [
        ...external('named', 'api.internal', far.port),
        ...external('dot', 'api.internal.', far.port),
        ...external('unknown', 'nowhere.internal', far.port),
        ...external('localhost', 'localhost', far.port),
        ...external('upper', 'LocalHost', far.port),
        ...external('loopback', '127.0.0.1', far.port),
        ...external('loopback6', '::1', far.port),
        ...external('link-local', '169.254.169.254', far.port),
        ...external('unspecified', '0.0.0.0', far.port),
        ...external('no-name', 'no_such.name', far.port),
      ],
    };
  },
  groups: {
    'that lead to the proxy itself, or nowhere': HOPELESS.map((name) => ({
      url: `http://${name}.example.com/`,
      status: 503,
    })),
    'that nobody knows': [
      { url: 'http://unknown.example.com/', status: 503, differs: 'unresolved', nginx: { status: 502 } },
    ],
  },
  exchanges: ['named', 'dot'].map(
    (name): Exchange => ({
      title: `${name}: Host and path stay`,
      run: (ports) => answerOf(ports, name),
      expected: [200, 'far', '/x?y=1', `${name}.example.com`],
    }),
  ),
});
