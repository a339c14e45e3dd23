/**
 * What comes first of one session's events that bear the same time. Transcripts give one time to all that one line tells of, and the end of a turn
 * the time of the prompt that begins the next, so ends stand before prompts.
 */
const moments: readonly (readonly string[])[] = [
  ['session:start', 'session:fork', 'session:resume'],
  [],
  ['provider:request'],
  ['llm:request'],
  ['content_block:start'],
  ['content_block:end'],
  ['tool:pre'],
  ['llm:response'],
  ['delegate:agent_spawned', 'delegate:agent_resumed'],
  ['tool:post', 'tool:error'],
  ['delegate:agent_completed', 'delegate:agent_cancelled', 'delegate:error'],
  ['execution:end'],
  ['orchestrator:complete'],
  ['prompt:complete'],
  ['prompt:submit'],
  ['execution:start'],
  ['session:end'],
];
/** Where events stand that are not named: where no other does. */
const others = moments.findIndex((names) => names.length === 0);

/** An expression that is the same in SQL and in Cypher. */
export function momentOrder(event: string): string {
  const cases = moments.flatMap((names, at) => names.map((name) => `WHEN '${name}' THEN ${at}`));
  return `CASE ${event} ${cases.join(' ')} ELSE ${others} END`;
}
