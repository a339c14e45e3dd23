import { append } from './append.ts';
import { bigRoot } from './big-root.ts';
import { counts } from './counts.ts';
import { cypherMillion } from './cypher-million.ts';
import { drain } from './drain.ts';
import { graphApply } from './graph-apply.ts';
import { ingest } from './ingest.ts';
import { peers } from './peers.ts';
import { post } from './post.ts';
import type { Question } from './question.ts';
import { neo4jApply } from './neo4j-apply.ts';
import { race } from './race.ts';
import { respawn } from './respawn.ts';
import { underDrain } from './under-drain.ts';
import { visible } from './visible.ts';

/** Every question, in the order of a full run. */
export const questions: readonly Question[] = [
  ingest,
  peers,
  underDrain,
  post,
  visible,
  append,
  counts,
  drain,
  graphApply,
  neo4jApply,
  cypherMillion,
  bigRoot,
  race,
  respawn,
];
