import type { Settled } from '../controller.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { DiagnosticChange } from '../model/diagnostic-change.ts';
import { describeRef } from '../model/object-ref.ts';
import type { ProxyModel } from '../model/proxy-model.ts';
import type { XdsEvent } from '../xds/observer.ts';
import { shortTypeName } from '../xds/resource.ts';
import { statusCodes } from '../xds/stream.ts';
import { describeDiagnostic } from './describe-diagnostic.ts';
import type { Logger } from './logger.ts';
import { createRareWarning } from './rare-warning.ts';
import { curlCommands, servedTable } from './served-table.ts';
import type { Source } from './source.ts';

export interface Reporter {
  observe(event: XdsEvent): void;
  settled(settled: Settled): void;
  diagnosed(change: DiagnosticChange): void;
  /** Says what is served, and how to try it where Envoy is at hand. */
  ready(ports: { readonly http: number; readonly https: number }): void;
  /** Says what is served to Envoys elsewhere. */
  listening(addresses: readonly string[]): void;
}

const LOG_LEVELS = { error: 'error', warning: 'warn', info: 'info' } as const;

/** What an operator reads: Diagnostics as they come and go, changes, rejections by Envoy. */
export function createReporter(options: {
  readonly logger: Logger;
  readonly model: ProxyModel;
  readonly locate?: Source['locate'];
}): Reporter {
  const { logger, model, locate } = options;
  let serving = false;
  const warnRarely = createRareWarning((message) => logger.warn(message));
  const diagnosed: Reporter['diagnosed'] = ({ added, removed }) => {
    for (const diagnostic of added) {
      logger[LOG_LEVELS[diagnostic.severity]](fieldsOf(diagnostic), describeDiagnostic(diagnostic, locate));
    }
    for (const diagnostic of removed) logger.info(fieldsOf(diagnostic), `no longer: ${describeDiagnostic(diagnostic)}`);
  };
  return {
    diagnosed,
    observe: (event) => reportXds(logger, warnRarely, event),
    settled: (settled) => {
      diagnosed(settled.diagnostics);
      if (!serving) return;
      for (const line of describeChanges(settled, model)) logger.info(line);
    },
    ready: (ports) => {
      serving = true;
      const commands = curlCommands(model, ports).map((command) => `  ${command}`);
      const lines = [servedTable(model), ...(commands.length > 0 ? ['', 'Try:', ...commands] : [])];
      logger.info(`serving HTTP on port ${ports.http} and HTTPS on port ${ports.https}\n\n${lines.join('\n')}\n`);
    },
    listening: (addresses) => {
      serving = true;
      logger.info(`serving xDS on ${addresses.join(', ')}\n\n${servedTable(model)}\n`);
    },
  };
}

/** For programs that read the log; the message says the same in words. */
function fieldsOf({ code, ref, field }: Diagnostic): Record<string, unknown> {
  return { code, ...(ref && { object: describeRef(ref) }), ...(field !== undefined && { field }) };
}

function reportXds(logger: Logger, warnRarely: (message: string) => void, event: XdsEvent): void {
  if (event.kind === 'nack') {
    const resources = event.resources.map(
      ({ name, origin }) => `${name}${origin.length > 0 ? ` (from ${origin.join(', ')})` : ''}`,
    );
    // Of a secret that it has rejected once Envoy says nothing when it comes again, so that this may be all there is to know.
    const which = `${event.divided ? 'one of ' : ''}${resources.join(', ')}`;
    logger.error(`Envoy rejected ${shortTypeName(event.typeUrl)} ${which}: ${event.message}`);
  } else if (event.kind === 'gateTimeout') {
    logger.warn(`${shortTypeName(event.typeUrl)} sent although Envoy has not accepted the clusters before it`);
  } else if (event.kind === 'withheld') {
    logger.warn(`secrets are withheld from stream ${event.stream}: its connection is not encrypted`);
  } else if (event.kind === 'withheldNamespace') {
    const whose = event.namespace === undefined ? 'of no namespace' : `of namespace ${event.namespace}`;
    logger.warn(`secrets ${whose} are withheld from stream ${event.stream} of client ${event.client} (--xds-client)`);
  } else if (event.kind === 'closed' && event.status !== undefined && event.status.code !== 0) {
    // Who is refused tries again every few seconds.
    const isRefusal = event.status.code === statusCodes.permissionDenied;
    const message = `stream of an Envoy ended: ${event.status.message}`;
    if (isRefusal) warnRarely(message);
    else logger.warn(message);
  } else if (event.kind === 'refused') {
    warnRarely(`connection from ${event.address} refused: ${event.reason}`);
  }
}

/** A line for each kind of thing that changed, with what it cost. */
function describeChanges({ pass, commit, durationMs }: Settled, model: ProxyModel): string[] {
  if (commit === undefined) return [];
  const parts = [
    describeKind('routes of', pass.of(model.virtualHosts)),
    describeKind('port', pass.of(model.streamListeners)),
    describeKind('endpoints of', pass.of(model.endpoints)),
    describeKind('certificate', pass.of(model.certificates)),
  ].filter((part) => part !== '');
  const resources = [...commit.types.values()].reduce(
    (sum, { changed, removed }) => sum + changed.size + removed.size,
    0,
  );
  const what = parts.length > 0 ? parts.join('; ') : 'configuration';
  return [`changed: ${what} (${resources} ${resources === 1 ? 'resource' : 'resources'}, ${durationMs.toFixed(1)} ms)`];
}

const MAX_NAMES = 5;

function describeKind(what: string, changed: ReadonlyMap<string, unknown>): string {
  if (changed.size === 0) return '';
  const names = [...changed].map(([name, value]) => (value === undefined ? `${name} (gone)` : name));
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  return `${what} ${names.slice(0, MAX_NAMES).join(', ')}${more}`;
}
