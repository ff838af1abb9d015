/** Requests of one client that go to one endpoint. */
import type { PathMatch } from './proxy-model.ts';

/** `balanced`: by the hash of a cookie, so that a few clients move when endpoints come or go. `persistent`: to the endpoint in it. */
export interface SessionAffinity {
  readonly mode: 'balanced' | 'persistent';
  readonly cookie: SessionCookie;
  /** After a failure another endpoint is tried; else the same. */
  readonly changeOnFailure: boolean;
}

/** The cookie that a client without one gets; never visible to scripts (`HttpOnly`). */
export interface SessionCookie {
  readonly name: string;
  /** Absent: the path of the route; `/` where that is an expression. */
  readonly path?: string;
  readonly domain?: string;
  /** Absent: until the browser ends. */
  readonly maxAgeSeconds?: number;
  readonly sameSite?: 'None' | 'Lax' | 'Strict';
  /** An expression (RE2) that is looked for in `User-Agent`: browsers that misunderstand `sameSite`, and get the cookie without it. */
  readonly noSameSiteFor?: string;
  /** Whether browsers send it over https alone; `over-tls`: where they got it so. */
  readonly secure: boolean | 'over-tls';
}

/** `Path` of the cookie on a route. */
export function cookiePath({ path }: SessionCookie, match: PathMatch): string {
  return path ?? (match.kind === 'regex' ? '/' : match.path);
}
