/** `log-format-stream`, through a real Envoy. */
import { startGateway } from '../../support/gateway.ts';
import { streamLogCases } from '../../support/stream-log-cases.ts';

streamLogCases(
  async (options) => {
    const gateway = await startGateway({ ...options, emit: { accessLog: true } });
    return { accessLog: gateway.log, close: gateway.close };
  },
  { knowsTimes: false },
);
