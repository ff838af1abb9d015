import type {
  xds_type_matcher_v3_Matcher_MatcherList_FieldMatcher as FieldMatcher,
  xds_type_matcher_v3_Matcher as Matcher,
  xds_type_matcher_v3_Matcher_OnMatch as OnMatch,
  xds_type_matcher_v3_Matcher_MatcherList_Predicate as Predicate,
  xds_core_v3_TypedExtensionConfig as TypedExtensionConfig,
} from '../gen/messages.ts';
import { DEFAULT_CERTIFICATE, type ServerName, type ServerNameTarget } from '../model/proxy-model.ts';
import { chainName } from './chain-name.ts';

/**
 * Leads server names (SNI) to the filter chains of who answers them (`chainName`): the exact name counts before a
 * wildcard, a wildcard stands for one label. Envoy has lower-cased the name. No match means the default chain;
 * `undefined` if there is nothing to match.
 * @param onDemand whether the default chain looks certificates up by server name. Then no name that could be that of a chain's
 * secret gets there, and no client without a server name: they get the default certificate.
 */
export function serverNameMatcher(
  serverNames: readonly ServerName[],
  { onDemand = false, rejects = false }: { readonly onDemand?: boolean; readonly rejects?: boolean } = {},
): Matcher | undefined {
  // Without a matcher the only chain would take every name.
  const known =
    onDemand || rejects
      ? [{ name: DEFAULT_CERTIFICATE, certificate: DEFAULT_CERTIFICATE }, ...serverNames]
      : serverNames;
  const names = known.filter(({ name }) => HOST_NAME.test(name));
  const exact = names.filter(({ name }) => !isWildcard(name));
  const wildcards = names.filter(({ name }) => isWildcard(name));
  const patterns = [...(onDemand ? [NO_HOST_NAME] : []), ...wildcards.map(oneLabel)];
  const list = patterns.length === 0 ? undefined : { matcher_list: { matchers: patterns } };
  if (exact.length === 0) return list;
  return {
    matcher_tree: {
      input: SERVER_NAME,
      exact_match_map: { map: Object.fromEntries(exact.map(({ name, ...target }) => [name, toChain(target)])) },
    },
    ...(list === undefined ? {} : { on_no_match: { matcher: list } }),
  };
}

const SERVER_NAME: TypedExtensionConfig = {
  name: 'server-name',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.matching.common_inputs.network.v3.ServerNameInput',
  },
};

/** Certificates may hold any text. No client asks for what is no name of a host, and it must not get into an expression. */
const HOST_NAME = /^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

/** Whether a name begins with a wildcard for one label. */
export function isWildcard(name: string): boolean {
  return name.startsWith('*.');
}

/** A regular expression, since Envoy's own wildcard matchers take any number of labels. */
function oneLabel({ name, ...target }: ServerName): FieldMatcher {
  const regex = `[^.]+${name.slice(1).replaceAll('.', '\\.')}`;
  return { predicate: serverNameLike(regex), on_match: toChain(target) };
}

function serverNameLike(regex: string): Predicate {
  return { single_predicate: { input: SERVER_NAME, value_match: { safe_regex: { google_re2: {}, regex } } } };
}

function toChain(target: ServerNameTarget): OnMatch {
  const value = chainName(target);
  const typed_config = { '@type': 'type.googleapis.com/google.protobuf.StringValue', value } as const;
  return { action: { name: 'filter-chain', typed_config } };
}

/**
 * Whatever else could name a secret of a chain in the words of a client, such as `namespace/name`: Envoy never ends a lookup of a
 * secret that a chain names already.
 */
const NO_HOST_NAME: FieldMatcher = {
  predicate: { not_matcher: serverNameLike('[a-z0-9_-]+(\\.[a-z0-9_-]+)*') },
  on_match: toChain({ certificate: DEFAULT_CERTIFICATE }),
};
