/**
 * The contract of a history all of whose sealed books go to a bucket after each write. Credentials
 * are variables of a process, so the tests run in one of their own.
 */
import { afterAll, describe, expect, test } from 'bun:test'

import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import { createBlockingPut } from '../support/blocking-put.ts'
import { hasS3, startS3 } from '../support/engines/s3.ts'
import { conform } from './conformance.ts'

const LIMIT_MS = 600_000
// biome-ignore lint/style/noProcessEnv: which bucket is not for the product's settings.
const { TEST_S3_BUCKET: bucket } = process.env

const inner = (): void => {
  const place = `s3://${bucket}/conformance`
  const { put, close } = createBlockingPut(place)
  afterAll(close)

  function archiveAll({ archive }: MarketHistory): void {
    if (archive.place() === undefined) archive.setPlace(place)
    for (const marketId of archive.due(Number.MAX_SAFE_INTEGER)) {
      for (;;) {
        const packed = archive.pack(marketId, 0)
        if (packed === undefined) break
        expect(put(packed.name, packed.bytes)).toBe(packed.sha256)
        packed.seal()
      }
    }
  }

  conform(
    'a history with an archive',
    () => {
      const history = openHistory(':memory:')
      const archiving =
        <Args extends unknown[], Result>(verb: (...args: Args) => Result) =>
        (...args: Args): Result => {
          const result = verb(...args)
          archiveAll(history)
          return result
        }
      return {
        ...history,
        ...{ append: archiving(history.append), record: archiving(history.record) },
        ...{ putMarket: archiving(history.putMarket), close: archiving(history.close) },
        deleteOldest: archiving(history.deleteOldest),
      }
    },
    { seeds: 1, steps: 25 },
  )
}

const outer = () =>
  test(
    'default: conforms on a real S3',
    async () => {
      await using s3 = await startS3()
      const given = Object.entries({ ...s3.env, TEST_S3_BUCKET: s3.bucket })
      const pairs = given.map(([name, value]) => `${name}=${value}`)
      const words = [process.execPath, 'test', '--timeout', '60000', import.meta.path]
      const child = Bun.spawn(['env', ...pairs, ...words], {
        ...{ stdout: 'inherit', stderr: 'inherit', timeout: LIMIT_MS },
      })
      expect(await child.exited).toBe(0)
    },
    LIMIT_MS,
  )

describe.skipIf(!hasS3)('in a bucket', bucket ? inner : outer)
