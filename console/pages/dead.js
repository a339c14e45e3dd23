/** Dead letters: what could not be applied, why, and what makes it right. */
import { h } from '../dom.js';
import { tabs } from '../parts.js';
import { groupsOf } from './dead-groups.js';
import { jobOf, jobsOf } from './dead-jobs.js';
import { letterOf } from './dead-letter.js';
import { lettersOf } from './dead-letters.js';

/** @type {import('../app.js').Page} */
export const page = {
  title: 'Dead letters',
  scope: 'ops:read',
  async render({ path: [part = '', id = ''], query, signal }) {
    const filter = Object.fromEntries(query);
    // A link with a filter means the letters that it finds.
    const shown = part === '' && query.size > 0 ? 'letters' : part;
    const content =
      shown === 'letters'
        ? lettersOf(filter, signal)
        : shown === 'letter'
          ? await letterOf(id, signal)
          : shown === 'jobs'
            ? await jobsOf(signal)
            : shown === 'job'
              ? await jobOf(id, signal)
              : await groupsOf(signal);
    return h(
      'div',
      null,
      tabs('Views of dead letters', [
        { title: 'By cause', href: '#/dead', current: shown === '' },
        { title: 'Letters', href: '#/dead/letters', current: shown.startsWith('letter') },
        { title: 'Jobs', href: '#/dead/jobs', current: shown.startsWith('job') },
      ]),
      content,
    );
  },
};
