import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ObjectChange } from '../cluster/cluster-state.ts';
import { objectKey } from '../model/object-ref.ts';
import { parseManifests } from './parse.ts';
import { type ManifestFile, ManifestStore } from './store.ts';

const a: ManifestFile = { path: 'dir/a.yaml', folder: 0 };
const b: ManifestFile = { path: 'dir/b.yaml', folder: 0 };

function service(name: string, port: number | string): string {
  return `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}}\nspec:\n  ports:\n    - port: ${port}\n`;
}

async function put(store: ManifestStore, file: ManifestFile, text: string): Promise<void> {
  store.set(file, await parseManifests(text, 'default', store.documents(file.path)));
}

/** The objects that the changes leave, as `kind key` → object. */
function apply(objects: Map<string, unknown>, changes: readonly ObjectChange[] = []): Map<string, unknown> {
  for (const change of changes) {
    if ('upsert' in change) objects.set(`${change.upsert.kind} ${objectKey(change.upsert)}`, change.upsert);
    else if (!objects.delete(`${change.remove.kind} ${objectKey(change.remove)}`)) throw new Error('removed twice');
  }
  return objects;
}

function summary(changes: readonly ObjectChange[] = []): string[] {
  return changes.map((change) => {
    if ('remove' in change) return `- ${change.remove.name}`;
    const ports = change.upsert.kind === 'Service' ? change.upsert.ports.map(({ port }) => port) : [];
    return `+ ${change.upsert.name} ${ports.join()}`.trim();
  });
}

