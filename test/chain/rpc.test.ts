import { afterEach, describe, expect, test } from 'bun:test'

import { createRpc, type RpcOptions } from '#src/chain/rpc.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'

const contract = `0x${'11'.repeat(20)}`
type Answer = (method: string, index: number) => Response | object | Promise<Response>

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** A node that says what it is told to, and counts. The URL holds secrets that nothing may show. */
function startNode(answer: Answer, options: Partial<RpcOptions> = {}) {
  const methods: string[] = []
  const lines: string[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { id, method } = (await request.json()) as { id: number; method: string }
      methods.push(method)
      const body = await answer(method, methods.length - 1)
      return body instanceof Response ? body : Response.json({ jsonrpc: '2.0', id, ...body })
    },
  })
  stops.push(() => server.stop(true))
  const url = `http://user:hunter2@127.0.0.1:${server.port}/v2/hunter3?key=hunter4`
  const rpc = createRpc({ chain: homeChain, url, log: (line) => void lines.push(line), ...options })
  return { rpc, methods, lines, origin: server.url.origin }
}

const faultOf = (question: Promise<unknown>): Promise<string> =>
  question.then(
    (answer) => `No fault, but ${answer}`,
    (error: unknown) => String(error),
  )

const polygon: Answer = (method) => ({ result: method === 'eth_chainId' ? '0x89' : '0xfe' })

describe('createRpc', () => {
  test('default: checks the chain once, then asks', async () => {
    const { rpc, methods, lines } = startNode(polygon)
    expect(await rpc.getCode(contract)).toBe('0xfe')
    expect(await rpc.call({ to: contract, data: '0x' })).toBe('0xfe')
    expect(methods).toEqual(['eth_chainId', 'eth_getCode', 'eth_call'])
    expect(lines).toEqual([])
  })

  test('error: a wrong chain is never asked', async () => {
    const { rpc, methods, origin } = startNode(() => ({ result: '0x1' }))
    const fault = `Fault: The RPC at ${origin} is on chain 1, not on 137.`
    expect(await faultOf(rpc.getCode(contract))).toBe(fault)
    expect(await faultOf(rpc.call({ to: contract, data: '0x' }))).toBe(fault)
    expect(new Set(methods)).toEqual(new Set(['eth_chainId']))
  })

  test('behavior: a node that is led to another chain while it is used is found, and not asked', async () => {
    let chainId = '0x89'
    const { rpc, lines, origin } = startNode((method) => ({
      result: method === 'eth_chainId' ? chainId : '0xfe',
    }))
    expect(await rpc.getCode(contract)).toBe('0xfe')
    expect(await rpc.findOtherChain()).toBeUndefined()
    chainId = '0x1'
    const wrong = `The RPC at ${origin} is on chain 1, not on 137.`
    expect(await rpc.findOtherChain()).toBe('is on chain 1, not on 137')
    expect(await faultOf(rpc.getCode(contract))).toBe(`Fault: ${wrong}`)
    chainId = '0x89'
    expect(await rpc.findOtherChain()).toBeUndefined()
    expect(await rpc.getCode(contract)).toBe('0xfe')
    expect(lines).toEqual([wrong, `The RPC at ${origin} answers again.`])
  })

  test('behavior: checks the chain again after a failure, and tells the log of both changes', async () => {
    const { rpc, methods, lines, origin } = startNode((method, index) =>
      index === 1 || index === 3
        ? { error: { code: -32000, message: 'busy' } }
        : polygon(method, 0),
    )
    expect(await faultOf(rpc.getCode(contract))).toEndWith('answers with the error -32000.')
    expect(await faultOf(rpc.getCode(contract))).toEndWith('answers with the error -32000.')
    expect(await rpc.getCode(contract)).toBe('0xfe')
    const identity = 'eth_chainId'
    const question = 'eth_getCode'
    expect(methods).toEqual([identity, question, identity, question, identity, question])
    expect(lines).toEqual([
      `The RPC at ${origin} answers with the error -32000.`,
      `The RPC at ${origin} answers again.`,
    ])
  })

  test('behavior: tries once more, not more often', async () => {
    const { rpc, methods } = startNode(() => new Response('Bad gateway', { status: 502 }))
    expect(await faultOf(rpc.getCode(contract))).toEndWith('answers with HTTP status 502.')
    expect(methods).toHaveLength(2)
  })

  test.each([
    ['the code', { code: 3, message: 'VM exception' }],
    ['the words', { code: -32000, message: 'execution reverted' }],
    ['an invalid opcode', { code: -32000, message: 'invalid opcode: INVALID' }],
  ])('behavior: knows a revert by %s', async (_, error) => {
    const { rpc } = startNode((method) => (method === 'eth_call' ? { error } : { result: '0x89' }))
    expect(await rpc.call({ to: contract, data: '0x' })).toBeUndefined()
  })

  test.each([
    ['an error', () => ({ error: { code: -32000, message: 'header not found' } })],
    ['no hex', () => ({ result: true })],
    ['nothing', () => ({})],
    ['no JSON', () => new Response('<html>')],
    ['too much', () => ({ result: `0x${'00'.repeat(1024 * 1024)}` })],
  ] satisfies [string, Answer][])('error: %s is no answer', async (_, answer) => {
    const { rpc } = startNode((method) =>
      method === 'eth_chainId' ? { result: '0x89' } : answer(),
    )
    expect(await faultOf(rpc.call({ to: contract, data: '0x' }))).toStartWith('Fault: The RPC at')
  })

  test.each([
    ['says nothing', () => new Promise<Response>(() => {})],
    ['begins to answer', () => new Response(new ReadableStream({ start: (c) => c.enqueue('{') }))],
    ['asks to wait', () => new Response('', { status: 429, headers: { 'retry-after': '3600' } })],
  ] satisfies [string, Answer][])(
    'error: waits no longer for a node that %s',
    async (_, answer) => {
      const { rpc } = startNode(answer, { timeoutMs: 100 })
      expect(await faultOf(rpc.getCode(contract))).toEndWith('gave no answer in 100 ms.')
    },
  )

  test('error: no message holds a secret of the URL', async () => {
    const { rpc, lines } = startNode((method) =>
      method === 'eth_chainId' ? { result: '0x89' } : { error: { code: -1, message: 'no' } },
    )
    const fault: unknown = await rpc.getCode(contract).catch((error: unknown) => error)
    expect(lines).toHaveLength(1)
    expect(Bun.inspect(fault) + lines.join()).not.toContain('hunter')
  })
})

