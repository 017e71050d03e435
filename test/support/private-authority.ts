/**
 * A private certificate authority, and a certificate for `localhost` signed by it, created by
 * openssl.
 */
import { join } from 'node:path'

export const hasOpenssl = Bun.which('openssl') !== null

/** Creates both in a folder; returns the paths of the files. */
export async function makeAuthority(folder: string) {
  function openssl(words: string): void {
    const { exitCode, stderr } = Bun.spawnSync(['openssl', ...words.split(' ')], { cwd: folder })
    if (exitCode !== 0) throw new Error(stderr.toString())
  }
  openssl('req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=Private')
  openssl('req -newkey rsa:2048 -nodes -keyout server.key -out request -subj /CN=localhost')
  await Bun.write(join(folder, 'names'), 'subjectAltName=DNS:localhost')
  openssl(
    'x509 -req -in request -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out server.pem',
  )
  return {
    authority: join(folder, 'ca.pem'),
    key: join(folder, 'server.key'),
    certificate: join(folder, 'server.pem'),
  }
}
