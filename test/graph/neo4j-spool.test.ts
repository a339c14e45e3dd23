import { describe, expect, it } from 'vitest';
import { isMillraceError } from '#base';
import { Spool } from '../../src/graph/neo4j/spool.ts';
import { fakeClock } from '../support/clock.ts';

async function readAll(spool: Spool): Promise<string> {
  let text = '';
  for await (const chunk of spool.read()) text += Buffer.from(chunk).toString();
  return text;
}

async function faultOf(reading: Promise<unknown>): Promise<string> {
  try {
    await reading;
    return 'none';
  } catch (error) {
    return isMillraceError(error) ? `${error.code}: ${error.message}` : String(error);
  }
}

describe('an export of Neo4j that waits to be read', () => {
  it('gives its chunks in order, those of before the reader came and those of later', async () => {
    const spool = new Spool(fakeClock());
    spool.put('one ');
    const read = readAll(spool);
    spool.put('two ');
    await Promise.resolve();
    spool.put('three');
    spool.end();
    expect(await read).toBe('one two three');
    expect(spool.isLeft).toBe(true);
  });

  it('ends when nobody reads from it for a minute, and holds nothing any more', async () => {
    const clock = fakeClock();
    const spool = new Spool(clock);
    spool.put('text');
    const reader = spool.read();
    await reader.next();
    spool.put('more');
    await clock.advance(59_000);
    expect(spool.isLeft).toBe(false);
    await clock.advance(1_000);
    expect(spool.isLeft).toBe(true);
    expect(await faultOf(reader.next())).toContain('GRAPH_UNAVAILABLE');
    expect(await faultOf(reader.next())).toBe('none');
  });

  it('may wait for the server as long as it takes', async () => {
    const clock = fakeClock();
    const spool = new Spool(clock);
    const read = readAll(spool);
    await clock.advance(3_600_000);
    spool.put('late');
    spool.end();
    expect(await read).toBe('late');
  });

  it('ends when more waits than it may hold', async () => {
    const spool = new Spool(fakeClock(), { bytesMax: 100 });
    const noise = Array.from({ length: 400 }, (_, at) => ((at * 7919) % 65_521).toString(36));
    spool.put(noise.join(''));
    expect(spool.isLeft).toBe(true);
    spool.put('more');
    expect(await faultOf(readAll(spool))).toContain('read it faster');
  });

  it('tells the fault of the scan behind what was read before it', async () => {
    const spool = new Spool(fakeClock());
    spool.put('some');
    spool.end({ error: new Error('the server is gone') });
    expect(await faultOf(readAll(spool))).toContain('the server is gone');
  });
});
