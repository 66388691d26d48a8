/** Runs the engine's tests on Redis Clusters. */

import '../../engine/epochs.test.ts?on=cluster';
import '../../engine/replicas.test.ts?on=cluster';
import '../../engine/settlement-failed.test.ts?on=cluster';
import { onClusters } from './on-clusters.ts';

onClusters();
