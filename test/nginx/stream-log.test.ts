/** `log-format-stream`, through a real nginx. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNginxGateway } from '../support/nginx-gateway.ts';
import { streamLogCases } from '../support/stream-log-cases.ts';

streamLogCases(
  async (options) => {
    const folder = mkdtempSync(join(tmpdir(), 'stream-log-'));
    const accessLog = join(folder, 'access.log');
    const gateway = await startNginxGateway({ ...options, delivery: { accessLog } });
    return {
      accessLog: () => (existsSync(accessLog) ? readFileSync(accessLog, 'utf8') : ''),
      close: async () => {
        await gateway.close();
        rmSync(folder, { recursive: true });
      },
    };
  },
  { knowsTimes: true },
);
