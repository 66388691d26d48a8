/**
 * Proves that alert rules, dashboard and autoscalers use only existing metrics, and that the runbook covers each alert.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { writeSettings } from './compose-settings.ts';
import { metricsOfEveryRole, type Role } from './every-role.ts';
import { type Resource, readYaml } from './kustomize.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const at = (path: string): string => join(ROOT, path);

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}

const [prometheusRule] = readYaml(at('k8s/components/monitoring/prometheus-rule.yaml')) as [Resource];
const groups = prometheusRule.spec.groups as { name: string; rules: Rule[] }[];
const recorded = groups.flatMap(({ rules }) => rules);
const rules = recorded.filter(({ alert }) => alert !== undefined);
const dashboard = JSON.parse(readFileSync(at('k8s/components/monitoring/dashboard.json'), 'utf8'));
const panels: {
  title: string;
  type: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string }[];
}[] = dashboard.panels;
const scaled = readYaml(at('k8s/components/keda/scaled-objects.yaml')) as Resource[];
const autoscalers = readYaml(at('k8s/components/autoscaling/autoscalers.yaml')) as Resource[];
const [adapter] = readYaml(at('k8s/components/autoscaling/prometheus-adapter.yaml')) as [
  { rules: { custom: { seriesQuery: string; metricsQuery: string; name: { as: string } }[] } },
];

/** A metric of the service, of the process or of Node, and its label selector. */
const SELECTOR = /\b((?:redbook|nodejs|process)_\w+)(?:\{([^}]*)\})?/g;

interface Selected {
  readonly metric: string;
  /** Undefined for any role. */
  readonly role: Role | undefined;
}

const selectedIn = (expression: string): Selected[] =>
  [...expression.replace(/"redbook-\.\+"/g, '""').matchAll(SELECTOR)].map(([, metric, labels = '']) => ({
    metric: metric!,
    role: /job="redbook-(\w+)"/.exec(labels)?.[1] as Role | undefined,
  }));