describe('ManifestStore', () => {
  it('says what changed, and nothing when nothing did', async () => {
    const store = new ManifestStore();
    await put(store, a, `${service('web', 80)}---\n${service('api', 80)}`);
    expect(summary(store.take()?.changes)).toEqual(['+ web 80', '+ api 80']);
    await put(store, a, `# moved\n${service('api', 80)}---\n${service('web', 80)}`);
    expect(store.take()).toBeUndefined();
    await put(store, a, `${service('api', 81)}---\n${service('web', 80)}`);
    expect(summary(store.take()?.changes)).toEqual(['+ api 81']);
    store.remove(a);
    expect(summary(store.take()?.changes).sort()).toEqual(['- api', '- web']);
  });

  it('keeps the last good objects of a file that does not parse', async () => {
    const store = new ManifestStore();
    await put(store, a, service('web', 80));
    store.take();
    await put(store, a, `${service('web', 81)}---\nx: y\nz: "`);
    expect(store.take()).toEqual({
      changes: [],
      diagnostics: [
        {
          severity: 'error',
          code: 'FileInvalid',
          message: 'Missing closing "quote; its last good objects stay',
          source: { file: 'dir/a.yaml', line: 9, column: 5 },
        },
      ],
    });
    await put(store, a, service('web', 82));
    expect(store.take()).toMatchObject({ changes: [{ upsert: { ports: [{ port: 82 }] } }], diagnostics: [] });
  });

  it('keeps the last good version of an invalid object, and takes the rest of the file', async () => {
    const store = new ManifestStore();
    await put(store, a, `${service('web', 80)}---\n${service('api', 80)}`);
    store.take();
    await put(store, a, `${service('web', 'x')}---\n${service('api', 81)}---\n${service('new', '"80"')}`);
    const batch = store.take();
    expect(summary(batch?.changes)).toEqual(['+ api 81']);
    expect(batch?.diagnostics).toMatchObject([
      {
        code: 'ObjectInvalid',
        field: 'spec.ports[0].port',
        ref: { kind: 'Service', namespace: 'default', name: 'web' },
        source: { line: 6, column: 13 },
      },
      { ref: { name: 'new' }, source: { line: 20, column: 13 } },
    ]);
    await put(store, a, service('api', 81));
    expect(summary(store.take()?.changes)).toEqual(['- web']);
  });

  it('lets the first place of an object count, and the second take over', async () => {
    const store = new ManifestStore();
    await put(store, b, `${service('web', 2)}---\n${service('web', 3)}`);
    expect(summary(store.take()?.changes)).toEqual(['+ web 2']);
    await put(store, a, `\n${service('web', 1)}`);
    const batch = store.take();
    expect(summary(batch?.changes)).toEqual(['+ web 1']);
    expect(batch?.diagnostics).toMatchObject([
      {
        severity: 'warning',
        code: 'ObjectDuplicate',
        message: 'Service default/web stands in dir/a.yaml:2 already; that one counts',
        source: { file: 'dir/b.yaml', line: 1, column: 1 },
      },
      { source: { file: 'dir/b.yaml', line: 8, column: 1 } },
    ]);
    expect(store.wouldLose(a.path, [])).toBe(false);
    store.remove(a);
    expect(summary(store.take()?.changes)).toEqual(['+ web 2']);
    expect(store.wouldLose(b.path, [])).toBe(true);
  });

  it('lets a good object elsewhere count when the first place never was good', async () => {
    const store = new ManifestStore();
    await put(store, a, service('web', '"80"'));
    await put(store, b, service('web', 2));
    expect(summary(store.take()?.changes)).toEqual(['+ web 2']);
  });

  it('finds fields in multi-document files, lists and slices made of Endpoints', async () => {
    const store = new ManifestStore();
    await put(
      store,
      a,
      `${service('web', 80)}---
kind: ServiceList
apiVersion: v1
items:
  - metadata: {name: x, namespace: shop}
    spec:
      ports: [{port: 1}, {port: 2}]
---
apiVersion: v1
kind: Endpoints
metadata: {name: web}
subsets: [{addresses: [{ip: 127.0.0.1}], ports: [{port: 80}]}]
`,
    );
    const at = (kind: string, namespace: string, name: string, field?: string) => {
      const position = store.locate({ kind, namespace, name }, field);
      return position && `${position.file}:${position.line}:${position.column}`;
    };
    expect(at('Service', 'default', 'web', 'spec.ports[0].port')).toBe('dir/a.yaml:6:13');
    expect(at('Service', 'shop', 'x', 'spec.ports[1].port')).toBe('dir/a.yaml:13:33');
    expect(at('Service', 'shop', 'x')).toBe('dir/a.yaml:11:5');
    expect(at('EndpointSlice', 'default', 'web~0')).toBe('dir/a.yaml:15:1');
    expect(at('Service', 'default', 'nope')).toBeUndefined();
  });

  it('shows the v1 form of an old Ingress', async () => {
    const store = new ManifestStore();
    const spec = 'spec: {backend: {serviceName: web, servicePort: 80}}';
    await put(store, a, `apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: old}\n${spec}\n`);
    expect(store.take()).toMatchObject({
      changes: [],
      diagnostics: [
        {
          code: 'IngressApiVersionOld',
          field: 'apiVersion',
          message: expect.stringContaining('    service:\n      name: web\n      port:\n        number: 80\n'),
          source: { line: 1, column: 13 },
        },
      ],
    });
  });

  it('shows after any edits what a store shows that saw only the last good contents', async () => {
    const file = fc.constantFrom(
      ...['a', 'b', 'c'].flatMap((name) => [0, 1].map((folder) => ({ path: `${folder}/${name}`, folder }))),
    );
    const name = fc.constantFrom('web', 'api', 'db');
    const objects = fc.array(fc.tuple(name, fc.integer({ min: 1, max: 3 })), { maxLength: 4 });
    const edit = fc.record({ file, objects, kind: fc.constantFrom('set', 'set', 'set', 'remove', 'break', 'take') });
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { maxLength: 30 }), async (edits) => {
        const store = new ManifestStore();
        const good = new Map<string, readonly [ManifestFile, string]>();
        const shown = new Map<string, unknown>();
        for (const { file, objects, kind } of edits) {
          const text = objects.map(([name, port]) => service(name, port)).join('---\n');
          if (kind === 'take') apply(shown, store.take()?.changes);
          else if (kind === 'remove') {
            store.remove(file);
            good.delete(file.path);
          } else if (kind === 'break') await put(store, file, `${text}---\n"`);
          else {
            await put(store, file, text);
            good.set(file.path, [file, text]);
          }
        }
        apply(shown, store.take()?.changes);
        const fresh = new ManifestStore();
        for (const [file, text] of good.values()) await put(fresh, file, text);
        const batch = fresh.take();
        expect(shown).toEqual(apply(new Map(), batch?.changes));
        const broken = new Set(edits.filter(({ kind }) => kind === 'break').map(({ file }) => file.path));
        const told = store.take() ?? { diagnostics: [] };
        if (broken.size === 0) expect(told.diagnostics).toEqual([]);
      }),
    );
  });
});
