/** How an annotation is declared. Its documentation, its checks and its effect all come from the declaration. */
import type { ConfigMap, Ingress, Secret, Service } from '../../cluster/objects.ts';
import type { Canary } from '../../model/canary.ts';
import type { DiagnosticCode } from '../../model/diagnostic.ts';
import type { ObjectKey } from '../../model/object-ref.ts';
import type {
  CapturingTemplate,
  ClusterPolicy,
  HostName,
  RedirectStatus,
  RoutePolicy,
} from '../../model/proxy-model.ts';
import type { Template } from '../../model/template.ts';
import type { ConfigMapKeyName, ConfigMapValues } from '../config-map/keys.ts';
import type { BackendTemplate } from './backend-template.ts';
import type { Codec } from './codec.ts';
import type { Risk } from './risk.ts';
import type { ProxyName, SupportByProxy } from './support.ts';

/**
 * What happens to a value that its codec does not take (the outcome classes V, D, F and I of ingress-nginx).
 * `refuse`: this version of the Ingress is not taken. `deny`: the paths of the Ingress answer 503. `default`: as if the annotation were
 * not there. `drop-group`: as if all annotations of the feature were not there.
 */
export type WhenInvalid = 'refuse' | 'deny' | 'default' | 'drop-group';

/** What an annotation takes effect on. `host`: on all of the host, also for other Ingresses. `service`: on the connections to a Service. */
export type Scope = 'paths' | 'host' | 'service';

export interface AnnotationKey<V = unknown> extends SupportByProxy {
  readonly codec: Codec<V>;
  readonly scope: Scope;
  readonly risk: Risk;
  readonly whenInvalid: WhenInvalid;
  /** Paths of the Ingress answer 503 also where it is there and empty; absent: empty is as if it were not there. */
  readonly whenEmpty?: 'deny';
  /**
   * Annotations of which one has to be there, and not be `false`, for this one to have any effect; else it is a leftover, whatever
   * it says.
   */
  readonly needs?: readonly string[];
  /** What it does, one sentence. */
  readonly summary: string;
  /** A value as users write it. */
  readonly example: string;
  /** What holds without the annotation; absent where nothing does, or where a key of the ConfigMap says it. */
  readonly default?: string;
  /** The default is said in words, and is no value that one could write. */
  readonly defaultInWords?: true;
  /** The key of the ConfigMap that says what holds without the annotation. */
  readonly configMap?: ConfigMapKeyName;
  /**
   * It protects a backend, so paths answer 503 where it cannot be honoured; a function says for which values. `host`: all paths of
   * the host.
   */
  readonly protects?: 'paths' | 'host' | ((value: V) => boolean);
  /** Behaviour of ingress-nginx that it brings along and that is kept, understood without the summary; `check` tells who relies on it. */
  readonly quirk?: string;
  /** An older name for the same, read where this one is absent. */
  readonly alias?: string;
  /** The value (`NamedObject`) names an object of this kind, which sources that do not hold everything then read. */
  readonly refersTo?: 'Secret' | 'ConfigMap';
}

export interface AnnotationFeature {
  /** Heading of its part of the documentation. */
  readonly title: string;
  /** By name without prefix. */
  readonly keys: Readonly<Record<string, AnnotationKey>>;
  /**
   * What the values mean. It is asked for every Ingress, also for those without any of the annotations, since the ConfigMap may
   * ask for the same; absent where nothing of the feature is built.
   */
  readonly apply?: (values: Readonly<Record<string, unknown>>, context: FeatureContext) => Effects;
}

/** What a feature may look at beside its own values. Whatever it asks for, it is asked again when that changes. */
export interface FeatureContext {
  readonly ingress: Pick<Ingress, 'namespace' | 'name' | 'rules' | 'tls' | 'defaultBackend'>;
  /** The ConfigMap: what it says, or the defaults. */
  readonly global: ConfigMapValues;
  readonly proxy: ProxyName;
  /** Why TLS cannot be passed through to backends, whatever an Ingress asks for; absent where it can. */
  readonly noPassthrough?: string;
  configMap(key: ObjectKey): ConfigMap | undefined;
  secret(key: ObjectKey): Secret | undefined;
  service(key: ObjectKey): Service | undefined;
}

/** What a feature does to its Ingress. No two features give the same field. */
export interface Effects {
  /** For every path of the Ingress. */
  readonly route?: RoutePolicy;
  /** For the connections to its backends. Only what annotations say: what the ConfigMap says holds for all clusters alike. */
  readonly cluster?: ClusterPolicy;
  /** For all of the host, or decided host by host. */
  readonly host?: HostEffects;
  /** The Ingress serves no path of its own, but takes a part of the requests of others. */
  readonly canary?: CanaryRules;
  /** Class D: why the paths of the Ingress answer 503. */
  readonly denied?: readonly Finding[];
  /** What the user should know, all else being served. */
  readonly warnings?: readonly Finding[];
}

