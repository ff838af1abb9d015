import { type Codec, codec } from './codec.ts';

export type ContentTypes = readonly string[] | 'all';

/** Each of them is compared with the type of every answer. */
const MAX_TYPES = 256;

/** RFC 6838, section 4.2: names of types have at most 127 characters on each side of the slash. */
const NAME = '[a-z0-9][a-z0-9!#$&^_.+-]{0,126}';
const CONTENT_TYPE = new RegExp(`^${NAME}/${NAME}$`);

/** Types between spaces, in any case; what nginx takes in `gzip_types`. Pages of HTML always belong to them, as in nginx. */
export const contentTypes: Codec<ContentTypes> = codec(
  `at most ${MAX_TYPES} types of content with spaces between them, or *`,
  (text) => {
    const types = new Set(text.toLowerCase().split(/\s+/));
    const all = types.delete('*');
    types.add('text/html');
    if (types.size > MAX_TYPES || ![...types].every((type) => CONTENT_TYPE.test(type))) return undefined;
    return all ? 'all' : [...types].sort();
  },
);
