import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createCommandLine } from '../support/command-line.ts'

/** What a line is completed to, by its last word; `''` begins a new one. */
type Complete = (words: readonly string[]) => Promise<string[]>

/** Runs `script` in a shell, in a folder with the file `books.jsonl`. */
async function runIn(shell: string, args: readonly string[], script: string): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-completions-'))
  writeFileSync(join(folder, 'books.jsonl'), '')
  const command = [shell, ...args, script]
  const child = Bun.spawn(command, { cwd: folder, stdout: 'pipe', stderr: 'pipe' })
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  rmSync(folder, { recursive: true })
  expect(errors).toBe('')
  return output.split('\n').filter((line) => line !== '')
}

async function scriptFor(shell: string): Promise<string> {
  using line = createCommandLine()
  const { exitCode, printed } = await line.run('completions', shell)
  expect(exitCode).toBe(0)
  return printed.join('\n')
}

const quote = (word: string) => `'${word}'`

const bash: Complete = async (words) => {
  const typed = ['bookfeed', ...words].map(quote).join(' ')
  return runIn(
    'bash',
    ['--norc', '-c'],
    `compopt() { :; }
${await scriptFor('bash')}
complete -p bookfeed >/dev/null || exit
COMP_WORDS=(${typed}); COMP_CWORD=${words.length}
_bookfeed; printf '%s\\n' "\${COMPREPLY[@]}"`,
  )
}

const fish: Complete = async (words) => {
  const script = await scriptFor('fish')
  const lines = await runIn(
    'fish',
    ['--no-config', '-c'],
    `${script}\ncomplete -C ${quote(['bookfeed', ...words].join(' '))}`,
  )
  return lines.map((line) => line.split('\t')[0] ?? '')
}

/** Runs zsh in a pseudo-terminal: without one it completes nothing. */
const zsh: Complete = async (words) => {
  const script = await scriptFor('zsh')
  const lines = await runIn(
    'zsh',
    ['-f', '-c'],
    `autoload -Uz compinit; compinit -u -D
compadd() {
  local -a list; local name
  # As it is called by _describe: names of arrays after -a and options, or words after --.
  while (( $# )); do
    case $1 in
      (-a|-*a) for name in "\${@[-1]}"; do print -rl -- "\${(@P)name}"; done; return ;;
      (--) shift; print -rl -- "$@"; return ;;
    esac
    shift
  done
}
_describe() { local -a list=("\${(@P)@[-1]}"); print -rl -- "\${(@)list%%:*}" }
_files() { print -rl -- * }
${script}
words=(${['bookfeed', ...words].map(quote).join(' ')}); CURRENT=${words.length + 1}
_bookfeed`,
  )
  const last = words.at(-1) ?? ''
  return lines.filter((line) => line.startsWith(last))
}

const shells: readonly (readonly [name: string, complete: Complete])[] = [
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
]

for (const [name, complete] of shells) {
  describe.skipIf(Bun.which(name) === null)(`completions in ${name}`, () => {
    test('default: commands, those of extensions too, and what is below them', async () => {
      const all = await complete([''])
      for (const command of ['serve', 'keys', 'migrate', 'help']) expect(all).toContain(command)
      expect((await complete(['se']))[0]).toBe('serve')
      expect(await complete(['keys', 'cr'])).toEqual(['create'])
      expect(await complete(['keys', 'list', '--al'])).toEqual(['--all'])
    }, 300_000)

    test('default: values of options and arguments, and files', async () => {
      const outcomes = await complete(['simulate', '--seed', '1', '--outcomes', ''])
      expect(outcomes.toSorted()).toEqual(['both', 'down', 'up'])
      expect((await complete(['completions', ''])).slice(0, 3).toSorted()).toEqual([
        'bash',
        'fish',
        'zsh',
      ])
      expect(await complete(['import', 'bo'])).toEqual(['books.jsonl'])
      expect(await complete(['serve', '--data', 'bo'])).toEqual(['books.jsonl'])
    }, 300_000)

    test('default: lists are completed word by word', async () => {
      const states = await complete(['payments', 'list', '--state', 're'])
      expect(states.toSorted()).toEqual(['received', 'rejected', 'review'])
      const more = await complete(['payments', 'list', '--state', 'review,pe'])
      expect(more).toEqual(['review,pending'])
      expect(await complete(['simulate', '--timeframes', '5m,1h,15'])).toEqual(['5m,1h,15m'])
      expect(await complete(['tiers', 'set', 'pro', '--coins', 'xr'])).toEqual(['xrp'])
    }, 300_000)

    test('behavior: a text of any kind is completed by nothing', async () => {
      expect(await complete(['keys', 'create', '--label', ''])).toEqual([])
    }, 300_000)
  })
}

test('error: another shell is a wrong call', async () => {
  using line = createCommandLine()
  const { exitCode, errors } = await line.run('completions', 'csh')
  expect([exitCode, errors.join()]).toEqual([2, expect.stringContaining('bash, zsh, fish')])
})
