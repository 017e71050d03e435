/**
 * Objects of a bucket. Endpoint, region and credentials are in the variables that Bun's client
 * reads, `S3_…` or `AWS_…`.
 */
import { codeOf, messageOf } from '#src/lib/message.ts'

import { BackupFault, type BackupStore } from './store.ts'

const TRIES_MAX = 5
const WAIT_MS = 250
/** What the service will say again. */
const final = /^(NoSuch|AccessDenied|Signature|Invalid|NotImplemented|Missing)/

export function createS3Store(bucket: string, prefix: string): BackupStore {
  const client = new Bun.S3Client({ bucket })

  async function attempt<T>(what: string, ask: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await ask()
      } catch (cause) {
        const message = messageOf(cause)
        if (tries < TRIES_MAX && !final.test(codeOf(cause))) await Bun.sleep(WAIT_MS * 2 ** tries)
        else
          throw new BackupFault(
            `s3://${bucket}/${prefix} cannot be ${what} (${message}). Check S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, and what the key may do.`,
            { cause },
          )
      }
    }
  }
  const listPage = (start: string, token: string | undefined) =>
    attempt('listed', () =>
      client.list({ prefix: prefix + start, ...(token && { continuationToken: token }) }),
    )
  return {
    async list(start) {
      const found = new Map<string, number>()
      for (let token: string | undefined; ;) {
        const page = await listPage(start, token)
        for (const { key, size } of page.contents ?? [])
          found.set(key.slice(prefix.length), size ?? 0)
        token = page.isTruncated ? page.nextContinuationToken : undefined
        if (token === undefined) return found
      }
    },
    put: async (name, bytes) =>
      void (await attempt('written', () => client.write(prefix + name, bytes))),
    get: (name) => attempt('read', () => client.file(prefix + name).bytes()),
    remove: (name) => attempt('changed', () => client.delete(prefix + name)),
  }
}
