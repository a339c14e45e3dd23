export * from '../../src/lab/child-daemon.ts';
