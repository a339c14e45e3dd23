/** One command of the line as completion knows it. */
export interface CompletionNode {
  /** Words behind `millrace`, joined by a space; empty for the program itself. */
  readonly path: string;
  readonly summary: string;
  /** First words of its subcommands, and its long options. */
  readonly words: readonly string[];
  /** Its arguments are files. */
  readonly takesFiles: boolean;
}

export type Shell = 'bash' | 'zsh' | 'fish';

const generators: Readonly<Record<Shell, (nodes: readonly CompletionNode[]) => string>> = {
  bash,
  zsh,
  fish,
};

export const shells: readonly Shell[] = ['bash', 'zsh', 'fish'];

/** A script for the shell that completes every verb and option. Pure. */
export function completionScript(shell: Shell, nodes: readonly CompletionNode[]): string {
  return generators[shell](nodes);
}

/** The longest path that the words before the cursor begin with; options are passed over. */
function bash(nodes: readonly CompletionNode[]): string {
  return [
    '# bash completion of millrace: source <(millrace completion bash)',
    '_millrace() {',
    '  local path="" next word words',
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    '    [[ $word == -* ]] && continue',
    '    next="${path:+$path }$word"',
    '    case "$next" in',
    `      ${casePattern(nodes)}) path="$next" ;;`,
    '    esac',
    '  done',
    '  case "$path" in',
    ...nodes.map(({ path, words }) => `    "${path}") words="${words.join(' ')}" ;;`),
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))',
    '}',
    'complete -o default -F _millrace millrace',
    '',
  ].join('\n');
}

function casePattern(nodes: readonly CompletionNode[]): string {
  return nodes
    .filter(({ path }) => path !== '')
    .map(({ path }) => `"${path}"`)
    .join('|');
}

function zsh(nodes: readonly CompletionNode[]): string {
  return [
    '#compdef millrace',
    '# zsh completion of millrace: source <(millrace completion zsh)',
    '_millrace() {',
    '  local taken="" next word',
    '  local -a candidates',
    '  for word in "${(@)words[2,CURRENT-1]}"; do',
    '    [[ $word == -* ]] && continue',
    '    next="${taken:+$taken }$word"',
    '    case "$next" in',
    `      ${casePattern(nodes)}) taken="$next" ;;`,
    '    esac',
    '  done',
    '  case "$taken" in',
    ...nodes.map(({ path, words }) => `    "${path}") candidates=(${words.join(' ')}) ;;`),
    '  esac',
    '  compadd -- $candidates',
    '  _files',
    '}',
    'compdef _millrace millrace',
    '',
  ].join('\n');
}

function fish(nodes: readonly CompletionNode[]): string {
  return [
    '# fish completion of millrace: millrace completion fish | source',
    'function __millrace_at',
    '  set -l taken (string match --invert -- "-*" (commandline -opc)[2..-1])',
    '  set -l known (string split " " -- "$argv[1]")',
    '  test "$argv[1]" = ""; and set known',
    '  test "$taken[1..(count $known)]" = "$known"',
    'end',
    ...nodes.flatMap(({ path, words }) =>
      words.map((word) => {
        const where = `complete -c millrace -n '__millrace_at "${path}"'`;
        return word.startsWith('--') ? `${where} -l ${word.slice(2)}` : `${where} -a ${word}`;
      }),
    ),
    '',
  ].join('\n');
}
