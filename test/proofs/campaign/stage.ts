/** A cluster with clients and watchers around it: what a round of a fault happens on. */

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../support/eventually.ts';
import { fundMarkets } from '../../support/funded-markets.ts';
import { random } from '../../support/seed.ts';
import {
  type Cluster,
  type ClusterPlan,
  cursorOf,
  engineSequence,
  PATIENCE_MS,
  startCluster,
} from './cluster.ts';
import { type Custody, openCustody } from './custody.ts';
import { type DeadMan, openDeadMan } from './dead-man.ts';
import { Driver, MARKETS } from './driver.ts';
import { type Followers, openFollowers } from './followers.ts';
import { type GreedyReader, openGreedyReader } from './greedy-reader.ts';
import type { Rest } from './invariants/events.ts';
import { INVARIANTS } from './invariants/index.ts';
import { reconcileHolds } from './invariants/money.ts';
import {
  type Held,
  JOURNAL,
  type Journal,
  type Movement,
  type Outcome,
  openJournal,
  readJournal,
} from './journal.ts';
import { MARKER, openMarker } from './marker.ts';
import { Model } from './model.ts';
import { move, openMovements } from './movements.ts';
import { type Outbox, openOutbox } from './outbox.ts';
import type { Repeated } from './repeated.ts';
import { openScreens, type Screens } from './screens.ts';
import { bodyOf, openShownIds, type ShownIds } from './shown.ts';
import { openSignInRace, type SignInRace } from './sign-in-race.ts';
import type { Asked } from './wallet.ts';

export interface Violation {
  readonly invariant: string;
  readonly detail: string;
}

export interface StageOptions {
  readonly plan: ClusterPlan;
  readonly seed: number;
  readonly traders: number;
  readonly perSecond: number;
  readonly say: (line: string) => void;
}

export class Stage {
  readonly cluster: Cluster;
  readonly driver: Driver;
  readonly model: Model;
  readonly journal: Journal;
  readonly outbox: Outbox;
  readonly screens: Screens;
  readonly shownIds: ShownIds;
  readonly followers: Followers;
  /** Rounds since the last rest. */
  readonly unrested: Omit<Held, 'entry'>[] = [];
  /** Found since the last call of `violations`. */
  #found: Violation[] = [];
  readonly #options: StageOptions;
  readonly #marker: Repeated;
  readonly #race: SignInRace;
  readonly #greedy: GreedyReader;
  readonly #deadMan: DeadMan;
  readonly #custody: Custody | undefined;
  readonly #ended = new Map<string, string>();
  /** Orders that were accepted before the last rest ended. */
  #acceptedBefore = 0;
  #arming: Promise<void> | undefined;
  #opening: Promise<void> | undefined;
  #movements: { stop(): Promise<void> } | undefined;

  private constructor(options: StageOptions, cluster: Cluster) {
    const { plan, seed, traders } = options;
    const file = join(plan.folder, JOURNAL);
    this.#options = options;
    this.cluster = cluster;
    this.model = new Model();
    for (const entry of readJournal(file)) this.model.apply(entry);
    this.journal = openJournal(file);
    const ports = cluster.of('api').map(({ port }) => port);
    const { model, journal } = this;
    this.shownIds = openShownIds();
    const onAsked = ({ reply }: Asked): void => this.shownIds.look(bodyOf(reply));
    this.driver = new Driver({ seed, traders, ports, journal, model, onViolation: this.found, onAsked });
    this.followers = openFollowers(this.driver, traders, this.shownIds, this.found);
    const upTo = cluster.copies === undefined ? undefined : () => cursorOf(cluster);
    this.outbox = openOutbox(cluster.redis, this.found, upTo);
    const streams = cluster.of('stream').map(({ port }) => port);
    this.screens = openScreens(streams, this.shownIds, this.found);
    this.#marker = openMarker(this.driver);
    this.#race = openSignInRace(ports, this.found);
    this.#greedy = openGreedyReader(ports, this.found);
    this.#deadMan = openDeadMan(cluster, this.driver, this.found);
    this.#custody = openCustody(cluster, this.driver, seed, this.found);
  }

  /** Starts the servers and processes, and publishes the markets unless an earlier run has. */
  static async open(options: StageOptions): Promise<Stage> {
    const cluster = await startCluster(options.plan);
    try {
      const stage = new Stage(options, cluster);
      await cluster.untilReady();
      const [{ count }] = (await cluster.sql('select count(*) from markets')) as [{ count: string }];
      const symbols = [...MARKETS, MARKER];
      if (count === '0') {
        const addresses = stage.driver.wallets.map(({ address }) => address);
        await fundMarkets(cluster.settings, symbols, addresses);
      }
      await stage.driver.signIn();
      // The audit compares its own earlier results too, so the first one is from before any fault.
      for (const detail of await reconcileHolds(stage)) stage.found('ledger reconcile', detail);
      return stage;
    } catch (error) {
      options.say(cluster.processes.output());
      await cluster.stop(true);
      throw error;
    }
  }

