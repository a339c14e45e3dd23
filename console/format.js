/** Numbers, sizes and times as people read them. */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** @param {number | null | undefined} value */
export function count(value) {
  return value === null || value === undefined ? '–' : whole.format(value);
}

/** @param {number | null | undefined} value */
export function rate(value) {
  if (value === null || value === undefined) return '–';
  return value >= 100 ? whole.format(value) : short.format(value);
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** @param {number | null | undefined} value */
export function bytes(value) {
  if (value === null || value === undefined) return '–';
  let size = value;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? whole.format(size) : short.format(size)} ${units[unit]}`;
}

/** @param {number | null | undefined} ms */
export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return '–';
  if (ms < 1000) return `${whole.format(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${short.format(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48
    ? `${hours} h ${minutes % 60} min`
    : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Milliseconds of an RFC 3339 text; NaN for none.
 * @param {string | null | undefined} text
 */
export function timeOf(text) {
  return text ? Date.parse(text.replace(/(\.\d{3})\d+/, '$1')) : Number.NaN;
}

const dayAndTime = new Intl.DateTimeFormat('en-GB', {
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
});

/** Local time, to the second.
 * @param {string | number | null | undefined} given
 */
export function when(given) {
  const ms = typeof given === 'number' ? given : timeOf(given);
  if (Number.isNaN(ms)) return '–';
  const parts = Object.fromEntries(
    dayAndTime.formatToParts(ms).map(({ type, value }) => [type, value]),
  );
  return `${parts['year']}-${parts['month']}-${parts['day']} ${parts['hour']}:${parts['minute']}:${parts['second']}`;
}

/** What a field for a local time takes; nothing for no time.
 * @param {string | null | undefined} text
 */
export function localTime(text) {
  return Number.isNaN(timeOf(text)) ? '' : when(text).replace(' ', 'T');
}

/** Time of day with milliseconds, for lists of one session.
 * @param {string | null | undefined} text
 */
export function clock(text) {
  const ms = timeOf(text);
  if (Number.isNaN(ms)) return '–';
  return `${when(ms).slice(11)}.${String(Math.floor(ms) % 1000).padStart(3, '0')}`;
}

/** `3 min ago`.
 * @param {string | null | undefined} text
 */
export function ago(text) {
  const ms = timeOf(text);
  if (Number.isNaN(ms)) return '–';
  const passed = Date.now() - ms;
  if (passed < 0) return when(ms);
  if (passed < 5000) return 'just now';
  // Whole seconds: nobody needs tenths of a time that has passed.
  const [unit] = duration(Math.floor(passed / 1000) * 1000).split(/(?<=[a-z]) /);
  return `${unit} ago`;
}

/** Text of a terminal without its colours and other control characters, which a page would show as boxes.
 * @param {string} text
 */
export function plainText(text) {
  // eslint-disable-next-line no-control-regex
  return text.replace(/\u001b\[[\d;?]*[A-Za-z]|[\u0000-\u0008\u000b-\u001f\u007f]/gu, '');
}

/** A number with its noun: `1 record`, `3 records`.
 * @param {number} number
 * @param {string} noun
 * @param {string} [many]
 */
export function plural(number, noun, many = `${noun}s`) {
  return `${count(number)} ${number === 1 ? noun : many}`;
}
