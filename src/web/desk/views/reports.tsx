/** A month of the books: its reconcile, its closing, and the reports of it or of another span, as files. */

import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { MAX_BYTES, saveReport, TooLarge } from '../download.ts';
import {
  commandOf,
  fileOf,
  type OfferedReport,
  REPORTS,
  type ReportSpan,
  statementOf,
} from '../offered-reports.ts';
import type { GetStatus, ListClosings } from '../operations.ts';
import { Refused } from '../operators.ts';
import { useAnswer } from '../use-answer.ts';
import { closeMonth } from './books.tsx';
import { Facts, Listing, Panel, shownTime, Trouble } from './listing.tsx';

/** Returns the span of a month like 2026-01, or undefined for another text. */
function spanOf(month: string): ReportSpan | undefined {
  const start = new Date(`${month}-01T00:00:00Z`);
  if (!/^\d{4}-\d\d$/.test(month) || Number.isNaN(start.getTime())) return undefined;
  const end = new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1));
  return { from: `${month}-01`, to: end.toISOString().slice(0, 10) };
}

function monthBefore(time: Date): string {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() - 1, 1)).toISOString().slice(0, 7);
}

const month = signal(monthBefore(new Date()));
const span = signal<ReportSpan>(spanOf(month.value)!);
const wallet = signal('');
const hasMark = signal(false);

export function Reports() {
  const saving = useSaving();
  return (
    <>
      <Choice />
      <MonthPanel />
      <Saving {...saving} />
      <Listing
        title={`Reports from ${span.value.from} up to and without ${span.value.to}`}
        columns={['Report', 'File']}
        rows={REPORTS.map((report) => [
          report.name,
          [report.title, <Files {...{ report, saving }} key="files" />],
        ])}
        empty=""
      />
      <Panel title="Statement of a wallet">
        <div class="field">
          <label for="of-wallet">Wallet</label>
          <input
            id="of-wallet"
            class="input"
            autocomplete="off"
            spellcheck={false}
            placeholder="0x…"
            value={wallet.value}
            onInput={({ currentTarget: { value } }) => {
              wallet.value = value.trim();
            }}
          />
        </div>
        {/^0x[0-9a-f]{40}$/i.test(wallet.value) ? (
          <Files report={statementOf(wallet.value)} saving={saving} />
        ) : (
          <p class="muted">A statement has at most 31 days.</p>
        )}
      </Panel>
    </>
  );
}

interface DayFieldProps {
  readonly id: string;
  readonly label: string;
  readonly type: 'date' | 'month';
  readonly text: string;
  readonly onText: (text: string) => void;
}

const DayField = ({ id, label, type, text, onText }: DayFieldProps) => (
  <div class="field">
    <label for={id}>{label}</label>
    <input
      id={id}
      class="input"
      type={type}
      value={text}
      onInput={({ currentTarget: { value } }) => onText(value)}
    />
  </div>
);

/** The month, and the span that it sets, which may be changed. */
function Choice() {
  const choose = (chosen: string): void => {
    month.value = chosen;
    span.value = spanOf(chosen) ?? span.value;
  };
  const change = (end: keyof ReportSpan) => (day: string) => {
    if (/^\d{4}-\d\d-\d\d$/.test(day)) span.value = { ...span.value, [end]: day };
  };
  return (
    <div class="panel desk-search">
      <DayField id="month" label="Month (UTC)" type="month" text={month.value} onText={choose} />
      <DayField id="from" label="From" type="date" text={span.value.from} onText={change('from')} />
      <DayField id="to" label="Up to and without" type="date" text={span.value.to} onText={change('to')} />
      <label>
        <input
          type="checkbox"
          checked={hasMark.value}
          onChange={({ currentTarget: { checked } }) => (hasMark.value = checked)}
        />{' '}
        CSV for spreadsheets, with a byte order mark
      </label>
    </div>
  );
}

