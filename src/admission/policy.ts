import { parseBool } from '../ingress/declaration/codecs.ts';
import { contentOf } from '../ingress/declaration/content.ts';

/** What the ConfigMap (`--configmap`) says about the Ingresses that may be stored. */
export interface AdmissionPolicy {
  /** `strict-validate-path-type`: `Exact` and `Prefix` paths hold nothing but letters, digits and `/ . _ -`. */
  readonly strictPathTypes: boolean;
  /** `annotation-value-word-blocklist`: texts that no value of an annotation of ours may contain. */
  readonly blockedWords: readonly string[];
  /** `allow-snippet-annotations` */
  readonly allowSnippets: boolean;
}

/** Keys that are absent, empty or not readable have the default of ingress-nginx. */
export function readPolicy(data: Readonly<Record<string, string>> = {}): AdmissionPolicy {
  const words = contentOf(data, 'annotation-value-word-blocklist')?.split(',') ?? [];
  return {
    strictPathTypes: readSwitch(data, 'strict-validate-path-type', true),
    blockedWords: words.map((word) => word.trim()).filter((word) => word !== ''),
    allowSnippets: readSwitch(data, 'allow-snippet-annotations', false),
  };
}

function readSwitch(data: Readonly<Record<string, string>>, key: string, byDefault: boolean): boolean {
  return parseBool(contentOf(data, key) ?? '') ?? byDefault;
}
