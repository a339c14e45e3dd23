/** A thread that answers, and dies when it is told to: for the tests of its port. */
import { parentPort, workerData } from 'node:worker_threads';

const { opens } = workerData as { readonly opens: boolean };
if (!opens) {
  const failure = { code: 'GRAPH_DENIED', disposition: 'retry', message: 'not today', details: {} };
  parentPort?.postMessage({ id: 0, failure }, []);
} else parentPort?.postMessage({ id: 0, result: { graphId: 'g', spillBytes: 1 } }, []);

parentPort?.on('message', ({ id, request }: { id: number; request: { kind: string } }) => {
  if (request.kind === 'die') throw new Error('told to die');
  if (request.kind === 'exit') process.exit(3);
  if (request.kind !== 'never') parentPort?.postMessage({ id, result: request.kind }, []);
});