const word = `0x${'22'.repeat(32)}`
const place = { blockNumber: '0xa', blockHash: word, transactionHash: word }
const transfer = { address: contract, topics: [word], data: '0x', logIndex: '0x0', ...place }
const receipt = { status: '0x1', logs: [transfer], ...place }

describe('Rpc', () => {
  const say = (result: unknown) =>
    startNode((method) => ({ result: method === 'eth_chainId' ? '0x89' : result })).rpc
  const question = { addresses: [contract], topics: [], from: 1, to: 2 }

  test('default: reads logs in their order, without those that were taken back', async () => {
    const logs = [{ ...transfer, logIndex: '0x2' }, { ...transfer, removed: true }, transfer]
    const found = await say(logs).getLogs(question)
    expect(found.map(({ logIndex }) => logIndex)).toEqual([0, 2])
  })

  test('default: what the node does not have is undefined', async () => {
    const rpc = say(null)
    expect(await rpc.getReceipt(word)).toBeUndefined()
    expect(await rpc.getInput(word)).toBeUndefined()
    expect(await rpc.getBlock('finalized')).toBeUndefined()
  })

  test('default: reads a receipt', async () => {
    expect(await say(receipt).getReceipt(word)).toMatchObject({ isSuccess: true, blockNumber: 10 })
    const failed = say({ ...receipt, status: '0x0' })
    expect(await failed.getReceipt(word)).toMatchObject({ isSuccess: false })
  })

  test.each([
    ['a receipt without a status', { ...receipt, status: undefined }],
    ['a receipt in no block', { ...receipt, blockNumber: null }],
    ['a receipt with odd logs', { ...receipt, logs: [{ ...transfer, topics: ['0x1'] }] }],
    ['a receipt with an unsafe number', { ...receipt, blockNumber: '0xffffffffffffffff' }],
    ['a receipt of nothing', 'receipt'],
  ])('error: %s is no answer', async (_, answer) => {
    expect(await faultOf(say(answer).getReceipt(word))).toContain('gave a malformed answer to')
  })

  test.each([
    ['null', null],
    ['a log of no address', [{ ...transfer, address: word }]],
    ['a log without a place', [{ ...transfer, logIndex: '0x' }]],
  ])('error: %s are no logs', async (_, answer) => {
    expect(await faultOf(say(answer).getLogs(question))).toContain('gave a malformed answer to')
  })
})

describe('src/chain', () => {
  test('behavior: viem is not loaded with the files that use it', async () => {
    const files = ['rpc', 'wallets', 'sanctions-oracle', 'chain-view'].map((name) =>
      Bun.resolveSync(`#src/chain/${name}.ts`, import.meta.dir),
    )
    const built = await Bun.build({
      entrypoints: files,
      target: 'bun',
      external: ['viem', 'viem/*'],
    })
    const texts = await Promise.all(built.outputs.map((output) => output.text()))
    const text = texts.join('\n')
    expect(text).toContain('import("viem")')
    expect(text).not.toMatch(/from\s*["']viem/)
  })
})
