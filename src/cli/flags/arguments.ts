import { parseDuration } from './duration.ts';
import { camelCase, type Flag } from './flag.ts';

type FlagTable = Readonly<Record<string, Flag>>;

/**
 * What the parser has made of the flags, as the types of `ArgumentsOf` say. A flag that is given twice counts as given last, as in
 * ingress-nginx; lists stay lists. An empty text where there is no default means that the flag is not given, as there, too.
 */
export function argumentsFrom(parsed: Readonly<Record<string, unknown>>, flags: FlagTable): Record<string, unknown> {
  const args: Record<string, unknown> = { ...parsed };
  for (const [name, flag] of Object.entries(flags)) {
    const key = camelCase(name);
    const value = argumentOf(parsed[name], flag);
    if (value === undefined) delete args[key];
    else args[key] = value;
  }
  return args;
}

function argumentOf(parsed: unknown, flag: Flag): unknown {
  if (flag.array) return parsed ?? [];
  const value = Array.isArray(parsed) ? parsed.at(-1) : parsed;
  if (value === '' && flag.default === undefined) return undefined;
  if (flag.duration && typeof value === 'string') return parseDuration(value);
  if (flag.atLeast !== undefined && typeof value === 'number') return Math.max(flag.atLeast, value);
  return value;
}

/** A sentence for each flag, spelt as by `spellFlags`, that does not do what it says. */
export function flagWarnings(spelt: readonly string[], flags: FlagTable): string[] {
  const given = new Map<string, string>();
  for (const arg of spelt) {
    const [, name, value] = /^--([^=]+)=(.*)$/s.exec(arg) ?? [];
    if (name !== undefined && value !== undefined) given.set(name, value);
  }
  return [...given].flatMap(([name, value]) => {
    const flag = flags[name];
    if (flag?.withoutMeaning !== undefined && !isDefault(value, flag)) {
      return [`--${name} does nothing here: ${flag.withoutMeaning}`];
    }
    if (flag?.atLeast !== undefined && Number(value) < flag.atLeast) {
      return [`--${name}=${value} is too little: ${flag.atLeast} is used`];
    }
    return [];
  });
}

function isDefault(value: string, flag: Flag): boolean {
  if (flag.duration) return parseDuration(value) === parseDuration(flag.default);
  if (flag.type === 'number') return Number(value) === flag.default;
  return value === String(flag.default ?? '');
}
