/**
 * Proves that the objects `kubectl apply -k` would apply are valid by the API's schemas, complete, and consistent with
 * each other and with the code.
 */

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { BlockList, isIPv6 } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import { CONFIG_TABLE, type Role, readConfig, requireFor, SECRET_NAMES } from '../../../src/config.ts';
import { blockOf } from '../../support/guide.ts';
import { obtainHaproxy } from '../../support/haproxy-binary.ts';
import { problemsOf } from './api-schema.ts';
import { type Reply, repliesOf } from './balancer-replies.ts';
import {
  build,
  type Container,
  containersOf,
  type Render,
  type Resource,
  readYaml,
  templateOf,
  withComponents,
} from './kustomize.ts';

const K8S = fileURLToPath(new URL('../../../k8s/', import.meta.url));
const VERSION: string = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
).version;
const ROLES = ['api', 'stream', 'settlement', 'snapshot', 'operator-api'];
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

/** Ports of DNS and of OpenShift's DNS, over UDP and TCP. */
const NAMES = [53, 53, 5353, 5353];

interface Item {
  readonly key: string;
  readonly path: string;
}
const secretsOf = (one: Resource): Resource['spec'] =>
  podOf(one).volumes.find((volume: { name: string }) => volume.name === 'secrets');
const itemsOf = (one: Resource): Item[] => secretsOf(one).secret.items;
/** It asks as every role does. */
const isDoctor = ({ metadata }: Resource): boolean => metadata.name === 'doctor';

const titleOf = ({ kind, metadata }: Resource): string => `${kind} ${metadata.name}`;
const podOf = (one: Resource): Resource['spec'] => templateOf(one).spec;

