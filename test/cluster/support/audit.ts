/** What the API servers say about who asked for what: to count requests, and to prove that none was forbidden. */
import { existsSync, readFileSync } from 'node:fs';

export interface AuditEntry {
  /** `system:serviceaccount:NAMESPACE:NAME` for a ServiceAccount. */
  readonly user: string;
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`. */
  readonly verb: string;
  readonly uri: string;
  /** Plural, with the subresource: `ingresses/status`. */
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
  /** Status of the answer. */
  readonly status: number;
  /** A watch appears when it starts, and once more when it has ended. */
  readonly stage: 'ResponseStarted' | 'ResponseComplete' | 'Panic';
  /** ISO time. */
  readonly time: string;
}

/** Everything but what admins and the controllers of the cluster do. */
export const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    { level: 'None', userGroups: ['system:masters', 'system:serviceaccounts:kube-system'] },
    { level: 'None', users: ['system:apiserver', 'system:kube-controller-manager', 'system:anonymous'] },
    { level: 'Metadata' },
  ],
};

interface AuditEvent {
  readonly stage: AuditEntry['stage'];
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly resource: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code: number };
  readonly stageTimestamp: string;
}

export function readAudit(paths: readonly string[]): AuditEntry[] {
  return paths
    .filter((path) => existsSync(path))
    .flatMap((path) => {
      // What follows the last line end is still being written.
      const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
      return lines.map((line) => toEntry(JSON.parse(line) as AuditEvent));
    });
}

function toEntry({ stage, verb, requestURI, user, objectRef, responseStatus, stageTimestamp }: AuditEvent): AuditEntry {
  const { resource = '', subresource, namespace, name } = objectRef ?? {};
  return {
    user: user.username,
    verb,
    uri: requestURI,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
    status: responseStatus?.code ?? 0,
    stage,
    time: stageTimestamp,
  };
}
