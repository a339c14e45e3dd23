export * from '../../src/lab/workload.ts';
