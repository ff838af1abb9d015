import type { EnumDescriptor, FileDescriptor, MessageDescriptor, ServiceDescriptor } from './descriptor.ts';

type Declaration =
  | { readonly kind: 'message'; readonly message: MessageDescriptor }
  | { readonly kind: 'enum'; readonly enum: EnumDescriptor }
  | { readonly kind: 'service'; readonly service: ServiceDescriptor };

/** Files that define options: whoever reads the set needs them to understand the options of the others. */
const optionFiles = /^(validate\/|(udpa|xds|envoy)\/annotations\/|google\/protobuf\/descriptor\.proto$)/;

/** Every message, enum and service of the files, by full name without a leading dot. */
export function declarations(files: readonly FileDescriptor[]): Map<string, Declaration> {
  const found = new Map<string, Declaration>();
  const addMessage = (scope: string, message: MessageDescriptor): void => {
    const name = join(scope, message.name);
    found.set(name, { kind: 'message', message });
    for (const nested of message.nested_type) addMessage(name, nested);
    for (const nested of message.enum_type) found.set(join(name, nested.name), { kind: 'enum', enum: nested });
  };
  for (const file of files) {
    for (const message of file.message_type) addMessage(file.package, message);
    for (const declared of file.enum_type)
      found.set(join(file.package, declared.name), { kind: 'enum', enum: declared });
    for (const service of file.service) found.set(join(file.package, service.name), { kind: 'service', service });
  }
  return found;
}

/**
 * The names that `roots` reach through fields and methods, the roots included.
 * @throws Error if one of them is not declared: a root that is misspelt, or that this Envoy does not have.
 */
export function reachable(declared: ReadonlyMap<string, Declaration>, roots: readonly string[]): Set<string> {
  const reached = new Set<string>();
  const pending = [...roots];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (reached.has(name)) continue;
    const declaration = declared.get(name);
    if (declaration === undefined) throw new Error(`${name} is not in the schema of this Envoy`);
    reached.add(name);
    pending.push(...references(declaration));
  }
  return reached;
}

function references(declaration: Declaration): string[] {
  const names =
    declaration.kind === 'message'
      ? declaration.message.field.map((field) => field.type_name)
      : declaration.kind === 'service'
        ? declaration.service.method.flatMap((method) => [method.input_type, method.output_type])
        : [];
  return names.filter((name) => name !== '').map((name) => name.slice(1));
}

/** Removes from `files`, in place, what is not in `keep`, and returns the files that are left, sorted by name. */
export function prune(files: readonly FileDescriptor[], keep: ReadonlySet<string>): FileDescriptor[] {
  const left = files.filter((file) => optionFiles.test(file.name) || pruneFile(file, keep));
  const names = new Set(left.map((file) => file.name));
  for (const file of left) {
    file.dependency = file.dependency.filter((name) => names.has(name));
    // Both are indices into the list that was just filtered; no reader of this set needs them.
    file.public_dependency = [];
    file.weak_dependency = [];
  }
  return left.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function pruneFile(file: FileDescriptor, keep: ReadonlySet<string>): boolean {
  const kept = (item: { name: string }) => keep.has(join(file.package, item.name));
  file.message_type = file.message_type.filter((message) => pruneMessage(file.package, message, keep));
  file.enum_type = file.enum_type.filter(kept);
  file.service = file.service.filter(kept);
  file.extension = [];
  return file.message_type.length + file.enum_type.length + file.service.length > 0;
}

/** A message that is not kept itself stays, without fields, as the scope of nested ones that are. */
function pruneMessage(scope: string, message: MessageDescriptor, keep: ReadonlySet<string>): boolean {
  const name = join(scope, message.name);
  message.nested_type = message.nested_type.filter((nested) => pruneMessage(name, nested, keep));
  message.enum_type = message.enum_type.filter((nested) => keep.has(join(name, nested.name)));
  if (keep.has(name)) return true;
  message.field = [];
  message.oneof_decl = [];
  return message.nested_type.length + message.enum_type.length > 0;
}

function join(scope: string, name: string): string {
  return scope === '' ? name : `${scope}.${name}`;
}
