/**
 * `bookfeed completions SHELL`: a completion script, generated from the commands of the program.
 */
import { Argument, Command } from 'commander'

import type { CliContext } from '../server/extension.ts'

const help = `
The script completes commands, options and their values. To have it in every new shell:

- bash: add this line to ~/.bashrc:
    source <(bookfeed completions bash)

- zsh: add this line to ~/.zshrc, after compinit:
    source <(bookfeed completions zsh)

- fish: run this command once:
    bookfeed completions fish > ~/.config/fish/completions/bookfeed.fish`

/** The completions of a command. */
type Completion = {
  /** The words of the command, such as `keys create`; empty for the program itself. */
  path: string
  commands: readonly Entry[]
  options: readonly (Entry & { value: Value })[]
  /** The values of its arguments. */
  argument: Value
}
type Entry = { name: string; about: string }
/** No value, a file or folder, any text, or one of some words; several for a list. */
type Value = 'none' | 'file' | 'text' | { words: readonly string[]; isList: boolean }

const shells = { bash: renderBash, zsh: renderZsh, fish: renderFish }

export const completionsCommand = (context: CliContext): Command =>
  new Command('completions')
    .description('print a script that completes commands in bash, zsh or fish')
    .addArgument(new Argument('<shell>', 'shell to complete in').choices(Object.keys(shells)))
    .addHelpText('after', help)
    .action((shell: keyof typeof shells, _, { parent }: Command) => {
      if (parent) context.print(shells[shell](completionsOf(parent)))
    })

function completionsOf(command: Command, path = ''): Completion[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command)
  const own: Completion = {
    path,
    commands: commands.map((each) => ({ name: each.name(), about: each.description() })),
    options: help.visibleOptions(command).map(({ long, description, ...option }) => ({
      name: long ?? '',
      about: description,
      value: option.required ? toValue(option.flags, option.argChoices) : 'none',
    })),
    argument:
      command.registeredArguments
        .map((each) => toValue(`<${each.name()}>`, each.argChoices))
        .at(0) ?? 'none',
  }
  const below = commands
    .filter((each) => each.name() !== 'help')
    .flatMap((each) => completionsOf(each, `${path} ${each.name()}`.trim()))
  return [own, ...below]
}

function toValue(flags: string, choices: readonly string[] | undefined): Value {
  if (choices !== undefined) return { words: choices, isList: flags.endsWith('<list>') }
  return /<(file|path|folder|place)>/.test(flags) ? 'file' : 'text'
}

/** The words of an argument, which is not a list. */
const wordsOf = (value: Value): readonly string[] => (typeof value === 'string' ? [] : value.words)

/** Quotes a word for a shell script. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const namesOf = (entries: readonly Entry[]): string => entries.map(({ name }) => name).join(' ')

/** Adds `word` to `at`, the command that is being typed, if it is a subcommand of it. */
const findCommand = (completions: readonly Completion[]): string => {
  const paths = completions.filter(({ path }) => path !== '').map(({ path }) => quote(` ${path}`))
  return `    case "$at $word" in
      ${paths.join('|')}) at="$at $word" ;;
    esac`
}

/** One branch for each option with a value, by the command and the option before the cursor. */
const valueBranches = (
  completions: readonly Completion[],
  render: (value: Value) => string,
): string =>
  completions
    .flatMap(({ path, options }) =>
      options
        .filter(({ value }) => value !== 'none')
        .map(({ name, value }) => `    ${quote(`${toAt(path)} ${name}`)}) ${render(value)} ;;`),
    )
    .join('\n')

const toAt = (path: string): string => (path === '' ? '' : ` ${path}`)

