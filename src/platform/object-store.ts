/**
 * Objects in a bucket of an S3-compatible service. Endpoint, region and credentials come from the
 * variables that Bun's client reads, `S3_…` or `AWS_…`. Names are keys without the configured
 * prefix.
 */

import type { S3Options } from 'bun'

import type { BucketPlace } from './bucket-place.ts'
import { Fault, isFault } from './fault.ts'
import { codeOf } from './message.ts'
import { within } from './timeout.ts'

/**
 * Every method rejects only with an `object_missing` or `object_unreachable` fault. After
 * `object_unreachable` the caller may retry; a writer does not know whether the object was stored.
 */
export type ObjectStore = {
  /** Stores or replaces an object and reads it back; returns its SHA-256 in hexadecimal. */
  put(key: string, bytes: Uint8Array): Promise<string>
  /** Stores or replaces an object, trusting the service's acknowledgement. */
  write(key: string, bytes: Uint8Array): Promise<void>
  /** Reads exactly `length` bytes, at least one, from offset `at`; fewer are a fault. */
  read(key: string, at: number, length: number): Promise<Uint8Array>
  get(key: string): Promise<Uint8Array>
  /** Names and sizes in bytes of the objects with this prefix. */
  list(prefix: string): Promise<Map<string, number>>
  /** Checks that the bucket can be listed. */
  probe(): Promise<void>
  /** Succeeds if the object does not exist. */
  remove(key: string): Promise<void>
}

/** `limitMs` bounds each try. `waitMs` is the wait after the first try; it doubles with each. */
export type RetryPolicy = { tries: number; waitMs: number; limitMs: number }
export type StoreOptions = { reads?: RetryPolicy; writes?: RetryPolicy; client?: S3Options }

/** Reads are on the path of requests, so they fail fast. */
const readRetries: RetryPolicy = { tries: 2, waitMs: 100, limitMs: 5000 }
const writeRetries: RetryPolicy = { tries: 4, waitMs: 500, limitMs: 60_000 }

/** Codes of errors that a retry would only repeat. */
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
  { reads = readRetries, writes = writeRetries, client: options = {} }: StoreOptions = {},
): ObjectStore {
  const client = new Bun.S3Client({ ...options, bucket })
  const urlOf = (key: string): string => `s3://${bucket}/${prefix}${key}`

  async function attempt<T>(
    what: string,
    { tries, waitMs, limitMs }: RetryPolicy,
    ask: () => Promise<T>,
  ): Promise<T> {
    for (let left = tries, wait = waitMs; ; wait *= 2) {
      try {
        // Bun's client has no timeout for a service that accepts a request and never answers.
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
          // S3's answer to a range that begins after the last byte.
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
