/** Where the webhook listens. Without a host: every address. */
export interface WebhookAddress {
  readonly host?: string;
  readonly port: number;
}

/**
 * The value of `--validating-webhook`: `:8443`, `127.0.0.1:8443`, `[::1]:8443`, `localhost:8443`.
 * @throws Error if it is none of these.
 */
export function parseWebhookAddress(text: string): WebhookAddress {
  const match = /^(?:\[([\da-f:.]+)\]|([^\s:[\]/]*)):(\d{1,5})$/i.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new Error(`${JSON.stringify(text)} is no address such as ":8443", "127.0.0.1:8443" or "[::1]:8443"`);
  }
  const host = match[1] ?? match[2];
  return host ? { host, port } : { port };
}
