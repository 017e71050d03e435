import { Command } from 'commander'

import { sentenceOf } from '#src/platform/message.ts'
import { testStores } from '#src/simulator/test-day.ts'

import { type CliContext, commandError } from '../server/context.ts'
import { openDataFolder } from '../server/open-data-folder.ts'
import { createProgress } from '../server/progress.ts'
import { roomFault } from '../server/room.ts'
import { hasStore, makeFiles } from '../server/test-data.ts'

const help = `
Keys of test mode (bf_test_…, bookfeed keys create --test) read these data. A server makes them by itself
when it starts; this makes them before. They are the same on every server.

Exit code: 0 when they are there, 1 when they could not be made.`

export const testDataCommand = (context: CliContext): Command =>
  new Command('test-data')
    .description('make the simulated data that keys of test mode read')
    .addHelpText('after', help)
    .action(() => runTestData(context))

async function runTestData(context: CliContext): Promise<void> {
  // Makes the folder, or says why not.
  openDataFolder(context).dispose()
  const { dataPath } = context.config()
  const missing = testStores.filter((store) => !hasStore(dataPath, store))
  if (missing.length === 0) {
    context.print('The data of test mode are there already.')
    return
  }
  const fault = roomFault(context, dataPath)
  if (fault !== undefined) throw fault
  const progress = createProgress(context, 'making', 'windows')
  let windows = 0
  try {
    for (const share of makeFiles(dataPath, missing)) progress.update(++windows, share)
  } catch (cause) {
    throw commandError(`The data of test mode cannot be made: ${sentenceOf(cause)}`, {
      cause,
    })
  } finally {
    progress.end()
  }
  context.print(`The data of test mode are made, in ${progress.seconds().toFixed(1)} s.`)
}
