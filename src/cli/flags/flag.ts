import type { Options } from 'yargs';

/** Declaration of a flag. Every flag that the command line knows has exactly one for each meaning. */
export interface Flag extends Options {
  /** A duration as ingress-nginx writes it (`30s`, `1m30s`); the argument that comes of it is in milliseconds. */
  readonly duration?: true;
  /** A number below is raised to this, with a warning, as ingress-nginx does. */
  readonly atLeast?: number;
  /** Accepted so that the arguments of ingress-nginx need no change, and why it does nothing here. */
  readonly withoutMeaning?: string;
  /** Not accepted, and what to do instead. */
  readonly refused?: string;
}

export type Flags = Readonly<Record<string, Flag>>;

type Camel<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name;

type Value<F> = F extends { readonly choices: readonly (infer Choice)[] }
  ? Choice
  : F extends { readonly array: true }
    ? readonly string[]
    : F extends { readonly type: 'number' } | { readonly duration: true }
      ? number
      : F extends { readonly type: 'boolean' }
        ? boolean
        : string;

/** A list that nobody gives is empty. */
type AlwaysThere = { readonly default: unknown } | { readonly array: true };

/** What the flags of a table become: `--election-ttl` is `electionTtl`, absent where there is neither a value nor a default. */
export type ArgumentsOf<Table extends Flags> = {
  readonly [Name in keyof Table & string as Table[Name] extends AlwaysThere ? Camel<Name> : never]: Value<Table[Name]>;
} & {
  readonly [Name in keyof Table & string as Table[Name] extends AlwaysThere ? never : Camel<Name>]?: Value<Table[Name]>;
};

/** `election-ttl` → `electionTtl` */
export function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
