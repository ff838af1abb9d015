import { loadBalancings } from '../../model/load-balancing.ts';
import { codec } from './codec.ts';
import { approximated } from './support.ts';

/** Those that ingress-nginx chooses by itself, where a hash or a session asks for it. */
const INTERNAL = ['chash', 'chashsubset', 'sticky_balanced', 'sticky_persistent'] as const;

const NAMES = [...loadBalancings, ...INTERNAL] as const;

/** Spaces do not count. */
export const loadBalancingName = codec(`${NAMES.slice(0, -1).join(', ')} or ${NAMES.at(-1)}`, (text) => {
  const name = text.replaceAll(' ', '');
  return NAMES.find((known) => known === name);
});

export const FEWER_REQUESTS = approximated(
  '`ewma`: of two endpoints at random the one with fewer requests under way is asked, whatever time their answers take.',
);
