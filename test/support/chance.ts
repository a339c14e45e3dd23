export { seededChance } from '../../src/lab/seeded-chance.ts';
