/** A replacement for SeaweedFS by Ceph's gateway: `weed server -s3 …` and `weed shell`. */
import { startS3 } from './engines/s3.ts'

const WAIT_MS = 500
const WAITS_MAX = 240
const [command, ...options] = process.argv.slice(2)
const optionOf = (name: string): string =>
  options.find((word) => word.startsWith(`-${name}=`))?.slice(name.length + 2) ?? ''

if (command === 'server') {
  const { identities } = await Bun.file(optionOf('s3.config')).json()
  const [{ accessKey, secretKey }] = identities[0].credentials
  await using _s3 = await startS3(1, { port: 8333, key: accessKey, secret: secretKey })
  const { promise, resolve } = Promise.withResolvers<void>()
  process.on('SIGTERM', () => resolve())
  await promise
} else {
  // The bucket exists as soon as the service responds.
  const [host] = optionOf('master').split(':')
  for (let waits = 0; waits < WAITS_MAX; waits++) {
    if (await fetch(`http://${host}:8333`).then(Boolean, () => false)) break
    await Bun.sleep(WAIT_MS)
  }
}
