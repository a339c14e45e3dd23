export * from '../../src/lab/daemon-client.ts';
