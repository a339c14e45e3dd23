import { isJsonObject, JsonInvalid, parseJson, type JsonObject } from '#base';
import { atomicReplace, type Disk, type StagingNames } from '#disk';

/**
 * Which graph a root belongs to, kept in the queue's `format.json` (ING-540). A root that has met none takes the id of the graph it meets;
 * from then on another graph is noticed before anything is skipped or written twice (ING-541). Returns the id that is kept.
 */
export async function bindGraph(
  disk: Disk,
  formatPath: string,
  names: StagingNames,
  graphId: string,
): Promise<string> {
  const format = readFormat(await disk.readFile(formatPath));
  if (format === undefined) return graphId;
  const kept = format['graph_id'];
  if (typeof kept === 'string') return kept;
  const bound = { ...format, graph_id: graphId };
  const text = `${JSON.stringify(bound, null, 2)}\n`;
  await atomicReplace(disk, formatPath, Buffer.from(text, 'utf8'), names);
  return graphId;
}

/** Undefined when there is no such file yet, or none that the queue would open: it says so itself. */
function readFormat(bytes: Uint8Array | undefined): JsonObject | undefined {
  if (bytes === undefined) return undefined;
  try {
    const format = parseJson(bytes);
    return isJsonObject(format) ? format : undefined;
  } catch (error) {
    if (error instanceof JsonInvalid) return undefined;
    throw error;
  }
}
