/** The program with threads that end or hang when a file in the data folder orders it. */
import { existsSync, rmSync } from 'node:fs'
import { isMainThread, workerData } from 'node:worker_threads'

function obey(order: 'die' | 'hang'): void {
  // biome-ignore lint/style/noProcessEnv: what threads are ordered is not for the product's settings.
  const path = `${process.env.BOOKFEED_DATA}/${order}-${workerData.start.thread}`
  if (!existsSync(path)) return
  rmSync(path)
  if (order === 'die') throw new Error('As ordered.')
  for (;;);
}

if (!isMainThread && workerData?.start?.thread !== undefined) {
  setInterval(obey, 20, 'die')
  setInterval(obey, 20, 'hang')
}

await import('#src/main.ts')
