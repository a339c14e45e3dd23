import { hostileText, mainSession } from './console-seed.ts';

export const session: string = `session/checkout/${mainSession}`;
const hostile = `session/billing/${encodeURIComponent(hostileText)}`;
/** Every page by the name of its picture, with its address behind `#/`. */
export const pages: Readonly<Record<string, string>> = {
  overview: 'overview',
  sessions: 'sessions',
  'sessions-dead': 'sessions?state=dead',
  timeline: `${session}/timeline`,
  tree: `${session}/tree`,
  graph: `${session}/graph`,
  statistics: `${session}/statistics`,
  books: `${session}/books`,
  'hostile-timeline': `${hostile}/timeline`,
  'hostile-tree': `${hostile}/tree`,
  'hostile-graph': `${hostile}/graph`,
  'dead-groups': 'dead',
  'dead-letters': 'dead/letters',
  'dead-jobs': 'dead/jobs',
  quarantine: 'quarantine',
  'query-named': 'query/named/tool-calls?limit=20',
  'query-cypher': 'query/cypher',
  settings: 'settings',
  nowhere: 'nowhere',
};
