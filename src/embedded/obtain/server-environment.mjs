/** The environment of the servers we run. Plain Node: used before anything is installed. */

/**
 * No more than they need: ours may hold secrets, which another user's process must not, and PG* variables that
 * are meant for other servers. A locale that the host does not have would stop them.
 * @param {string} [libraryPath] where shared libraries are that the system does not have
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
