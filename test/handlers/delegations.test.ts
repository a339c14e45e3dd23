import { describe, expect, it } from 'vitest';
import { isMillraceError } from '#base';
import { edgesOf, foldSession, propertiesOf, type EventSpec } from './folded.ts';
import { recordOf } from './sample-events.ts';
import { storedGraph } from './stored-graph.ts';

const spawned = (child: string, more: Readonly<Record<string, string>> = {}): EventSpec => [
  'delegate:agent_spawned',
  { parent_session_id: 's', sub_session_id: child, agent: 'coder', tool_call_id: 't', ...more },
];

describe('delegations', () => {
  it('stand between the call that asked for them and the child', () => {
    const folded = foldSession([spawned('c')]);
    expect(edgesOf(folded, 'TRIGGERED', 'ENCOMPASSES')).toEqual([
      's::delegation::t ENCOMPASSES c',
      's::tool::t TRIGGERED s::delegation::t',
    ]);
    expect(propertiesOf(folded, 's::delegation::t')).toMatchObject({
      agent: 'coder',
      is_self_delegation: false,
      sub_session_id: 'c',
      tool_call_id: 't',
    });
  });

  it('are named by their child where no call is named, and then no call triggers them (PG-12)', () => {
    const folded = foldSession([spawned('c', { tool_call_id: '' })]);
    expect(edgesOf(folded, 'TRIGGERED')).toEqual([]);
    expect(propertiesOf(folded, 's::delegation::c')['tool_call_id']).toBe('c');
  });

  it('always say whether the agent is the session itself (PG-09)', () => {
    const folded = foldSession([spawned('c', { agent: 'self' })]);
    expect(propertiesOf(folded, 's::delegation::t')['is_self_delegation']).toBe(true);
  });

  it('refuse a child that is the session itself (D28)', () => {
    const attempt = (): unknown => foldSession([spawned('s')]);
    expect(attempt).toThrow(
      expect.toSatisfy(
        (error: unknown) => isMillraceError(error) && error.code === 'EVENT_CONTRADICTS',
      ),
    );
  });

  it('tie a new one to the earlier ones of its group, at most 64 (PN-22)', () => {
    const group = Array.from({ length: 100 }, (_, at) =>
      spawned(`c${at}`, { tool_call_id: `t${at}`, parallel_group_id: 'g' }),
    );
    const edges = edgesOf(foldSession(group), 'PARALLEL_AGENT');
    expect(edges).toContain('s::delegation::t1 PARALLEL_AGENT s::delegation::t0');
    const perDelegation = Map.groupBy(edges, (edge) => edge.split(' ')[0]);
    expect(Math.max(...[...perDelegation.values()].map(({ length }) => length))).toBe(64);
  });

  it('keep every end that their parent tells', () => {
    const ends: readonly (readonly [string, Record<string, unknown>])[] = [
      ['delegate:agent_completed', { success: true }],
      ['delegate:agent_cancelled', {}],
      ['delegate:error', { success: false, error: 'no such agent' }],
    ];
    for (const [event, wanted] of ends) {
      const folded = foldSession([
        spawned('c'),
        [event, { parent_session_id: 's', tool_call_id: 't', error: 'no such agent' }],
      ]);
      expect(propertiesOf(folded, 's::delegation::t')).toMatchObject(wanted);
    }
  });

  it('that the child resumes belong to the parent and lead to the child (G13)', async () => {
    const data = { session_id: 'c', parent_session_id: 'p', tool_call_id: 't2' };
    const resumed = {
      event: 'delegate:agent_resumed',
      workspace: 'w',
      data: { ...data, timestamp: '2026-07-20T09:00:08Z' },
    };
    const { nodes, edges, findings } = await storedGraph([recordOf(resumed)]);
    expect(nodes.get('p::delegation::t2')?.properties.get('resumed_at')).toBe(
      '2026-07-20T09:00:08.000000000Z',
    );
    expect(edges.has('p::delegation::t2\nENCOMPASSES\nc')).toBe(true);
    expect(findings).toEqual([]);
  });

  it('are triggered by the recipe step that is active', () => {
    const folded = foldSession([
      ['recipe:start', { name: 'review' }],
      ['recipe:step', { current_step: 1 }],
      spawned('c'),
    ]);
    expect(edgesOf(folded, 'TRIGGERED').filter((edge) => edge.includes('::step::'))).toHaveLength(
      1,
    );
  });
});
