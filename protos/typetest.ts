/** What the compiler must refuse in a message. Nothing runs here: `tsc` checks that every line marked so is an error. */

import {
  type AnyMessage,
  type Messages,
  envoy_config_route_v3_RedirectAction_RedirectResponseCode as RedirectCode,
} from '../src/gen/messages.ts';

type Cluster = Messages['envoy.config.cluster.v3.Cluster'];
type VirtualHost = Messages['envoy.config.route.v3.VirtualHost'];
type Route = Messages['envoy.config.route.v3.Route'];

const router = 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router';
const buffer = 'type.googleapis.com/envoy.extensions.filters.http.buffer.v3.Buffer';
const match = { path: '/x' };

export const accepted: VirtualHost = {
  name: 'a',
  domains: ['a'],
  routes: [
    { match, route: { cluster: 'c', timeout: { seconds: 5 } } },
    { match, redirect: { response_code: RedirectCode.FOUND } },
    {
      match: { ...match, case_sensitive: { value: false } },
      direct_response: { status: 503 },
      typed_per_filter_config: { buffer: { '@type': buffer, max_request_bytes: { value: 1 } } },
    },
  ],
};

export const encodedAny: Route = {
  match,
  route: { cluster: 'c' },
  typed_per_filter_config: { buffer: { type_url: buffer, value: new Uint8Array() } },
};

// @ts-expect-error a misspelt field
export const misspelt: VirtualHost = { name: 'a', domain: ['a'] };

// @ts-expect-error a misspelt field further inside
export const misspeltInside: Route = { match, route: { cluster: 'c', timout: { seconds: 5 } } };

// @ts-expect-error a string for an enum
export const enumAsString: Route = { match, redirect: { response_code: 'FOUND' } };

// @ts-expect-error a number that the enum does not have
export const enumOutOfRange: Route = { match, redirect: { response_code: 99 } };

// @ts-expect-error two members of a oneof
export const twoMembers: Route = { match: { path: '/x', prefix: '/' }, route: { cluster: 'c' } };

// @ts-expect-error no member of a oneof that Envoy requires
export const noMember: Route = { match: { case_sensitive: { value: true } }, route: { cluster: 'c' } };

// @ts-expect-error a duration as text
export const durationAsText: Route = { match, route: { cluster: 'c', timeout: '5s' } };

// @ts-expect-error a wrapper's value without the wrapper
export const bareWrapper: Cluster = { name: 'a', per_connection_buffer_limit_bytes: 5 };

// @ts-expect-error text for bytes
export const textForBytes: Messages['envoy.config.core.v3.DataSource'] = { inline_bytes: 'text' };

// @ts-expect-error a field in a message that has none
export const fieldInEmpty: Route = { match: { connect_matcher: { path: '/' } }, route: { cluster: 'c' } };

// @ts-expect-error an Any without its type
export const anyWithoutType: AnyMessage = { max_request_bytes: { value: 1 } };

// @ts-expect-error an Any of a type that nobody declared
export const anyOfUnknownType: AnyMessage = { '@type': 'type.googleapis.com/envoy.config.Unknown' };

// @ts-expect-error a misspelt field in an Any
export const misspeltInAny: AnyMessage = { '@type': buffer, max_request_byte: { value: 1 } };

// @ts-expect-error a field of another message in an Any
export const foreignFieldInAny: AnyMessage = { '@type': router, max_request_bytes: { value: 1 } };

// @ts-expect-error a bare wrapper in an Any
export const bareWrapperInAny: AnyMessage = { '@type': buffer, max_request_bytes: 1 };

export const anyInside: Route = {
  match,
  route: { cluster: 'c' },
  // @ts-expect-error a misspelt field in an Any further inside
  typed_per_filter_config: { buffer: { '@type': buffer, max_request_byte: { value: 1 } } },
};
