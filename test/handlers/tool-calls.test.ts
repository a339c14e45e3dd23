import { describe, expect, it } from 'vitest';
import {
  canonicalTimeOf,
  edgesOf,
  foldSession,
  labelsOf,
  propertiesOf,
  type EventSpec,
} from './folded.ts';

const result = (data: EventSpec[1], event = 'tool:post'): Record<string, unknown> => {
  const properties = propertiesOf(
    foldSession([[event, { tool_call_id: 't', ...data }]]),
    's::tool::t',
  );
  return {
    success: properties['result_success'],
    output: properties['result_output'],
    error: properties['result_error'],
  };
};

describe('tool calls', () => {
  it('belong to their session and iteration, and are caused by the block that asked for them (G9)', () => {
    const folded = foldSession([
      ['execution:start'],
      ['provider:request'],
      ['content_block:end', { block_index: 3, block: { type: 'tool_call', id: 't' } }],
      [
        'tool:pre',
        { tool_call_id: 't', tool_name: 'bash', tool_input: { command: 'ls', n: [1, null] } },
      ],
      ['tool:post', { tool_call_id: 't', result: 'a.ts' }],
    ]);
    expect(labelsOf(folded, 's::tool::t')).toEqual(['SST_EVENT', 'ToolCall']);
    expect(propertiesOf(folded, 's::tool::t')).toEqual({
      tool_call_id: 't',
      session_id: 's',
      tool_name: 'bash',
      tool_input: '{"command": "ls", "n": [1, null]}',
      started_at: canonicalTimeOf(3),
      ended_at: canonicalTimeOf(4),
      result_success: true,
      result_output: 'a.ts',
    });
    expect(edgesOf(folded, 'HAS_TOOL_CALL', 'CAUSED')).toEqual([
      's::block::1::3 CAUSED s::tool::t',
      's::iteration::1 HAS_TOOL_CALL s::tool::t',
    ]);
    expect(folded.cursor.layer2.pending_tool_blocks).toEqual({});
  });

  it('without an id are Events alone', () => {
    for (const id of [undefined, null, '', ' ', 7]) {
      const folded = foldSession([['tool:pre', id === undefined ? {} : { tool_call_id: id }]]);
      expect([...folded.nodes].filter(([, { labels }]) => labels.has('ToolCall'))).toEqual([]);
    }
  });

  it('tell success, output and error from the event itself (G6, PN-25)', () => {
    expect(result({ result: { success: true, output: 'x' } })).toEqual({
      success: true,
      output: 'x',
    });
    expect(result({ result: { output: { n: 1 }, error: null } })).toEqual({
      success: true,
      output: '{"n": 1}',
    });
    expect(result({ result: { success: false, error: { message: 'exit 2' } } })).toEqual({
      success: false,
      error: '{"message": "exit 2"}',
    });
    expect(result({ result: { success: false } })).toEqual({ success: false });
    expect(result({ result: { success: true } })).toEqual({ success: true });
    expect(result({ result: { content: 'c' } })).toEqual({
      success: true,
      output: '{"content": "c"}',
    });
    expect(result({ result: ['a', 'b'] })).toEqual({ success: true, output: ['a', 'b'] });
    expect(result({ tool_response: 'r' })).toEqual({ success: true, output: 'r' });
    expect(result({ tool_result: { error: 'no' } })).toEqual({ success: false, error: 'no' });
    expect(result({ error: 'broken' })).toEqual({ success: false, error: 'broken' });
    expect(result({})).toEqual({ success: true });
  });

  it('take the first of the three names of an error that says anything', () => {
    expect(result({ error: '', error_message: 'm' }, 'tool:error')).toEqual({
      success: false,
      error: 'm',
    });
    expect(result({ message: { code: 5 } }, 'tool:error')).toEqual({
      success: false,
      error: '{"code": 5}',
    });
    expect(result({}, 'tool:error')).toEqual({ success: false });
  });

  it('of a parallel group are tied from the newer to each earlier one, and not to themselves (PQ-23)', () => {
    const call = (id: string): EventSpec => [
      'tool:pre',
      { tool_call_id: id, parallel_group_id: 'g' },
    ];
    const folded = foldSession([call('a'), call('b'), call('c'), call('b')]);
    expect(edgesOf(folded, 'PARALLEL_EXECUTION')).toEqual([
      's::tool::b PARALLEL_EXECUTION s::tool::a',
      's::tool::b PARALLEL_EXECUTION s::tool::c',
      's::tool::c PARALLEL_EXECUTION s::tool::a',
      's::tool::c PARALLEL_EXECUTION s::tool::b',
    ]);
  });

  it('cost a bounded number of edges each, however large their group (PN-22)', () => {
    const calls = Array.from({ length: 200 }, (_, at): EventSpec => [
      'tool:pre',
      { tool_call_id: `t${at}`, parallel_group_id: 'g' },
    ]);
    const folded = foldSession(calls);
    expect(Math.max(...folded.steps.map(({ mutations }) => mutations.length))).toBeLessThan(80);
    expect(edgesOf(folded, 'PARALLEL_EXECUTION')).toHaveLength((64 * 63) / 2 + 136 * 64);
  });

  it('keep the file they work on as a property of its own', () => {
    const paths = [
      { file_path: 'a.ts' },
      { path: 'b' },
      { notebook_path: 'c' },
      { command: 'ls' },
    ].map(
      (tool_input) =>
        propertiesOf(foldSession([['tool:pre', { tool_call_id: 't', tool_input }]]), 's::tool::t')[
          'file_path'
        ],
    );
    expect(paths).toEqual(['a.ts', 'b', 'c', undefined]);
  });
});

