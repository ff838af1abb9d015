import type { HostName } from '../../model/proxy-model.ts';
import { annotationFeature, type Finding } from '../declaration/annotation.ts';
import { listOf, textOf } from '../declaration/codecs.ts';
import { approximated } from '../declaration/support.ts';
import { quote } from '../diagnose.ts';
import { parseHost } from '../host.ts';

const support = approximated('An expression (`~…`) is left out; name each host.', (texts: readonly string[]) =>
  texts.some(isExpression),
);

export const serverAlias = annotationFeature({
  title: 'Aliases of hosts',
  keys: {
    'server-alias': {
      codec: listOf(textOf('regex', 'a name'), 'a list of host names'),
      scope: 'host',
      risk: 'High',
      whenInvalid: 'refuse',
      summary: 'Further names of the host. A name that another Ingress has as a host stays there.',
      example: 'shop.example.org,*.shop.example.org',
      envoy: support,
      nginx: support,
    },
  },
  apply({ 'server-alias': texts }) {
    if (texts === undefined) return {};
    const aliases = new Set<HostName>();
    const warnings: Finding[] = [];
    for (const text of texts) {
      const parsed = parseAlias(text);
      if ('host' in parsed) aliases.add(parsed.host);
      else warnings.push({ annotation: 'server-alias', reason: `${quote(text)} ${parsed.reason}; it is left out` });
    }
    return { ...(aliases.size > 0 && { host: { aliases: [...aliases] } }), warnings };
  },
});

function parseAlias(text: string): ReturnType<typeof parseHost> {
  return isExpression(text) ? { reason: 'is an expression, not a name; name each host' } : parseHost(text);
}

function isExpression(text: string): boolean {
  return text.startsWith('~');
}
