import { describe, expect, test } from 'bun:test'
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import project from '../../package.json'

const root = new URL('../..', import.meta.url).pathname
const files = ['package.json', 'bun.lock', 'bunfig.toml', 'src', 'db', 'docs', 'web', 'examples']

/** Loads every file of the service, so that a package that it lacks shows. */
const loadAll = `
import { Glob } from 'bun'
for (const file of new Glob('src/**/*.ts').scanSync('.')) {
  if (/^src\\/(main\\.ts|sandbox\\/)|\\.d\\.ts$/.test(file)) continue
  await import('./' + file)
}
for (const name of ['@x402/core/facilitator', '@x402/evm', 'viem']) await import(name)
`

/** Runs a command in a folder; what it wrote to standard error, and its exit code. */
async function run(cwd: string, command: string[]): Promise<{ exitCode: number; stderr: string }> {
  const child = Bun.spawn(command, { cwd, stdout: 'ignore', stderr: 'pipe' })
  const stderr = await new Response(child.stderr).text()
  return { exitCode: await child.exited, stderr }
}

/** What the packages of a folder load themselves. */
async function neededIn(folder: string): Promise<Set<string>> {
  const names: string[] = []
  for await (const path of new Bun.Glob('node_modules/**/package.json').scan(folder)) {
    const { dependencies = {} } = await Bun.file(join(folder, path)).json()
    names.push(...Object.keys(dependencies))
  }
  return new Set(names)
}

describe('an install for production', () => {
  const install = project.scripts.start.split(' && ')[0]?.replace(/^bun /, '') ?? ''

  test('behavior: has all that the service loads, and nothing for development', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bookfeed-production-'))
    try {
      for (const file of files) cpSync(join(root, file), join(folder, file), { recursive: true })
      writeFileSync(join(folder, 'load-all.ts'), loadAll)
      const installed = await run(folder, [process.execPath, ...install.split(' ')])
      expect(installed).toMatchObject({ exitCode: 0 })
      const needed = await neededIn(folder)
      const unwanted = Object.keys(project.devDependencies).filter(
        (name) => !needed.has(name) && existsSync(join(folder, 'node_modules', name)),
      )
      expect(unwanted).toEqual([])
      expect(await run(folder, [process.execPath, 'load-all.ts'])).toEqual({
        exitCode: 0,
        stderr: '',
      })
    } finally {
      rmSync(folder, { recursive: true })
    }
  }, 300_000)
})
