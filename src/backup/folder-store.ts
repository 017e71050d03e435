/** Files of a folder, which is its owner's alone. */

import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { Fault } from '#src/platform/fault.ts'
import { codeOf, messageOf } from '#src/platform/message.ts'

import type { BackupStore } from './store.ts'

/** What is not whole yet. */
const PART = '.part'

export function createFolderStore(folder: string, assertRoom: () => void): BackupStore {
  const say = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      return await answer
    } catch (cause) {
      throw new Fault(
        `The backups in ${folder} cannot be used (${messageOf(cause)}). Give this user the right to read and write them, or name another place.`,
        { kind: 'backup', cause },
      )
    }
  }

  async function list(prefix: string): Promise<Map<string, number>> {
    const found = new Map<string, number>()
    const at = prefix.endsWith('/') ? prefix : ''
    for (const entry of await namesOf(join(folder, at))) {
      const name = at + entry
      if (!name.startsWith(prefix) || name.endsWith(PART)) continue
      const status = await stat(join(folder, name))
      if (status.isFile()) found.set(name, status.size)
    }
    return found
  }

  async function put(name: string, bytes: Uint8Array): Promise<void> {
    const path = join(folder, name)
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeDurably(`${path}${PART}`, bytes)
    await rename(`${path}${PART}`, path)
    await syncFolder(dirname(path))
  }

  return {
    list: (prefix) => say(list(prefix)),
    put(name, bytes) {
      assertRoom()
      return say(put(name, bytes))
    },
    get: (name) => say(readFile(join(folder, name))),
    remove: (name) => say(rm(join(folder, name), { force: true })),
  }
}

async function namesOf(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}

async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** A name that was given survives a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}
