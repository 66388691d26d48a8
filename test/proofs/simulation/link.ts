/**
 * A connection of one actor to one server, in the hands of the scheduler: what was sent waits until the scheduler has
 * the server run it, and a reply waits until the scheduler delivers it.
 */

export type Outcome = { readonly value: unknown } | { readonly error: unknown };

/** A command or statement that was sent. */
export interface Sent {
  readonly label: string;
  /** False while the server hangs. */
  mayRun?(): boolean;
  /** Has the real server run it. @returns `blocked` while it waits for a lock of another connection */
  run(): Promise<Outcome | 'blocked'>;
  /** Ends the wait of a blocked statement, once its lock is free. */
  unblocked?(): Promise<Outcome | 'blocked'>;
  /** Tells the actor what came of it. */
  answer(outcome: Outcome): void;
  /** True when the actor has given it up and hears no answer. */
  isAbandoned?: boolean;
}

export interface Served {
  readonly sent: Sent;
  readonly outcome: Outcome;
}

export interface LinkOptions {
  readonly name: string;
  /** Process whose connection this is. */
  readonly actor: string;
  /** Called when something happens that a process may react to. */
  readonly onActivity: () => void;
}

export class Link {
  readonly name: string;
  readonly actor: string;
  /** Error that the actor sees when the connection breaks. */
  readonly lost: () => Error;
  isOpen = true;
  /** True when its actor has crashed: whatever it asks is never answered. */
  isDead = false;
  readonly queue: Sent[] = [];
  readonly replies: Served[] = [];
  /** Sent before the connection broke, and still on their way to the server. */
  readonly late: Sent[] = [];
  blocked: Sent | undefined;
  readonly #onActivity: () => void;

  constructor({ name, actor, lost, onActivity }: LinkOptions & { readonly lost: () => Error }) {
    this.name = name;
    this.actor = actor;
    this.lost = lost;
    this.#onActivity = onActivity;
  }

  /** Sends something whose answer is given by `answer`. */
  send(sent: Sent): void {
    if (this.isDead) return;
    this.#onActivity();
    if (this.isOpen) this.queue.push(sent);
    else sent.answer({ error: this.lost() });
  }

  /** Sends something and waits for the answer. */
  ask(label: string, run: Sent['run'], unblocked?: Sent['unblocked']): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.send({
        label,
        run,
        ...(unblocked && { unblocked }),
        answer: (outcome) => ('error' in outcome ? reject(outcome.error) : resolve(outcome.value)),
      });
    });
  }

  /** True while there is a command that the server could run now. */
  get canServe(): boolean {
    return this.isOpen && this.blocked === undefined && mayRun(this.queue[0]);
  }

  /** True while the server could run something that was under way when the connection broke. */
  get canRunLate(): boolean {
    return mayRun(this.late[0]);
  }

  /** Has the server run the oldest command. The reply waits. */
  async serve(): Promise<void> {
    const sent = this.queue.shift();
    if (sent === undefined) return;
    const outcome = await sent.run();
    if (outcome === 'blocked') this.blocked = sent;
    else this.replies.push({ sent, outcome });
  }

  /** @returns false while the statement still waits for its lock */
  async unblock(): Promise<boolean> {
    const sent = this.blocked!;
    const outcome = await sent.unblocked!();
    if (outcome === 'blocked') return false;
    this.blocked = undefined;
    this.replies.push({ sent, outcome });
    return true;
  }

  deliver(): void {
    const served = this.replies.shift();
    if (served === undefined) return;
    this.#onActivity();
    if (!served.sent.isAbandoned && !this.isDead) served.sent.answer(served.outcome);
  }

  /** The client gives up its oldest command, which stays on its way. */
  abandon(error: Error): void {
    const waiting = this.blocked === undefined ? this.queue : [this.blocked, ...this.queue];
    const sent = waiting.find(({ isAbandoned }) => !isAbandoned);
    if (sent === undefined) return;
    sent.isAbandoned = true;
    this.#onActivity();
    sent.answer({ error });
  }

  /** The server runs the oldest of what was still on its way when the connection broke. */
  async runLate(): Promise<Served | undefined> {
    const sent = this.late.shift();
    if (sent === undefined) return undefined;
    const outcome = await sent.run();
    if (outcome !== 'blocked') return { sent, outcome };
    // It has run, and is asked again for its end.
    this.late.unshift({ ...sent, run: sent.unblocked! });
    return undefined;
  }

  /**
   * The connection breaks: replies under way are lost, and of what was sent the first `kept` still reach the server.
   * @param isCrash the actor is gone with it, and hears nothing
   */
  cut(kept: number, isCrash: boolean): void {
    this.isOpen = false;
    this.isDead ||= isCrash;
    this.#onActivity();
    const sent = this.queue.splice(0);
    const unheard = this.replies.splice(0).map((served) => served.sent);
    const waiting = this.blocked === undefined ? [] : [this.blocked];
    this.late.push(...sent.slice(0, kept));
    if (isCrash) return;
    for (const one of [...unheard, ...waiting, ...sent])
      if (!one.isAbandoned) one.answer({ error: this.lost() });
  }
}

const mayRun = (sent: Sent | undefined): boolean => sent !== undefined && (sent.mayRun?.() ?? true);
