/**
 * Objects of a bucket of any S3-compatible service. Endpoint, region and credentials are in the
 * variables that Bun's client reads, `S3_…` or `AWS_…`. Names are keys without the place's prefix.
 */

import type { S3Options } from 'bun'

import type { BucketPlace } from './bucket-place.ts'
import { Fault, isFault } from './fault.ts'
import { codeOf } from './message.ts'
import { within } from './patience.ts'

/**
 * Every method rejects with an `object_missing` or `object_unreachable` fault alone. After the
 * latter the caller may try again, and a writer does not know whether the object was stored.
 */
export type ObjectStore = {
  /** Stores, or replaces, and reads all of it back; returns its SHA-256, in hexadecimal. */
  put(key: string, bytes: Uint8Array): Promise<string>
  /** Stores, or replaces, as the service acknowledges it. */
  write(key: string, bytes: Uint8Array): Promise<void>
  /** `length` bytes, one or more, from `at` on: all of them, or it is a fault. */
  read(key: string, at: number, length: number): Promise<Uint8Array>
  get(key: string): Promise<Uint8Array>
  /** Names and sizes in bytes of what begins with a text. */
  list(prefix: string): Promise<Map<string, number>>
  /** Asks whether it may be listed. */
  probe(): Promise<void>
  /** Nothing happens where there is none. */
  remove(key: string): Promise<void>
}

/** `limitMs` bounds each try, `waitMs` is the wait after the first one; it doubles with each. */
export type Patience = { tries: number; waitMs: number; limitMs: number }
export type StoreOptions = { reads?: Patience; writes?: Patience; client?: S3Options }

/** A request waits for a read. */
const readPatience: Patience = { tries: 2, waitMs: 100, limitMs: 5000 }
const writePatience: Patience = { tries: 4, waitMs: 500, limitMs: 60_000 }

/** What the service will say again. */
const final = /^(NoSuch|AccessDenied|Signature|Invalid|NotImplemented|Missing)/

/** Codes of a certificate whose authority this machine does not trust. */
const untrusted = /^(UNABLE_TO_(VERIFY|GET)|SELF_SIGNED|DEPTH_ZERO)/

function adviceOn(cause: unknown): string {
  if (codeOf(cause) === 'NoSuchBucket') return 'Create the bucket, or correct its name.'
  if (untrusted.test(codeOf(cause)))
    return 'If a private authority signed the certificate of S3_ENDPOINT, set BOOKFEED_CA_FILE to the file with the certificate of that authority.'
  if (isFault(cause, 'no_answer'))
    return 'Check S3_ENDPOINT, the network, and whether the service runs.'
  return 'Check S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, and the permissions of the key.'
}

export function createObjectStore(
  { bucket, prefix }: BucketPlace,
  { reads = readPatience, writes = writePatience, client: options = {} }: StoreOptions = {},
): ObjectStore {
  const client = new Bun.S3Client({ ...options, bucket })
  const urlOf = (key: string): string => `s3://${bucket}/${prefix}${key}`

  async function attempt<T>(
    what: string,
    { tries, waitMs, limitMs }: Patience,
    ask: () => Promise<T>,
  ): Promise<T> {
    for (let left = tries, wait = waitMs; ; wait *= 2) {
      try {
        // Bun's client has no limit of its own for a service that takes a request and is silent.
        return await within(limitMs, ask())
      } catch (cause) {
        const code = codeOf(cause)
        if (code === 'NoSuchKey')
          throw new Fault(`${what}: it is not there.`, { kind: 'object_missing', cause })
        if (--left === 0 || final.test(code) || untrusted.test(code))
          throw new Fault(`${what} (${code}). ${adviceOn(cause)}`, {
            kind: 'object_unreachable',
            cause,
          })
      }
      await Bun.sleep(wait)
    }
  }
  const send = (key: string, bytes: Uint8Array) => client.write(prefix + key, bytes, { retry: 0 })
  const fetchAll = (key: string) => client.file(prefix + key).bytes()

  return {
    put(key, bytes) {
      const digest = digestOf(bytes)
      return attempt(`${urlOf(key)} cannot be written`, writes, async () => {
        await send(key, bytes)
        if (digestOf(await fetchAll(key)) !== digest) throw new Error('it is stored differently')
        return digest
      })
    },
    async write(key, bytes) {
      await attempt(`${urlOf(key)} cannot be written`, writes, () => send(key, bytes))
    },
    async read(key, at, length) {
      const what = `${length} bytes of ${urlOf(key)} cannot be read from ${at} on`
      const part = client.file(prefix + key).slice(at, at + length)
      const bytes = await attempt(what, reads, () =>
        part.bytes().catch((error: unknown) => {
          // What S3 says to a range that begins after the last byte.
          if (codeOf(error) === 'InvalidRange') return new Uint8Array()
          throw error
        }),
      )
      if (bytes.length === length) return bytes
      throw new Fault(`${what}: there are ${bytes.length}.`, { kind: 'object_missing' })
    },
    get: (key) => attempt(`${urlOf(key)} cannot be read`, reads, () => fetchAll(key)),
    async list(start) {
      const found = new Map<string, number>()
      for (let token: string | undefined; ;) {
        const page = await attempt(`${urlOf(start)} cannot be listed`, reads, () =>
          client.list({ prefix: prefix + start, ...(token && { continuationToken: token }) }),
        )
        for (const { key, size } of page.contents ?? [])
          found.set(key.slice(prefix.length), size ?? 0)
        token = page.isTruncated ? page.nextContinuationToken : undefined
        if (token === undefined) return found
      }
    },
    async probe() {
      const what = `${urlOf('')} cannot be listed`
      await attempt(what, reads, () => client.list({ prefix, maxKeys: 1 }))
    },
    remove: (key) =>
      attempt(`${urlOf(key)} cannot be removed`, writes, () => client.delete(prefix + key)),
  }
}

const digestOf = (bytes: Uint8Array): string =>
  new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
