import { setTimeout } from 'node:timers/promises';
import type { Exchange, World } from '../parity/table.ts';
import { ingress, tlsSecret } from '../support/manifests.ts';
import { startResponder } from '../support/ocsp.ts';
import { makePair } from '../support/pki.ts';
import { stapledResponse } from '../support/stapled.ts';
import { edgeWorld } from './edge.ts';
import type { AnnotationTable } from './table.ts';

const OWN = 'own.edge.example.com';
const STAPLED = 'stapled.edge.example.com';

/** Whether a handshake carries an OCSP response, within a moment: it is asked for when the certificate is served. */
function staples(title: string, serverName: string, expected: boolean): Exchange {
  return {
    title,
    run: async ({ httpsPort }) => {
      const carries = async () => (await stapledResponse(httpsPort, serverName)) !== undefined;
      for (let tries = 0; tries < 200 && expected && !(await carries()); tries++) await setTimeout(20);
      return carries();
    },
    expected,
  };
}

/** A host whose certificate has an OCSP responder, beside one whose certificate has none. */
async function stapledWorld(data: Readonly<Record<string, string>>): Promise<World> {
  const responder = await startResponder();
  const world = await edgeWorld(data, [
    tlsSecret('stapled', await responder.issue(STAPLED)),
    tlsSecret('own', await makePair([OWN])),
    ...[
      ['stapled', STAPLED],
      ['own', OWN],
    ].map(([name = '', host = '']) =>
      ingress({
        name,
        rules: [{ host, paths: [{ path: '/', service: 'web:80' }] }],
        tls: [{ hosts: [host], secretName: name }],
      }),
    ),
  ]);
  return {
    ...world,
    close: async () => {
      await world.close();
      await responder.close();
    },
  };
}

const staplesNothing = staples('handshakes carry no OCSP response', STAPLED, false);

export const ocspOn: AnnotationTable = {
  title: 'OCSP responses',
  start: () => stapledWorld({ 'enable-ocsp': 'true' }),
  keys: {
    'ConfigMap enable-ocsp': {
      good: [
        staples('handshakes carry the OCSP response', STAPLED, true),
        staples('but for a certificate without a responder', OWN, false),
      ],
      default: [],
    },
  },
};

export const ocspBad: AnnotationTable = {
  title: 'OCSP responses that nobody can be sure to be wanted',
  start: () => stapledWorld({ 'enable-ocsp': 'yes please' }),
  keys: { 'ConfigMap enable-ocsp': { good: [], bad: [staplesNothing], default: [] } },
};

export const ocspOff: AnnotationTable = {
  title: 'OCSP responses by default',
  start: () => stapledWorld({}),
  keys: { 'ConfigMap enable-ocsp': { good: [], default: [staplesNothing] } },
};
