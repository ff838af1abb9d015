/** The JSON gateway of etcd, for what no client of Kubernetes can do. */
export interface EtcdClient {
  healthy(): Promise<boolean>;
  /** Compacts everything before the current revision. */
  compact(): Promise<void>;
}

export const ETCD = 'http://127.0.0.1:2379';

export function createEtcdClient(): EtcdClient {
  const post = async (path: string, body: unknown): Promise<unknown> => {
    const response = await fetch(`${ETCD}${path}`, { method: 'POST', body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`etcd ${path}: ${response.status} ${await response.text()}`);
    return await response.json();
  };
  return {
    healthy: async () => (await fetch(`${ETCD}/health`)).ok,
    compact: async () => {
      const { header } = (await post('/v3/kv/range', { key: btoa('/') })) as { header: { revision: string } };
      await post('/v3/kv/compaction', { revision: header.revision, physical: true });
    },
  };
}
