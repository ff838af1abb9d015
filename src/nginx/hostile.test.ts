/** Whatever users write into their objects, it changes nothing but data in nginx.conf. */
import { beforeAll, describe, expect, test } from 'vitest';
import { HARMLESS_TEXTS, hostileTexts, nginxConfWith } from '../../test/support/hostile/nginx-objects.ts';
import { type Directive, directivesOf, parseConf, shapesOf } from '../../test/support/nginx-conf.ts';
import { makePair } from '../../test/support/pki.ts';
import type { PemPair } from '../ingress/testing.ts';
import type { NginxEmitOptions } from './emit.ts';
import { someNginx } from './testing.ts';

/** A location of each kind may hold what one of another kind holds. */
function shapes(directives: readonly Directive[]): Set<string> {
  return new Set([...shapesOf(directives)].map((shape) => shape.replace(/location [=~] Q/, 'location Q')));
}

let pair: PemPair;
beforeAll(async () => {
  pair = await makePair(['shop.example.com']);
});

describe.each([
  { dynamic: false, count: 1_000 },
  { dynamic: true, count: 200 },
])('dynamic: $dynamic', ({ dynamic, count }) => {
  const options: NginxEmitOptions = {
    nginx: someNginx,
    ipv6: true,
    accessLog: '/var/log/access.log',
    dynamic,
    luaFolder: '/lua',
    folder: '/run',
    resolvers: ['127.0.0.1'],
  };

  test(`${count} hostile texts in every field make no directive of a new kind`, { timeout: 120_000 }, () => {
    const allowed = shapes(parseConf(nginxConfWith(HARMLESS_TEXTS, pair, options).text));
    const { config, text } = nginxConfWith(hostileTexts(count), pair, options);
    const directives = parseConf(text);
    expect([...shapes(directives)].filter((shape) => !allowed.has(shape))).toEqual([]);
    const locations = config.servers.flatMap((server) => server.locations);
    expect(locations.length).toBeGreaterThan(5 * count);
    const extra = dynamic ? 1 : 0;
    expect(directivesOf(directives, 'location')).toHaveLength(locations.length + extra);
    const servers = directivesOf(directives, 'server').filter(({ block }) => block !== undefined);
    expect(servers).toHaveLength(config.servers.length + config.streams.length + extra);
    const named = directivesOf(directives, 'location').map(({ args }) => args.map((arg) => arg.text).join(' '));
    for (const expected of [
      '/";/',
      '/a"; return 200 "ownedb/',
      '/<% process.exit(1) %>/',
      '/a$'.concat('{host}b/'),
      '/\\"/',
      '/a\nreturn 200;/',
    ])
      expect(named, expected).toContain(expected);
  });
});
