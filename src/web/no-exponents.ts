/**
 * Stands for decimal.js in the page, where it reads no number: people type plain decimals, and the service writes
 * plain decimals. A text with an exponent is then no decimal. decimal.js would be a tenth of the page.
 */
export class Decimal {
  static clone(): typeof Decimal {
    return Decimal;
  }

  isFinite(): boolean {
    return false;
  }
}
