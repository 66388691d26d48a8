/** Limits the number of connections, in total and per address. */

type Refused = 'full' | 'address full';

export class Admission {
  readonly #max: number;
  readonly #maxPerAddress: number;
  readonly #byAddress = new Map<string, number>();
  #all = 0;

  constructor(max: number, maxPerAddress: number) {
    this.#max = max;
    this.#maxPerAddress = maxPerAddress;
  }

  /** Takes a place, or returns the reason why none is free. Each taken place must be given back once. */
  take(address: string): Refused | undefined {
    const taken = this.#byAddress.get(address) ?? 0;
    if (this.#all >= this.#max) return 'full';
    if (taken >= this.#maxPerAddress) return 'address full';
    this.#all += 1;
    this.#byAddress.set(address, taken + 1);
    return undefined;
  }

  giveBack(address: string): void {
    const left = this.#byAddress.get(address)! - 1;
    this.#all -= 1;
    if (left === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, left);
  }
}
