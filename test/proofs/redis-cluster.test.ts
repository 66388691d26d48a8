/** Runs tests of the engine, the routes, settlement and the streams on a Redis Cluster of three primaries. */

import '../engine/epochs.test.ts?on=cluster';
import '../engine/replicas.test.ts?on=cluster';
import '../engine/settlement-failed.test.ts?on=cluster';
import '../http/request-log.test.ts?on=cluster';
import '../http/login.test.ts?on=cluster';
import '../workers/settlement.test.ts?on=cluster';
import '../stream/streams.test.ts?on=cluster';

const REDIS = 'REDBOOK_TEST_REDIS';
const given = process.env[REDIS];

before(function () {
  process.env[REDIS] = 'cluster';
  for (const suite of this.test!.parent!.suites) suite.title += ', on a Redis Cluster';
});
after(() => {
  if (given === undefined) delete process.env[REDIS];
  else process.env[REDIS] = given;
});
