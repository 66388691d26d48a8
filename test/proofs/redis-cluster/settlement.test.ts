/** Runs settlement's tests on Redis Clusters. */

import '../../workers/settlement.test.ts?on=cluster';
import { onClusters } from './on-clusters.ts';

onClusters();
