import { join } from 'node:path'

/** A project as text: content by path from its root; empty for files that are not read. */
export type Tree = Record<string, string>

export const isCode = (file: string) =>
  /^(src|clients|db|dev|test|web)\/.*\.(tsx?|mjs)$/.test(file) &&
  !/\.d\.ts$|^clients\/typescript\/src\/api\.ts$/.test(file)

const globs = ['*', '.ci/*', '{src,clients,db,deploy,dev,docs,examples,test,web}/**/*'].map(
  (pattern) => new Bun.Glob(pattern),
)

/** Reads this project without installed and generated files. */
export async function readProject(): Promise<Tree> {
  const cwd = join(import.meta.dir, '../..')
  const files = globs.flatMap((glob) => [...glob.scanSync({ cwd, dot: true })])
  const ours = files.filter((file) => !/node_modules|migrations\/|\/dist\//.test(file))
  const read = async (file: string) =>
    [file, /\.(tsx?|mjs|md)$/.test(file) ? await Bun.file(join(cwd, file)).text() : ''] as const
  return Object.fromEntries(await Promise.all(ours.map(read)))
}
