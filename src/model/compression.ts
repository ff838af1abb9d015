/** How answers are compressed for clients that take it. A format that is absent is not used. */
export interface CompressionSettings {
  readonly gzip?: GzipSettings;
  readonly brotli?: FormatSettings;
}

export interface FormatSettings {
  /** How hard the proxy tries: 1 to 9 for gzip, 0 to 11 for brotli. */
  readonly level: number;
  /** Answers that say that they are shorter are left alone. */
  readonly minBytes: number;
  /** Types of content that are compressed, in lower case and without parameters; `all` for whatever an answer holds. */
  readonly types: readonly string[] | 'all';
}

export interface GzipSettings extends FormatSettings {
  /** Not for user agents of which this matches a part, in any case; RE2 and PCRE take the expression alike. */
  readonly exceptAgents?: string;
}
