/** Where the caller is, as a trusted proxy says it. */

import type { Request } from 'express';
import type { HttpSettings } from '../services.ts';

/**
 * Whether a request comes from a blocked country. Without trusted proxies the header is the caller's own word
 * and is not looked at. When it came more than once, one blocked value is enough.
 */
export function blockedCountry(settings: HttpSettings): (request: Request) => boolean {
  const { countryHeader, trustProxyHops, blockedCountries } = settings;
  const blocked = new Set(blockedCountries.map((country) => country.toUpperCase()));
  if (countryHeader === undefined || trustProxyHops === 0 || blocked.size === 0) return () => false;
  return (request) =>
    (request.get(countryHeader) ?? '')
      .split(',')
      .some((country) => blocked.has(country.trim().toUpperCase()));
}
