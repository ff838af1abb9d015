import { startServices } from '../envoy/behaviour/cases.ts';
import { configMap, ingress } from '../support/manifests.ts';
import { type AnnotationTable, annotated, type KeyCases } from './table.ts';

function host(name: string, annotations: Readonly<Record<string, string>>) {
  return ingress({
    name,
    annotations: annotated(annotations),
    rules: [{ host: `${name}.acceptance.example.com`, paths: [{ path: '/' }] }],
  });
}

/** The same Ingresses under another ConfigMap. */
function table(
  title: string,
  data: Readonly<Record<string, string>>,
  keys: Readonly<Record<string, KeyCases>>,
): AnnotationTable {
  return {
    title: `acceptance, ${title}`,
    start: async () => {
      const services = await startServices('web');
      return {
        close: services.close,
        build: { configMap: 'default/config' },
        manifests: [
          ...services.manifests,
          configMap('config', data),
          host('low', { 'ssl-redirect': 'true' }),
          host('medium', { 'force-ssl-redirect': 'false' }),
          host('snippet', { 'configuration-snippet': 'deny all;' }),
          host('word', { 'auth-realm': 'a secret room' }),
        ],
      };
    },
    keys,
  };
}

const at = (name: string) => `http://${name}.acceptance.example.com/`;
/** No version of the Ingress is served, so nobody claims its host. */
const refused = (name: string) => ({ url: at(name), status: 404 });
const served = (name: string) => ({ url: at(name), backend: 'web' });
/** It is taken, and protects what it cannot protect yet. */
const closed = (name: string) => ({ url: at(name), status: 503 });

export const acceptanceTables: readonly AnnotationTable[] = [
  table(
    'by default',
    {},
    {
      'ConfigMap annotations-risk-level': { good: [], default: [served('medium'), refused('snippet')] },
      'ConfigMap annotation-value-word-blocklist': { good: [], default: [served('word')] },
      'ConfigMap allow-snippet-annotations': { good: [], default: [refused('snippet')] },
      'ConfigMap strict-validate-path-type': { good: [], default: [served('low')] },
    },
  ),
  table(
    'with snippets',
    { 'annotations-risk-level': 'critical', 'allow-snippet-annotations': 'true', 'strict-validate-path-type': 'maybe' },
    {
      'ConfigMap annotations-risk-level': { good: [closed('snippet')], default: [] },
      'ConfigMap allow-snippet-annotations': { good: [closed('snippet')], default: [] },
      'ConfigMap strict-validate-path-type': { good: [], bad: [served('low')], default: [] },
    },
  ),
  table(
    'strictly',
    {
      'annotations-risk-level': 'none',
      'annotation-value-word-blocklist': 'password, secret',
      'allow-snippet-annotations': 'yes',
      'strict-validate-path-type': 'false',
    },
    {
      'ConfigMap annotations-risk-level': {
        good: [served('low'), { ...refused('medium'), because: 'an unknown level is the strictest' }],
        default: [],
      },
      'ConfigMap annotation-value-word-blocklist': { good: [refused('word')], default: [] },
      'ConfigMap allow-snippet-annotations': { good: [], bad: [refused('snippet')], default: [] },
      'ConfigMap strict-validate-path-type': { good: [served('low')], default: [] },
    },
  ),
];
