/** Headers of the trading page. They are strict, because the page holds sessions on the origin of the API. */

import type { Cors } from '../middleware/cors.ts';
import { addHeader, replaceHeader } from '../response/index.ts';
import { streamServerOf } from '../stream-server.ts';

/** Browser features that the page never uses. Features that are not listed keep the browser's default. */
const UNUSED_FEATURES = [
  'accelerometer',
  'autoplay',
  'camera',
  'display-capture',
  'encrypted-media',
  'geolocation',
  'gyroscope',
  'hid',
  'idle-detection',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'picture-in-picture',
  'publickey-credentials-get',
  'screen-wake-lock',
  'serial',
  'usb',
  'xr-spatial-tracking',
];
const PERMISSIONS = UNUSED_FEATURES.map((feature) => `${feature}=()`).join(', ');

/**
 * Content Security Policy of the page. Scripts and styles come only from the bundle, and no text becomes HTML or a
 * script. The page connects to its own origin. Older Safari versions exclude WebSockets from that, so the origin of the
 * streams is named.
 */
const policyOf = (webUrl: string | undefined): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "manifest-src 'self'",
    ["connect-src 'self'", ...(webUrl === undefined ? [] : streamSource(webUrl))].join(' '),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join(';');

/** Returns nothing for an IPv6 host: a policy cannot contain one, and browsers would report an error. */
function streamSource(webUrl: string): string[] {
  const { protocol, host } = streamServerOf(webUrl);
  return host.startsWith('[') ? [] : [`${protocol}://${host}`];
}

/** Lets only pages of this origin load the file. */
export const sameOriginOnly: Cors = (_request, response) =>
  replaceHeader(response, 'Cross-Origin-Resource-Policy', 'same-origin');

/**
 * @param webUrl address of the page; undefined for one that reads no streams
 * @returns a function that sets the headers of the document
 */
export function documentHeaders(webUrl?: string): Cors {
  const policy = policyOf(webUrl);
  return (request, response) => {
    replaceHeader(response, 'Content-Security-Policy', policy);
    replaceHeader(response, 'X-Frame-Options', 'DENY');
    sameOriginOnly(request, response);
    addHeader(response, 'Cross-Origin-Opener-Policy', 'same-origin');
    addHeader(response, 'Permissions-Policy', PERMISSIONS);
  };
}
