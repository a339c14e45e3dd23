/** Lines over time. */
import { h, themeColor } from './dom.js';
import { when } from './format.js';
import UPlot from './vendor/uplot.js';

/**
 * @typedef {object} Line
 * @property {string} label
 * @property {string} color name of a colour of the theme
 *
 * @typedef {(value: number | null) => string} Format
 */

const height = 180;
const narrowest = 200;
/** At least so much time is shown, so that the first samples do not fill the whole width. */
const shownSeconds = 120;

/**
 * A chart that follows its data; it has the width of its place.
 *
 * @param {object} what
 * @param {string} what.label for readers who do not see it
 * @param {readonly Line[]} what.lines
 * @param {Format} what.format
 * @param {AbortSignal} what.signal
 * @returns {{ element: HTMLElement, draw: (at: readonly number[], values: readonly (readonly (number | null)[])[]) => void }}
 */
export function chart({ label, lines, format, signal }) {
  const element = h('div.chart', { role: 'img', 'aria-label': label });
  const waiting = h('p.quiet.chart-waits', null, 'The first values come in a moment.');
  element.append(waiting);
  const width = () => Math.max(narrowest, element.clientWidth);
  /** @type {any} */
  let plot;
  /** @type {any} */
  let data;
  const draw = () => {
    // Of a single moment there is no line, and an axis without times is none.
    if (data === undefined || data[0].length < 2) return;
    if (!element.isConnected || element.clientWidth === 0) return;
    waiting.remove();
    plot ??= new UPlot(
      { ...optionsOf(lines, format), width: width(), height },
      /** @type {any} */ ([[]]),
      element,
    );
    plot.setData(data);
    // Without a pointer over it the legend tells the latest values.
    const isPointed = plot.cursor.idx !== null && plot.cursor.left >= 0;
    if (!isPointed) plot.setLegend({ idx: data[0].length - 1 });
  };
  // Also tells when the place has come into the page.
  const observer = new ResizeObserver(() => {
    plot?.setSize({ width: width(), height });
    draw();
  });
  observer.observe(element);
  signal.addEventListener('abort', () => {
    observer.disconnect();
    plot?.destroy();
  });
  return {
    element,
    draw(at, values) {
      data = [at.map((ms) => ms / 1000), ...values];
      draw();
    },
  };
}

/**
 * @param {readonly Line[]} lines
 * @param {Format} format
 * @returns {any}
 */
function optionsOf(lines, format) {
  return {
    cursor: { y: false },
    legend: { live: true },
    scales: { x: { range: timeRange }, y: { range: valueRange } },
    axes: [
      { ...axis(), space: 80, values: ticked((tick) => timeOfDay(tick)) },
      { ...axis(), size: 56, values: ticked(format) },
    ],
    series: [
      {
        label: 'Time',
        value: (/** @type {any} */ _plot, /** @type {number | null} */ value) => timeOfDay(value),
      },
      ...lines.map(({ label, color }) => ({
        label,
        stroke: themeColor(color),
        width: 2,
        points: { show: false },
        value: (/** @type {any} */ _plot, /** @type {number | null} */ value) => format(value),
      })),
    ],
  };
}

function axis() {
  const line = { stroke: themeColor('line'), width: 1 };
  return {
    stroke: themeColor('quiet'),
    grid: line,
    ticks: line,
    font: '12px system-ui, sans-serif',
  };
}

/** @param {Format} format */
function ticked(format) {
  return (/** @type {any} */ _plot, /** @type {number[]} */ ticks) => ticks.map(format);
}

/** @param {number | null} seconds */
function timeOfDay(seconds) {
  return seconds === null ? '–' : when(seconds * 1000).slice(11);
}

/**
 * @param {any} _plot
 * @param {number} low
 * @param {number} high
 */
function timeRange(_plot, low, high) {
  return [Math.min(low, high - shownSeconds), high];
}

/**
 * @param {any} _plot
 * @param {number | null} _low
 * @param {number | null} high
 */
function valueRange(_plot, _low, high) {
  return [0, Math.max(4, (high ?? 0) * 1.1)];
}
