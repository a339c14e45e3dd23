import { expect, it } from 'vitest';
import { notes } from '../drain/drain-fixture.ts';
import { openOps, operator } from './ops-fixture.ts';

it('answers Cypher in our form and in the predecessor\u2019s', async () => {
  const fixture = await openOps();
  try {
    await fixture.post(...notes('a', 1));
    await fixture.drained();
    const query = 'MATCH (s:Session) RETURN s.session_id AS s, s AS node';
    const ours = (await fixture.call('graph cypher', { query }, operator)) as {
      readonly rows: readonly (readonly unknown[])[];
    };
    expect(ours.rows[0]?.[0]).toBe('a');
    expect(ours.rows[0]?.[1]).toMatchObject({ id: 'a', workspace: 'w', labels: ['Session'] });
    const theirs = await fixture.call('cypher', { query, workspace: '*' }, operator);
    expect(theirs).toMatchObject({
      results: [{ s: 'a', node: { node_id: 'a', session_id: 'a' } }],
    });
  } finally {
    await fixture.close();
  }
});
