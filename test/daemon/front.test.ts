import { describe, expect, it } from 'vitest';
import { createFront, type Work } from '../../src/daemon/boot/front.ts';

describe('the doors of a daemon', () => {
  it('tell clients to come back before the stores are open and after they are shut, and nothing else (D13)', () => {
    const front = createFront();
    const retry = (code: string): unknown =>
      expect.objectContaining({ code, disposition: 'retry' });
    expect(() => front.ingest.checkSize(1)).toThrow(retry('RECOVERING'));
    expect(() => front.context.queue).toThrow(retry('RECOVERING'));
    const seen: number[] = [];
    const work = {
      ingest: { checkSize: (bytes: number) => void seen.push(bytes) },
      context: { state: () => 'ready' },
    } as unknown as Work;
    front.open(work);
    front.ingest.checkSize(7);
    expect(seen).toEqual([7]);
    expect(front.context.state()).toBe('ready');
    front.shut();
    expect(() => front.context.ledger).toThrow(retry('DRAINING'));
    expect(() => front.ingest.checkSize(1)).toThrow(retry('DRAINING'));
  });
});
