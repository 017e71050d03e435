/**
 * `bun run test:changed [REF] [--near] [--list]`: runs the test files that can be affected by what
 * was changed since this branch left REF (default: `main`), committed or not. `--near` runs only
 * a few of them: those that are named after a changed file, or after a feature that imports it, and
 * the contract tests if routes may have changed; `--list` runs none. Bun's own `--changed` follows imports alone: it misses tests that start `src/main.ts` as a
 * process, and tests that read documents.
 */

import { parseArgs } from 'node:util'

import { type Affected, affectedTests, isTest } from './support/affected-tests.ts'
import { skippedEngines } from './support/engines/chosen.ts'
import { readProject } from './support/project-tree.ts'

const root = new URL('..', import.meta.url).pathname
/** It reads all files. */
const TIDY = 'test/tidy.test.ts'
/** `bun run test:all` runs them alone, too. */
const needsQuiet = /-drill\.test\.ts$|^test\/contract\/fuzz-socket\.test\.ts$/

const { values, positionals } = parseArgs({
  options: {
    near: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})

const print = (text: string): void => void process.stdout.write(`${text}\n`)

function git(...words: string[]): string[] {
  const { stdout, stderr, exitCode } = Bun.spawnSync(['git', ...words], { cwd: root })
  if (exitCode !== 0) throw new Error(`git ${words.join(' ')}: ${stderr}`)
  return stdout.toString().split('\n').filter(Boolean)
}

function changedSince(ref: string): string[] {
  const tracked = git('diff', '--name-only', '--no-renames', '--merge-base', ref)
  const untracked = git('ls-files', '--others', '--exclude-standard')
  return [...new Set([...tracked, ...untracked])].sort()
}

function list(title: string, lines: readonly string[]): void {
  if (lines.length > 0) print([`\n${title}`, ...lines.map((line) => `  ${line}`)].join('\n'))
}

/** `test/a.test.ts < test/support/b.ts < src/c.ts`: the last file has changed. */
const reasonOf = ({ chain }: Affected): string => chain.join(' < ')

/** Returns the exit code. */
async function run(files: readonly string[]): Promise<number> {
  const paths = files.map((file) => `./${file}`)
  const words = [process.execPath, 'test', '--parallel=2', '--timeout', '120000', ...paths]
  return await Bun.spawn(words, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] }).exited
}

const [ref = 'main'] = positionals
const changed = changedSince(ref)
const tree = await readProject()
const selection = affectedTests(tree, changed)
const affected = selection.affected.filter(({ test }) => test !== TIDY)
const apart = affected.filter(({ test }) => needsQuiet.test(test))
const near = affected.filter(({ test, isNear }) => isNear && !needsQuiet.test(test))
const far = affected.filter(({ test, isNear }) => !isNear && !needsQuiet.test(test))
const count = Object.keys(tree).filter(isTest).length

print(
  `Changed since ${ref}: ${changed.length} files, which can affect ${affected.length} of ${count} test files.`,
)
list('First, the nearest tests:', [`${TIDY} reads all files`, ...near.map(reasonOf)])
if (values.near && !values.list)
  print(`\nNot run, because of --near: ${far.length} test files, which --list shows.`)
else list(values.near ? 'Not run, because of --near:' : 'Then, if those pass:', far.map(reasonOf))
list('Not run: they need the machine to themselves, as in `bun run test:all`:', apart.map(reasonOf))
list('Their tests are skipped, because of ENGINES:', skippedEngines)
list(`Read by no test but ${TIDY}:`, selection.withoutTests)
print('')

if (values.list) process.exit()
process.exitCode = await run([TIDY, ...near.map(({ test }) => test)])
if (process.exitCode === 0 && far.length > 0 && !values.near) {
  process.exitCode = await run(far.map(({ test }) => test))
}
