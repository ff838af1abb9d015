import type { NginxFeatures } from './emit.ts';

/** An nginx for tests that start none: with every module, and as old as can be. */
export const someNginx: NginxFeatures = {
  modules: [],
  hasStream: true,
  hasBrotli: true,
  hasStreamRealIp: true,
  hasStreamPreread: true,
  hasHttp2Directive: false,
};
