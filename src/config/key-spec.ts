/** How a setting is written, and what it is once parsed. */
export interface KindValues {
  readonly text: string;
  /** Comma-separated in the environment and on the command line, a sequence in the file. */
  readonly list: readonly string[];
  readonly count: number;
  /** `20MiB`, `4096`; a number of bytes. */
  readonly size: number;
  /** `5s`, `250ms`, `10min`, `2h`, or a number of milliseconds. */
  readonly duration: number;
  /** `HOST:PORT`, IPv6 in brackets; port 0 lets the system choose. */
  readonly address: string;
  readonly choice: string;
  /** `true` or `false`. */
  readonly flag: boolean;
}

export interface KeySpec {
  readonly kind: keyof KindValues;
  /** As a person would write it; null means that the product works it out. */
  readonly default: string | null;
  readonly help: string;
  readonly choices?: readonly string[];
  /** Smallest number that makes sense; 1 where it is not given, so that no limit can be switched off by a 0. */
  readonly least?: number;
  /** Never shown: masked in lists and logs (ING-932). */
  readonly isSecret?: true;
  /** A reload changes it in the running daemon; all others wait for the next start. */
  readonly isLive?: true;
  /** Each item of the list is a rule of redaction. */
  readonly items?: 'redaction';
}
