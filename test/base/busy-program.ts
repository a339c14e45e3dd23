/** The command line, and then a main and a worker thread in which much is alive at each collection: for the test of the young generation's bound. */
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { youngBytes } from '#base';

/** How wide the young generation has become and stays, in bytes: for moments it is wider, while pages that a collection has emptied are on their way out. */
function keepBusy(): number {
  const kept: unknown[] = [];
  const widths: number[] = [];
  for (let at = 0; at < 1_500_000; at += 1) {
    kept[at % 60_000] = { at, text: `text ${at}`, list: [at, at] };
    if (at % 10_000 === 0) widths.push(youngBytes());
  }
  const later = widths.slice(widths.length / 2).toSorted((a, b) => a - b);
  return later[Math.floor(later.length / 2)] ?? 0;
}

if (isMainThread) {
  const { main } = await import('#cli');
  if (process.argv[2] === 'bounded') await main(['version']);
  const ofMain = keepBusy();
  const worker = new Worker(new URL(import.meta.url));
  worker.on('message', (ofThread: number) => {
    process.stderr.write(JSON.stringify({ ofMain, ofThread }));
  });
} else parentPort?.postMessage(keepBusy(), []);
