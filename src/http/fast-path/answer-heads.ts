import { STATUS_CODES } from 'node:http';
import type { Clock } from '#base';
import type { AnswerHeaders } from '../doors/asked-events.ts';

/** Writes heads of answers byte for byte as Node's server does, for requests of HTTP/1.1 that let their connection be kept. */
export class AnswerHeads {
  readonly #clock: Clock;
  readonly #keepAlive: string;
  #second = Number.NaN;
  #date = '';

  /** `keepAliveMs`: 0 tells clients nothing. */
  constructor(clock: Clock, keepAliveMs: number) {
    this.#clock = clock;
    const seconds = Math.floor(keepAliveMs / 1000);
    this.#keepAlive = `Connection: keep-alive\r\n${keepAliveMs === 0 ? '' : `Keep-Alive: timeout=${seconds}\r\n`}`;
  }

  /** `isClosing`: the connection is closed behind this answer, whether or not `headers` say so. */
  text(status: number, headers: AnswerHeaders, isClosing: boolean): string {
    let lines = '';
    for (const name in headers) lines += `${name}: ${headers[name]}\r\n`;
    const after =
      headers['connection'] !== undefined
        ? ''
        : isClosing
          ? 'Connection: close\r\n'
          : this.#keepAlive;
    return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n${lines}${this.#dateLine()}${after}\r\n`;
  }

  /** Made once a second. */
  #dateLine(): string {
    const second = Math.floor(this.#clock.now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#date = `Date: ${new Date(second * 1000).toUTCString()}\r\n`;
    }
    return this.#date;
  }
}
