/** What `kubectl apply -k` would apply: valid by the API's own schemas, complete, and consistent with itself and the code. */

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import { CONFIG_TABLE, type Role, readConfig, requireFor, SECRET_NAMES } from '../../src/config.ts';
import { problemsOf } from './api-schema.ts';
import { build, type Container, containersOf, type Resource, readYaml, templateOf } from './kustomize.ts';

const K8S = fileURLToPath(new URL('../../k8s/', import.meta.url));
const ROLES = ['api', 'stream', 'settlement', 'snapshot'];
const SECRETS = readYaml(`${K8S}secrets.example.yaml`) as Resource[];
const SETTINGS = new Set([
  ...CONFIG_TABLE.map(({ name }) => name),
  ...SECRET_NAMES.map((name) => `${name}_FILE`),
]);

const kubectl = (...args: string[]): string =>
  execFileSync('kubectl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

const hasKubectl = (): boolean => {
  try {
    return kubectl('version', '--client').includes('Kustomize');
  } catch {
    return false;
  }
};

const titleOf = ({ kind, metadata }: Resource): string => `${kind} ${metadata.name}`;
const podOf = (one: Resource): Resource['spec'] => templateOf(one).spec;

describe('the schemas of the Kubernetes API', () => {
  const deployment = (): Resource =>
    build(`${K8S}overlays/demo`).find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'api',
    )!;

  it('refuse what is wrong, missing or unknown, at any depth', () => {
    const wrong: [problem: RegExp, change: (one: Resource) => unknown][] = [
      [/integer/, (one) => Object.assign(one.spec, { replicas: 'two' })],
      [/selector/, (one) => delete one.spec.selector],
      [/replica: the API knows no/, (one) => Object.assign(one.spec, { replica: 2 })],
      [/spec: the API knows no/, (one) => Object.assign(one.metadata, { spec: {} })],
      [
        /livenessprobe: the API knows no/,
        (one) => Object.assign(containersOf(one)[0]!, { livenessprobe: {} }),
      ],
      [
        /sec: the API knows no/,
        (one) => Object.assign(containersOf(one)[0]!.lifecycle.preStop.sleep, { sec: 1 }),
      ],
      [/apps\/v1 Deploiment/, (one) => Object.assign(one, { kind: 'Deploiment' })],
    ];
    for (const [problem, change] of wrong) {
      const one = deployment();
      change(one);
      expect(problemsOf(one).join('\n')).to.match(problem);
    }
  });

  it('know the Secrets of the example', () => {
    expect(SECRETS.flatMap(problemsOf)).to.deep.equal([]);
  });
});

/** Every installation that can be made of the parts. */
const installations: Record<string, () => Resource[]> = {
  demo: () => build(`${K8S}overlays/demo`),
  production: () => build(`${K8S}overlays/production`),
  'production with KEDA': () => [
    ...build(`${K8S}overlays/production`).filter(({ kind }) => kind !== 'HorizontalPodAutoscaler'),
    ...(readYaml(`${K8S}components/keda/scaled-objects.yaml`) as Resource[]),
  ],
};

