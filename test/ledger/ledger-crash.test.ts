import { describe, expect, test } from 'bun:test'

import { defaultTiers } from '#src/domain/selling/tier.ts'
import { createRandom } from '#src/platform/random.ts'

import { openLedgerIn } from '../support/stores.ts'
import { onEachEngine } from './ledger-engines.ts'
import { accountIdOf, aKey, keyIdOf, NOW_MS } from './ledger-records.ts'

const ROUNDS = 4
/** Acknowledgements after which a process is killed. */
const ACKNOWLEDGED_MAX = 40

const ROUNDS_MS_MAX = 300_000

const script = new URL('../support/create-keys-process.ts', import.meta.url).pathname

/**
 * Lets a process make keys from `first` on and kills it after some; returns
 * the last that was acknowledged.
 */
async function createAndKill(path: string, first: number, after: number): Promise<number> {
  const child = Bun.spawn([process.execPath, script, path, String(first)], { stderr: 'inherit' })
  let printed = ''
  const decoder = new TextDecoder()
  for await (const bytes of child.stdout) {
    printed += decoder.decode(bytes)
    if (printed.split('\n').length > after) child.kill('SIGKILL')
  }
  await child.exited
  expect(child.signalCode).toBe('SIGKILL')
  return Number(printed.trimEnd().split('\n').at(-1) || first - 1)
}

onEachEngine((engine) => {
  describe('createKey', () => {
    test(
      `behavior: kill -9 loses no acknowledged key, use or revocation, and leaves no half one, ${ROUNDS} times`,
      async () => {
        const path = engine.newPlace()
        const random = createRandom('ledger crash')
        let next = 0
        for (let round = 0; round < ROUNDS; round++) {
          const after = 1 + random.integer(ACKNOWLEDGED_MAX)
          const acknowledged = await createAndKill(path, next, after)
          expect(acknowledged).toBeGreaterThanOrEqual(next)
          const ledger = await openLedgerIn(path, { nowMs: NOW_MS })
          expect([round, ...ledger.verifyAudit()]).toEqual([round])
          expect(ledger.listTiers()).toEqual([...defaultTiers])
          for (let number = next; number <= acknowledged; number++) {
            const key = ledger.findKeyByDigest(aKey(number).digest)
            expect(key).toMatchObject({ id: keyIdOf(number), lastUsedMs: NOW_MS })
            expect(key?.revokedMs !== undefined).toBe(number % 3 === 0)
          }
          next = ledger.listKeys().length
          expect(next).toBeGreaterThan(acknowledged)
          expect(ledger.findAccount(accountIdOf(next - 1))).toBeDefined()
          expect(ledger.findAccount(accountIdOf(next))).toBeUndefined()
          ledger.dispose()
        }
      },
      ROUNDS_MS_MAX,
    )
  })
})
