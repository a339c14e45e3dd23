import { append } from './append.ts';
import { bigRoot } from './big-root.ts';
import { graphApply } from './graph-apply.ts';
import { ingest } from './ingest.ts';
import type { Question } from './question.ts';

/** Every question, in the order of a full run. */
export const questions: readonly Question[] = [ingest, append, graphApply, bigRoot];
