import { describe, expect, test } from 'vitest';
import { compressionSettings, contentTypeFindings } from './compression-settings.ts';
import { readConfigMap } from './config-map/reading.ts';
import type { ProxyName } from './declaration/support.ts';

function read(data: Readonly<Record<string, string>>, proxy: ProxyName = 'envoy') {
  const { values, findings } = readConfigMap({ 'use-gzip': 'true', ...data }, proxy);
  const { gzip, brotli } = compressionSettings(values, proxy);
  return { gzip, brotli, findings: [...findings, ...contentTypeFindings(values, proxy)] };
}

const typesOf = (text: string) => read({ 'gzip-types': text }).gzip?.types;
const DEFAULT_TYPES = read({}).gzip?.types;

describe('types of content', () => {
  test('are compared in lower case, each once, and HTML always', () => {
    expect(typesOf('TEXT/css  text/css text/html\napplication/x+y')).toEqual([
      'application/x+y',
      'text/css',
      'text/html',
    ]);
  });

  test('an asterisk means all, whatever stands beside it', () => {
    expect(typesOf('*')).toBe('all');
    expect(typesOf('text/css *')).toBe('all');
  });

  test.each([
    'text',
    'text/',
    '/css',
    'text/*',
    'text/css;charset=utf-8',
    'text/css,text/plain',
    'text/css"; return 200 "',
    '$x/y',
    'a/b{',
    'text/cß',
    '* text/*',
    `a/${'b'.repeat(128)}`,
    Array.from({ length: 10_000 }, (_, index) => `a/b${index}`).join(' '),
  ])('%.40s is not read, and the default holds', (text) => {
    expect(typesOf(text)).toEqual(DEFAULT_TYPES);
    expect(read({ 'gzip-types': text }).findings).toMatchObject([{ key: 'gzip-types', kind: 'invalid' }]);
  });

  test('nginx has no place for long ones, which are named; the others hold', () => {
    const long = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
    const fits = `a/${'b'.repeat(44)}`;
    const { gzip, findings } = read({ 'gzip-types': `${fits} ${fits}c ${long}` }, 'nginx');
    expect(gzip?.types).toEqual([fits, 'text/html']);
    expect(findings).toMatchObject([{ key: 'gzip-types', reason: expect.stringContaining(`${fits}c, ${long}`) }]);
    expect(read({ 'gzip-types': long }).gzip?.types).toContain(long);
  });
});

describe('user agents', () => {
  test('msie6 stands for an expression', () => {
    expect(read({ 'gzip-disable': 'msie6' }).gzip?.exceptAgents).toBe('MSIE [4-6]\\.');
  });

  test.each(['(', 'a)|(b', '(?!x)', '(?<=x)y', '(a)\\1', 'a++', '\\Qa', '(?<host>x)', 'x'.repeat(513)])(
    '%.20s is not read',
    (text) => {
      const { gzip, findings } = read({ 'gzip-disable': text });
      expect(gzip).not.toHaveProperty('exceptAgents');
      expect(findings).toMatchObject([{ key: 'gzip-disable', kind: 'invalid' }]);
    },
  );
});

test('each format by itself', () => {
  expect(read({ 'use-gzip': 'false' })).toMatchObject({ gzip: undefined, brotli: undefined });
  const { gzip, brotli } = read({ 'enable-brotli': 'true', 'brotli-level': '0', 'brotli-types': '*' });
  expect(gzip).toMatchObject({ level: 1, minBytes: 256 });
  expect(brotli).toEqual({ level: 0, minBytes: 20, types: 'all' });
});
