/** What the webhook did, under the names and labels of ingress-nginx. */
import { Counter, Gauge, type Registry } from 'prom-client';
import { CONTROLLER_PREFIX, type ControllerIdentity, controllerLabels } from './controller-identity.ts';

export interface ReviewMeasures {
  /** Of the Ingress. */
  readonly namespace: string;
  readonly name: string;
  readonly denial?: string;
  /** Absent when the decision fell before the Ingress was built. */
  readonly built?: {
    readonly ingresses: number;
    readonly bytes: number;
    readonly checkSeconds: number;
    readonly buildSeconds: number;
  };
  readonly seconds: number;
}

/** Whoever reaches the webhook makes up names, and each is a time series. From here on new ones are not counted. */
const MAX_NAMES = 10_000;

export function addAdmissionMetrics(
  registry: Registry,
  identity?: ControllerIdentity,
): (review: ReviewMeasures) => void {
  const controller = controllerLabels(identity);
  const labelNames = Object.keys(controller);
  const gauge = (name: string, help: string) => {
    const metric = new Gauge({
      name: `${CONTROLLER_PREFIX}admission_${name}`,
      help,
      labelNames,
      registers: [registry],
    });
    return (value: number) => metric.set(controller, value);
  };
  const counter = (name: string, help: string) => {
    const labels = [...labelNames, 'namespace', 'ingress'];
    const metric = new Counter({
      name: `${CONTROLLER_PREFIX}${name}`,
      help,
      labelNames: labels,
      registers: [registry],
    });
    const names = new Set<string>();
    return ({ namespace, name: ingress }: ReviewMeasures) => {
      const key = `${namespace}/${ingress}`;
      if (!names.has(key) && names.size >= MAX_NAMES) return;
      names.add(key);
      metric.inc({ ...controller, namespace, ingress });
    };
  };
  const tested = gauge('tested_ingresses', 'Ingresses that the last review built: the reviewed one and its neighbours');
  const testedDuration = gauge('tested_duration', 'How long the last review took to build them');
  const rendered = gauge('render_ingresses', 'The same number, under the name that dashboards know');
  const renderDuration = gauge('render_duration', 'How long the checks before took');
  const roundtrip = gauge('roundtrip_duration', 'The last review from its arrival to its answer');
  const size = gauge('config_size', 'Size in bytes of the resources that the last review built');
  const success = counter('check_success', 'Reviews in which the Ingress was built and allowed');
  const errors = counter('check_errors', 'Reviews in which the Ingress was denied');
  return (review) => {
    const { denial, built, seconds } = review;
    if (denial !== undefined) errors(review);
    else if (built) success(review);
    if (built === undefined) return;
    tested(built.ingresses);
    rendered(built.ingresses);
    testedDuration(built.buildSeconds);
    renderDuration(built.checkSeconds);
    roundtrip(seconds);
    size(built.bytes);
  };
}
