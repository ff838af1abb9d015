import type { Observed } from '../envoy/behaviour/cases.ts';

interface Ports {
  readonly httpPort: number;
  readonly httpsPort: number;
}

/** Headers of answers that clients act upon. */
const ANSWERED = [
  'location',
  'set-cookie',
  'strict-transport-security',
  'server',
  'content-type',
  'content-length',
  'cache-control',
  'x-request-id',
  'x-powered-by',
  'via',
  'allow',
  'www-authenticate',
  'retry-after',
] as const;

export interface Picture {
  readonly status: number;
  readonly answered: Readonly<Record<string, unknown>>;
  /** Absent when a backend answered. */
  readonly body?: string;
  readonly received?: unknown;
}

/** Everything of a request and its answer that two proxies should have in common: without what differs each time. */
export function picture({ answer, received }: Observed, ports: Ports): Picture {
  return {
    status: answer.status,
    answered: Object.fromEntries(
      ANSWERED.filter((name) => received === undefined || name !== 'content-length').map((name) => [
        name,
        answer.headers[name],
      ]),
    ),
    ...(received === undefined
      ? { body: answer.body }
      : { received: { ...received, headers: normalized(received.headers, ports) } }),
  };
}

function normalized(headers: Observed['answer']['headers'], { httpPort, httpsPort }: Ports): unknown {
  const listeners: Readonly<Record<string, string>> = { [httpPort]: 'http', [httpsPort]: 'https' };
  const entries = Object.entries(headers).map(([name, value]) => {
    const text = String(value);
    if (name === 'x-request-id' && /^[0-9a-f-]{32,36}$/.test(text)) return [name, '[generated]'];
    return [name, name === 'x-forwarded-port' ? (listeners[text] ?? text) : text];
  });
  return Object.fromEntries(entries.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)));
}
