import type { Engine } from '../../derive.ts';
import { createEmitter } from '../../envoy/emit.ts';
import { createChecker } from '../../envoy/encoder.ts';
import type { ProxyModel } from '../../model/proxy-model.ts';

/** What Envoy cannot take. */
export function diagnosticTables(engine: Engine, model: ProxyModel) {
  return createEmitter(engine, model, { ipv6: true }, createChecker()).diagnosticTables;
}
