import { annotationFeature } from '../declaration/annotation.ts';
import { choice, textOf } from '../declaration/codecs.ts';
import { objectName } from '../declaration/references.ts';
import { PLANNED } from '../declaration/support.ts';

const planned = { protects: 'paths', scope: 'paths', envoy: PLANNED, nginx: PLANNED } as const;
const detail = { ...planned, needs: ['auth-type'] } as const;

export const basicAuth = annotationFeature({
  title: 'Passwords',
  keys: {
    'auth-type': {
      ...planned,
      codec: choice('basic', 'digest'),
      risk: 'Low',
      whenInvalid: 'refuse',
      summary: 'How clients say who they are: `basic` or `digest`.',
      example: 'basic',
    },
    'auth-secret': {
      ...detail,
      codec: objectName,
      risk: 'Medium',
      whenInvalid: 'deny',
      summary: 'The Secret with the users and the hashes of their passwords.',
      example: 'users',
    },
    'auth-secret-type': {
      ...detail,
      codec: choice('auth-file', 'auth-map'),
      risk: 'Low',
      whenInvalid: 'refuse',
      default: 'auth-file',
      summary: 'What the Secret holds: one htpasswd file under the key `auth`, or one key for each user.',
      example: 'auth-map',
    },
    'auth-realm': {
      ...detail,
      codec: textOf('basicAndSpace'),
      risk: 'Medium',
      whenInvalid: 'refuse',
      summary: 'What clients are told that the password is for.',
      example: 'Staff only',
    },
  },
});
