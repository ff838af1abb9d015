/** Sizes of the hash tables of nginx, which refuses a configuration with a key that is too long for a bucket. */
import type { NginxTuning } from '../model/nginx-tuning.ts';
import type { TextPattern } from '../model/settings.ts';
import type { NginxServer, NginxSettings } from './config.ts';
import { Literal, type Pattern } from './quote.ts';

/** Pointers in front of a name in the table, and at the end of a bucket. */
const POINTER_BYTES = 8;
/** With two buckets for each name, there is practically never one with more names. */
const NAMES_IN_A_BUCKET = 8;

/**
 * Sizes of the hash table of server names. nginx looks for a size at which no bucket is too full, for which there has to be room. The
 * table grows in powers of two so that a new host seldom changes it.
 */
export function serverNamesHash(
  servers: readonly NginxServer[],
  tuning: NginxTuning,
): Pick<NginxSettings, 'serverNamesHashBucketSize' | 'serverNamesHashMaxSize'> {
  const names = servers.flatMap(({ serverNames }) => serverNames.map(lengthOf));
  const longest = names.reduce((length, name) => Math.max(length, name), 0);
  return {
    serverNamesHashBucketSize: Math.max(bucketSize(longest), tuning.serverNamesHashBucketSize),
    serverNamesHashMaxSize: Math.max(powerOfTwo(names.length * 2, 1024), tuning.serverNamesHashMaxSize),
  };
}

/** The same for the tables of maps, one of which has these keys. Expressions stand in no table. */
export function mapHash(
  patterns: readonly TextPattern[],
  tuning: NginxTuning,
): Pick<NginxSettings, 'mapHashBucketSize' | 'mapHashMaxSize'> {
  const texts = patterns.filter(({ kind }) => kind === 'text') as Extract<TextPattern, { kind: 'text' }>[];
  const longest = texts.reduce((length, { text }) => Math.max(length, Buffer.byteLength(text)), 0);
  return {
    mapHashBucketSize: Math.max(longest === 0 ? 0 : bucketSize(longest), tuning.mapHashBucketSize),
    mapHashMaxSize: powerOfTwo(texts.length * 2, 2048),
  };
}

function bucketSize(longest: number): number {
  const nameBytes = POINTER_BYTES + Math.ceil((longest + 2) / POINTER_BYTES) * POINTER_BYTES;
  return powerOfTwo(NAMES_IN_A_BUCKET * nameBytes + POINTER_BYTES, 64);
}

function lengthOf(name: Literal | Pattern): number {
  return name instanceof Literal ? name.text.length : name.source.length;
}

function powerOfTwo(needed: number, least: number): number {
  return Math.max(least, 2 ** Math.ceil(Math.log2(Math.max(1, needed))));
}
