import { annotationFeature } from '../declaration/annotation.ts';
import { codec } from '../declaration/codec.ts';
import { HONOURED } from '../declaration/support.ts';

const serviceName = codec('the name of a Service in the same namespace', (text) =>
  /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(text) ? text : undefined,
);

export const defaultBackend = annotationFeature({
  title: 'Default backend',
  keys: {
    'default-backend': {
      codec: serviceName,
      scope: 'paths',
      risk: 'Low',
      whenInvalid: 'refuse',
      summary:
        'The Service whose first port gets the requests while the Service of their path has no endpoint, with `X-Code: 503` and whom they were for.',
      example: 'sorry',
      envoy: HONOURED,
      nginx: HONOURED,
    },
  },
  apply({ 'default-backend': name }, { ingress: { namespace }, service }) {
    if (name === undefined) return {};
    const port = service(`${namespace}/${name}`)?.ports.find(({ protocol }) => protocol === 'TCP');
    if (port !== undefined) return { host: { standIn: { service: name, port: String(port.port) } } };
    const reason = `Service ${namespace}/${name} does not exist, or has no TCP port; it has no effect`;
    return { warnings: [{ annotation: 'default-backend', reason, code: 'AnnotationInvalid', ignored: true }] };
  },
});
