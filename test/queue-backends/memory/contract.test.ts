import { describeQueue } from '../../contract/queue/describe-queue.ts';
import { memoryHarness } from './memory-harness.ts';

describeQueue('memory', () => memoryHarness());
