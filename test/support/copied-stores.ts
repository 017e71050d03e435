/** Copies a history from one place to another, like `bookfeed copy`. */
import { copyHistory } from '#src/extensions/postgres/copy-history.ts'
import { openCopyStore } from '#src/extensions/postgres/copy-store.ts'
import { formats } from '#src/extensions/postgres/formats.ts'

export async function copyBooks(from: string, to: string): Promise<void> {
  const source = await openCopyStore(from, formats.history)
  const target = await openCopyStore(to, formats.history)
  try {
    for await (const _ of copyHistory(source, target));
  } finally {
    for (const store of [source, target]) await store.close()
  }
}
