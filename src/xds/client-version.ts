/** Which clients are served at all. */
import type { ClientNode } from './wire.ts';

/** An older Envoy would ignore newer security fields without a word. */
const OLDEST_ENVOY = { major: 1, minor: 40 };

/** @returns why the client is refused; `undefined` if it is welcome. Clients that are not Envoy are. */
export function refusalOf(node: ClientNode | undefined): string | undefined {
  if (node?.userAgent !== 'envoy') return undefined;
  const oldest = `${OLDEST_ENVOY.major}.${OLDEST_ENVOY.minor}`;
  const { version } = node;
  if (version === undefined) return `Envoy ${oldest} or later is required; node ${node.id} does not tell its version`;
  const ahead = version.major - OLDEST_ENVOY.major || version.minor - OLDEST_ENVOY.minor;
  if (ahead >= 0) return undefined;
  const found = `${version.major}.${version.minor}.${version.patch}`;
  return `Envoy ${oldest} or later is required; node ${node.id} runs ${found}, which would ignore newer security settings`;
}
