/** What formats of the log ask of a proxy that it cannot say. */
import { unsaidVariables } from '../model/log-format.ts';
import { unsaidStreamVariables } from '../model/stream-log-format.ts';
import type { ConfigMapValues } from './config-map/keys.ts';
import type { KeyFinding } from './config-map/reading.ts';
import type { ProxyName } from './declaration/support.ts';

const NAMES = { envoy: 'Envoy', nginx: 'nginx as it is run here' } as const;

export function logFindings(values: ConfigMapValues, proxy: ProxyName): KeyFinding[] {
  const unsaid = {
    'log-format-upstream': unsaidVariables(values['log-format-upstream'], proxy),
    'log-format-stream': unsaidStreamVariables(values['log-format-stream'], proxy),
  };
  return Object.entries(unsaid).flatMap(([key, variables]): KeyFinding[] => {
    if (variables.length === 0) return [];
    const reason = `${NAMES[proxy]} cannot say ${variables.join(', ')}`;
    return [{ key, kind: 'unsaid', reason, instead: 'written as missing, and all else as the format says' }];
  });
}
