import { describeGraphStore } from '../contract/graph/describe-graph-store.ts';
import { embeddedPlug } from './embedded-harness.ts';
import { memoryPlug } from './memory-plug.ts';

describeGraphStore('the embedded graph', embeddedPlug);
describeGraphStore('the memory graph', memoryPlug);
