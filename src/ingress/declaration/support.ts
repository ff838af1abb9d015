/** What a proxy makes of a key. Everything that users are told about it, and what the code does with it, comes from here. */
export type Support =
  | { readonly state: 'honoured' }
  /** `how`: the difference, one sentence. `differs`: for which values there is one; absent: for all. */
  | { readonly state: 'approximated'; readonly how: string; readonly differs?: (value: never) => boolean }
  /** `why`: the reason, and what to do instead. */
  | { readonly state: 'refused'; readonly why: string }
  /** Not built yet: as if refused. */
  | { readonly state: 'planned' };

export const HONOURED: Support = { state: 'honoured' };
export const PLANNED: Support = { state: 'planned' };

export function approximated<V>(how: string, differs?: (value: V) => boolean): Support {
  return { state: 'approximated', how, ...(differs && { differs }) };
}

/** For switches that differ when they are on. */
export const whenOn = (isOn: boolean): boolean => isOn;

/** What a proxy makes of one value. */
export function supportOf(support: Support, value: unknown): Support {
  const agrees = support.state === 'approximated' && support.differs?.(value as never) === false;
  return agrees ? HONOURED : support;
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
