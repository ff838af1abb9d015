/** What answers tell browsers about pages of other origins. */
export interface CorsPolicy {
  /** `any`: answers say `*`. Else requests of these origins get their own origin back; those of others are not concerned. */
  readonly origins: 'any' | readonly AllowedOrigin[];
  /** Text of `Access-Control-Allow-Methods`. */
  readonly methods: string;
  /** Text of `Access-Control-Allow-Headers`. */
  readonly headers: string;
  /** Text of `Access-Control-Expose-Headers`. */
  readonly exposedHeaders?: string;
  readonly credentials: boolean;
  readonly maxAgeSeconds: number;
}

export type AllowedOrigin =
  /** The origin `null`: of files and sandboxes. */
  | { readonly scheme: undefined }
  | {
      readonly scheme: string;
      readonly host: string;
      /** Hosts with exactly one label before `host` are meant, not `host` itself. */
      readonly oneLabelBefore: boolean;
      /** Absent: the origin names none. */
      readonly port?: number;
    };

/** The headers that answers carry, `Access-Control-Allow-Origin` not among them. */
export function corsHeaders(policy: CorsPolicy): readonly (readonly [name: string, value: string])[] {
  const { methods, headers, exposedHeaders, credentials, maxAgeSeconds } = policy;
  return [
    ...(credentials ? [['access-control-allow-credentials', 'true'] as const] : []),
    ['access-control-allow-methods', methods],
    ['access-control-allow-headers', headers],
    ...(exposedHeaders === undefined ? [] : [['access-control-expose-headers', exposedHeaders] as const]),
    ['access-control-max-age', String(maxAgeSeconds)],
  ];
}

/** An expression for exactly these origins, in any case, without anchors; of RE2 and PCRE alike. */
export function originPattern(origins: readonly AllowedOrigin[]): string {
  const one = origins.map((origin) => {
    if (origin.scheme === undefined) return 'null';
    const { scheme, host, oneLabelBefore, port } = origin;
    const before = oneLabelBefore ? '[a-z0-9-]+\\.' : '';
    return `${literal(scheme)}://${before}${literal(host)}${port === undefined ? '' : `:${port}`}`;
  });
  return `(?i)(?:${one.join('|')})`;
}

function literal(text: string): string {
  return text.replaceAll(/[.+]/g, '\\$&');
}
