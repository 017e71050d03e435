import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import {
  createExactFacilitator,
  type ExactFacilitatorOptions,
} from '#dev/sandbox/exact-facilitator.ts'
import type { FacilitatorRequest } from '#dev/sandbox/http-facilitator.ts'

type Settled = {
  success: boolean
  errorReason?: string | undefined
  payer?: string | undefined
  transaction: string
  network: string
  amount?: string | undefined
}
type Respond = (response: ServerResponse, settled: Settled) => void

const nowhere = '0x000000000000000000000000000000000000dEaD'
const noSuchTx = `0x${'ab'.repeat(32)}`
const notSent: Settled = { success: false, transaction: '', network: 'eip155:137' }

const json = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
const failure = (reason: string, transaction = ''): Settled => ({
  ...notSent,
  errorReason: reason,
  transaction,
})
const answer =
  (change: (settled: Settled) => Settled, status = 200): Respond =>
  (response, settled) =>
    json(response, status, change(settled))
const text =
  (status: number, body: string): Respond =>
  (response) =>
    response.writeHead(status, { 'content-type': 'text/html' }).end(body)
const cut: Respond = (response) => response.socket?.destroy()
const hang: Respond = () => {}

/** A space every ten milliseconds: an endless beginning of JSON. */
const drip: Respond = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  const timer = setInterval(() => response.write(' '), 10)
  response.once('close', () => clearInterval(timer))
}

const redirect: Respond = (response) => response.writeHead(307, { location: '/elsewhere' }).end()

const huge: Respond = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(`{"success":true,"padding":"${'x'.repeat(4_000_000)}"}`)
}

/** The scripts of a call: if the payment is sent to the chain, and the response. */
const scripts = {
  ok: { sends: true, respond: answer((settled) => settled) },
  // The money moves, and the response is lost or does not report it.
  'cut-after-broadcast': { sends: true, respond: cut },
  'timeout-after-broadcast': { sends: true, respond: hang },
  '500-after-broadcast': { sends: true, respond: text(500, '<h1>Oops</h1>') },
  'slow-drip': { sends: true, respond: drip },
  garbage: { sends: true, respond: text(200, '<html>not JSON') },
  huge: { sends: true, respond: huge },
  'failed-after-broadcast': {
    sends: true,
    respond: answer(() => failure('invalid_exact_evm_transaction_failed')),
  },
  'failed-with-hash': {
    sends: true,
    respond: answer(({ transaction }) =>
      failure('invalid_exact_evm_transaction_failed', transaction),
    ),
  },
  'nonce-used-after-broadcast': {
    sends: true,
    respond: answer(() => failure('invalid_exact_evm_nonce_already_used')),
  },
  settlement_pending: {
    sends: true,
    respond: answer(({ transaction }) => failure('settlement_pending', transaction)),
  },
  'settlement_pending-500': {
    sends: true,
    respond: answer(({ transaction }) => failure('settlement_pending', transaction), 500),
  },
  'wrong-payer': { sends: true, respond: answer((settled) => ({ ...settled, payer: nowhere })) },
  'wrong-amount': { sends: true, respond: answer((settled) => ({ ...settled, amount: '1' })) },
  'wrong-hash': {
    sends: true,
    respond: answer((settled) => ({ ...settled, transaction: noSuchTx })),
  },
  'wrong-network': {
    sends: true,
    respond: answer((settled) => ({ ...settled, network: 'eip155:1' })),
  },
  // No money moves.
  'cut-before': { sends: false, respond: cut },
  timeout: { sends: false, respond: hang },
  '500-before': { sends: false, respond: text(500, '<h1>Oops</h1>') },
  '503-before': { sends: false, respond: text(503, '') },
  '401': { sends: false, respond: text(401, 'who are you') },
  '429': { sends: false, respond: text(429, 'slow down') },
  redirect: { sends: false, respond: redirect },
  'false-success': {
    sends: false,
    respond: answer(() => ({ ...notSent, success: true, transaction: noSuchTx })),
  },
  'false-signature-fault': {
    sends: false,
    respond: answer(() => failure('invalid_exact_evm_signature')),
  },
  'insufficient-balance': {
    sends: false,
    respond: answer(() => failure('invalid_exact_evm_insufficient_balance')),
  },
} satisfies Record<string, { sends: boolean; respond: Respond }>

export type Script = keyof typeof scripts
export const allScripts = Object.keys(scripts) as Script[]
/** True if the money moves, whatever the response. */
export const sendsPayment = (script: Script): boolean => scripts[script].sends

export type RecordedCall = {
  path: string
  /** The exact bytes, to check that repeated payments are identical. */
  body: string
  authorization: string | undefined
  script: Script | undefined
  /** The real outcome of the payment, if it was sent. */
  settled?: Settled | undefined
}

export type ScriptedFacilitator = {
  url: string
  calls: RecordedCall[]
  /** Calls of `settle` only. */
  settles(): RecordedCall[]
  /** Scripts for the next calls of `settle`, one each; `ok` afterwards. */
  next(...scripts: Script[]): void
  /** The script for calls without a planned one, in place of `ok`. */
  always(script: Script): void
  /** The response of `/supported`; undefined answers 500. */
  kinds(kinds: readonly unknown[] | undefined): void
  /** Resolves when this many calls of `settle` since the start are about to be answered. */
  reached(settles: number): Promise<void>
  stop(): Promise<void>
}

/** The real facilitator behind a server that answers each call by its script. */
export async function startScriptedFacilitator(
  options: ExactFacilitatorOptions,
): Promise<ScriptedFacilitator> {
  const facilitator = createExactFacilitator(options)
  const calls: RecordedCall[] = []
  const waiting: { settles: number; resolve: () => void }[] = []
  let planned: Script[] = []
  let usual: Script = 'ok'
  let kinds: readonly unknown[] | undefined = facilitator.getSupported().kinds
  let reached = 0

  async function settle(call: RecordedCall, response: ServerResponse): Promise<void> {
    const name = planned.shift() ?? usual
    const { sends, respond } = scripts[name]
    call.script = name
    const { paymentPayload, paymentRequirements } = JSON.parse(call.body) as FacilitatorRequest
    if (sends) call.settled = await facilitator.settle(paymentPayload, paymentRequirements)
    reached += 1
    for (const { settles, resolve } of waiting) if (reached >= settles) resolve()
    // A failure to send is reported truthfully.
    const isDone = !sends || call.settled?.success === true
    if (isDone) respond(response, call.settled ?? notSent)
    else json(response, 200, call.settled)
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call: RecordedCall = {
      path: request.url ?? '',
      body: await readBody(request),
      authorization: request.headers.authorization,
      script: undefined,
    }
    calls.push(call)
    if (call.path === '/settle') await settle(call, response)
    else if (call.path === '/verify') {
      const { paymentPayload, paymentRequirements } = JSON.parse(call.body) as FacilitatorRequest
      json(response, 200, await facilitator.verify(paymentPayload, paymentRequirements))
    } else if (call.path === '/supported' && kinds) {
      json(response, 200, { ...facilitator.getSupported(), kinds })
    } else response.writeHead(call.path === '/supported' ? 500 : 404).end()
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => json(response, 400, { error: `${error}` }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    settles: () => calls.filter(({ path }) => path === '/settle'),
    next: (...next) => {
      planned = next
    },
    always: (script) => {
      usual = script
    },
    kinds: (next) => {
      kinds = next
    },
    reached: (settles) =>
      new Promise((resolve) => {
        if (reached >= settles) resolve()
        else waiting.push({ settles, resolve })
      }),
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
