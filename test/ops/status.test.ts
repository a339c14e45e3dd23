import { afterEach, describe, expect, it } from 'vitest';
import { note } from '../drain/drain-fixture.ts';
import { openOps, stranger, type OpsFixture } from './ops-fixture.ts';

let fixture: OpsFixture | undefined;

afterEach(async () => {
  await fixture?.close();
  fixture = undefined;
});

describe("the predecessor's members of status and version", () => {
  it('tell how long it runs, and whether the graph answers (ING-948)', async () => {
    fixture = await openOps();
    expect(await fixture.call('status')).toMatchObject({
      neo4j_connected: true,
      uptime_seconds: 0,
      active_sessions: 0,
      server_version: '0.1.0',
    });
    fixture.graph.setUnavailable(true);
    await fixture.post(note('a', 0));
    await fixture.clock.advance(60_000);
    const status = await fixture.call('status', {}, stranger);
    expect(status).toMatchObject({ neo4j_connected: false, uptime_seconds: 60 });
    fixture.graph.setUnavailable(false);
  });

  it('stand beside the versions of all that is stored (ING-904)', async () => {
    fixture = await openOps();
    expect(await fixture.call('version', {}, stranger)).toEqual({
      version: '0.1.0',
      protocol: '1.0.0',
      offset_record: 2,
      cursor_schema: 1,
      control_schema: 1,
    });
  });
});