  say(line: string): void {
    this.#options.say(line);
  }

  readonly found = (invariant: string, detail: string): void => {
    this.#found.push({ invariant, detail });
  };

  /** Violations since the last call. */
  takeViolations(): Violation[] {
    return this.#found.splice(0);
  }

  async begin(): Promise<void> {
    this.#opening ??= this.followers.open((await engineSequence(this.cluster.redis)) ?? 0);
    await this.#opening;
    await this.#custody?.begin();
    this.screens.begin();
    this.shownIds.begin();
    this.followers.begin();
    this.driver.begin(this.#options.perSecond);
    this.#marker.begin();
    this.#race.begin();
    this.#greedy.begin();
    this.#arming = this.#deadMan.arm();
    this.#movements = openMovements(this.cluster, this.driver, random(this.model.lastIntent));
  }

  /** Ends the load; each request under way gets its outcome. */
  async quiet(): Promise<void> {
    await Promise.all([
      this.driver.stop(),
      this.followers.stop(),
      this.#marker.stop(),
      this.#race.stop(),
      this.#greedy.stop(),
      this.#movements?.stop(),
      this.#custody?.stop(),
      this.#arming,
    ]);
    this.#movements = undefined;
  }

  /** Waits until every process is ready and orders are answered at each api. */
  async untilHealed(): Promise<void> {
    await this.cluster.untilReady();
    const { driver } = this;
    for (const port of driver.ports) {
      const answers = async (): Promise<boolean> =>
        (await driver.read(driver.deadMan, `/v1/orders?limit=1`, port))?.status === 200;
      await eventually(`port ${port} answers`, answers, PATIENCE_MS);
    }
  }

  /** The engine lost the events after one. What was told since the last rest may have been lost with them. */
  lost(afterSequence: number, sinceIntent: number): void {
    const entry = { entry: 'lost', afterSequence, sinceIntent } as const;
    this.journal.write(entry);
    this.model.apply(entry);
    this.outbox.forget(afterSequence);
    this.screens.forget();
    this.shownIds.forget();
    this.followers.forget();
    this.#custody?.forget();
    this.#deadMan.forget();
    for (const wallet of this.driver.wallets) wallet.resting.length = 0;
  }

  forgetLimits(): void {
    this.#greedy.forget();
  }

  /** Resolves unknown outcomes, waits until all is settled, and checks every invariant. */
  async rest(): Promise<void> {
    const { cluster, driver, model, outbox, screens, shownIds, followers } = this;
    if (model.accepted === this.#acceptedBefore)
      this.found('campaign', 'no order was accepted since the last rest, so nothing was tested');
    await driver.resolve();
    await this.#resolveMovements();
    if (!(await this.#isSettled())) return;
    await this.#deadMan.look();
    await this.#race.probe();
    if (!(await this.#isSettled())) return;
    const sinceMs = performance.now();
    const parts = { cluster, driver, model, outbox, screens, shownIds, followers };
    const rest: Rest = { ...parts, custody: this.#custody, sinceMs, ended: this.#ended };
    for (const { name, check } of INVARIANTS)
      for (const detail of await check(rest)) this.found(name, detail);
    this.#acceptedBefore = model.accepted;
  }

  async #isSettled(): Promise<boolean> {
    const { cluster } = this;
    if (!(await cluster.hasDiverged())) {
      try {
        await cluster.untilSettled();
        return true;
      } catch {
        // The reason is told below.
      }
    }
    const [cursor] = await cluster.sql<{ sequence: string }>('select sequence from engine_cursor');
    const last = await engineSequence(cluster.redis);
    const why = (await cluster.hasDiverged())
      ? 'engine and ledger contradict each other'
      : 'it does not go on';
    this.found('settlement', `${why}: it is at event ${cursor?.sequence} of ${last}`);
    return false;
  }

  /** Movements whose outcome is unknown are repeated under their references, by whom they were asked for. */
  async #resolveMovements(): Promise<void> {
    const { cluster, driver } = this;
    const custody = this.#custody;
    const ask = (wallet: number, movement: Movement): Promise<Outcome> =>
      movement.key === undefined || custody === undefined
        ? move(cluster, driver, wallet, movement)
        : custody.ask(wallet, movement);
    for (const { state, wallet, movement } of this.model.movements.values()) {
      if (state !== 'asked') continue;
      const isKnown = async (): Promise<boolean> => (await ask(wallet, movement)).is !== 'unknown';
      await eventually(`movement ${movement.reference}`, isKnown, PATIENCE_MS);
    }
  }

  async close(keepsData: boolean): Promise<void> {
    await this.quiet().catch(() => undefined);
    this.outbox.close();
    this.screens.close();
    this.driver.close();
    this.#custody?.close();
    this.journal.close();
    await this.cluster.stop(keepsData);
    await sleep(0);
  }
}
