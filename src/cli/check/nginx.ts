import type { Engine } from '../../derive.ts';
import type { ProxyModel } from '../../model/proxy-model.ts';
import { createNginxEmitter } from '../../nginx/emit.ts';
import { SOME_NGINX } from '../translate-nginx.ts';

/** What nginx cannot take. */
export function diagnosticTables(engine: Engine, model: ProxyModel) {
  return createNginxEmitter(engine, model, { ...SOME_NGINX, ipv6: true }).diagnosticTables;
}
