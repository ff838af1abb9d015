/** The pod that this process runs in, as its Deployment tells it. */
export interface PodIdentity {
  readonly namespace: string;
  readonly name: string;
}

/** `POD_NAME` and `POD_NAMESPACE`; `undefined` unless both are there. */
export function podFromEnvironment(
  env: Readonly<Record<string, string | undefined>> = process.env,
): PodIdentity | undefined {
  const { POD_NAME: name, POD_NAMESPACE: namespace } = env;
  return name && namespace ? { namespace, name } : undefined;
}
