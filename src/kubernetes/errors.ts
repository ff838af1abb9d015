import { asMap } from './json.ts';

/** No answer, or not a whole one: nothing listens, the connection broke, the time was up, the answer is cut off. */
export class KubernetesUnreachable extends Error {
  override readonly name = 'KubernetesUnreachable';
}

/** The API server answered, and it was no. */
export class KubernetesStatusError extends Error {
  override readonly name = 'KubernetesStatusError';
  /** HTTP status, also where it came as an `ERROR` event inside a watch. */
  readonly status: number;
  /** As in `Status.reason`: `Forbidden`, `Expired`, `NotFound`; empty when the server named none. */
  readonly reason: string;
  /** How long the server asks to be left alone, in milliseconds. */
  readonly retryAfterMs?: number;

  constructor(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) {
    const details = asMap(body);
    const text = typeof details['message'] === 'string' ? details['message'] : shorten(body);
    super(text === '' ? `The API server answered ${status}` : `The API server answered ${status}: ${text}`);
    this.status = status;
    this.reason = typeof details['reason'] === 'string' ? details['reason'] : '';
    const retryAfterMs = readRetryAfter(headers['retry-after'], asMap(details['details'])['retryAfterSeconds']);
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}

/** The flags, the kubeconfig file or the environment do not say how to reach an API server. */
export class KubernetesConfigError extends Error {
  override readonly name = 'KubernetesConfigError';
}

/** `Retry-After` is in seconds, or a date; a Status may say it too. */
function readRetryAfter(header: string | undefined, seconds: unknown): number | undefined {
  if (header !== undefined && /^\d+$/.test(header.trim())) return Number(header) * 1000;
  const date = header === undefined ? Number.NaN : Date.parse(header);
  if (!Number.isNaN(date)) return Math.max(0, date - Date.now());
  return typeof seconds === 'number' && seconds >= 0 ? seconds * 1000 : undefined;
}

function shorten(body: unknown): string {
  return typeof body === 'string' ? body.trim().slice(0, 200) : '';
}
