/**
 * QFS-15, QFS-20, ING-808: 100,000 idle sessions beside 100 active ones. Fails where the start takes more than 1.5 times that of a root of 100, resident
 * memory is more than 150 MiB above it, or an idle daemon takes more than 1 % of a core.
 *
 *     node test/long/big-root.ts
 */
import { bigRoot } from '../../bench/big-root.ts';

const { figures, gates } = await bigRoot.run({ isSmoke: false, rounds: 3 });
const passed =
  Object.values(gates ?? {}).every(Boolean) &&
  (figures['start_ratio'] ?? Infinity) <= 1.5 &&
  (figures['resident_mib_more'] ?? Infinity) <= 150 &&
  (figures['idle_cpu_percent_many'] ?? Infinity) <= 1;
process.stdout.write(`${JSON.stringify({ passed, counts: figures })}\n`);
process.exitCode = passed ? 0 : 1;
