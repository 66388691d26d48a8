/** Headers of the trading page. They are strict: the page holds sessions, on the origin of the API. */

import type { Cors } from '../middleware/cors.ts';
import { addHeader, replaceHeader } from '../response/index.ts';
import { streamServerOf } from '../stream-server.ts';

/** Features of browsers that the page never uses; whatever is not listed has a default of its own. */
const UNUSED_FEATURES = [
  'accelerometer',
  'autoplay',
  'camera',
  'display-capture',
  'encrypted-media',
  'fullscreen',
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
 * Scripts and styles come from the files of the bundle alone, and no text becomes HTML or a script. The page connects
 * to its own origin. Older Safari does not count the streams as that, so their origin is named.
 */
const policyOf = (webUrl: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    ["connect-src 'self'", ...streamSource(webUrl)].join(' '),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join(';');

/** An IPv6 address cannot be written in a policy, where browsers would report it as an error. */
function streamSource(webUrl: string): string[] {
  const { protocol, host } = streamServerOf(webUrl);
  return host.startsWith('[') ? [] : [`${protocol}://${host}`];
}

/** Only pages of this origin may load what has this header. */
export const sameOriginOnly: Cors = (_request, response) =>
  replaceHeader(response, 'Cross-Origin-Resource-Policy', 'same-origin');

/** @returns a function that sets the headers of the document */
export function documentHeaders(webUrl: string): Cors {
  const policy = policyOf(webUrl);
  return (request, response) => {
    replaceHeader(response, 'Content-Security-Policy', policy);
    replaceHeader(response, 'X-Frame-Options', 'DENY');
    sameOriginOnly(request, response);
    addHeader(response, 'Cross-Origin-Opener-Policy', 'same-origin');
    addHeader(response, 'Permissions-Policy', PERMISSIONS);
  };
}
