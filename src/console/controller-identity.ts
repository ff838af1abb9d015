/** Which controller this is: the labels that ingress-nginx puts on every metric. */
export interface ControllerIdentity {
  /** `POD_NAMESPACE` and `POD_NAME`; empty outside a cluster. */
  readonly namespace: string;
  readonly pod: string;
  /** `--controller-class` */
  readonly class: string;
}

const NOBODY: ControllerIdentity = { namespace: '', pod: '', class: '' };

export function controllerLabels(identity: ControllerIdentity = NOBODY) {
  return {
    controller_namespace: identity.namespace,
    controller_class: identity.class,
    controller_pod: identity.pod,
  };
}

/** Of the names of those metrics. */
export const CONTROLLER_PREFIX = 'nginx_ingress_controller_';
