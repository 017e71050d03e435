/** Damages copies of a file by one random bit each. */
import { rmSync } from 'node:fs'

import type { Random } from '#src/platform/random.ts'

/** `found` by the verification; `unused` if no stored data has changed; otherwise `silent`. */
export type Fate = 'found' | 'unused' | 'silent'

/** The number of flips by fate, and the byte and bit of the silent ones. */
export type Flips = Record<Fate, number> & { where: string[] }

/** `judge` receives the path of a copy; files that it creates beside it are removed. */
export async function flipBits(
  path: string,
  { random, flips }: { random: Random; flips: number },
  judge: (copy: string) => Fate | Promise<Fate>,
): Promise<Flips> {
  const sound = await Bun.file(path).bytes()
  const result: Flips = { found: 0, unused: 0, silent: 0, where: [] }
  for (let flip = 0; flip < flips; flip++) {
    const at = random.integer(sound.length)
    const bit = random.integer(8)
    const bytes = sound.slice()
    bytes[at] = (bytes[at] ?? 0) ^ (1 << bit)
    const copy = `${path}.${flip}`
    await Bun.write(copy, bytes)
    const fate = await judge(copy)
    result[fate]++
    if (fate === 'silent') result.where.push(`${at}.${bit}`)
    for (const end of ['', '-wal', '-shm']) rmSync(copy + end, { force: true })
  }
  return result
}
