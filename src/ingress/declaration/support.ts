/** What a proxy makes of a key. Everything that users are told about it, and what the code does with it, comes from here. */
export type Support =
  | { readonly state: 'honoured' }
  /** `how`: the difference, one sentence. */
  | { readonly state: 'approximated'; readonly how: string }
  /** `why`: the reason, and what to do instead. */
  | { readonly state: 'refused'; readonly why: string }
  /** Not built yet: as if refused. */
  | { readonly state: 'planned' };

export const HONOURED: Support = { state: 'honoured' };
export const PLANNED: Support = { state: 'planned' };

export function approximated(how: string): Support {
  return { state: 'approximated', how };
}

export function refused(why: string): Support {
  return { state: 'refused', why };
}

export const proxyNames = ['envoy', 'nginx'] as const;
export type ProxyName = (typeof proxyNames)[number];

export type SupportByProxy = Readonly<Record<ProxyName, Support>>;

/** Whether a value of the key takes effect. */
export function isEffective({ state }: Support): boolean {
  return state === 'honoured' || state === 'approximated';
}
