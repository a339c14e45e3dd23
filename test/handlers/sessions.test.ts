import { describe, expect, it } from 'vitest';
import { isMillraceError } from '#base';
import {
  canonicalTimeOf,
  edgesOf,
  foldSession,
  labelsOf,
  propertiesOf,
  type EventSpec,
} from './folded.ts';

const labels = (...events: readonly EventSpec[]): readonly string[] =>
  labelsOf(foldSession(events), 's');
const status = (...events: readonly string[]): unknown =>
  propertiesOf(foldSession(events.map((event) => [event] as const)), 's')['status'];

describe('sessions', () => {
  it('are made by their first event, whatever it is, and begin at its time', () => {
    const folded = foldSession([['tool:pre'], ['tool:post']]);
    expect(propertiesOf(folded, 's')).toMatchObject({
      session_id: 's',
      status: 'running',
      started_at: canonicalTimeOf(0),
      last_updated: canonicalTimeOf(1),
    });
    expect(labelsOf(folded, 's')).toEqual(['Session']);
  });

  it('have one type, Forked over Sub over Root, and Incomplete only without any start or fork (PG-01 to PG-03)', () => {
    expect(labels(['session:start'])).toEqual(['RootSession', 'SST_EVENT', 'Session']);
    expect(labels(['session:start', { parent_id: 'p' }])).toContain('SubSession');
    expect(
      labels(['session:start', { parent_id: 'p' }], ['session:fork', { parent: 'p' }]),
    ).toEqual(['ForkedSession', 'SST_EVENT', 'Session']);
    expect(
      labels(['session:fork', { parent: 'p' }], ['session:start', { parent_id: 'p' }]),
    ).toContain('ForkedSession');
    expect(labels(['session:end'])).toEqual(['IncompleteSession', 'SST_EVENT', 'Session']);
    expect(labels(['session:end'], ['session:start'])).toEqual([
      'RootSession',
      'SST_EVENT',
      'Session',
    ]);
  });

  it('hang on their parent by one edge, the FORKED one where both were told (PG-18)', () => {
    const folded = foldSession([
      ['session:start', { parent_id: ' p ' }],
      ['session:fork', { parent: 'p' }],
    ]);
    expect(edgesOf(folded, 'FORKED', 'HAS_SUBSESSION')).toEqual(['p FORKED s']);
    expect(labelsOf(folded, 'p')).toEqual(['Session', 'StubSession']);
    expect(propertiesOf(folded, 's')['parent_id']).toBe('p');
  });

  it('bring a MountPlan when they tell of their own fork', () => {
    const folded = foldSession([['session:fork', { parent: 'p' }]]);
    expect(labelsOf(folded, 's::mount_plan')).toEqual(['MountPlan', 'SST_THING']);
    expect(edgesOf(folded, 'HAS_PART')).toEqual(['s HAS_PART s::mount_plan']);
    const [source] = edgesOf(folded, 'SOURCED_FROM').filter((edge) =>
      edge.startsWith('s::mount_plan'),
    );
    expect(source).toContain('s__session_fork__');
  });

  it('are no fork themselves when their stream tells of a child’s fork (second shape, PG-27)', () => {
    const fork = {
      child_session_id: 'c',
      parent_session_id: 's',
      agent_name: 'coder',
      spawn_mode: 'subprocess',
    };
    const folded = foldSession([['session:start'], ['session:fork', fork]]);
    expect(labelsOf(folded, 's')).toContain('RootSession');
    expect(labelsOf(folded, 'c')).toEqual(expect.arrayContaining(['ForkedSession', 'Session']));
    expect(edgesOf(folded, 'FORKED')).toEqual(['s FORKED c']);
    expect(folded.nodes.has('c::mount_plan')).toBe(false);
    const facts = folded.steps[1]?.mutations.filter((mutation) => mutation.kind === 'fact');
    expect(facts).toMatchObject([
      { about: 'c', fact: { type: 'forked', parent: 's', toldBy: 'parent', agent: 'coder' } },
    ]);
  });

  it('end with session:end and open again only by the five events that begin something (G5)', () => {
    expect(status('session:start', 'session:end')).toBe('completed');
    for (const event of [
      'cleanup:finally_end',
      'tool:post',
      'provider:request',
      'delegate:agent_resumed',
    ])
      expect([event, status('session:start', 'session:end', event)]).toEqual([event, 'completed']);
    for (const event of [
      'session:start',
      'session:resume',
      'session:fork',
      'prompt:submit',
      'execution:start',
    ])
      expect([event, status('session:start', 'session:end', event)]).toEqual([event, 'running']);
    expect(status('session:end', 'session:resume', 'session:end')).toBe('completed');
  });

  it('tell by their cursor that the end was seen, until they open again (ING-807)', () => {
    const ended: readonly EventSpec[] = [
      ['session:start'],
      ['session:end'],
      ['cleanup:finally_end'],
    ];
    expect(foldSession(ended).cursor.terminal_seen).toBe(true);
    expect(foldSession([...ended, ['session:resume']]).cursor.terminal_seen).toBe(false);
    const fork: EventSpec = ['session:fork', { child_session_id: 'c' }];
    expect(foldSession([...ended, fork]).cursor.terminal_seen).toBe(true);
  });

  it('close all that is open when they end, and go on counting (ING-610)', () => {
    const turn: readonly EventSpec[] = [
      ['prompt:submit'],
      ['execution:start'],
      ['provider:request'],
      ['content_block:start'],
      ['content_block:end', { block: { type: 'tool_call', id: 't' } }],
    ];
    const { cursor } = foldSession([...turn, ['session:end']]);
    expect(cursor.layer2).toMatchObject({
      open_runs: [],
      active_run_id: null,
      active_iteration_id: null,
      iteration_count: 1,
      pending_tool_blocks: {},
    });
    expect(cursor.layer1.event_seq).toBe(6);
    const again = foldSession([...turn, ['session:end'], ...turn]);
    expect(again.nodes.has('s::iteration::2')).toBe(true);
  });

  it('move last_updated only forward, by instant and not by text', () => {
    const folded = foldSession([
      ['session:start', { timestamp: '2026-07-20T10:00:00+02:00' }],
      ['tool:pre', { timestamp: '2026-07-20T08:30:00Z' }],
      ['tool:post', { timestamp: '2026-07-20T09:30:00+02:00' }],
    ]);
    expect(propertiesOf(folded, 's')['last_updated']).toEqual({
      $time: '2026-07-20T08:30:00.000000000Z',
    });
  });

  it('keep the working directory that the client names beside the event', () => {
    const folded = foldSession([
      ['session:start', {}, { working_dir: '/srv/app' }],
      ['tool:pre', {}, { working_dir: '' }],
    ]);
    expect(propertiesOf(folded, 's')['working_dir']).toBe('/srv/app');
  });

  it('refuse an event that names the session itself as its parent, as poison (D28)', () => {
    const contradicting: readonly EventSpec[] = [
      ['session:start', { parent_id: 's' }],
      ['session:start', { parent: ' s ' }],
      ['session:fork', { parent: 's' }],
      ['session:fork', { parent_id: 'p', parent: 's' }],
      ['session:fork', { child_session_id: 's', parent_session_id: 's' }],
    ];
    for (const spec of contradicting) {
      let code = '';
      try {
        foldSession([spec]);
      } catch (error) {
        if (!isMillraceError(error)) throw error;
        code = `${error.code} ${error.disposition}`;
      }
      expect([spec, code]).toEqual([spec, 'EVENT_CONTRADICTS poison']);
    }
    expect(() => foldSession([['session:end', { parent_id: 's' }]])).not.toThrow();
    expect(() =>
      foldSession([['session:fork', { child_session_id: 'c', parent_id: 's' }]]),
    ).not.toThrow();
  });
});
