import { describeQueue } from '../../contract/queue/describe-queue.ts';
import { filesystemHarness } from './filesystem-harness.ts';

describeQueue('filesystem', filesystemHarness);
