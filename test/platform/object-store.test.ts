import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import { parseBucketPlace } from '#src/platform/bucket-place.ts'
import { isFault } from '#src/platform/fault.ts'
import { messageOf } from '#src/platform/message.ts'
import { createObjectStore, type ObjectStore } from '#src/platform/object-store.ts'

import { hasS3, type S3, startS3 } from '../support/engines/s3.ts'

const LIMIT_MS = 180_000
/** Keys that a page of the service's list has. */
const PAGE = 1000
const WRITERS = 8
const once = { tries: 1, waitMs: 1, limitMs: 60_000 }

const placeOf = (text: string) => {
  const place = parseBucketPlace(text)
  if (place === undefined) throw new Error(text)
  return place
}
const bytesOf = (length: number, seed: number): Uint8Array =>
  Uint8Array.from({ length }, (_, at) => (at * 31 + seed * 17) % 251)
const sha256 = (bytes: Uint8Array): string =>
  new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
/** The kind of a fault. */
const kindOf = (ask: Promise<unknown>): Promise<string> =>
  ask.then(
    () => 'none',
    (error: unknown) =>
      isFault(error, 'object_missing', 'object_unreachable') ? error.kind : String(error),
  )

describe.skipIf(!hasS3)('Objects on a real S3', () => {
  let s3: S3
  let store: ObjectStore
  beforeAll(async () => {
    s3 = await startS3()
    store = createObjectStore(placeOf(`s3://${s3.bucket}/a/b`), { client: s3.client })
  }, LIMIT_MS)
  afterAll(() => s3[Symbol.asyncDispose]())

  test('behavior: what was put is there under the prefix, with the SHA-256 returned', async () => {
    const bytes = bytesOf(100_000, 1)
    expect(await store.put('btc/one', bytes)).toBe(sha256(bytes))
    expect(await store.get('btc/one')).toEqual(bytes)
    const all = createObjectStore(placeOf(`s3://${s3.bucket}`), { client: s3.client })
    expect(await all.get('a/b/btc/one')).toEqual(bytes)
    const none = new Uint8Array()
    expect(await store.put('none', none)).toBe(sha256(none))
  })

  test('behavior: an object that is put again is replaced, also by a shorter one', async () => {
    await store.put('again', bytesOf(5000, 1))
    await store.put('again', bytesOf(300, 2))
    expect(await store.get('again')).toEqual(bytesOf(300, 2))
  })

  test('behavior: a range is exactly what was asked for, or missing', async () => {
    const bytes = bytesOf(10_000, 3)
    await store.put('range', bytes)
    for (const [at, length] of [
      [0, 1],
      [0, 10_000],
      [4321, 1234],
      [9999, 1],
    ] as [number, number][])
      expect(await store.read('range', at, length)).toEqual(bytes.subarray(at, at + length))
    expect(await kindOf(store.read('range', 9999, 2))).toBe('object_missing')
    expect(await kindOf(store.read('range', 10_000, 1))).toBe('object_missing')
    expect(await kindOf(store.read('range', 20_000, 5))).toBe('object_missing')
  })

  test('behavior: what is not there is missing; removing it twice is no fault', async () => {
    await store.put('gone', bytesOf(10, 4))
    await store.remove('gone')
    await store.remove('gone')
    expect(await kindOf(store.read('gone', 0, 1))).toBe('object_missing')
    expect(await kindOf(store.get('gone'))).toBe('object_missing')
  })

  test(
    'behavior: a list has every name that begins so, beyond one page',
    async () => {
      const names = Array.from({ length: PAGE + 5 }, (_, at) => `list/${at}`)
      const bytes = bytesOf(3, 5)
      const left = [...names]
      const work = async (): Promise<void> => {
        for (let name = left.pop(); name; name = left.pop()) await store.write(name, bytes)
      }
      await Promise.all(Array.from({ length: WRITERS }, work))
      await store.write('lists', bytes)
      const found = await store.list('list/')
      expect([...found.keys()].sort()).toEqual(names.sort())
      expect(new Set(found.values())).toEqual(new Set([3]))
      expect(await store.list('nothing')).toEqual(new Map())
    },
    LIMIT_MS,
  )

  test('behavior: names may have any characters', async () => {
    const name = "x y+ü'(1)%&=?"
    await store.put(name, bytesOf(10, 6))
    expect(await store.read(name, 2, 3)).toEqual(bytesOf(10, 6).subarray(2, 5))
    expect([...(await store.list('x y')).keys()]).toEqual([name])
  })

  test('behavior: wrong credentials, or no such bucket, do not make anything missing', async () => {
    await store.put('there', bytesOf(10, 7))
    const wrong = { ...s3.client, secretAccessKey: 'wrong' }
    const stores = [
      createObjectStore(placeOf(`s3://${s3.bucket}/a/b`), { client: wrong }),
      createObjectStore(placeOf('s3://none/a/b'), { client: s3.client }),
    ]
    for (const each of stores) {
      expect(await kindOf(each.read('there', 0, 1))).toBe('object_unreachable')
      expect(await kindOf(each.list(''))).toBe('object_unreachable')
    }
    expect(await kindOf(stores[0]?.put('there', bytesOf(10, 8)) ?? Promise.resolve())).toBe(
      'object_unreachable',
    )
    expect(stores[0]?.get('there')).rejects.toThrow(/there cannot be read \(Signature.*S3_ENDPOINT/)
    expect(await store.get('there')).toEqual(bytesOf(10, 7))
  })

  test(
    'behavior: kill -9 while objects are put loses none that was acknowledged',
    async () => {
      const place = placeOf(`s3://${s3.bucket}/killed`)
      const hasty = createObjectStore(place, { reads: once, writes: once, client: s3.client })
      const acknowledged = new Map<string, string>()
      let next = 0
      const put = async (): Promise<void> => {
        for (;;) {
          const at = next++
          acknowledged.set(`${at}`, await hasty.put(`${at}`, bytesOf(20_000, at)))
          if (acknowledged.size === 50) void s3.kill()
        }
      }
      const ends = await Promise.all(Array.from({ length: WRITERS }, () => kindOf(put())))
      await s3.kill()
      expect(ends).toEqual(Array(WRITERS).fill('object_unreachable'))
      expect(await kindOf(hasty.read('0', 0, 1))).toBe('object_unreachable')

      await s3.start()
      for (const [key, digest] of acknowledged) expect(sha256(await hasty.get(key))).toBe(digest)
      expect([...(await hasty.list('')).keys()]).toContainValues([...acknowledged.keys()])
      expect(await hasty.put('0', bytesOf(10, 9))).toBe(sha256(bytesOf(10, 9)))
    },
    LIMIT_MS,
  )
})

test('behavior: a service that takes a connection and is silent is unreachable', async () => {
  using silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const patience = { tries: 2, waitMs: 1, limitMs: 50 }
  const store = createObjectStore(placeOf('s3://books'), {
    reads: patience,
    writes: patience,
    client: {
      endpoint: `http://127.0.0.1:${silent.port}`,
      region: 'us-east-1',
      accessKeyId: 'a',
      secretAccessKey: 'b',
    },
  })
  expect(await kindOf(store.read('a', 0, 1))).toBe('object_unreachable')
  expect(await kindOf(store.put('a', bytesOf(10, 1)))).toBe('object_unreachable')
})

test('error: a bucket that does not exist, and one that is silent, are no matter of the key', async () => {
  const refusal = '<Error><Code>NoSuchBucket</Code><Message>No such bucket</Message></Error>'
  using server = Bun.serve({
    port: 0,
    fetch: ({ url }) =>
      new URL(url).pathname.startsWith('/silent')
        ? new Promise<Response>(() => {})
        : new Response(refusal, { status: 404, headers: { 'Content-Type': 'application/xml' } }),
  })
  const client = { endpoint: server.url.href, accessKeyId: 'key', secretAccessKey: 'secret' }
  const messageFrom = (bucket: string, limitMs: number): Promise<string> =>
    createObjectStore(placeOf(`s3://${bucket}`), {
      client,
      reads: { tries: 1, waitMs: 1, limitMs },
    })
      .probe()
      .then(() => 'none', messageOf)
  expect(await messageFrom('missing', 60_000)).toEndWith(
    '(NoSuchBucket). Create the bucket, or correct its name.',
  )
  const silent = await messageFrom('silent', 300)
  expect(silent).toContain('Check S3_ENDPOINT, the network')
  expect(silent).not.toContain('permissions')
})
