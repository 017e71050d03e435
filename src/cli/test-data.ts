import { Command } from 'commander'

import { sentenceOf } from '#src/platform/message.ts'
import { testStores } from '#src/simulator/test-day.ts'

import { commandError } from '../server/command-end.ts'
import type { CliContext } from '../server/extension.ts'
import { openDataFolder } from '../server/open-data-folder.ts'
import { createProgress } from '../server/progress.ts'
import { roomFault } from '../server/room.ts'
import { hasStore, makeFiles } from '../server/test-data.ts'

const help = `
Test keys (bf_test_…; make one with bookfeed keys create --test) read this data. A server makes it when it first
starts; run this command to make it in advance. The data is the same on every server.

Exit code: 0 if the data exists or was made, 1 if it cannot be made.`

export const testDataCommand = (context: CliContext): Command =>
  new Command('test-data')
    .description('make the simulated data that test keys read')
    .addHelpText('after', help)
    .action(() => runTestData(context))

async function runTestData(context: CliContext): Promise<void> {
  // Creates the folder, or throws the reason.
  const history = await openDataFolder(context)
  history.dispose()
  const { dataPath } = context.config()
  const missing = testStores.filter((store) => !hasStore(dataPath, store))
  if (missing.length === 0) {
    context.print('The test data exists already.')
    return
  }
  const fault = roomFault(context, dataPath)
  if (fault !== undefined) throw fault
  const progress = createProgress(context, 'making', 'windows')
  let windows = 0
  try {
    for await (const share of makeFiles(dataPath, missing)) progress.update(++windows, share)
  } catch (cause) {
    throw commandError(`Cannot make the test data: ${sentenceOf(cause)}`, {
      cause,
    })
  } finally {
    progress.end()
  }
  context.print(`Made the test data in ${progress.seconds().toFixed(1)} s.`)
}
