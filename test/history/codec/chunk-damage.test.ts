import { describe, expect, test } from 'bun:test'

/** Far above what the readings take; only a loop without an end is cut off. */
const TIMEOUT_MS = 300_000

async function readDamaged(kind: string, rounds: number): Promise<string[]> {
  const script = new URL('./damage-process.ts', import.meta.url).pathname
  const child = Bun.spawn([process.execPath, script, kind, String(rounds)], {
    stderr: 'inherit',
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  })
  const lines = (await new Response(child.stdout).text()).trim().split('\n')
  return lines
}

describe('a damaged chunk', () => {
  for (const [kind, rounds] of [
    ['cut', 150],
    ['flip', 1500],
    ['noise', 150],
  ] as const) {
    test.concurrent(
      `error: ${kind}: every reading of ${rounds} ends, with rows or with an Error`,
      async () => {
        const lines = await readDamaged(kind, rounds)
        expect({ after: lines.length - 1, last: lines.at(-1) }).toEqual({
          after: rounds,
          last: 'done',
        })
      },
      TIMEOUT_MS + 2000,
    )
  }
})
