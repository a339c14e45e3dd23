import type { Key } from '#record';
import type { GroupPart, Step } from './store.ts';

/** What a store needs of a step. */
export type AppliedStep = Pick<Step, 'after' | 'sha256' | 'mutations'>;

/** A part whose steps were made into text where they were folded: it reaches a store in another thread without anybody walking it again. */
export interface PackedPart {
  readonly key: Key;
  readonly workspace: string;
  readonly session: string;
  /** The JSON of its steps (`AppliedStep[]`) in UTF-8. */
  readonly packed: Uint8Array;
}

export type AnyPart = GroupPart | PackedPart;

export function packSteps(steps: readonly AppliedStep[]): Uint8Array {
  return Buffer.from(
    JSON.stringify(steps.map(({ after, sha256, mutations }) => ({ after, sha256, mutations }))),
  );
}

/** The steps of a part, however it comes. */
export function stepsOf(part: AnyPart): readonly AppliedStep[] {
  if ('steps' in part) return part.steps;
  const { buffer, byteOffset, byteLength } = part.packed;
  return JSON.parse(
    Buffer.from(buffer, byteOffset, byteLength).toString('utf8'),
  ) as readonly AppliedStep[];
}
