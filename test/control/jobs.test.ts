import { afterEach, describe, expect, it } from 'vitest';
import { endedJobsMax, openControlDatabase, type ControlDatabase, type JobOrder } from '#control';
import { fakeClock } from '../support/clock.ts';

const open: ControlDatabase[] = [];
function database(): ControlDatabase {
  const control = openControlDatabase(':memory:', { clock: fakeClock() });
  open.push(control);
  return control;
}
const order = (id: string): JobOrder => ({
  id,
  kind: 'requeue',
  principal: 'ops',
  workspaces: null,
  selection: '{}',
  settings: '{}',
});

afterEach(() => {
  for (const control of open.splice(0)) control.close();
});

describe('rows of jobs', () => {
  it('keep a selection whole, or not at all (SC-035)', () => {
    const { jobs } = database();
    jobs.begin(order('a'));
    jobs.add('a', ['l1', 'l2']);
    expect(jobs.open()).toEqual([]);
    expect(jobs.move('a', 'done'), 'nothing is done before it is whole').toBe(false);
    jobs.begin(order('a'));
    jobs.add('a', ['l3']);
    expect(jobs.ready('a')).toMatchObject({ state: 'running', total: 1 });
    expect(jobs.waiting('a', 10)).toMatchObject([{ item: 0, subject: 'l3', result: null }]);
    jobs.begin(order('b'));
    jobs.add('b', ['l4']);
    expect(jobs.abandon()).toBe(1);
    expect(jobs.find('b')).toBeUndefined();
    expect(jobs.find('a')).toMatchObject({ state: 'running' });
  });

  it('count each result once, and keep the first that a letter got', () => {
    const { jobs } = database();
    jobs.begin(order('a'));
    jobs.add('a', ['l0', 'l1', 'l2']);
    jobs.ready('a');
    jobs.settle('a', [{ item: 0, result: 'requeued', detail: '{"position":"p"}' }]);
    jobs.settle('a', [
      { item: 0, result: 'already', detail: null },
      { item: 2, result: 'refused', detail: null },
    ]);
    expect(jobs.find('a')?.counts).toEqual({ requeued: 1, already: 0, refused: 1 });
    expect(jobs.waiting('a', 10)).toMatchObject([{ subject: 'l1' }]);
    expect(jobs.items('a', { limit: 10, result: 'requeued' })).toMatchObject([{ subject: 'l0' }]);
    expect(jobs.items('a', { limit: 1, after: 0 })).toMatchObject([{ subject: 'l1' }]);
  });

  it('let an ended job be, and only the last of them are kept', () => {
    const { jobs } = database();
    for (let at = 0; at < endedJobsMax + 5; at += 1) {
      jobs.begin(order(`j${at}`));
      jobs.add(`j${at}`, ['l']);
      jobs.ready(`j${at}`);
      expect(jobs.move(`j${at}`, 'paused')).toBe(true);
      expect(jobs.move(`j${at}`, 'cancelled')).toBe(true);
      expect(jobs.move(`j${at}`, 'running')).toBe(false);
    }
    expect(jobs.find('j0')).toBeUndefined();
    const kept = jobs.list({ limit: 1000 });
    expect(kept.length).toBeLessThanOrEqual(endedJobsMax + 1);
    expect(kept[0]).toMatchObject({ id: `j${endedJobsMax + 4}`, state: 'cancelled' });
    expect(jobs.list({ limit: 1, before: kept[0]?.seq ?? 0 })[0]?.id).toBe(`j${endedJobsMax + 3}`);
  });

  it('remember when something was first told', () => {
    const { notices } = database();
    const first = notices.firstTold('x');
    expect(notices.firstTold('x')).toBe(first);
    notices.forget('x');
    expect(typeof notices.firstTold('x')).toBe('string');
  });
});
