/** Reads the caller's country from a trusted proxy's header. */

import type { Request } from 'express';
import type { HttpSettings } from '../services.ts';

/**
 * Makes a function that returns true if a request comes from a blocked country. Without trusted proxies the header is
 * ignored, because the caller can set it. If the header is repeated, one blocked value is enough.
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
