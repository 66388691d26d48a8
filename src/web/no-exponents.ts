/**
 * Replaces decimal.js in the page, where no number has an exponent: people type plain decimals, and the service writes
 * plain decimals. A text with an exponent is refused. decimal.js would be a tenth of the page.
 */
export class Decimal {
  static clone(): typeof Decimal {
    return Decimal;
  }

  isFinite(): boolean {
    return false;
  }
}
