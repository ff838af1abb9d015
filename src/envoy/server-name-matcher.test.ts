import { describe, expect, test } from 'vitest';
import type { xds_type_matcher_v3_Matcher as Matcher } from '../gen/messages.ts';
import { DEFAULT_CERTIFICATE } from '../model/proxy-model.ts';
import { serverNameMatcher } from './server-name-matcher.ts';

const chainOf = (certificate: string) => ({
  action: {
    name: 'filter-chain',
    typed_config: { '@type': 'type.googleapis.com/google.protobuf.StringValue', value: certificate },
  },
});

function regexes(matcher: Matcher | undefined): (string | undefined)[] {
  const list = matcher?.matcher_list?.matchers ?? [];
  return list.map(({ predicate }) => predicate?.single_predicate?.value_match?.safe_regex?.regex);
}

test('no names: no matcher', () => {
  expect(serverNameMatcher([])).toBeUndefined();
});

test('exact names are looked up, and are all there is without wildcards', () => {
  const matcher = serverNameMatcher([{ name: 'a.example.com', certificate: 'shop/a' }]);
  expect(matcher?.matcher_tree?.exact_match_map?.map).toEqual({ 'a.example.com': chainOf('shop/a') });
  expect(matcher).not.toHaveProperty('on_no_match');
});

test('a wildcard stands for one label, its dots for dots', () => {
  const matcher = serverNameMatcher([{ name: '*.example.com', certificate: 'shop/wild' }]);
  expect(regexes(matcher)).toEqual(['[^.]+\\.example\\.com']);
  expect(matcher?.matcher_list?.matchers?.[0]?.on_match).toEqual(chainOf('shop/wild'));
});

test('wildcards are tried when no exact name fits', () => {
  const matcher = serverNameMatcher([
    { name: '*.example.com', certificate: 'shop/wild' },
    { name: 'a.example.com', certificate: 'shop/a' },
  ]);
  expect(Object.keys(matcher?.matcher_tree?.exact_match_map?.map ?? {})).toEqual(['a.example.com']);
  expect(regexes(matcher?.on_no_match?.matcher)).toEqual(['[^.]+\\.example\\.com']);
});

test.each(['*.a(b', 'a b', '\ud800', '*', '*.', '*.*.example.com', '*a.example.com', '*.é.example.com'])(
  '%s, which no client asks for, leads nowhere',
  (name) => {
    expect(serverNameMatcher([{ name, certificate: 'shop/odd' }])).toBeUndefined();
  },
);

describe('where certificates are looked up', () => {
  const matcher = serverNameMatcher([{ name: '*.example.com', certificate: 'shop/wild' }], { onDemand: true });
  const [oddNames, wildcard] = matcher?.on_no_match?.matcher?.matcher_list?.matchers ?? [];

  test('the default certificate has a chain by its name', () => {
    expect(matcher?.matcher_tree?.exact_match_map?.map).toEqual({
      [DEFAULT_CERTIFICATE]: chainOf(DEFAULT_CERTIFICATE),
    });
  });

  test('what is no name of a host, or absent, leads there before wildcards are tried', () => {
    const name = oddNames?.predicate?.not_matcher?.single_predicate?.value_match?.safe_regex?.regex ?? '';
    const isName = (text: string) => new RegExp(`^(?:${name})$`).test(text);
    expect(['a', 'a.example.com', 'x_y.a-b.io'].filter(isName)).toHaveLength(3);
    expect(['', 'shop/tls', 'a.', '.a', 'a..b', 'a b', 'é', 'a:1', '*.a'].filter(isName)).toEqual([]);
    expect(oddNames?.on_match).toEqual(chainOf(DEFAULT_CERTIFICATE));
    expect(wildcard?.on_match).toEqual(chainOf('shop/wild'));
  });
});
