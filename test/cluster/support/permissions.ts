/** Who the product is in the cluster, and what it may do there. */
import type { Manifest } from './api.ts';
import type { Cluster } from './cluster.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface Account {
  readonly namespace: string;
  readonly name: string;
  /** As the audit log calls it. */
  readonly user: string;
  /** With a token of it. */
  readonly kubeconfig: string;
}

export interface AccountOptions {
  /** Default: `ingress-nginx`. */
  readonly namespace?: string;
  /** Default: `ingress-nginx`. */
  readonly name?: string;
  /** In all namespaces; default: what a cluster has granted to ingress-nginx. */
  readonly clusterRules?: readonly Rule[];
  /** In the account's namespace; default likewise. */
  readonly rules?: readonly Rule[];
  /** Default: the first API server. */
  readonly server?: string;
}

const read = ['get', 'list', 'watch'];
const rule = (
  group: string,
  resources: readonly string[],
  verbs: readonly string[],
  names?: readonly string[],
): Rule => ({
  apiGroups: [group],
  resources,
  verbs,
  ...(names && { resourceNames: names }),
});

/** The ClusterRole that an installation of ingress-nginx has: who only swaps the image has no other. */
export const INGRESS_NGINX_CLUSTER_RULES: readonly Rule[] = [
  rule('', ['configmaps', 'endpoints', 'nodes', 'pods', 'secrets', 'namespaces'], ['list', 'watch']),
  rule('', ['nodes'], ['get']),
  rule('', ['services'], read),
  rule('', ['events'], ['create', 'patch']),
  rule('coordination.k8s.io', ['leases'], ['list', 'watch']),
  rule('discovery.k8s.io', ['endpointslices'], read),
  rule('networking.k8s.io', ['ingresses', 'ingressclasses'], read),
  rule('networking.k8s.io', ['ingresses/status'], ['update']),
];

/** The Role beside it. */
export const INGRESS_NGINX_RULES: readonly Rule[] = [
  rule('', ['namespaces'], ['get']),
  rule('', ['configmaps', 'pods', 'secrets', 'endpoints', 'services'], read),
  rule('', ['events'], ['create', 'patch']),
  rule('coordination.k8s.io', ['leases'], ['create']),
  rule('coordination.k8s.io', ['leases'], ['get', 'update'], ['ingress-controller-leader', 'ingress-nginx-leader']),
  rule('discovery.k8s.io', ['endpointslices'], read),
  rule('networking.k8s.io', ['ingresses', 'ingressclasses'], read),
  rule('networking.k8s.io', ['ingresses/status'], ['update']),
];

/** Makes a ServiceAccount with these rules and a kubeconfig of it; its namespace if need be. */
export async function createAccount(cluster: Cluster, options: AccountOptions = {}): Promise<Account> {
  const { namespace = 'ingress-nginx', name = 'ingress-nginx', server } = options;
  const { clusterRules = INGRESS_NGINX_CLUSTER_RULES, rules = INGRESS_NGINX_RULES } = options;
  await cluster.api.apply(
    { kind: 'Namespace', metadata: { name: namespace } },
    { kind: 'ServiceAccount', metadata: { name, namespace } },
    ...roles({ namespace, name, clusterRules, rules }),
  );
  const token = await cluster.requestToken(namespace, name);
  const kubeconfig = cluster.writeKubeconfig(`${namespace}-${name}`, {
    token,
    ...(server !== undefined && { server }),
  });
  return { namespace, name, user: `system:serviceaccount:${namespace}:${name}`, kubeconfig };
}

export function roles({
  namespace,
  name,
  clusterRules,
  rules,
}: Required<Pick<AccountOptions, 'namespace' | 'name' | 'clusterRules' | 'rules'>>): readonly Manifest[] {
  const group = 'rbac.authorization.k8s.io';
  const apiVersion = `${group}/v1`;
  const subjects = [{ kind: 'ServiceAccount', name, namespace }];
  const ref = (kind: string) => ({ apiGroup: group, kind, name });
  return [
    { apiVersion, kind: 'ClusterRole', metadata: { name }, rules: clusterRules },
    { apiVersion, kind: 'ClusterRoleBinding', metadata: { name }, roleRef: ref('ClusterRole'), subjects },
    { apiVersion, kind: 'Role', metadata: { name, namespace }, rules },
    { apiVersion, kind: 'RoleBinding', metadata: { name, namespace }, roleRef: ref('Role'), subjects },
  ];
}
