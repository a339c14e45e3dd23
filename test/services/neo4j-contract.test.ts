import { describeGraphStore } from '../contract/graph/describe-graph-store.ts';
import { neo4jPlug } from './neo4j-plug.ts';

describeGraphStore('Neo4j', neo4jPlug);