describe('alerts, dashboard and autoscalers', () => {
  let texts: Readonly<Record<Role, string>>;
  before(async () => {
    texts = await metricsOfEveryRole();
  });

  /** Returns true if the text has the metric. A histogram has three derived names. */
  const has = (text: string, metric: string): boolean =>
    text.includes(`# TYPE ${metric} `) ||
    text.includes(`# TYPE ${metric.replace(/_(bucket|sum|count)$/, '')} histogram`);
  const isThere = ({ metric, role }: Selected): boolean =>
    (role === undefined ? Object.values(texts) : [texts[role]]).some((text) => has(text, metric));
  const expectThere = (expressions: readonly string[], atLeast: string): void => {
    const selected = expressions.flatMap(selectedIn);
    expect(selected.map(({ metric }) => metric)).to.include(atLeast);
    expect(selected.filter((one) => !isThere(one))).to.deep.equal([]);
  };

  it('use metrics that the queried role has', () => {
    expectThere(
      recorded.map(({ expr }) => expr),
      'nodejs_eventloop_lag_p99_seconds',
    );
    expectThere(
      panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
      'redbook_stream_frame_age_seconds',
    );
  });

  it('scale each role by its own metrics', () => {
    for (const { metadata, spec } of scaled) {
      for (const { metadata: trigger } of spec.triggers as { metadata: { query?: string } }[]) {
        for (const { metric } of selectedIn(trigger.query ?? '')) {
          expect(has(texts[metadata.name as Role], metric), `${metadata.name}: ${metric}`).to.equal(true);
        }
      }
    }
    const asked = autoscalers.flatMap(({ spec }) =>
      (spec.metrics as { type: string; pods: { metric: { name: string } } }[])
        .filter(({ type }) => type === 'Pods')
        .map(({ pods }) => ({ role: spec.scaleTargetRef.name as Role, name: pods.metric.name })),
    );
    // The autoscaler of `api` works without the adapter of such metrics, by processor time.
    expect(asked.map(({ role }) => role)).to.deep.equal(['stream', 'settlement']);
    for (const { role, name } of asked) {
      const made = adapter.rules.custom.find((rule) => rule.name.as === name);
      expect(made, name).to.be.an('object');
      for (const { metric } of selectedIn(`${made!.seriesQuery} ${made!.metricsQuery}`)) {
        expect(has(texts[role], metric), `${role}: ${metric}`).to.equal(true);
      }
    }
  });

  it('show every metric of ours', () => {
    const shown = JSON.stringify(panels);
    const ours = Object.values(texts).flatMap((text) =>
      [...text.matchAll(/^# TYPE (redbook_\w+) /gm)].map(([, name]) => name!),
    );
    expect(ours).to.include('redbook_orders_total');
    expect([...new Set(ours)].filter((name) => !shown.includes(name))).to.deep.equal([]);
  });

  it('show what belongs together below the name of its row, side by side', () => {
    const rows = panels.filter(({ type }) => type === 'row').map(({ title }) => title);
    expect(rows).to.include.members(['Objectives', 'Engine', 'Settlement', 'Postgres', 'Backups']);
    let row = '';
    let endOfRow = 0;
    let end = 0;
    const rowOf = new Map<string, string>();
    const places = new Set<string>();
    for (const { title, type, gridPos, targets = [] } of panels) {
      if (type === 'row') [row, endOfRow] = [title, end];
      expect(gridPos.y, title).to.be.at.least(endOfRow);
      expect(places, title).to.not.include(`${gridPos.x} ${gridPos.y}`);
      places.add(`${gridPos.x} ${gridPos.y}`);
      end = Math.max(end, gridPos.y + gridPos.h);
      for (const { metric } of targets.flatMap(({ expr }) => selectedIn(expr))) rowOf.set(metric, row);
    }
    expect(rowOf.get('redbook_postgres_connections')).to.equal('Postgres');
    expect(rowOf.get('redbook_backup_age_seconds')).to.equal('Backups');
    expect(rowOf.get('redbook_engine_copies')).to.equal('Engine');
  });

  it('use existing label values', () => {
    expect(texts.stream).to.include('redbook_stream_frames_total{outcome="skipped"}');
    expect(texts.api).to.include('redbook_orders_total{outcome="refused",code="SETTLEMENT_FAILED"} 0');
    expect(texts.api).to.match(/redbook_http_request_seconds_count\{method="POST",route="\/v1\/orders"/);
    expect(texts.api).to.match(/redbook_engine_script_seconds_count\{script="place_orders"\}/);
  });

  it('can rely on metrics that report what has happened', () => {
    expect(texts.api).to.include('redbook_orders_total{outcome="resting",code=""} 1');
    expect(texts.api).to.include('redbook_orders_total{outcome="refused",code="INSUFFICIENT_BALANCE"} 1');
    expect(texts.api).to.include('redbook_http_requests_in_flight 1\n');
    expect(texts.api).to.include('redbook_engine_open 1\n');
    expect(texts.settlement).to.include('redbook_reconcile_differences 0\n');
    const [, reconciledAt] = /^redbook_reconcile_last_timestamp_seconds (\S+)$/m.exec(texts.settlement)!;
    expect(Math.abs(Date.now() / 1_000 - Number(reconciledAt))).to.be.lessThan(60);
  });

  it('give each alert a severity, a summary and its section of the runbook', () => {
    const guide = readFileSync(at('docs/runbook.md'), 'utf8');
    const headings = [...guide.matchAll(/^### (\w+)$/gm)].map(([, heading]) => heading!);
    expect(headings.filter((heading) => heading.startsWith('Redbook'))).to.have.members(
      rules.map(({ alert }) => alert),
    );
    for (const { alert, labels, annotations } of rules) {
      expect(labels.severity).to.be.oneOf(['critical', 'warning', 'info']);
      expect(annotations.summary).to.match(
        /^\{\{ \$labels\.namespace \}\}\/\{\{ \$labels\.installation \}\}: .*\.$/,
      );
      expect(annotations.runbook_url).to.match(new RegExp(`/docs/runbook\\.md#${alert.toLowerCase()}$`));
    }
  });

  it('have a unit test that raises each alert', () => {
    const [{ tests }] = readYaml(at('k8s/shared/alerts.test.yml')) as [
      { tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[] },
    ];
    const raised = tests
      .flatMap((one) => one.alert_rule_test)
      .filter(({ exp_alerts = [] }) => exp_alerts.length > 0);
    expect([...new Set(raised.map(({ alertname }) => alertname))]).to.have.members(
      rules.map(({ alert }) => alert),
    );
  });

  it('never aggregate several installations into one', () => {
    for (const { alert, expr } of rules) {
      for (const [whole, labels = ''] of expr.matchAll(/\b(?:sum|max|min|group)(?: by \(([^)]*)\))? ?\(/g))
        expect(labels, `${alert}: ${whole}`).to.match(/^namespace, installation/);
      expect(expr, alert).to.not.match(/\babsent\(/);
    }
  });

  it('are the same for the Prometheus of Compose and for the Prometheus operator', () => {
    const folder = mkdtempSync(join(tmpdir(), 'redbook-settings-'));
    writeSettings(folder);
    expect(readYaml(join(folder, 'alerts.yml'))).to.deep.equal([{ groups }]);
    rmSync(folder, { recursive: true });
  });

  it('refer to existing Prometheus jobs', () => {
    const [{ scrape_configs }] = readYaml(at('k8s/shared/prometheus.yml')) as [
      { scrape_configs: { job_name: string }[] },
    ];
    const jobs = scrape_configs.map(({ job_name }) => job_name);
    const asked = rules.flatMap(({ expr }) => [...expr.matchAll(/job="([^"]+)"/g)].map(([, job]) => job!));
    expect(jobs).to.include.members([...new Set(asked)]);
  });
});
