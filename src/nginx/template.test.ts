import { describe, expect, test } from 'vitest';
import type { NginxConfig } from './config.ts';
import { DOLLAR_VARIABLE, Literal } from './quote.ts';
import { createTemplate, TemplateError } from './template.ts';

const NO_CONFIG = {} as NginxConfig;

function failure(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(TemplateError);
    return (error as Error).message;
  }
  throw new Error('nothing was wrong');
}

const compile = (text: string, partials = {}) => createTemplate('my.eta', text, partials);
const render = (text: string, data: object = {}, partials = {}) =>
  compile(text, partials).render({ ...NO_CONFIG, ...data });

describe('what a template writes', () => {
  test('a value is one quoted token', () => {
    expect(render('a <%= it.name %>;', { name: 'x; } "$y\\' })).toBe(`a "x; } \\"\${${DOLLAR_VARIABLE}}y\\\\";`);
    expect(render('a <%= it.name %>;', { name: new Literal('$y') })).toBe('a "$y";');
  });

  test('parts by name see what they are given', () => {
    expect(render("<%~ include('@part', { number: 3 }) %>.", {}, { part: '<%= it.number %>' })).toBe('3.');
  });
});

describe('a template that does not parse names the line', () => {
  test.each([
    ['an unclosed tag', 'one\ntwo <%= it.x\n', 'my.eta:2: unclosed tag'],
    ['an unclosed string', 'one\n<% const x = "a %>\n', 'my.eta:2: unclosed string'],
    ['no expression', 'one\ntwo\n<%= it.x +* 2 %>\nfour\n', "my.eta:3: Unexpected token '*'"],
    ['a bracket too much', 'one\n<% } %>\nthree\n<%= it.x %>\n', "my.eta:2: Unexpected token '}'"],
    ['a block that is not closed', 'one\n<% if (it.x) { %>\nthree\n', 'my.eta:2: Unexpected end of input'],
    ['a word that is reserved', '\n\n\n<% const class = 1; %>\n', "my.eta:4: Unexpected token 'class'"],
    [
      'a name that is declared twice',
      'one\n<% const a = 1; %>\n<% const a = 2; %>\n',
      /my\.eta:3: .*'a'.* already been declared/,
    ],
  ])('%s', (_, text, message) => {
    const found = failure(() => compile(text));
    if (typeof message === 'string') expect(found).toBe(message);
    else expect(found).toMatch(message);
  });

  test('and the part', () => {
    expect(failure(() => compile('', { part: 'one\n<% { %>' }))).toBe('@part:2: Unexpected end of input');
  });
});

describe('a template that cannot be rendered names the line', () => {
  test('of the template', () => {
    expect(failure(() => render('one\ntwo <%= it.settings.foo %>\n'))).toMatch(/^my\.eta:2: Cannot read prop/);
  });

  test('of a part, and where that was put in', () => {
    const text = "one\n<%~ include('@outer', {}) %>";
    const partials = { outer: "1\n2\n<%~ include('@inner', {}) %>", inner: '\n\n\n\n<%= it.nothing %>' };
    expect(failure(() => render(text, {}, partials))).toBe(
      '@inner:5 (in @outer:3, my.eta:2): a value that is not there cannot be written',
    );
  });

  test('of a part that is not there', () => {
    expect(failure(() => render("\n<%~ include('@none', {}) %>"))).toBe("my.eta:2: Failed to get template '@none'");
  });
});
