import type { Database } from 'lmdb';
import type { Table } from './state-puts.ts';

/** The tables of a state store, in the order in which they are looked at. */
export const tables: readonly Table[] = ['row', 'epoch', 'progress', 'checkpoint', 'dedup'];
/** The environment's own record and the fence's, beside the names of the tables. */
export const formatKey: Buffer = Buffer.from('\0format');
export const markKey: Buffer = Buffer.from('\0guard');
export const binary: { readonly encoding: 'binary'; readonly keyEncoding: 'binary' } = {
  encoding: 'binary',
  keyEncoding: 'binary',
};
export type Binary = Database<Buffer, Buffer>;
