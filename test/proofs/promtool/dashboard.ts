/** The dashboard's queries as Prometheus reads them, and what its first row shows on a bad night. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readYaml } from '../deployment/kustomize.ts';

const K8S = fileURLToPath(new URL('../../../k8s/', import.meta.url));

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string; readonly refId: string }[];
}
interface Series {
  readonly series: string;
  readonly values: string;
}

const { panels } = JSON.parse(readFileSync(join(K8S, 'components/monitoring/dashboard.json'), 'utf8')) as {
  panels: Panel[];
};

/** A query with the values that Grafana would give to its variables. */
const filled = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '2m').replace(/\$(namespace|installation|instance)\b/g, '.*');

/** Every query of the dashboard, as the rule file that `promtool check rules` reads. */
export const queriesAsRules = (): string =>
  JSON.stringify({
    groups: [
      {
        name: 'dashboard',
        rules: panels.flatMap(({ targets = [] }, panel) =>
          targets.map(({ expr, refId }) => ({ record: `panel:${panel}:${refId}`, expr: filled(expr) })),
        ),
      },
    ],
  });

/** Trading for ten minutes, ten minutes in which no process may trade, and trading again after a failover. */
const NIGHT: Readonly<Record<string, string>> = {
  redbook_engine_open: '1x19 0x19 1x40',
  redbook_orders_total: '0+60x19 1140x19 1200+60x40',
};
const DIVERGED =
  'redbook_settlement_diverged{namespace="a", installation="redbook", job="redbook-settlement"}';
const PLACED = 'redbook_orders_total{namespace="a", installation="redbook", outcome="resting", code=""}';

function inputSeries(): Series[] {
  const [{ tests }] = readYaml(join(K8S, 'shared/alerts.test.yml')) as [
    { tests: { name: string; input_series: Series[] }[] },
  ];
  const right = tests.find(({ name }) => name === 'nothing is wrong')!.input_series;
  return [
    ...right.map((one) => ({
      ...one,
      values: one.series.startsWith('redbook_engine_open') ? NIGHT.redbook_engine_open! : one.values,
    })),
    { series: PLACED, values: NIGHT.redbook_orders_total! },
    { series: DIVERGED, values: '0x400' },
  ];
}

/** Unit tests for promtool: what each panel of the first row shows while trading, at the outage and after it. */
export function firstRowTests(): string {
  const shown = (title: string, refId = 'A'): string =>
    filled(panels.find((panel) => panel.title === title)!.targets!.find((one) => one.refId === refId)!.expr);
  const seen = (time: string, title: string, ...samples: { labels: string; value: number }[]) => ({
    eval_time: time,
    expr: shown(title),
    exp_samples: samples,
  });
  const closed = '{alertname="RedbookEngineClosed", severity="critical"}';
  const at = (
    time: string,
    open: number,
    orders: number,
    ...failing: { labels: string; value: number }[]
  ) => [
    seen(time, 'Are we trading?', { labels: '{}', value: open }),
    seen(time, 'Orders a second', { labels: '{}', value: orders }),
    seen(time, 'Are the books right?', { labels: '{}', value: 0 }),
    seen(time, 'What fails, and since when?', ...failing),
  ];
  return JSON.stringify({
    rule_files: ['alerts.yml'],
    evaluation_interval: '30s',
    tests: [
      {
        interval: '30s',
        input_series: inputSeries(),
        promql_expr_test: [
          ...at('5m', 1, 2),
          ...at('15m', 0, 0, { labels: closed, value: 300 }),
          ...at('30m', 1, 2),
        ],
      },
    ],
  });
}
