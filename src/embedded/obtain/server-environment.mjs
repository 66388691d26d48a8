/** The environment of the servers we run. Plain Node: used before anything is installed. */

/**
 * Returns only the variables that the servers need. Ours may hold secrets, which another user's process must not see,
 * and PG* variables for other servers. A locale that the host lacks would stop the servers.
 * @param {string} [libraryPath] folder of shared libraries that the system lacks
 * @returns {NodeJS.ProcessEnv}
 */
export function serverEnvironment(libraryPath = process.env.LD_LIBRARY_PATH) {
  const { PATH } = process.env;
  return {
    ...(PATH && { PATH }),
    LC_ALL: 'C',
    TZ: 'UTC',
    ...(libraryPath && { LD_LIBRARY_PATH: libraryPath }),
  };
}
