/** Runs the test files that a file imports with clusters of three primaries as Redis. */

const REDIS = 'REDBOOK_TEST_REDIS';

/** Requests clusters while the file runs, and names them in the titles. */
export function onClusters(): void {
  const given = process.env[REDIS];
  before(function () {
    process.env[REDIS] = 'cluster';
    for (const suite of this.test!.parent!.suites) suite.title += ', on a Redis Cluster';
  });
  after(() => {
    if (given === undefined) delete process.env[REDIS];
    else process.env[REDIS] = given;
  });
}
