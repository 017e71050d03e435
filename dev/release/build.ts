/**
 * Builds one executable of the service: the runtime, all code as bytecode, migrations, pages and
 * documentation. The dashboard is built here, because an executable has no source to build it from.
 * On Linux it also lays out the contents of the container image in `dist/image`, for the
 * Dockerfile.
 */
import { chmodSync, copyFileSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'

import type { BunPlugin } from 'bun'

import { buildWebFiles } from '#web/build.ts'

/** Entry points, and modules that are left out. */
export const sources = {
  entrypoints: [new URL('../../src/main.ts', import.meta.url).pathname],
  // The sandbox needs a checkout; Elysia works without `file-type`.
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
    // Stack traces show lines of the source.
    sourcemap: 'linked',
    plugins: [await pages()],
    compile: {
      // Files in the working directory must not change the behaviour.
      outfile,
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
  })
  // The executable contains the source map already.
  for (const { kind, path } of outputs) if (kind === 'sourcemap') await Bun.file(path).delete()
}

/** Copies the executable and the C libraries that it needs to their paths in the image. */
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
  // Folders for a user without rights.
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
