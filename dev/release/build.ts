/**
 * Makes one executable of the service: the runtime, all code as bytecode, migrations, pages and
 * documentation. The dashboard is built here, because an executable has no source to build it from.
 * On Linux it also lays out what a container needs, in `dist/image`, for the Dockerfile.
 */
import { chmodSync, copyFileSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'

import type { BunPlugin } from 'bun'

import { buildWebFiles } from '#web/build.ts'

/** What is compiled, and what of it is left out. */
export const sources = {
  entrypoints: [new URL('../../src/main.ts', import.meta.url).pathname],
  // The sandbox is for checkouts, as it says; Elysia reads no files of ours, and does without.
  external: ['#dev/*', 'file-type'],
  target: 'bun',
} as const

async function pages(): Promise<BunPlugin> {
  const files = await buildWebFiles()
  const held = JSON.stringify({ ...files, assets: [...files.assets] })
  const contents = `const files = ${held}
export const buildWebFiles = async () => ({ ...files, assets: new Map(files.assets) })`
  return {
    name: 'built-pages',
    setup: (build) =>
      void build.onLoad({ filter: /\/web\/build\.ts$/ }, () => ({ contents, loader: 'js' })),
  }
}

async function build(outfile: string): Promise<void> {
  const { outputs } = await Bun.build({
    entrypoints: [...sources.entrypoints],
    external: [...sources.external],
    target: sources.target,
    define: { 'process.env.NODE_ENV': '"production"' },
    minify: true,
    bytecode: true,
    format: 'esm',
    // Lines of failures are those of the source.
    sourcemap: 'linked',
    plugins: [await pages()],
    compile: {
      // What is in the folder where it is started must not change what it does.
      outfile,
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
  })
  // It is in the executable, too.
  for (const { kind, path } of outputs) if (kind === 'sourcemap') await Bun.file(path).delete()
}

/** The executable and the C library that it is linked to, where each is looked for. */
function layOutImage(executable: string, folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  const linked = Bun.spawnSync(['ldd', executable]).stdout.toString()
  const copy = (from: string, to: string): void => {
    const path = join(folder, to)
    mkdirSync(dirname(path), { recursive: true })
    copyFileSync(from, path)
  }
  copy(executable, 'bookfeed')
  for (const path of linked.match(/\/\S+/g) ?? []) copy(path, path)
  // The one that runs it has none of its rights.
  for (const name of ['data', 'dev', 'proc']) mkdirSync(join(folder, name))
  chmodSync(join(folder, 'data'), 0o700)
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { outfile: { type: 'string', default: 'dist/bookfeed' } },
  })
  await build(values.outfile)
  process.stdout.write(`${values.outfile}\n`)
  if (process.platform === 'linux') layOutImage(values.outfile, 'dist/image')
}
