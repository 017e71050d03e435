/**
 * Tests of buckets. Credentials are variables of a process, so these tests run in a separate one.
 */
import { describe, expect, test } from 'bun:test'

import { hasS3, startS3 } from './s3.ts'

const LIMIT_MS = 2_400_000
const TEST_MS_MAX = 300_000
// biome-ignore lint/style/noProcessEnv: which bucket is not for the product's settings.
const { TEST_S3_CONTROL: control, TEST_S3_BUCKET: bucket, ...variables } = process.env

export type OnBucket = {
  /** A place in the bucket, empty at first. */
  placeOf(name: string): string
  /** The variables of its credentials, for another process. */
  env: Record<string, string>
  /** Controls its service; see test/support/engines/s3.ts. */
  tell(what: 'kill' | 'start' | 'hang' | 'wake'): Promise<void>
}

/** Describes the tests of a file, `path`, with a bucket. */
export function onBucket(path: string, body: (on: OnBucket) => void): void {
  const isInner = control !== undefined && bucket !== undefined
  describe.skipIf(!hasS3)('with a bucket', () => {
    if (!isInner) return void test('default: all of it holds', () => runInner(path), LIMIT_MS)
    body({
      env: Object.fromEntries(
        Object.entries(variables).flatMap(([name, value]) =>
          name.startsWith('S3_') && value ? [[name, value]] : [],
        ),
      ),
      placeOf: (name) => `s3://${bucket}/${name}`,
      async tell(what) {
        expect((await fetch(`${control}${what}`)).ok).toBe(true)
      },
    })
  })
}

async function runInner(path: string): Promise<void> {
  await using s3 = await startS3()
  await using server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 255,
    async fetch({ url }) {
      await s3[new URL(url).pathname.slice(1) as Parameters<OnBucket['tell']>[0]]()
      return new Response()
    },
  })
  const given = { ...s3.env, TEST_S3_CONTROL: server.url.href, TEST_S3_BUCKET: s3.bucket }
  const pairs = Object.entries(given).map(([name, value]) => `${name}=${value}`)
  const words = [process.execPath, 'test', '--timeout', `${TEST_MS_MAX}`, path]
  const child = Bun.spawn(['env', ...pairs, ...words], {
    stdout: 'inherit',
    stderr: 'inherit',
    timeout: LIMIT_MS,
  })
  expect(await child.exited).toBe(0)
}