/** Which requests of a path go to its canary; `weight` of `total` of those that no rule decides. */
export interface CanaryRules extends Pick<Canary, 'header' | 'cookie' | 'sticky'> {
  readonly weight: number;
  readonly total: number;
}

/** Something about one annotation. */
export interface Finding {
  /** Name without prefix. */
  readonly annotation: string;
  /** The value and what is wrong with it, to be followed by what happens. */
  readonly reason: string;
  /** If absent `AnnotationIgnored` of what is ignored, else `AnnotationInvalid`. */
  readonly code?: DiagnosticCode;
  /** The annotation has no effect at all, or not for these items of its value. */
  readonly ignored?: true | readonly string[];
  /** Worth knowing, and no more: a warning otherwise. */
  readonly harmless?: true;
}

/** Of what is left over and changes nothing, as with ingress-nginx. @param why the same for all; `it has no effect …` */
export function leftoverFindings(annotations: readonly string[], why: string): Finding[] {
  return ignoredFindings(annotations, why).map((finding) => ({ ...finding, harmless: true }));
}

/** @param why the same for all; `it has no effect …` */
export function ignoredFindings(annotations: readonly string[], why: string): Finding[] {
  return annotations.map((annotation) => ({ annotation, reason: why, ignored: true }));
}

/** What an Ingress asks of the hosts that it speaks about; who of several Ingresses decides, the host's units say. */
export interface HostEffects {
  /** When requests over plain HTTP are redirected to https. */
  readonly httpsRedirect?: {
    /** Where the host has TLS. */
    readonly withTls: boolean;
    /** In any case. */
    readonly always: boolean;
    readonly status: RedirectStatus;
    readonly keepSlash: boolean;
    /** Paths of the Ingress that begin with one of these are not. */
    readonly exempt: readonly string[];
  };
  /** Whether redirects to https, and to a path of the same host, name the port of the proxy. */
  readonly portInRedirects?: boolean;
  /** Every path of the Ingress is answered with it; no others are. */
  readonly redirect?: RedirectEffect;
  /** Where requests for exactly `/` are redirected to, on the whole host: a path of it. */
  readonly appRoot?: Template;
  /** Requests to the host with `www.` in front, or without it if it has one, are redirected to the host. */
  readonly fromToWww?: WwwRedirect;
  /** The Service, with the number of its port, that gets the requests of paths whose own has no endpoint. */
  readonly standIn?: { readonly service: string; readonly port: string };
  /** Further names of its hosts, each once. */
  readonly aliases?: readonly HostName[];
  /** Its paths are regular expressions, or others take their place before a backend sees them. */
  readonly rewrite?: {
    readonly useRegex: boolean;
    readonly target?: CapturingTemplate;
    readonly forwardedPrefix?: CapturingTemplate;
  };
  /** The `Host` that backends get. */
  readonly upstreamHost?: BackendTemplate;
  /** Requests for its paths are traced; without `operation` their spans have the name of the path. */
  readonly tracing?: { readonly operation?: BackendTemplate };
  /** TLS of its hosts is passed through to the Service of their path `/`. */
  readonly passthrough?: true;
  /** The ciphers of TLS, as in `TlsPolicy`, and whose order counts among them. */
  readonly ciphers?: readonly string[];
  readonly prefersServerCiphers?: boolean;
}

/** `forwarded`: to the port that requests say, rather than to that where they come. */
export interface WwwRedirect {
  readonly status: RedirectStatus;
  readonly forwarded: boolean;
}

/** `url` is a path of the same host, or whatever `Location` is to be. `relative`: a path stays one. */
export interface RedirectEffect {
  /** 300 to 308; clients follow those of `RedirectStatus` alone, for others the URL is the body. */
  readonly status: number;
  readonly url: string;
  readonly relative: boolean;
}

/**
 * Declares a feature. `V`: the type of each annotation's values, which follows from its codec. `apply` gets those that are present,
 * valid and honoured.
 */
export function annotationFeature<const V>(feature: {
  readonly title: string;
  readonly keys: { readonly [N in keyof V]: AnnotationKey<V[N]> };
  readonly apply?: (values: { readonly [N in keyof V]?: V[N] }, context: FeatureContext) => Effects;
}): AnnotationFeature {
  return feature as unknown as AnnotationFeature;
}