function renderBash(completions: readonly Completion[]): string {
  const renderValue = (value: Value): string => {
    if (value === 'file')
      return 'compopt -o filenames; COMPREPLY=($(compgen -f -- "$current")); return'
    if (typeof value === 'string') return 'return'
    const words = quote(value.words.join(' '))
    if (!value.isList) return `COMPREPLY=($(compgen -W ${words} -- "$current")); return`
    return `COMPREPLY=($(compgen -P "$before" -W ${words} -- "\${current#"$before"}")); return`
  }
  const branches = completions.map(({ path, commands, options, argument }) => {
    const values = wordsOf(argument).join(' ')
    const words = [namesOf(commands), values, namesOf(options)].filter((each) => each !== '')
    const files = argument === 'file' ? '; takes_files=1' : ''
    return `    ${quote(toAt(path))}) words=${quote(words.join(' '))}${files} ;;`
  })
  return `# Completions of bookfeed for bash: source <(bookfeed completions bash)
_bookfeed() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  local at='' word words='' takes_files='' before=''
  COMPREPLY=()
  # What a list has before its last word.
  [[ $current == *,* ]] && before=\${current%,*},
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
${findCommand(completions)}
  done
  case "$at $previous" in
${valueBranches(completions, renderValue)}
  esac
  case "$at" in
${branches.join('\n')}
  esac
  if [[ -n $takes_files && $current != -* ]]; then
    compopt -o filenames
    COMPREPLY=($(compgen -f -- "$current"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}
complete -F _bookfeed bookfeed`
}

function renderZsh(completions: readonly Completion[]): string {
  const renderValue = (value: Value): string => {
    if (value === 'file') return '_files; return'
    if (typeof value === 'string') return 'return'
    const before = value.isList ? '"$before"' : ''
    return `compadd -- ${value.words.map((word) => `${before}${quote(word)}`).join(' ')}; return`
  }
  const renderEntries = (entries: readonly Entry[]): string =>
    entries.map(({ name, about }) => quote(`${name}:${about.replaceAll(':', '\\:')}`)).join(' ')
  const branches = completions.map(({ path, commands, options, argument }) => {
    const values = wordsOf(argument).map((name) => ({ name, about: '' }))
    const lines = [
      `commands=(${renderEntries([...commands, ...values])})`,
      `options=(${renderEntries(options)})`,
      ...(argument === 'file' ? ['takes_files=1'] : []),
    ]
    return `    ${quote(toAt(path))})\n${lines.map((line) => `      ${line}`).join('\n')}\n      ;;`
  })
  return `#compdef bookfeed
# Completions of bookfeed for zsh: source <(bookfeed completions zsh)
_bookfeed() {
  local at='' word takes_files='' before=''
  local -a commands options
  # What a list has before its last word.
  [[ $words[CURRENT] == *,* ]] && before="\${words[CURRENT]%,*},"
  for word in "\${(@)words[2,CURRENT-1]}"; do
${findCommand(completions)}
  done
  case "$at $words[CURRENT-1]" in
${valueBranches(completions, renderValue)}
  esac
  case "$at" in
${branches.join('\n')}
  esac
  [[ $#commands -gt 0 ]] && _describe -t commands command commands
  [[ -n $takes_files ]] && _files
  [[ $words[CURRENT] == -* || $#commands -eq 0 ]] && _describe -o -t options option options
}
compdef _bookfeed bookfeed`
}

function renderFish(completions: readonly Completion[]): string {
  const lines = completions.flatMap(({ path, commands, options, argument }) => {
    const complete = `complete -c bookfeed -n ${quote(`__bookfeed_at ${quote(path)}`)}`
    const renderValue = (value: Value): string => {
      if (value === 'none') return ''
      if (value === 'file') return ' -r -F'
      if (value === 'text') return ' -x'
      const words = value.words.join(' ')
      return ` -x -a ${quote(value.isList ? `(__bookfeed_list ${words})` : words)}`
    }
    return [
      ...(argument === 'file' ? [`${complete} -F`] : []),
      ...(typeof argument === 'string'
        ? []
        : [`${complete} -a ${quote(argument.words.join(' '))}`]),
      ...commands.map(({ name, about }) => `${complete} -a ${name} -d ${quote(about)}`),
      ...options.map(
        ({ name, about, value }) =>
          `${complete} -l ${name.replace(/^--/, '')}${renderValue(value)} -d ${quote(about)}`,
      ),
    ]
  })
  const paths = completions.filter(({ path }) => path !== '').map(({ path }) => quote(path))
  return `# Completions of bookfeed for fish: bookfeed completions fish | source
function __bookfeed_at
  set -l at ''
  for word in (commandline -opc)[2..]
    set -l longer (string trim -- "$at $word")
    contains -- $longer ${paths.join(' ')}; and set at $longer
  end
  test "$at" = "$argv[1]"
end
# Words, behind what a list has before its last one.
function __bookfeed_list
  set -l before (string match -r '.*,' -- (commandline -ct))
  printf '%s\\n' "$before"$argv
end
complete -c bookfeed -f
${lines.join('\n')}`
}
