import type { MillraceError } from '#base';
import type { Engine } from '../engine.ts';
import type { FrameKind } from './frame.ts';
import type { EncodedPayload } from './payloads.ts';

/** Hands one frame over and resolves when it is durable; `onDurable` runs in log order, before the caller goes on. */
export function submitFrame(
  engine: Engine,
  kind: FrameKind,
  payload: EncodedPayload,
  onDurable: (sequence: number) => void,
  onFailed?: () => void,
): Promise<number> {
  return new Promise((resolve, reject) => {
    engine.journal.submit({
      kind,
      recordCount: 0,
      ...payload,
      durable(sequence) {
        onDurable(sequence);
        resolve(sequence);
      },
      failed(error: MillraceError) {
        onFailed?.();
        reject(error);
      },
    });
  });
}
