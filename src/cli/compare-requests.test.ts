import { describe, expect, test } from 'vitest';
import { isSafe, parseLogLine, parseRequestLine } from './compare-requests.ts';

describe('a line of a file of requests', () => {
  test.each([
    ['GET /a?b=c', { method: 'GET', path: '/a?b=c' }],
    ['  HEAD   /  ', { method: 'HEAD', path: '/' }],
    ['GET /a Host: shop.example.com', { method: 'GET', path: '/a', host: 'shop.example.com' }],
    ['GET /a host:shop.example.com:8080', { method: 'GET', path: '/a', host: 'shop.example.com:8080' }],
    ['GET https://shop.example.com/a?b', { method: 'GET', path: '/a?b', host: 'shop.example.com' }],
    ['GET http://shop.example.com', { method: 'GET', path: '/', host: 'shop.example.com' }],
    ['GET http://shop.example.com?a', { method: 'GET', path: '/?a', host: 'shop.example.com' }],
    ['', undefined],
    ['# GET /a', undefined],
  ])('%s', (line, expected) => {
    expect(parseRequestLine(line)).toEqual(expected);
  });

  test.each([
    ['/a', /expected METHOD PATH/],
    ['GET a', /"a" is no path/],
    ['G(T /', /"G\(T" is no method/],
    ['GET /a HTTP/1.1', /expected Host: NAME, not "HTTP\/1.1"/],
    ['GET /a Host: a b', /expected Host: NAME/],
    ['GET / Host: \u4e2d', /is no host/],
    ['GET /\u4e2d', /escape what is no ASCII/],
  ])('%s is refused', (line, message) => {
    expect(() => parseRequestLine(line)).toThrow(message);
  });
});

describe('a line of an access log', () => {
  const before = '10.0.0.1 - - [29/Nov/2026:20:00:00 +0000]';

  test.each([
    [`${before} "GET /a?b=c HTTP/1.1" 200 612 "-" "curl/8.0"`, { method: 'GET', path: '/a?b=c' }],
    [
      `${before} "POST /x HTTP/2.0" 200 6 "-" "a" 9 0.001 [shop-web-80] [] 10.0.0.2:80 6 0.001 200 f00`,
      { method: 'POST', path: '/x' },
    ],
    ['::1 - some body [29/Nov/2026:20:00:00 +0000] "GET / HTTP/1.0" 200 1 "-" "-"', { method: 'GET', path: '/' }],
    [`${before} "GET /\\xC3\\xA9\\x22 HTTP/1.1" 200 1 "-" "-"`, { method: 'GET', path: '/\xc3\xa9"' }],
    [`${before} "GET /old" 400 1 "-" "-"`, { method: 'GET', path: '/old' }],
    [`${before} "" 400 0 "-" "-"`, undefined],
    [`${before} "\\x16\\x03\\x01" 400 157 "-" "-"`, undefined],
    [`${before} "CONNECT example.com:80 HTTP/1.1" 400 157 "-" "-"`, undefined],
    [`${before} "GET /\\x00 HTTP/1.1" 400 157 "-" "-"`, undefined],
    ['[2026] TCP 200', undefined],
    ['', undefined],
  ])('%s', (line, expected) => {
    expect(parseLogLine(line)).toEqual(expected);
  });
});

test.each([
  ['GET', true],
  ['HEAD', true],
  ['OPTIONS', true],
  ['POST', false],
  ['DELETE', false],
  ['get', false],
])('%s is safe: %s', (method, safe) => {
  expect(isSafe({ method, path: '/' })).toBe(safe);
});