describe('the schemas of the Kubernetes API', () => {
  const deployment = (): Resource =>
    build(`${K8S}overlays/demo`).find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'api',
    )!;

  it('reject wrong, missing or unknown fields at any depth', () => {
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

  it('know the Secrets that a vault fills, and the routes of another gateway', () => {
    const [external, [route], ingresses] = [
      readYaml(`${K8S}external-secrets.example.yaml`) as Resource[],
      readYaml(`${K8S}overlays/production/gateway.example.yaml`) as Resource[],
      (readYaml(`${K8S}overlays/production/ingress.yaml`) as Resource[]).flatMap(
        ({ spec }) => spec.rules[0].http.paths as IngressPath[],
      ),
    ];
    expect(external.map(({ metadata }) => metadata.name)).to.have.members(
      SECRETS.map(({ metadata }) => metadata.name),
    );
    const routes = route!.spec.rules.flatMap(
      ({
        matches,
        backendRefs,
      }: {
        matches: { path: { value: string } }[];
        backendRefs: { name: string }[];
      }) => matches.map(({ path }) => `${path.value} ${backendRefs[0]!.name}`),
    );
    expect(routes).to.have.members(ingresses.map(({ path, backend }) => `${path} ${backend.service.name}`));
  });

  it('know the Secrets of the example', () => {
    expect(SECRETS.flatMap(problemsOf)).to.deep.equal([]);
  });
});

interface Image {
  readonly name: string;
  readonly newName?: string;
  readonly newTag?: string;
}
const imagesOf = (folder: string): readonly Image[] =>
  (readYaml(`${K8S}${folder}/kustomization.yaml`)[0] as { images?: Image[] }).images ?? [];

/** Label of the pods of a StatefulSet. */
const POD_NAME = 'statefulset.kubernetes.io/pod-name';
const podsOf = ({ kind, metadata, spec }: Resource): string[] =>
  kind === 'StatefulSet' ? Array.from({ length: spec.replicas }, (_, at) => `${metadata.name}-${at}`) : [];

/** Renders as `kubectl apply -k` does, without the hashes in the names of generated ConfigMaps. */
const byKubectl: Render = (folder) =>
  parseAllDocuments(
    kubectl('kustomize', folder).replace(
      /\b(redbook|redis|postgres-users|backup)-[bcdfghkmt2456789]{10}\b/g,
      '$1',
    ),
    { version: '1.1' },
  ).map((document) => document.toJS() as Resource);

/** All installations that the parts can form. */
const installations: Record<string, (render: Render) => Resource[]> = {
  demo: (render) => render(`${K8S}overlays/demo`),
  'demo with backups': (render) => withComponents(render, 'demo', 'backup'),
  'demo with backups in object storage': (render) =>
    withComponents(render, 'demo', 'backup', 'object-storage'),
  production: (render) => render(`${K8S}overlays/production`),
  'production with copies of the engine': (render) => withComponents(render, 'production', 'backup-engine'),
  ha: (render) => render(`${K8S}overlays/ha`),
  'ha with copies of the engine': (render) => withComponents(render, 'ha', 'backup-engine', 'object-storage'),
  'production with KEDA': (render) => [
    ...render(`${K8S}overlays/production`).filter(({ kind }) => kind !== 'HorizontalPodAutoscaler'),
    ...(readYaml(`${K8S}components/keda/scaled-objects.yaml`) as Resource[]),
  ],
};

for (const [name, made] of Object.entries(installations))
  describe(`the manifests of ${name}`, () => {
    const all = made(build);
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

    /** The environment of a container, with the example's secrets. */
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
        [...ROLES, 'migrate', 'reconcile', 'reconcile-weekly', 'checkpoint', 'operator', 'doctor'].sort(),
      );
      expect(new Set(all.map(titleOf)).size).to.equal(all.length);
    });

    it('give each process what its role requires, and nothing that the configuration does not know', () => {
      for (const one of processes.filter((one) => !isDoctor(one))) {
        const [container] = containersOf(one);
        // An operator's command needs both servers, as settlement does.
        const [first = 'operator'] = container!.args ?? [];
        const role: Role = ['ledger', 'operator'].includes(first) ? 'settlement' : first;
        const environment = environmentOf(container!);
        expect(
          Object.keys(environment).filter((variable) => !SETTINGS.has(variable)),
          role,
        ).to.deep.equal([]);
        requireFor(role, readConfig(withSecrets(environment)));
        expect(environment.PORT).to.equal(String(container!.ports?.[0].containerPort ?? environment.PORT));
      }
    });

    it('give the doctor what each role reads, in a folder of the role', () => {
      const read = [...ROLES, 'migrate', 'operator'].flatMap((role) => {
        const one = processes.find(({ metadata }) => metadata.name === role)!;
        return itemsOf(one).map(({ key }) => `redbook-${role} ${key} ${role}/${key}`);
      });
      const { projected } = secretsOf(processes.find(isDoctor)!);
      const given = projected.sources.flatMap(({ secret }: { secret: { name: string; items: Item[] } }) =>
        secret.items.map(({ key, path }) => `${secret.name} ${key} ${path}`),
      );
      expect(given).to.have.members(read);
    });

    it('mount each secret that a process reads, and no other', () => {
      for (const one of processes.filter((one) => !isDoctor(one))) {
        const read = Object.entries(environmentOf(containersOf(one)[0]!))
          .filter(([variable]) => variable.endsWith('_FILE'))
          .map(([, path]) => path.replace('/run/secrets/', ''));
        const { secret } = secretsOf(one);
        const items = itemsOf(one).map(({ key, path }) => {
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

    it('pin every image, and declare each container’s resources', () => {
      for (const { image, resources } of workloads.flatMap(containersOf)) {
        expect(image).to.match(/:v?\d+\.\d+(\.\d+)?(-\w+)?$/);
        expect(resources.requests).to.have.keys('cpu', 'memory', 'ephemeral-storage');
        expect(resources.limits).to.have.keys('memory', 'ephemeral-storage');
      }
    });

    it('list every image for a private registry, with a Secret to pull it', () => {
      const overlays = name.startsWith('ha')
        ? ['overlays/production', 'overlays/ha']
        : [`overlays/${name.split(' ')[0]}`];
      const listed = ['images', ...overlays].flatMap((folder) =>
        imagesOf(folder).flatMap(({ name: image, newName }) => [image, newName]),
      );
      for (const one of workloads) {
        for (const { image } of containersOf(one)) expect(listed).to.include(image.split(':')[0]);
        expect(podOf(one).serviceAccountName, titleOf(one)).to.equal('redbook');
      }
      if (!name.startsWith('demo'))
        expect(find('ServiceAccount', 'redbook')!.imagePullSecrets).to.deep.equal([{ name: 'registry' }]);
    });

    it('rank the engine above all other pods, by classes that come before them', () => {
      const classes = (readYaml(`${K8S}namespace.yaml`) as Resource[]).filter(
        ({ kind }) => kind === 'PriorityClass',
      );
      expect(classes.flatMap(problemsOf)).to.deep.equal([]);
      const ranks = new Map(classes.map(({ metadata, value }) => [metadata.name, Number(value)]));
      const rankOf = (one: Resource): number => ranks.get(podOf(one).priorityClassName) ?? 0;
      const engine = find('StatefulSet', 'redis')!;
      for (const one of workloads.filter((other) => other !== engine))
        expect(rankOf(engine), titleOf(one)).to.be.above(rankOf(one)).and.to.be.above(0);
    });

    if (!name.startsWith('demo'))
      it('keep replicas of a role on different nodes, and the Redis servers apart', () => {
        for (const one of ofKind('Deployment')) {
          const [nodes] = podOf(one).topologySpreadConstraints;
          expect(nodes, titleOf(one)).to.deep.include({
            topologyKey: 'kubernetes.io/hostname',
            nodeTaintsPolicy: 'Honor',
            whenUnsatisfiable: 'DoNotSchedule',
          });
          expect(one.spec.minReadySeconds).to.be.above(0);
        }
        const [{ topologyKey, labelSelector }] = podOf(
          find('StatefulSet', name.startsWith('ha') ? 'redis' : 'queue-redis')!,
        ).affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution;
        expect(topologyKey).to.equal('kubernetes.io/hostname');
        expect(isOf(labelSelector.matchLabels, find('StatefulSet', 'redis')!)).to.equal(true);
      });

    it('probe every long-running container', () => {
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

    it('allow more time to end than the pause, DRAIN_MS and a batch take', () => {
      for (const one of ofKind('Deployment')) {
        const [container] = containersOf(one) as [Container];
        const { drainMs } = readConfig(withSecrets(environmentOf(container)));
        const pause = container.lifecycle.preStop.sleep.seconds;
        expect(podOf(one).terminationGracePeriodSeconds).to.be.at.least(pause + drainMs / 1_000 + 10);
      }
    });

    it('select existing pods at existing ports', () => {
      for (const one of workloads.filter(({ spec }) => spec.selector))
        expect(isOf(one.spec.selector.matchLabels, one), titleOf(one)).to.equal(true);
      for (const service of ofKind('Service')) {
        const { [POD_NAME]: pod, ...labels } = service.spec.selector;
        const meant = workloads.filter(
          (one) => isOf(labels, one) && (pod === undefined || podsOf(one).includes(pod)),
        );
        expect(
          meant.flatMap((one) => (pod === undefined ? one.metadata.name : pod)),
          titleOf(service),
        ).to.deep.equal([service.metadata.name]);
        const ports = containersOf(meant[0]!).flatMap(({ ports }) =>
          (ports ?? []).map((port: { name: string }) => port.name),
        );
        for (const { targetPort } of service.spec.ports) expect(ports).to.include(targetPort);
      }
      // Each copy of an engine has a Service of its own.
      for (const one of ofKind('StatefulSet').filter(({ spec }) => spec.replicas === 1))
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

    it('scale existing workloads, and set no replica count for them', () => {
      for (const one of ofKind('HorizontalPodAutoscaler', 'ScaledObject')) {
        const target = find('Deployment', one.spec.scaleTargetRef.name);
        expect(target?.spec, titleOf(one)).to.be.an('object').that.does.not.have.property('replicas');
      }
    });

    it('allow egress to the servers of each process, and not from a stream to Postgres', () => {
      const portsOf = (one: Resource): number[] =>
        ofKind('NetworkPolicy')
          .filter(({ spec }) => spec.egress && isPicked(spec.podSelector, labelsOf(one)))
          .flatMap(({ spec }) => spec.egress)
          .flatMap(({ ports }) => ports.map(({ port }: { port: number }) => port));
      for (const one of processes) {
        const expected = [...NAMES, 6379, 6380, ...(one.metadata.name === 'stream' ? [] : [5432])];
        expect(portsOf(one), titleOf(one)).to.have.members(expected);
      }
      for (const one of ofKind('StatefulSet')) {
        const toStorage =
          find('NetworkPolicy', 'to-storage') && one.metadata.name === 'postgres' ? [443] : [];
        const toCopies = podsOf(one).length > 1 ? [6379] : [];
        expect(portsOf(one), titleOf(one)).to.deep.equal([...NAMES, ...toCopies, ...toStorage]);
      }
      expect(find('NetworkPolicy', 'nothing')!.spec).to.deep.equal({
        podSelector: {},
        policyTypes: ['Ingress', 'Egress'],
      });
    });

    if (name.startsWith('ha'))
      it('run three copies of the engine, of which one at a time may leave', () => {
        const copies = find('StatefulSet', 'redis')!;
        expect(podsOf(copies)).to.deep.equal(['redis-0', 'redis-1', 'redis-2']);
        for (const pod of podsOf(copies)) expect(find('Service', pod)!.spec.selector).to.have.keys(POD_NAME);
        expect(copies.spec.updateStrategy.type).to.equal('OnDelete');
        expect(find('PodDisruptionBudget', 'redis')!.spec.maxUnavailable).to.equal(1);
        // A copy tells the primary its name in REDIS_URL.
        const [{ args }] = containersOf(copies) as [Container];
        expect(args.slice(args.indexOf('--include'))).to.deep.equal([
          '--include',
          '/run/secrets/copy.conf',
          '--replica-announce-ip',
          '$(POD_NAME)',
        ]);
      });

    it('keep the namespace, and so the disks and the Secrets, in a separate file', () => {
      expect(ofKind('Namespace')).to.deep.equal([]);
      const [namespace] = readYaml(`${K8S}namespace.yaml`) as [Resource];
      expect(problemsOf(namespace)).to.deep.equal([]);
      expect(namespace.metadata.name).to.equal(all[0]!.metadata.namespace);
      expect(namespace.metadata.labels).to.include({ 'pod-security.kubernetes.io/enforce': 'restricted' });
    });

    it('give every Service an address that outlives its pods', () => {
      for (const service of ofKind('Service'))
        expect(service.spec, titleOf(service)).to.not.have.property('clusterIP');
    });

    it('give the operator the image and the settings of the api', () => {
      const operator = find('CronJob', 'operator')!;
      const api = find('Deployment', 'api')!;
      const [[own], [other]] = [containersOf(operator), containersOf(api)] as [[Container], [Container]];
      expect(own.image).to.equal(other.image);
      expect(own.envFrom).to.deep.equal(other.envFrom);
      expect(environmentOf(own)).to.include.keys('NETWORK_ID', 'NUMERAIRE');
      expect(operator.spec.suspend).to.equal(true);
      expect(operator.spec.jobTemplate.spec.activeDeadlineSeconds).to.equal(8 * 60 * 60);
    });

    it('start no Job, which a release with another tag could not change', () => {
      expect(ofKind('Job')).to.deep.equal([]);
    });

    it('size the engine’s disk by four times its memory, and the container by twice', () => {
      for (const one of ofKind('StatefulSet').filter(({ metadata }) => metadata.name.endsWith('redis'))) {
        const [{ args, resources }] = containersOf(one) as [Container];
        const conf = `\nmaxmemory ${args[args.indexOf('--maxmemory') + 1]}`;
        const text = args.includes('--maxmemory') ? conf : find('ConfigMap', 'redis')!.data['redis.conf'];
        const maxmemory = bytesOf(/\nmaxmemory (\S+)/.exec(text)![1]!);
        const { storage } = one.spec.volumeClaimTemplates[0].spec.resources.requests;
        expect(bytesOf(storage), titleOf(one)).to.be.at.least(4 * maxmemory);
        expect(bytesOf(resources.limits.memory), titleOf(one)).to.be.at.least(2 * maxmemory);
      }
    });

    it('allow egress to every place where the guide allows servers', () => {
      const offered: [what: string, place: Place, port: number][] = [
        ['Redis in the namespace', { pod: true }, 6379],
        ['Redis outside', { address: '10.1.2.3' }, 6379],
        ['Redis outside in another private network', { address: '172.20.0.5' }, 6379],
        ['Redis outside by IPv6', { address: 'fd00::1' }, 6379],
        ['Redis by TLS', { address: '10.1.2.3' }, 6380],
        ['Redis in another namespace', { namespace: 'redis' }, 6379],
        ['Postgres of an operator in another namespace', { namespace: 'postgres' }, 5432],
        ['Postgres outside', { address: '10.1.2.3' }, 5432],
        ['Postgres outside in another private network', { address: '192.168.7.7' }, 5432],
        ['Postgres outside by IPv6', { address: 'fd00::1' }, 5432],
        ['DNS', { namespace: 'kube-system' }, 53],
        ['NodeLocal DNSCache', { address: '169.254.20.10' }, 53],
        ['OpenShift’s DNS', { namespace: 'openshift-dns' }, 5353],
      ];
      const api = labelsOf(find('Deployment', 'api')!);
      const policies = ofKind('NetworkPolicy').filter(({ spec }) => isPicked(spec.podSelector, api));
      const rules = policies.flatMap(({ spec }) => (spec.egress ?? []) as EgressRule[]);
      for (const [what, place, port] of offered)
        expect(
          rules.some((rule) => leadsTo(rule, place, port)),
          what,
        ).to.equal(true);
    });

    it('serve metrics on a port that monitors alone reach', () => {
      for (const one of ofKind('Deployment')) {
        const [container] = containersOf(one) as [Container];
        const metricsPort = Number(environmentOf(container).METRICS_PORT);
        const ports = container.ports.map((port: { name: string; containerPort: number }) => [
          port.name,
          port.containerPort,
        ]);
        expect(ports).to.deep.equal([
          ['http', 8080],
          ['metrics', metricsPort],
        ]);
      }
      const openTo = ofKind('NetworkPolicy').filter(({ spec }) =>
        (spec.ingress ?? []).some(({ ports }: EgressRule) => ports.some(({ port }) => port === 'metrics')),
      );
      expect(openTo.map(({ metadata }) => metadata.name)).to.deep.equal(['monitors']);
      for (const { spec } of ofKind('ServiceMonitor'))
        expect(spec.endpoints.map(({ port }: { port: string }) => port)).to.deep.equal(['metrics']);
    });

    it('let only the namespace of custody reach the routes for operators', () => {
      const one = find('Deployment', 'operator-api')!;
      const [container] = containersOf(one) as [Container];
      expect(environmentOf(container).OPERATOR_PORT).to.equal('8080');
      const policies = ofKind('NetworkPolicy').filter(
        ({ spec }) => spec.ingress && isPicked(spec.podSelector, labelsOf(one)),
      );
      const from = policies.flatMap(({ spec }) => spec.ingress as { from: unknown[]; ports: unknown[] }[]);
      expect(from.filter(({ ports }) => JSON.stringify(ports) === '[{"port":"http"}]')).to.deep.equal([
        {
          from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'custody' } } }],
          ports: [{ port: 'http' }],
        },
      ]);
      const backends = ofKind('Ingress').flatMap(({ spec }) => spec.rules[0].http.paths as IngressPath[]);
      expect(backends.map(({ backend }) => backend.service.name)).to.not.include('operator-api');
    });

    it('label the objects of the Prometheus operator in one file', () => {
      const [{ metadata }] = readYaml(`${K8S}components/monitoring/selected-by.yaml`) as [Resource];
      for (const one of ofKind('ServiceMonitor', 'PrometheusRule'))
        expect(one.metadata.labels, titleOf(one)).to.include(metadata.labels);
    });

    it('equal the output of kubectl (where kubectl is installed)', function () {
      if (!hasKubectl()) this.skip();
      const sorted = (list: Resource[]) => [...list].sort((a, b) => titleOf(a).localeCompare(titleOf(b)));
      expect(sorted(all)).to.deep.equal(sorted(made(byKubectl)));
    });
  });

describe('the images', () => {
  const tags = new Map(imagesOf('images').map(({ name, newTag }) => [name, newTag]));

  it('have their tags in one place', () => {
    const files = readdirSync(K8S, { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.yaml'),
    );
    const named = files.flatMap((path) =>
      [...readFileSync(join(K8S, path), 'utf8').matchAll(/\bimage: ([\w./-]+)(?::(\S+))?$/gm)].map(
        ([, image, tag]) => [path, image, tag] as const,
      ),
    );
    expect(named.length).to.be.above(10);
    for (const [path, image, tag] of named) {
      expect(tags.has(image!), `${path}: ${image}`).to.equal(true);
      expect(tag, path).to.equal(undefined);
    }
  });

  it('are those of Compose, and the backup image is built from the same Postgres', () => {
    const root = new URL('../../../', import.meta.url);
    const files = ['docker-compose.yml', 'docker-compose.ha.yml', 'docker-compose.backup.yml'];
    const texts = [...files, 'k8s/components/backup/Dockerfile'].map((path) =>
      readFileSync(new URL(path, root), 'utf8'),
    );
    const found = new Set<string>();
    for (const [, image, tag] of texts
      .join('\n')
      .matchAll(/[\s=-](redbook|redbook-backup|redis|postgres):(\d+\.[\w.-]+)/g)) {
      expect(tag, image).to.equal(tags.get(image!));
      found.add(image!);
    }
    expect(found).to.deep.equal(new Set(tags.keys()));
  });
});

describe('the upgrade of docs/operating.md', () => {
  const guide = readFileSync(new URL('../../../docs/operating.md', import.meta.url), 'utf8');
  const steps = blockOf(guide, '### On Kubernetes', 'sh');

  it('names only what the manifests and make-keys have', () => {
    const all = build(`${K8S}overlays/production`);
    const named = (kind: string): string[] =>
      all.filter((one) => one.kind === kind).map(({ metadata }) => metadata.name);
    const secrets = SECRETS.map(({ metadata }) => metadata.name);
    const asked = (pattern: RegExp): string[] => [...steps.matchAll(pattern)].map(([, name]) => name!);
    expect(secrets).to.include.members(asked(/get secret (\S+)/g));
    expect(named('StatefulSet')).to.include.members(asked(/get statefulset (\S+)/g));
    expect(named('CronJob')).to.include.members(asked(/--from=cronjob\/(\S+)/g));
    for (const [, key, value] of steps.matchAll(/(app\.kubernetes\.io\/\w+)=([\w-]+)/g))
      expect(
        all.some((one) => templateOf(one)?.metadata?.labels?.[key!] === value),
        `${key}=${value}`,
      ).to.equal(true);
    expect(existsSync(new URL(`../../../${/^overlay=(\S+)$/m.exec(steps)![1]}`, import.meta.url))).to.equal(
      true,
    );
  });

  it('is in the order that holds: rights, Secrets, users, everything, the engine, the books', () => {
    const order = [
      'make-keys.mjs keys --secret',
      'create secret generic',
      'acl load',
      'kubectl apply -k',
      'rollout status',
      'delete $pod',
      'cronjob/reconcile',
    ].map((step) => steps.indexOf(step));
    expect(order).to.not.include(-1);
    expect(order).to.deep.equal([...order].sort((one, other) => one - other));
  });

  it('is a script that the shell reads', () => {
    execFileSync('sh', ['-n'], { input: steps });
  });

  it('makes Secrets of roles alone, from the folders of make-keys', () => {
    const folder = mkdtempSync(join(tmpdir(), 'redbook-upgrade-'));
    execFileSync(process.execPath, [
      `${K8S}shared/make-keys.mjs`,
      `${folder}/keys`,
      '--queue-redis',
      'queue-redis:6379',
    ]);
    const [, list] = /for role in \$\((ls keys .*)\); do$/m.exec(steps)!;
    const roles = execFileSync('sh', ['-c', list!], { cwd: folder, encoding: 'utf8' }).trim().split('\n');
    rmSync(folder, { recursive: true });
    const secrets = SECRETS.map(({ metadata }) => metadata.name);
    expect(secrets).to.include.members(roles.map((role) => `redbook-${role}`));
    expect(roles).to.include.members(ROLES);
  });
});

describe('a release with another tag', () => {
  it('changes only images, so that it applies while replicas of the other release run', () => {
    const folder = mkdtempSync(join(tmpdir(), 'redbook-k8s-'));
    cpSync(K8S, folder, { recursive: true });
    const file = join(folder, 'images/kustomization.yaml');
    const images = readFileSync(file, 'utf8');
    writeFileSync(file, images.replace(/(name: redbook\n *newTag): .*/, '$1: another'));
    for (const overlay of ['demo', 'production']) {
      const now = build(`${K8S}overlays/${overlay}`);
      const next = build(join(folder, 'overlays', overlay));
      for (const container of next.flatMap(containersOf))
        if (/redbook:/.test(container.image)) {
          expect(container.image).to.match(/redbook:another$/);
          container.image = container.image.replace(/another$/, VERSION);
        }
      expect(next).to.deep.equal(now);
    }
    rmSync(folder, { recursive: true });
  });
});

describe('the ingress', () => {
  it('routes the page, its bundle, the API and the streams, and nothing else', () => {
    const rules = build(`${K8S}overlays/production`)
      .filter(({ kind }) => kind === 'Ingress')
      .flatMap(({ spec }) => spec.rules[0].http.paths as IngressPath[]);
    const serviceOf = (path: string): string | undefined =>
      rules.find((rule) =>
        rule.pathType === 'Exact' ? rule.path === path : `${path}/`.startsWith(`${rule.path}/`),
      )?.backend.service.name;
    const api = ['/', '/trade/ETH_USDC', '/web/main.js', '/docs', '/docs/start.js', '/v1/markets'];
    for (const path of [...api, '/api/auth/nonce']) expect(serviceOf(path), path).to.equal('api');
    for (const path of ['/ws', '/ws/market']) expect(serviceOf(path), path).to.equal('stream');
    for (const path of ['/metrics', '/livez', '/readyz', '/webs'])
      expect(serviceOf(path), path).to.equal(undefined);
  });

  it('answers JSON with a code while no replica is ready, by haproxy itself (where it can be had)', async function () {
    const haproxy = await obtainHaproxy().catch((error: Error) => {
      console.log(`      ${error.message}`);
      return this.skip();
    });
    const ingresses = build(`${K8S}overlays/production`).filter(({ kind }) => kind === 'Ingress');
    expect(ingresses).to.have.length(2);
    for (const { metadata } of ingresses) {
      const annotations = metadata.annotations as Record<string, string>;
      const lines = annotations['haproxy-ingress.github.io/config-backend']!;
      const [{ status, contentType, body }] = (await repliesOf(haproxy, lines)) as [Reply];
      expect([status, contentType]).to.deep.equal([503, 'application/json']);
      expect(JSON.parse(body)).to.deep.equal({ error: 'no replica is ready', code: 'SERVICE_UNAVAILABLE' });
    }
  });
});

describe('the guide', () => {
  const guide = readFileSync(fileURLToPath(new URL('../../../docs/operating.md', import.meta.url)), 'utf8');
  const scalings = [...guide.matchAll(/^\s*kubectl -n redbook scale deploy (.*) --replicas=(\d)/gm)];

  it('scales every role down to zero and up again', () => {
    const [down] = scalings.filter(([, , count]) => count === '0');
    const up = scalings.filter(([, , count]) => Number(count) > 0);
    expect(down![1]!.split(' ')).to.have.members(ROLES);
    expect(up.flatMap(([, roles]) => roles!.split(' '))).to.include.members(ROLES);
  });

  it('applies existing files, and never deletes them', () => {
    for (const [, path] of guide.matchAll(/kubectl apply -[kf] (k8s\S+)/g))
      expect(existsSync(join(K8S, '..', path!)), path).to.equal(true);
    expect(guide).to.include('kubectl apply -f k8s/namespace.yaml');
    expect(guide).to.not.match(/^kubectl.* delete -k/m);
  });
});

interface IngressPath {
  path: string;
  pathType: 'Exact' | 'Prefix';
  backend: { service: { name: string } };
}

interface EgressRule {
  to: { podSelector?: object; namespaceSelector?: Selector; ipBlock?: { cidr: string } }[];
  ports: { port: number | string }[];
}

/** A pod of the same namespace, a pod of another namespace, or an address outside the cluster. */
interface Place {
  readonly pod?: true;
  readonly namespace?: string;
  readonly address?: string;
}

function leadsTo({ to, ports }: EgressRule, place: Place, wanted: number): boolean {
  if (!ports.some(({ port }) => port === wanted)) return false;
  return to.some(({ namespaceSelector, ipBlock }) => {
    if (place.address !== undefined) {
      const list = new BlockList();
      const [network, bits] = (ipBlock?.cidr ?? '255.255.255.255/32').split('/') as [string, string];
      list.addSubnet(network, Number(bits), isIPv6(network) ? 'ipv6' : 'ipv4');
      return list.check(place.address, isIPv6(place.address) ? 'ipv6' : 'ipv4');
    }
    const labels = { 'kubernetes.io/metadata.name': place.namespace ?? 'redbook' };
    return namespaceSelector !== undefined && isPicked(namespaceSelector, labels);
  });
}

/** Parses units of Kubernetes (Gi, Mi) and of Redis (gb, mb). Both are powers of 1,024. */
function bytesOf(size: string): number {
  const [, digits, unit] = /^(\d+)(Gi|Mi|gb|mb)$/.exec(size)!;
  return Number(digits) * 1024 ** (/^g/i.test(unit!) ? 3 : 2);
}

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

/** Replaces variables that name secret files with the secrets, as if the files existed. */
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
