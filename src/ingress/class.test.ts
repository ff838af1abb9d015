import { describe, expect, test } from 'vitest';
import { type ClassOptions, refuseClass } from './class.ts';
import { ingress, ingressClass } from './testing.ts';

const options: ClassOptions = {
  ingressClass: 'nginx',
  controllerClass: 'k8s.io/ingress-nginx',
  ingressClassByName: false,
  watchIngressWithoutClass: false,
  classNameWithoutObjects: false,
};
const classes = [
  ingressClass('ours'),
  ingressClass('nginx', 'example.com/other'),
  ingressClass('foreign', 'example.com/other'),
];
const annotated = (value: string) => ({ annotations: { 'kubernetes.io/ingress.class': value } });

interface Case {
  readonly name?: string;
  readonly annotation?: string;
  readonly options?: Partial<ClassOptions>;
  readonly classes?: readonly ReturnType<typeof ingressClass>[];
  readonly code: string | undefined;
}

const cases: Readonly<Record<string, Case>> = {
  'a class of our controller': { name: 'ours', code: undefined },
  'a class of another controller': { name: 'foreign', code: 'IngressClassForeign' },
  'a class that does not exist': { name: 'gone', code: 'IngressClassMissing' },
  'the class name alone decides, not the annotation': {
    name: 'foreign',
    annotation: 'nginx',
    code: 'IngressClassForeign',
  },
  'a class of our name but another controller': { name: 'nginx', code: 'IngressClassForeign' },
  'by name': { name: 'nginx', options: { ingressClassByName: true }, code: undefined },
  'by name, another name': { name: 'foreign', options: { ingressClassByName: true }, code: 'IngressClassForeign' },
  'by name, a class that does not exist': {
    name: 'nginx',
    options: { ingressClassByName: true },
    classes: [],
    code: 'IngressClassMissing',
  },
  'our name where no class exists': {
    name: 'nginx',
    options: { classNameWithoutObjects: true },
    classes: [],
    code: undefined,
  },
  'another name where no class exists': {
    name: 'other',
    options: { classNameWithoutObjects: true },
    classes: [],
    code: 'IngressClassMissing',
  },
  'our name where another class exists': {
    name: 'nginx',
    options: { classNameWithoutObjects: true },
    classes: [ingressClass('foreign', 'example.com/other')],
    code: 'IngressClassMissing',
  },
  'the old annotation': { annotation: 'nginx', code: undefined },
  'the old annotation of another class': { annotation: 'traefik', code: 'IngressClassForeign' },
  'an empty annotation, even when no class is needed': {
    annotation: '',
    options: { watchIngressWithoutClass: true },
    code: 'IngressClassForeign',
  },
  'no class': { code: 'IngressClassMissing' },
  'no class where none is needed': { options: { watchIngressWithoutClass: true }, code: undefined },
};

describe('which Ingresses are ours', () => {
  test.each(Object.entries(cases))('%s', (_, { name, annotation, code, ...one }) => {
    const { ingressClassName: _class, ...classless } = ingress(
      'shop/web',
      annotation === undefined ? {} : annotated(annotation),
    );
    const subject = name === undefined ? classless : { ...classless, ingressClassName: name };
    const known = one.classes ?? classes;
    const lookup = {
      get: (key: string) => known.find((known) => known.name === key),
      anyExists: () => known.length > 0,
    };
    const refusal = refuseClass(subject, lookup, { ...options, ...one.options });
    expect(refusal?.code).toBe(code);
    if (refusal !== undefined)
      expect(refusal).toMatchObject({ severity: 'info', ref: { namespace: 'shop', name: 'web' } });
  });
});
