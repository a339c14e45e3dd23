import type { Caller } from '#ops';
import { opsAudited, type OpsAudited } from '#signals';
import { contradiction, note, notes } from '../drain/drain-fixture.ts';
import { openOps, operator, type OpsFixture } from './ops-fixture.ts';

/** Fixtures of a test file; `close` ends those that are open and tells which verbs were called. */
export interface Openings {
  open(options?: Parameters<typeof openOps>[0]): Promise<OpsFixture>;
  close(): Promise<readonly string[]>;
}

export function openings(): Openings {
  const opened: OpsFixture[] = [];
  return {
    async open(options = {}) {
      const fixture = await openOps(options);
      opened.push(fixture);
      return fixture;
    },
    async close() {
      const called: string[] = [];
      for (const fixture of opened.splice(0)) {
        called.push(...fixture.called);
        await fixture.context.jobs.stop();
        await fixture.close();
      }
      return called;
    },
  };
}

/** Three sessions, one poison record in each of the first two, all drained. */
export async function drainedOn(fixture: OpsFixture): Promise<OpsFixture> {
  for (const session of ['a', 'b'])
    await fixture.post(note(session, 0), contradiction(session, 1), note(session, 2));
  await fixture.post(...notes('c', 4));
  await fixture.drained();
  return fixture;
}

export function limitedTo(...workspaces: readonly string[]): Caller {
  return { ...operator, principal: 'limited', workspaces };
}

/** What an act leaves in the audit, whether it succeeds or not. */
export async function audits(act: () => Promise<unknown>): Promise<readonly OpsAudited[]> {
  const told: OpsAudited[] = [];
  const end = opsAudited.subscribe((message) => told.push(message));
  try {
    await act().catch((error: unknown) => error);
  } finally {
    end();
  }
  return told;
}
