/** Hosts of the service's front ends, `host` or `host:port` as `WEB_HOSTS` names them. */

/** Matches an IP address, with or without a port. */
const IP_ADDRESS = /^(\d+(\.\d+){3}|\[.+\])(:\d+)?$/;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;
const WWW = 'www.';

/** Returns the hosts in lower case. Each name stands for its bare and its `www.` form. */
export function webHostForms(webHosts: readonly string[]): ReadonlySet<string> {
  const forms = (host: string): string[] => {
    if (IP_ADDRESS.test(host)) return [host];
    const bare = host.startsWith(WWW) ? host.slice(WWW.length) : host;
    return [bare, `${WWW}${bare}`];
  };
  return new Set(webHosts.flatMap((host) => forms(host.toLowerCase())));
}

/** True if only this machine can own the host: no page from a network has it, whatever its name resolves to. */
export const isLoopbackHost = (host: string): boolean => LOOPBACK.test(host);
