import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { inRange, openQueue, queueProtocolVersion, type QueuePlug } from '#queue';
import { memoryPlug } from '#queue-backends/memory';
import { openTestQueue, type Queue } from '../support/queue-fixtures.ts';

/** The whole neutral surface. A member more needs a second backend with a real caller for it, named in the changelog (ING-103). */
const surface = [
  'activeKeys',
  'append',
  'capabilities',
  'close',
  'commit',
  'deadLetter',
  'protocolVersion',
  'readBatch',
  'readCursor',
  'readDeadLetters',
];

const source = readFileSync(new URL('../../src/queue/backend.ts', import.meta.url), 'utf8');

function membersOf(text: string): readonly string[] {
  const body = /export interface QueueBackend \{([\s\S]*?)\n\}/.exec(text)?.[1] ?? '';
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[(:]/gm)]
    .map((match) => match[1] ?? '')
    .sort();
}

describe('queue protocol', () => {
  it('has the ten members that are written down, and no other (ING-101, ING-103, ING-T17)', () => {
    expect(membersOf(source)).toEqual(surface);
  });

  it('turns red where a pass over dead letters becomes a member (ING-T17)', () => {
    const grown = source.replace(
      '  close(): Promise<void>;\n}',
      '  close(): Promise<void>;\n  reconcileDead(key: Key): Promise<number>;\n}',
    );
    expect(membersOf(grown)).not.toEqual(surface);
  });

  it('has no optional cursor (ING-104)', () => {
    expect(source).not.toMatch(/cursor\?:|cursor: Cursor \| (?:null|undefined)/);
    expect([...source.matchAll(/\bcursor: Cursor[,)\s]/g)].length).toBe(2);
  });

  it('opens a backend whose range takes the protocol in (ING-108)', async () => {
    const queue = openTestQueue();
    const plug: QueuePlug<undefined> = {
      name: 'fine',
      implementsProtocol: '^1.0.0',
      open: async () => queue,
    };
    expect(await openQueue(plug, undefined)).toBe(queue);
    await queue.close();
    expect(inRange(queueProtocolVersion, memoryPlug.implementsProtocol)).toBe(true);
  });

  it.each(['^2.0.0', '0.9.0', '>=1.0.1', '^1.0.0 <1.0.0', 'latest', ''])(
    'refuses one whose range is %j, before anything of it is opened (ING-108)',
    async (implementsProtocol) => {
      let opened = 0;
      const open = async (): Promise<Queue> => {
        opened += 1;
        return openTestQueue();
      };
      await expect(
        openQueue({ name: 'other', implementsProtocol, open }, undefined),
      ).rejects.toMatchObject({
        code: 'BACKEND_PROTOCOL_MISMATCH',
        disposition: 'fatal',
      });
      expect(opened).toBe(0);
    },
  );

  it('refuses and closes one that speaks another protocol than it said', async () => {
    const queue = openTestQueue();
    const lying = Object.assign(queue, { protocolVersion: '1.1.0' });
    const plug = { name: 'lying', implementsProtocol: '^1.0.0', open: async () => lying };
    await expect(openQueue(plug, undefined)).rejects.toMatchObject({
      code: 'BACKEND_PROTOCOL_MISMATCH',
    });
    await expect(queue.append([])).rejects.toMatchObject({ code: 'DRAINING' });
  });

  it.each([
    ['1.2.3', '1.2.3', true],
    ['1.2.3', '=1.2.4', false],
    ['1.9.0', '^1.2.0', true],
    ['2.0.0', '^1.2.0', false],
    ['0.3.0', '^0.2.0', false],
    ['0.2.9', '^0.2.1', true],
    ['0.0.2', '^0.0.1', false],
    ['1.2.9', '~1.2.3', true],
    ['1.3.0', '~1.2.3', false],
    ['1.5.0', '>=1.0.0 <2.0.0', true],
    ['2.0.0', '>=1.0.0 <2.0.0', false],
    ['1.0.0', '<=1.0.0', true],
    ['1.0.0', '>1.0.0', false],
    ['1.0.0', '1.x', false],
    ['x', '^1.0.0', false],
  ])('says of %s in %s: %s', (version, range, isIn) => {
    expect(inRange(version, range)).toBe(isIn);
  });
});
