import { describe, expect, test } from 'vitest';
import { DEFAULT_SETTINGS, type ForwardedSettings, type ProxySettings } from '../model/settings.ts';
import { clientIdentity, earlyMutations } from './client-identity.ts';

function settings(forwarded: Partial<ForwardedSettings>): ProxySettings {
  return { ...DEFAULT_SETTINGS, forwarded: { ...DEFAULT_SETTINGS.forwarded, ...forwarded } };
}

describe('who the client is', () => {
  test('whoever opened the connection, where nobody is believed', () => {
    const identity = clientIdentity(settings({}));
    expect(identity).toMatchObject({ use_remote_address: { value: true } });
    expect(identity).not.toHaveProperty('original_ip_detection_extensions');
  });

  test('an empty list of peers believes nobody: to Envoy it would mean everybody', () => {
    const identity = JSON.stringify(clientIdentity(settings({ namesClient: true, trustedPeers: [] })));
    expect(identity).toContain('"cidrs":[{"address_prefix":"0.0.0.0","prefix_len":{"value":32}}]');
  });

  test('Envoy takes no client from a request and from the connection at once', () => {
    expect(clientIdentity(settings({ namesClient: true }))).not.toHaveProperty('use_remote_address');
  });
});

describe('what is done to requests first', () => {
  test('a header is not removed before it is read, also where it has the name that backends see', () => {
    const mutations = earlyMutations(settings({ forwardedForHeader: 'x-original-forwarded-for', namesClient: true }));
    expect(mutations).not.toContainEqual({ remove: 'x-original-forwarded-for' });
    expect(JSON.stringify(mutations)).toContain('%REQ(X-ORIGINAL-FORWARDED-FOR)%');
  });

  test('what a request says of its scheme goes where only its address is believed', () => {
    const wanted = { remove: 'x-forwarded-proto' };
    expect(earlyMutations(settings({ namesClient: true }))).toContainEqual(wanted);
    expect(earlyMutations(settings({ namesClient: true, trustsHeaders: true }))).not.toContainEqual(wanted);
  });
});