function MonthPanel() {
  const status = useAnswer<GetStatus>('getServiceStatus', {});
  const closings = useAnswer<ListClosings>('listClosings', {});
  const closing = closings.answer?.closings.find((one) => one.month === month.value);
  const reconciled = status.answer?.reconciled;
  const isOpen = closings.answer !== undefined && closing === undefined && spanOf(month.value) !== undefined;
  const button = isOpen && (
    <button type="button" class="button small" onClick={() => closeMonth(month.value)}>
      Close {month.value}
    </button>
  );
  return (
    <Panel title={`Month ${month.value}`} aside={button}>
      <Trouble text={status.trouble ?? closings.trouble} />
      {reconciled !== undefined && closings.answer !== undefined && (
        <Facts
          facts={[
            [
              'Last reconcile',
              reconciled === null
                ? 'none yet: run `redbook ledger reconcile` before you close'
                : `${reconciled.holds ? 'all checks hold' : `${reconciled.differences} differences`}, up to event ${reconciled.sequence}, ${shownTime(reconciled.at)} (UTC)`,
            ],
            [
              'Closing',
              closing === undefined ? 'not closed' : `closed at ${shownTime(closing.closedAt)} (UTC)`,
            ],
            ...(closing === undefined ? [] : [['Digest', closing.digest] as const]),
          ]}
        />
      )}
    </Panel>
  );
}

/** A file that is read now; null while none is. */
interface UnderWay {
  readonly file: string;
  readonly bytes: number;
}

interface SavingState {
  readonly underWay: UnderWay | null;
  readonly done: string | null;
  readonly trouble: ComponentChildren;
  readonly begin: (report: OfferedReport, format: string) => void;
  readonly cancel: () => void;
}

/** One file at a time. Leaving the view ends it. */
function useSaving(): SavingState {
  const [underWay, setUnderWay] = useState<UnderWay | null>(null);
  const [done, setDone] = useState<string | null>(null);
  const [trouble, setTrouble] = useState<ComponentChildren>(null);
  const [stopping, setStopping] = useState(() => new AbortController());
  useEffect(() => () => stopping.abort(), [stopping]);
  const begin = async (report: OfferedReport, format: string): Promise<void> => {
    const asked = span.value;
    const file = fileOf(report, asked, format);
    const { signal } = stopping;
    setDone(null);
    setTrouble(null);
    setUnderWay({ file, bytes: 0 });
    const as = report.isPlain ? {} : { format, bom: hasMark.value };
    try {
      const given = { ...report.given(asked), ...as };
      await saveReport(report.operation, given, {
        file,
        signal,
        onBytes: (bytes) => setUnderWay({ file, bytes }),
      });
      setDone(`${file} is saved.`);
    } catch (error) {
      if (error instanceof TooLarge) setTrouble(tooLarge(commandOf(report, asked, format)));
      else if (!(error instanceof Refused)) throw error;
      else if (!signal.aborted) setTrouble(error.message);
    }
    setUnderWay(null);
  };
  const cancel = (): void => {
    stopping.abort();
    setStopping(new AbortController());
  };
  return { underWay, done, trouble, begin: (...asked) => void begin(...asked), cancel };
}

const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

const tooLarge = (command: string) => (
  <>
    This report is larger than {megabytes(MAX_BYTES)}, which is the maximum that this page holds. Nothing was
    saved. This command writes it: <code>{command}</code>
  </>
);

function Saving({ underWay, done, trouble, cancel }: SavingState) {
  return (
    <>
      {trouble !== null && (
        <p class="note error" role="alert">
          {trouble}
        </p>
      )}
      <p class="note desk-told desk-saving" role="status">
        {underWay === null ? done : `${underWay.file}: ${megabytes(underWay.bytes)} so far`}
      </p>
      {underWay !== null && (
        <button type="button" class="button small" onClick={cancel}>
          Cancel
        </button>
      )}
    </>
  );
}

const Files = ({ report, saving }: { readonly report: OfferedReport; readonly saving: SavingState }) => (
  <span class="desk-actions">
    {report.formats.map((format) => (
      <button
        key={format}
        type="button"
        class="button small"
        disabled={saving.underWay !== null}
        onClick={() => saving.begin(report, format)}
      >
        {format}
        <span class="visually-hidden"> {report.title}</span>
      </button>
    ))}
  </span>
);
