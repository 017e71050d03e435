import { join } from 'node:path'

import solc from 'solc'

const folder = join(import.meta.dir, '../../dev/sandbox/contracts')

/** The compiled contracts, stored beside their sources. */
export const compiledFile = join(folder, 'compiled.json')

type CompilerAnswer = {
  errors?: { severity: string; formattedMessage: string }[]
  contracts?: Record<string, Record<string, { evm: { deployedBytecode: { object: string } } }>>
}

/** The code contains no hash of the sources, so that a comment changes nothing. */
const settings = {
  optimizer: { enabled: true, runs: 200 },
  evmVersion: 'cancun',
  metadata: { appendCBOR: false, bytecodeHash: 'none' },
  outputSelection: { '*': { '*': ['evm.deployedBytecode.object'] } },
}

async function readSources(): Promise<Record<string, { content: string }>> {
  const names = [...new Bun.Glob('*.sol').scanSync(folder)].sort()
  const read = async (name: string) =>
    [name, { content: await Bun.file(join(folder, name)).text() }] as const
  return Object.fromEntries(await Promise.all(names.map(read)))
}

/** Compiles the contracts; returns the text of the file with the code of each by name. */
export async function compileContracts(): Promise<string> {
  const input = { language: 'Solidity', sources: await readSources(), settings }
  const answer = JSON.parse(solc.compile(JSON.stringify(input))) as CompilerAnswer
  const messages = answer.errors?.map(({ formattedMessage }) => formattedMessage) ?? []
  if (messages.length > 0) throw new Error(messages.join('\n'))
  const codes = Object.values(answer.contracts ?? {})
    .flatMap(Object.entries<{ evm: { deployedBytecode: { object: string } } }>)
    .map(([name, { evm }]) => [name, `0x${evm.deployedBytecode.object}`] as const)
    // An interface has no code.
    .filter(([, code]) => code.length > 2)
  return `${JSON.stringify(Object.fromEntries(codes), undefined, 2)}\n`
}

if (import.meta.main) await Bun.write(compiledFile, await compileContracts())
