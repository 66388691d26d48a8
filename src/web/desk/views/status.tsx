/** The state of the service, and what needs somebody's attention. */

import type { GetStatus, Status } from '../operations.ts';
import { useAnswer } from '../use-answer.ts';
import { Facts, Panel, shownTime, Trouble } from './listing.tsx';

const EVERY_MS = 3_000;
const LAG_SECONDS = 10;
const SNAPSHOT_MS = 6_000;

/** Returns a sentence for each thing that is not as it should be. */
function alertsOf({ engine, settlement, reconciled, snapshotAgeMs }: Status): string[] {
  const alerts: string[] = [];
  if (engine === null) alerts.push('The engine does not answer.');
  if (engine?.paused) alerts.push('Trading is paused on all markets.');
  if (settlement === null) alerts.push('Postgres does not answer.');
  const lag = settlement?.lag;
  if (lag && lag.seconds > LAG_SECONDS)
    alerts.push(`Settlement is ${lag.events} events, ${lag.seconds} seconds behind.`);
  if (settlement !== null && reconciled === null) alerts.push('The books were never reconciled.');
  if (reconciled?.holds === false)
    alerts.push(
      `The last reconcile found ${reconciled.differences} differences: ${reconciled.failedChecks.join(', ')}.`,
    );
  if (snapshotAgeMs !== null && snapshotAgeMs > SNAPSHOT_MS)
    alerts.push(`The newest market snapshot is ${Math.round(snapshotAgeMs / 1_000)} seconds old.`);
  return alerts;
}

const counted = (counts: Readonly<Record<string, number>> | null): string =>
  counts === null
    ? 'unknown'
    : Object.entries(counts)
        .map(([name, count]) => `${name} ${count}`)
        .join(', ') || 'none';

function factsOf({ engine, settlement, queue, replicas, snapshotAgeMs }: Status): [string, string][] {
  const lag = settlement?.lag;
  return [
    ['Trading', engine === null ? 'unknown' : engine.paused ? 'paused' : 'on'],
    ['Last event', engine === null ? 'unknown' : `${engine.epoch}-${engine.sequence}`],
    ['Time of the last event (UTC)', shownTime(engine?.lastEventAt ?? null)],
    ['Required terms', engine?.requiredTerms ?? 'none'],
    ['Settled event', settlement === null ? 'unknown' : `${settlement.sequence}`],
    ['Settled at (UTC)', shownTime(settlement?.lastSettledAt ?? null)],
    ['Settlement lag', lag ? `${lag.events} events, ${lag.seconds} s` : 'unknown'],
    ['Wake-ups', counted(queue)],
    ['Processes', counted(replicas)],
    ['Newest snapshot', snapshotAgeMs === null ? 'none' : `${Math.round(snapshotAgeMs)} ms old`],
  ];
}

export function StatusView() {
  const { answer, trouble } = useAnswer<GetStatus>('getServiceStatus', {}, EVERY_MS);
  const alerts = answer === undefined ? [] : alertsOf(answer);
  return (
    <>
      <Trouble text={trouble} />
      {answer !== undefined && (
        <>
          <Panel title="Alerts">
            {alerts.length === 0 ? (
              <p class="muted">Nothing needs attention.</p>
            ) : (
              <ul class="desk-alerts">
                {alerts.map((text) => (
                  <li key={text} class="note warn">
                    {text}
                  </li>
                ))}
              </ul>
            )}
          </Panel>
          <Panel title="Service">
            <Facts facts={factsOf(answer)} />
          </Panel>
        </>
      )}
    </>
  );
}
