/** What users are told about how the paths of a host are matched. */
import type { Diagnostic } from '../model/diagnostic.ts';
import { objectRef } from '../model/object-ref.ts';
import type { HostName } from '../model/proxy-model.ts';
import type { Claim } from './conflicts.ts';
import { diagnose, quote } from './diagnose.ts';
import type { HostPaths } from './host-paths.ts';
import { ASK_FOR_REGEX, looksLikePattern, meantLiterally } from './path.ts';
import { whatIsClosed, whyUnserved } from './unserved-path.ts';

export function reportPaths(host: HostName, { winners, impossible, misread, regexBy }: HostPaths): Diagnostic[] {
  const never = impossible.flatMap((claim) => {
    const { path, literal, ingress } = claim;
    if ('match' in literal) return [];
    return [about(claim, 'error', 'IngressPathInvalid', whyUnserved(path, literal, ingress.protectedBy))];
  });
  if (regexBy !== undefined) {
    const closed = misread.map((claim) => reportMisread(host, claim, regexBy.key));
    return [...closed, ...reportInherited(host, winners, regexBy.key)];
  }
  const literally = winners
    .filter(({ path, closed }) => !closed && looksLikePattern(path))
    .map((claim) => {
      const message = `path ${quote(claim.path)} stands for itself, character by character; ${ASK_FOR_REGEX}`;
      return about(claim, 'warning', 'PathTakenLiterally', message);
    });
  return [...never, ...literally];
}

/** One for each Ingress whose paths mean something else because of another one. */
function reportInherited(host: HostName, winners: readonly Claim[], by: string): Diagnostic[] {
  const reached = new Map<string, Claim>();
  for (const claim of winners) {
    const { ingress, path } = claim;
    if (ingress.host.rewrite === undefined && path !== '/' && !reached.has(ingress.key))
      reached.set(ingress.key, claim);
  }
  const message = `Ingress ${by} has use-regex or rewrite-target, so every path of host ${host} is a regular expression: in any case, and with all that begins like it, also for type Exact; use another host to keep them apart`;
  return [...reached.keys()].map((key) =>
    diagnose(objectRef('Ingress', key), 'warning', 'RegexModeInherited', message, 'spec.rules'),
  );
}

/** A path that protects something else than what it says. */
function reportMisread(host: HostName, claim: Claim, by: string): Diagnostic {
  const { path, ingress } = claim;
  const closed = whatIsClosed(meantLiterally(claim), ingress.protectedBy);
  const message = `path ${quote(path)} of host ${host} is a regular expression because of Ingress ${by}, and as one it does not match what it says; ${closed}`;
  return about(claim, 'error', 'RegexModeInherited', message);
}

function about({ ingress, field }: Claim, severity: Diagnostic['severity'], code: Diagnostic['code'], message: string) {
  return diagnose(objectRef('Ingress', ingress.key), severity, code, message, `${field}.path`);
}
