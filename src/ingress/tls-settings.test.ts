import { describe, expect, test } from 'vitest';
import { readConfigMap } from './config-map/reading.ts';
import { cipherFindings, tlsSettings } from './tls-settings.ts';

function read(data: Readonly<Record<string, string>>) {
  const { values } = readConfigMap(data, 'envoy');
  return { settings: tlsSettings(values, 'envoy'), findings: cipherFindings(values, 'envoy') };
}

describe('ciphers of the ConfigMap', () => {
  test('those that the proxy has not are named, and the others hold', () => {
    const { settings, findings } = read({
      'ssl-ciphers': 'ECDHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES128-GCM-SHA256',
    });
    expect(settings.ciphers).toEqual(['ECDHE-RSA-AES128-GCM-SHA256']);
    expect(findings).toMatchObject([{ reason: 'the proxy has no DHE-RSA-AES128-GCM-SHA256' }]);
  });

  test('a list of which nothing is left is reported, and the default holds', () => {
    const { settings, findings } = read({ 'ssl-ciphers': 'RC4-SHA' });
    expect(settings).not.toHaveProperty('ciphers');
    expect(findings).toHaveLength(1);
  });

  test('groups mean the default, without a word', () => {
    const { settings, findings } = read({ 'ssl-ciphers': 'HIGH:!aNULL:!MD5' });
    expect(settings).not.toHaveProperty('ciphers');
    expect(findings).toEqual([]);
  });
});

test('peers that nobody can read are none, not everybody', () => {
  const { values, findings } = readConfigMap({ 'proxy-real-ip-cidr': '10.0.0.0/8, balancer' }, 'envoy');
  expect(values['proxy-real-ip-cidr']).toEqual([]);
  expect(findings).toMatchObject([{ instead: 'nobody is believed' }]);
});
