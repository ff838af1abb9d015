import { describe, expect, test } from 'vitest';
import { parseTemplate } from './template.ts';

describe('texts with variables', () => {
  test('are text and variables', () => {
    expect(parseTemplate('a-$host$\u007barg_x}$')).toEqual({
      value: ['a-', { variable: 'host' }, { variable: 'arg', argument: 'x' }, '$'],
    });
  });

  test.each(['$unknown', '$http_', '$arg_', '$cookie_', '$http__', `$http_${'a'.repeat(200)}`])(
    'name %s, which has no meaning',
    (text) => {
      expect(parseTemplate(text)).toMatchObject({ reason: expect.stringContaining('which has no meaning here') });
    },
  );
});
