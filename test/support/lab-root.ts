export { makeLabRoot } from '../../src/lab/lab-root.ts';
