/** Runs the routes' tests on Redis Clusters. */

import '../../http/request-log.test.ts?on=cluster';
import '../../http/login.test.ts?on=cluster';
import { onClusters } from './on-clusters.ts';

onClusters();
