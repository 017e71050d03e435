/** Which receipts count, of nodes that agree, disagree, lag, lie, fail and do not answer. */
import { afterEach, describe, expect, test } from 'bun:test'

import { createReceiptVote } from '#src/chain/receipt-vote.ts'
import { createRpc } from '#src/chain/rpc.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'

import { NOW_MS } from '../support/now.ts'

const hashOf = (number: number): string => `0x${String(number).padStart(64, '0')}`
const OWN = hashOf(1)
const OTHER = hashOf(2)

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

type Given = { status?: string; block?: number; blockHash?: string; of?: string } | 'none' | 'dead'
/** What a node says of transactions; `none` of those that are not named. */
type Script = {
  receipts?: Record<string, Given>
  final?: number
  chainId?: string
  /** In place of every answer. */
  body?: string
}

function startNode(script: Script) {
  const methods: string[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { id, method, params } = (await request.json()) as {
        id: number
        method: string
        params: string[]
      }
      methods.push(method)
      if (script.body !== undefined) return new Response(script.body)
      const result = answer(script, method, params)
      return Response.json(
        result === 'dead'
          ? { jsonrpc: '2.0', id, error: { code: -1, message: 'busy' } }
          : { jsonrpc: '2.0', id, result },
      )
    },
  })
  stops.push(() => server.stop(true))
  const rpc = createRpc({ chain: homeChain, url: String(server.url) })
  return { rpc, methods, script }
}

function answer(
  { receipts = {}, final = 100, chainId = '0x89' }: Script,
  method: string,
  params: string[],
) {
  const hex = (value: number): string => `0x${value.toString(16)}`
  if (method === 'eth_chainId') return chainId
  if (method === 'eth_getBlockByNumber') {
    expect(params).toEqual(['finalized', false] as unknown as string[])
    return { number: hex(final), hash: hashOf(final), timestamp: '0x1' }
  }
  const [hash = ''] = params
  const given = receipts[hash] ?? 'none'
  if (given === 'dead') return 'dead'
  if (given === 'none') return null
  const { status = '0x1', block = 90, blockHash = hashOf(block), of = hash } = given
  return { status, blockNumber: hex(block), blockHash, transactionHash: of, logs: [] }
}

const success: Given = {}
const failure: Given = { status: '0x0' }
const says = (given: Given) => ({ receipts: { [OWN]: given } })

/** What is decided of `OWN` by nodes that say these things. */
async function decide(...scripts: Script[]): Promise<boolean | undefined> {
  const nodes = scripts.map((script) => startNode(script).rpc)
  return (await createReceiptVote(nodes, () => NOW_MS).ask([OWN])).get(OWN)
}

describe('createReceiptVote', () => {
  test('default: two nodes agree on what succeeded, and on what failed', async () => {
    expect(await decide(says(success), says(success))).toBe(true)
    expect(await decide(says(failure), says(failure))).toBe(false)
  })

  test('behavior: of one node only success counts', async () => {
    expect(await decide(says(success))).toBe(true)
    expect(await decide(says(failure))).toBeUndefined()
    expect(await decide(says('none'))).toBeUndefined()
  })

  const undecided: Record<string, [Script, Script]> = {
    'one calls failed': [says(success), says(failure)],
    'one does not know': [says(failure), says('none')],
    'none knows': [says('none'), says('none')],
    'one has in another block': [says(failure), says({ status: '0x0', blockHash: hashOf(7) })],
    'one does not call final': [says(failure), { ...says(failure), final: 89 }],
    'one answers for another transaction': [says(failure), says({ status: '0x0', of: OTHER })],
    'one answers without a status': [says(failure), says({ status: '0x2' })],
    'one answers with an error': [says(failure), says('dead')],
    'one has on another chain': [says(failure), { ...says(failure), chainId: '0x1' }],
    'one answers with garbage': [says(failure), { body: '<html>' }],
    'one answers with nothing': [says(failure), { body: '{"jsonrpc":"2.0","id":1}' }],
  }
  for (const [name, [one, other]] of Object.entries(undecided)) {
    test(`error: a transaction that ${name} is not decided, whichever is asked first`, async () => {
      expect(await decide(one, other)).toBeUndefined()
      expect(await decide(other, one)).toBeUndefined()
    })
  }

  test('behavior: a third node decides, and is asked only where two do not', async () => {
    const nodes = [
      { receipts: { [OWN]: success, [OTHER]: success } },
      { receipts: { [OWN]: failure, [OTHER]: success } },
      { receipts: { [OWN]: failure, [OTHER]: failure } },
    ].map(startNode)
    const vote = createReceiptVote(
      nodes.map(({ rpc }) => rpc),
      () => NOW_MS,
    )
    const decided = await vote.ask([OWN, OTHER])
    expect(Object.fromEntries(decided)).toEqual({ [OWN]: false, [OTHER]: true })
    const asked = nodes[2]?.methods.filter((method) => method === 'eth_getTransactionReceipt')
    expect(asked).toHaveLength(1)
  })

  test('error: a node that fails rests, longer each time, and the others wait for it', async () => {
    let nowMs = NOW_MS
    const sound = startNode(says(failure))
    const faulty = startNode(says('dead'))
    const vote = createReceiptVote([faulty.rpc, sound.rpc], () => nowMs)
    const rests: number[] = []
    for (let round = 0; round < 9; round++) {
      expect(vote.restMs()).toBe(0)
      expect((await vote.ask([OWN])).size).toBe(0)
      rests.push(vote.restMs())
      nowMs += vote.restMs() - 1
      expect(vote.restMs()).toBe(1)
      const { length } = faulty.methods
      await vote.ask([OWN])
      expect(faulty.methods).toHaveLength(length)
      nowMs++
    }
    expect(rests.slice(0, 3)).toEqual([10_000, 20_000, 40_000])
    expect(rests.at(-1)).toBe(600_000)
    faulty.script.receipts = { [OWN]: failure }
    expect((await vote.ask([OWN])).get(OWN)).toBe(false)
    faulty.script.receipts = { [OWN]: 'dead' }
    await vote.ask([OWN])
    expect(vote.restMs()).toBe(10_000)
  })

  test('behavior: with three nodes one may fail', async () => {
    const nodes = [says('dead'), says(failure), says(failure)].map((each) => startNode(each).rpc)
    const vote = createReceiptVote(nodes, () => NOW_MS)
    expect((await vote.ask([OWN])).get(OWN)).toBe(false)
    expect(vote.restMs()).toBe(0)
    expect((await vote.ask([OWN])).get(OWN)).toBe(false)
  })
})
