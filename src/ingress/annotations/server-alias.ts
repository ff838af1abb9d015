import type { HostName } from '../../model/proxy-model.ts';
import { annotationFeature, type Finding } from '../declaration/annotation.ts';
import { listOf, textOf } from '../declaration/codecs.ts';
import { approximated } from '../declaration/support.ts';
import { quote } from '../diagnose.ts';
import { isWildcard, parseHost } from '../host.ts';

const support = approximated(
  'An expression (`~…`) is left out; name each host. Of names with a wildcard 20 count.',
  (texts: readonly string[]) => texts.some(isExpression) || texts.filter(isWildcard).length > MAX_WILDCARDS,
);

/** Each repeats all routes of its host; others share them. */
const MAX_WILDCARDS = 20;

export const serverAlias = annotationFeature({
  title: 'Aliases of hosts',
  keys: {
    'server-alias': {
      codec: listOf(textOf('regex', 'a name'), 'a list of host names'),
      scope: 'host',
      risk: 'High',
      whenInvalid: 'refuse',
      summary:
        'Further names of the host. A name that another Ingress has as a host stays there; of several Ingresses that want a name the oldest has it.',
      example: 'shop.example.org,*.shop.example.org',
      envoy: support,
      nginx: support,
    },
  },
  apply({ 'server-alias': texts }) {
    if (texts === undefined) return {};
    const aliases = new Set<HostName>();
    const leftOut: Finding[] = [];
    for (const text of texts) {
      const parsed = parseAlias(text, aliases);
      if ('host' in parsed) aliases.add(parsed.host);
      else leftOut.push(leftOutFinding(text, parsed.reason));
    }
    return { ...(aliases.size > 0 && { host: { aliases: [...aliases] } }), warnings: leftOut };
  },
});

function leftOutFinding(text: string, why: string): Finding {
  const reason = `${quote(text)} ${why}; it is left out`;
  return { annotation: 'server-alias', code: 'AnnotationInvalid', reason, ignored: [text] };
}

/** `before`: those that count already. */
function parseAlias(text: string, before: ReadonlySet<HostName>): ReturnType<typeof parseHost> {
  if (isExpression(text)) return { reason: 'is an expression, not a name; name each host' };
  const parsed = parseHost(text);
  if ('reason' in parsed || !isWildcard(parsed.host) || before.has(parsed.host)) return parsed;
  const isOneTooMany = [...before].filter(isWildcard).length >= MAX_WILDCARDS;
  return isOneTooMany ? { reason: `is one of more than ${MAX_WILDCARDS} aliases with a wildcard` } : parsed;
}

function isExpression(text: string): boolean {
  return text.startsWith('~');
}
