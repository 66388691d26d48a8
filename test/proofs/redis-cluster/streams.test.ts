/** Runs the streams' tests on Redis Clusters. */

import '../../stream/streams.test.ts?on=cluster';
import { onClusters } from './on-clusters.ts';

onClusters();
