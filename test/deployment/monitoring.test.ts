/** Alert rules and dashboard: only of metrics that the processes have, each alert with a place in the guide. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { freePort } from '../../src/embedded/ports.ts';
import { freshDatabase, freshRedis } from '../support/servers.ts';
import { type Service, startService } from '../support/service.ts';
import { type Resource, readYaml } from './kustomize.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const at = (path: string): string => join(ROOT, path);

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; runbook: string };
}

const [{ groups }] = readYaml(at('docs/cluster/alerts.yml')) as [
  { groups: { name: string; rules: Rule[] }[] },
];
const rules = groups.flatMap(({ rules }) => rules);
const dashboard = JSON.parse(readFileSync(at('k8s/components/monitoring/dashboard.json'), 'utf8'));
const panels: { title: string; type: string; targets?: { expr: string }[] }[] = dashboard.panels;
const adapter = readFileSync(at('k8s/components/autoscaling/prometheus-adapter.yaml'), 'utf8');
const scaled = readYaml(at('k8s/components/keda/scaled-objects.yaml')) as Resource[];

/** Metrics that an expression names: ours, the process' own, and those that Prometheus makes itself. */
const metricsIn = (expression: string): string[] =>
  [...expression.replace(/"[^"]*"/g, '').matchAll(/\b(?:redbook|nodejs|process)_\w+/g)].map(([name]) => name);

describe('alerts and dashboard', function () {
  this.timeout(60_000);
  let service: Service;
  const metrics = new Map<string, string>();
  const samples: string[] = [];

  before(async () => {
    const settings = { REDIS_URL: await freshRedis(), DATABASE_URL: await freshDatabase() };
    const JWT_SECRET = 'x'.repeat(32);
    service = await startService('all', {
      ...settings,
      JWT_SECRET,
      WEB_HOSTS: 'localhost',
      PORT: String(await freePort()),
      LOG_LEVEL: 'silent',
    });
    const read = async (): Promise<string> => (await fetch(`${service.url}/metrics`)).text();
    while (!(await read()).includes('redbook_snapshot_build_seconds'))
      await new Promise((done) => setTimeout(done, 100));
    for (const line of (await read()).split('\n')) {
      const [, name, type] = /^# TYPE (\S+) (\S+)/.exec(line) ?? [];
      if (name) metrics.set(name, type!);
      else if (line) samples.push(line);
    }
  });
  after(async () => void (await service?.end('SIGKILL')));

  const isThere = (name: string): boolean => {
    const histogram = name.replace(/_(bucket|sum|count)$/, '');
    return metrics.has(name) || metrics.get(histogram) === 'histogram';
  };

  it('name metrics that are there', () => {
    const expressions = [
      ...rules.map(({ expr }) => expr),
      ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
      ...scaled.flatMap(({ spec }) =>
        spec.triggers.map(
          ({ metadata }: Resource) => (metadata as unknown as { query?: string }).query ?? '',
        ),
      ),
      ...(adapter.match(/(?:seriesQuery|metricsQuery): .*/g) ?? []).map((line) => line.replaceAll("'", '')),
    ];
    const named = expressions.flatMap(metricsIn);
    expect(named)
      .to.include('redbook_settlement_lag_seconds')
      .and.to.include('nodejs_eventloop_lag_p99_seconds');
    expect([...new Set(named)].filter((name) => !isThere(name))).to.deep.equal([]);
  });

  it('show every metric of ours', () => {
    const shown = JSON.stringify(panels);
    const ours = [...metrics.keys()].filter((name) => name.startsWith('redbook_'));
    expect(ours.filter((name) => !shown.includes(name))).to.deep.equal([]);
  });

  it('name label values that are there', () => {
    const text = samples.join('\n');
    for (const outcome of ['sent', 'skipped'])
      expect(text).to.include(`redbook_stream_frames{outcome="${outcome}"}`);
    expect(text).to.match(/redbook_http_request_seconds_count\{method="GET",route="\/metrics"/);
  });

  it('give each alert a severity, a summary and its place in the guide', () => {
    const guide = readFileSync(at('docs/operating.md'), 'utf8');
    const headings = [...guide.matchAll(/^### (\w+)$/gm)].map(([, heading]) => heading!);
    expect(headings.filter((heading) => heading.startsWith('Redbook'))).to.have.members(
      rules.map(({ alert }) => alert),
    );
    for (const { alert, labels, annotations } of rules) {
      expect(labels.severity).to.be.oneOf(['critical', 'warning', 'info']);
      expect(annotations.summary).to.match(/\.$/);
      expect(annotations.runbook).to.equal(`docs/operating.md#${alert.toLowerCase()}`);
    }
  });

  it('are the same for Prometheus and for its operator', () => {
    const [rule] = readYaml(at('k8s/components/monitoring/prometheus-rule.yaml')) as [Resource];
    expect(rule.spec.groups).to.deep.equal(groups);
  });

  it('find the jobs that Prometheus has', () => {
    const [{ scrape_configs }] = readYaml(at('docs/cluster/prometheus.yml')) as [
      { scrape_configs: { job_name: string }[] },
    ];
    const jobs = scrape_configs.map(({ job_name }) => job_name);
    const asked = rules.flatMap(({ expr }) => [...expr.matchAll(/job="([^"]+)"/g)].map(([, job]) => job!));
    expect(jobs).to.include.members([...new Set(asked)]);
  });

  it('are valid by promtool (where it is at hand)', function () {
    const checked = spawnSync('promtool', ['check', 'rules', at('docs/cluster/alerts.yml')], {
      encoding: 'utf8',
    });
    if (checked.error) this.skip();
    expect(checked.status, checked.stderr).to.equal(0);
  });
});