describe('a block that names its call (B80)', () => {
  it('draws the edges of a call that was told before it, by a sender that knows no order', () => {
    const folded = foldSession([
      ['provider:request'],
      ['tool:pre', { tool_call_id: 'early', is_unordered: true }],
      ['provider:request'],
      [
        'content_block:end',
        { block: { type: 'tool_use', id: 'early' }, block_index: 0, tool_call_id: 'early' },
      ],
    ]);
    expect(edgesOf(folded, 'HAS_TOOL_CALL')).toEqual([
      's::iteration::2 HAS_TOOL_CALL s::tool::early',
    ]);
    expect(edgesOf(folded, 'CAUSED')).toEqual(['s::block::2::0 CAUSED s::tool::early']);
  });
});

describe('content blocks', () => {
  it('without an index count within their iteration, and an end takes the open one (G11)', () => {
    const folded = foldSession([
      ['provider:request'],
      ['content_block:start'],
      ['content_block:end', { block: { type: 'text' } }],
      ['content_block:start'],
      ['content_block:end'],
      ['content_block:end'],
      ['provider:request'],
      ['content_block:start'],
    ]);
    const blocks = [...folded.nodes]
      .filter(([, { labels }]) => labels.has('ContentBlock'))
      .map(([id]) => id);
    expect(blocks).toEqual([
      's::block::1::0',
      's::block::1::1',
      's::block::1::2',
      's::block::2::0',
    ]);
    expect(propertiesOf(folded, 's::block::1::0')).toMatchObject({
      block_index: 0,
      block_type: 'text',
      session_id: 's',
    });
    expect(propertiesOf(folded, 's::block::1::2')).not.toHaveProperty('started_at');
  });

  it('that wait for their call are forgotten oldest first, so that a cursor stays bounded (ING-212)', () => {
    const blocks = Array.from({ length: 600 }, (_, at): EventSpec => [
      'content_block:end',
      { block_index: at, block: { type: 'tool_call', id: `call-${at}-${'x'.repeat(150)}` } },
    ]);
    const { cursor } = foldSession(blocks);
    expect(Buffer.byteLength(JSON.stringify(cursor))).toBeLessThan(256 * 1024);
    const kept = Object.values(cursor.layer2.pending_tool_blocks).map(([seq]) => seq);
    expect(Math.min(...kept)).toBe(601 - kept.length);
    expect(kept).toHaveLength(256);
  });
});
