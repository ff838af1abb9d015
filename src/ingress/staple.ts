import type { ClusterState } from '../cluster/cluster-state.ts';
import type { Engine, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, objectRef } from '../model/object-ref.ts';
import { type Certificate, DEFAULT_CERTIFICATE } from '../model/proxy-model.ts';
import type { Staple } from '../model/staple.ts';
import { diagnose } from './diagnose.ts';

/** What a responder says counts for the very certificate that it was asked about. */
export function withStaple(certificate: Certificate, staple: Staple | undefined): Certificate {
  const { response } = staple ?? {};
  if (response === undefined || Buffer.compare(staple!.chain, certificate.chain) !== 0) return certificate;
  return { ...certificate, ocspResponse: response };
}

/** Unit per certificate of which something is known: says where handshakes lack the word of the authority. */
export function deriveStapleReport(
  engine: Engine,
  { staples }: Pick<ClusterState, 'staples'>,
  defaultSslCertificate: ObjectKey | undefined,
): Table<{ readonly diagnostics: readonly Diagnostic[] }> {
  return engine.derive('staple-report', staples, (name, read) => {
    const { problem, unasked, response } = read(staples, name) ?? {};
    const secret = name === DEFAULT_CERTIFICATE ? defaultSslCertificate : name;
    // Nobody can vouch for the certificate that is generated.
    const reason = problem ?? unasked;
    if (reason === undefined || secret === undefined) return undefined;
    const then = response === undefined ? 'handshakes carry no OCSP response' : 'the former OCSP response is sent';
    const severity = problem === undefined ? 'info' : 'warning';
    return {
      diagnostics: [diagnose(objectRef('Secret', secret), severity, 'OcspUnavailable', `${reason}; ${then}`, 'data')],
    };
  });
}
