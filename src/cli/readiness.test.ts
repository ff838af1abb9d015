import { expect, test } from 'vitest';
import { RunReadiness } from './readiness.ts';

test('run is ready when Envoy has accepted everything and takes connections of HTTP and HTTPS', async () => {
  // HTTPS waits for its certificate, and listeners of TCP services do not stand in for it.
  const answers: (readonly string[] | Error)[] = [
    [],
    new Error('Envoy does not answer'),
    ['http', 'tcp/9000', 'tcp/9001'],
    ['tcp/9000', 'https'],
    ['http', 'tcp/9000', 'https'],
  ];
  const seen: boolean[] = [];
  const readiness = new RunReadiness({
    activeListeners: async () => {
      seen.push(readiness.current.ready);
      const answer = answers[seen.length - 1];
      if (answer === undefined || answer instanceof Error) throw answer;
      return answer;
    },
  });
  expect(readiness.current).toEqual({ ready: false, reason: 'waiting for Envoy to accept the first configuration' });
  readiness.observe({ kind: 'programmed', stream: 1, seq: 1 });
  expect(readiness.current).toEqual({ ready: false, reason: 'waiting for the listeners of Envoy' });
  await readiness.ready;
  expect(readiness.current).toEqual({ ready: true, reason: '' });
  expect(seen).toEqual(answers.map(() => false));
});
