import { openLmdbState } from '#state';
import { testPermit } from '../support/queue-fixtures.ts';

/** Opens the state in the folder of its first argument for the generation of its second, as the next holder does, and ends. */
const [, , directory = '', generation = ''] = process.argv;
const state = await openLmdbState({ directory, permit: testPermit(Number(generation)) });
await state.close();
