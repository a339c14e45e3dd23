export * from './shelf.ts';
export * from './part-report.ts';
export { type KeptItem, type PlannedItem, planPass, type PassPlan } from './plan-pass.ts';
export { isSet, ruleNoticeMs } from './rule.ts';
export * from './retention.ts';
export { sessionShelf, type RetainedSession } from './session-shelf.ts';
export { objectShelf } from './object-shelf.ts';
export { archiveShelf, letterShelf } from './log-shelves.ts';