for (const [name, made] of Object.entries(installations))
  describe(`the manifests of ${name}`, () => {
    const all = made();
    const ofKind = (...kinds: string[]): Resource[] => all.filter(({ kind }) => kinds.includes(kind));
    const find = (kind: string, wanted: string): Resource | undefined =>
      all.find((one) => one.kind === kind && one.metadata.name === wanted);
    const workloads = ofKind('Deployment', 'StatefulSet', 'Job', 'CronJob');
    const processes = workloads.filter(
      ({ metadata }) => metadata.labels?.['app.kubernetes.io/name'] === 'redbook',
    );
    const labelsOf = (one: Resource): Record<string, string> => templateOf(one).metadata.labels;
    const isOf = (selector: Record<string, string>, one: Resource): boolean =>
      Object.entries(selector).every(([label, value]) => labelsOf(one)[label] === value);

    /** What a container finds in its environment; secrets are those of the example. */
    const environmentOf = ({ env = [], envFrom = [] }: Container): Record<string, string> => {
      const settings = envFrom.flatMap(({ configMapRef }: { configMapRef: { name: string } }) =>
        Object.entries(find('ConfigMap', configMapRef.name)!.data),
      );
      const own = env.map(({ name, value }: { name: string; value: string }) => [name, value]);
      return Object.fromEntries([...settings, ...own]);
    };

    it('are valid by the schemas of the API', () => {
      expect(
        all.flatMap((one) => problemsOf(one).map((problem) => `${titleOf(one)}: ${problem}`)),
      ).to.deep.equal([]);
    });

    it('have every role, and no name twice', () => {
      expect(processes.map(({ metadata }) => metadata.name).sort()).to.deep.equal(
        [...ROLES, 'migrate', 'reconcile'].sort(),
      );
      expect(new Set(all.map(titleOf)).size).to.equal(all.length);
    });

    it('give each process what its role requires, and nothing that the configuration does not know', () => {
      for (const one of processes) {
        const [container] = containersOf(one);
        // An operator's command needs what settlement needs: both servers.
        const [first] = container!.args;
        const role: Role = first === 'ledger' ? 'settlement' : first;
        const environment = environmentOf(container!);
        expect(
          Object.keys(environment).filter((variable) => !SETTINGS.has(variable)),
          role,
        ).to.deep.equal([]);
        requireFor(role, readConfig(withSecrets(environment)));
        expect(environment.PORT).to.equal(String(container!.ports?.[0].containerPort ?? environment.PORT));
      }
    });

    it('mount each secret that a process reads, and no other', () => {
      for (const one of processes) {
        const read = Object.entries(environmentOf(containersOf(one)[0]!))
          .filter(([variable]) => variable.endsWith('_FILE'))
          .map(([, path]) => path.replace('/run/secrets/', ''));
        const { secret } = podOf(one).volumes.find((volume: { name: string }) => volume.name === 'secrets');
        const items = secret.items.map(({ key, path }: { key: string; path: string }) => {
          expect(key).to.equal(path);
          return path;
        });
        expect(items, titleOf(one)).to.deep.equal(read);
        const example = SECRETS.find(({ metadata }) => metadata.name === secret.secretName)!;
        expect(Object.keys(example.stringData)).to.include.members(items);
      }
    });

    it('run nothing as root, nothing with a writable root, nothing with a privilege', () => {
      for (const one of workloads) {
        expect(podOf(one).securityContext, titleOf(one)).to.include({ runAsNonRoot: true });
        expect(podOf(one).securityContext.seccompProfile).to.deep.equal({ type: 'RuntimeDefault' });
        expect(podOf(one).automountServiceAccountToken).to.equal(false);
        for (const { securityContext } of containersOf(one))
          expect(securityContext).to.deep.equal({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
      }
    });

    it('pin every image, and say what each container needs', () => {
      for (const { image, resources } of workloads.flatMap(containersOf)) {
        expect(image).to.match(/:v?\d+\.\d+(\.\d+)?(-\w+)?$/);
        expect(resources.requests).to.have.keys('cpu', 'memory');
        expect(resources.limits).to.have.keys('memory');
      }
    });

    it('probe everything that goes on', () => {
      for (const one of ofKind('Deployment')) {
        const [{ startupProbe, livenessProbe, readinessProbe }] = containersOf(one) as [Container];
        expect([startupProbe, livenessProbe].map(({ httpGet }) => httpGet.path)).to.deep.equal([
          '/livez',
          '/livez',
        ]);
        expect(readinessProbe.httpGet.path).to.equal('/readyz');
      }
      for (const one of ofKind('StatefulSet'))
        expect(containersOf(one)[0], titleOf(one)).to.include.keys('livenessProbe', 'readinessProbe');
    });

    it('leave more time to end than the pause, DRAIN_MS and a batch take', () => {
      for (const one of ofKind('Deployment')) {
        const [container] = containersOf(one) as [Container];
        const { drainMs } = readConfig(withSecrets(environmentOf(container)));
        const pause = container.lifecycle.preStop.sleep.seconds;
        expect(podOf(one).terminationGracePeriodSeconds).to.be.at.least(pause + drainMs / 1_000 + 10);
      }
    });

    it('select what is there, at ports that are there', () => {
      for (const one of workloads.filter(({ spec }) => spec.selector))
        expect(isOf(one.spec.selector.matchLabels, one), titleOf(one)).to.equal(true);
      for (const service of ofKind('Service')) {
        const meant = workloads.filter((one) => isOf(service.spec.selector, one));
        expect(
          meant.map(({ metadata }) => metadata.name),
          titleOf(service),
        ).to.deep.equal([service.metadata.name]);
        const ports = containersOf(meant[0]!).flatMap(({ ports }) =>
          ports.map((port: { name: string }) => port.name),
        );
        for (const { targetPort } of service.spec.ports) expect(ports).to.include(targetPort);
      }
      for (const one of ofKind('StatefulSet'))
        expect(find('Service', one.spec.serviceName)).to.not.equal(undefined);
      for (const one of ofKind('PodDisruptionBudget', 'NetworkPolicy')) {
        const { matchLabels = {} } = one.spec.selector ?? one.spec.podSelector;
        expect(
          workloads.some((workload) => isOf(matchLabels, workload)),
          titleOf(one),
        ).to.equal(true);
      }
      for (const { spec } of ofKind('Ingress'))
        for (const { backend } of spec.rules[0].http.paths) {
          const { ports } = find('Service', backend.service.name)!.spec;
          expect(ports.map((port: { name: string }) => port.name)).to.include(backend.service.port.name);
        }
    });

    it('scale what is there, and fix no number of what is scaled', () => {
      for (const one of ofKind('HorizontalPodAutoscaler', 'ScaledObject')) {
        const target = find('Deployment', one.spec.scaleTargetRef.name);
        expect(target?.spec, titleOf(one)).to.be.an('object').that.does.not.have.property('replicas');
      }
    });

    it('let out what a process needs to reach, and a stream not to Postgres', () => {
      const portsOf = (one: Resource): number[] =>
        ofKind('NetworkPolicy')
          .filter(({ spec }) => spec.egress && isPicked(spec.podSelector, labelsOf(one)))
          .flatMap(({ spec }) => spec.egress)
          .flatMap(({ ports }) => ports.map(({ port }: { port: number }) => port));
      for (const one of processes) {
        const expected = one.metadata.name === 'stream' ? [53, 53, 6379] : [53, 53, 6379, 5432];
        expect(portsOf(one), titleOf(one)).to.have.members(expected);
      }
      for (const one of ofKind('StatefulSet')) expect(portsOf(one), titleOf(one)).to.deep.equal([53, 53]);
      expect(find('NetworkPolicy', 'nothing')!.spec).to.deep.equal({
        podSelector: {},
        policyTypes: ['Ingress', 'Egress'],
      });
    });

    const overlay = name.split(' ')[0]!;
    if (name === overlay)
      it('are what kubectl makes of them (where kubectl is at hand)', function () {
        if (!hasKubectl()) this.skip();
        const text = kubectl('kustomize', `${K8S}overlays/${overlay}`).replace(
          /\b(redbook|redis)-[bcdfghkmt2456789]{10}\b/g,
          '$1',
        );
        const theirs = parseAllDocuments(text, { version: '1.1' }).map(
          (document) => document.toJS() as Resource,
        );
        const sorted = (list: Resource[]) => [...list].sort((a, b) => titleOf(a).localeCompare(titleOf(b)));
        expect(sorted(all)).to.deep.equal(sorted(theirs));
      });
  });

describe('the operator’s pod', () => {
  const [pod] = build(`${K8S}operator`) as [Resource];

  it('is valid by the schemas of the API, reads the operator’s secrets, and may nothing more', () => {
    expect(problemsOf(pod)).to.deep.equal([]);
    const [{ env, securityContext }] = containersOf(pod) as [Container];
    const read = env.map(({ value }: { value: string }) => value.replace('/run/secrets/', ''));
    const [{ secret }] = pod.spec.volumes;
    expect(read).to.include.members(secret.items.map(({ path }: { path: string }) => path));
    const { stringData } = SECRETS.find(({ metadata }) => metadata.name === secret.secretName)!;
    expect(Object.keys(stringData)).to.have.members(secret.items.map(({ key }: { key: string }) => key));
    expect(pod.spec.securityContext).to.include({ runAsNonRoot: true });
    expect(securityContext.readOnlyRootFilesystem).to.equal(true);
  });
});

interface Selector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values: string[] }[];
}

const isPicked = (
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labels: Record<string, string>,
): boolean =>
  Object.entries(matchLabels).every(([label, value]) => labels[label] === value) &&
  matchExpressions.every(
    ({ key, operator, values }) => values.includes(labels[key] ?? '') === (operator === 'In'),
  );

/** As if the files were there. */
function withSecrets(environment: Record<string, string>): Record<string, string> {
  const values: Record<string, string> = {
    REDIS_URL_FILE: 'redis://redis',
    QUEUE_REDIS_URL_FILE: 'redis://redis',
    DATABASE_URL_FILE: 'postgres://postgres/redbook',
    JWT_SECRET_FILE: 'x'.repeat(32),
    JWT_SECRET_PREVIOUS_FILE: '',
  };
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) =>
      name in values ? [name.replace(/_FILE$/, ''), values[name]!] : [name, value],
    ),
  );
}
