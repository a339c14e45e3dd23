import { describe, expect, it } from 'vitest';
import { edgesOf, foldSession, labelsOf, propertiesOf, timeOf, type EventSpec } from './folded.ts';

const start = (name: string, more: Readonly<Record<string, string>> = {}): EventSpec => [
  'recipe:start',
  { name, total_steps: 2, status: 'running', ...more },
];
const step = (index: number): EventSpec => [
  'recipe:step',
  { current_step: index, steps: [{ name: 'collect' }, { name: 'judge' }] },
];
const run = (second: number): string => `s::recipe_run::${timeOf(second)}`;

describe('recipes', () => {
  it('are runs of their session, express a recipe and have steps', () => {
    const folded = foldSession([start('review'), step(0), step(1), ['recipe:complete', {}]]);
    expect(edgesOf(folded, 'HAS_RECIPE_RUN', 'HAS_RECIPE', 'HAS_STEP')).toEqual([
      `s HAS_RECIPE_RUN ${run(0)}`,
      `${run(0)} HAS_RECIPE recipe::review`,
      `${run(0)} HAS_STEP ${run(0)}::step::0`,
      `${run(0)} HAS_STEP ${run(0)}::step::1`,
    ]);
    expect(propertiesOf(folded, `${run(0)}::step::1`)['name']).toBe('judge');
  });

  it('get their outer step back when an inner one completes (PG-22)', () => {
    const folded = foldSession([
      start('outer'),
      step(0),
      start('inner'),
      step(1),
      ['recipe:complete', {}],
      ['tool:pre', { tool_call_id: 't', tool_name: 'x' }],
    ]);
    expect(edgesOf(folded, 'SPAWNED', 'TRIGGERED')).toEqual([
      `${run(0)}::step::0 SPAWNED ${run(2)}`,
      `${run(0)}::step::0 TRIGGERED s::tool::t`,
    ]);
  });

  it('make a new node of a step that comes again, and the same of one that is told again (PG-22)', () => {
    const folded = foldSession([start('review'), step(0), step(0), step(1), step(0)]);
    const steps = edgesOf(folded, 'HAS_STEP').map((edge) => edge.split(' ')[2]);
    expect(steps).toEqual([`${run(0)}::step::0`, `${run(0)}::step::0::2`, `${run(0)}::step::1`]);
  });

  it('begin at an approval that comes without a run, and wait for it as a step', () => {
    const folded = foldSession([['recipe:approval', { stage_name: 'ship', prompt: 'Ship?' }]]);
    expect(labelsOf(folded, run(0))).toEqual(['RecipeRun', 'SST_EVENT']);
    expect(propertiesOf(folded, `${run(0)}::step::ship`)['prompt']).toBe('Ship?');
    expect(edgesOf(folded, 'HAS_RECIPE')).toEqual([]);
  });

  it('belong to the parent that they name, as a stub while it is unknown', () => {
    const folded = foldSession([start('inner', { parent_session_id: 'p' })]);
    expect(edgesOf(folded, 'SPAWNED_RECIPE_RUN', 'HAS_RECIPE_RUN')).toEqual([
      `p SPAWNED_RECIPE_RUN ${run(0)}`,
    ]);
    expect(labelsOf(folded, 'p')).toEqual(['Session', 'StubSession']);
  });

  it('take steps and ends without a run as events alone', () => {
    const folded = foldSession([step(0), ['recipe:complete', {}], ['recipe:loop_complete', {}]]);
    expect(edgesOf(folded, 'HAS_STEP')).toEqual([]);
    expect([...folded.nodes.keys()].filter((id) => id.includes('recipe_run'))).toEqual([]);
  });

  it('stay bounded in the cursor however many nest or repeat (ING-212)', () => {
    const events: EventSpec[] = [];
    for (let at = 0; at < 700; at += 1) events.push(start(`r${at}`), step(at));
    const { layer3 } = foldSession(events).cursor;
    expect(layer3.recipe_stack).toHaveLength(64);
    expect(Object.keys(layer3.begun)).toHaveLength(512);
  });
});

describe('skills', () => {
  it('hang on the session until an iteration has begun (PG-10)', () => {
    const loaded: EventSpec = ['skill:loaded', { skill_name: 'pdf' }];
    const early = foldSession([loaded]);
    expect(edgesOf(early, 'HAS_SKILL_LOAD')).toEqual([
      `s HAS_SKILL_LOAD s::skill::pdf::${timeOf(0)}`,
    ]);
    const late = foldSession([['execution:start'], ['provider:request'], loaded]);
    expect(edgesOf(late, 'HAS_SKILL_LOAD')[0]).toMatch(/^s::iteration::1 /);
  });

  it('end at their unloading, after a restart too; one never loaded ends nothing', () => {
    const folded = foldSession([
      ['skill:loaded', { skill_name: 'pdf' }],
      ['skill:unloaded', { skill_name: 'pdf' }],
      ['skill:unloaded', { skill_name: 'other' }],
    ]);
    expect(propertiesOf(folded, `s::skill::pdf::${timeOf(0)}`)['ended_at']).toBeDefined();
    expect(folded.cursor.layer3.skills).toEqual({});
  });
});
