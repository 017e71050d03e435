/**
 * One purchase in which the server is killed at a chosen step, and
 * what is done about it afterwards.
 */
import { connect } from 'node:net'
import { setImmediate } from 'node:timers/promises'

import type { TokenSymbol } from '#src/domain/selling/payment-chain.ts'

import {
  type CrashWorld,
  type Customer,
  SETTLE,
  type Settled,
  type Signed,
  within,
} from './crash-world.ts'
import { type Script, sendsPayment } from './scripted-facilitator.ts'

/** Where the server may die, and what must be committed by then. */
const stateAt = {
  /** Half of the payment has arrived. */
  'before claim': ['nowhere'],
  /** The oracle is being asked about the payer. */
  'after claim': ['received'],
  /** The chain is being asked whether the payment would go through. */
  'after screening': ['screened'],
  /** The facilitator gets the payment, and sends it when the server is dead already. */
  'in the call': ['settling'],
  /** The facilitator is done; its answer never arrives. */
  'before the answer': ['settling'],
  /** The chain is being asked what to make of the answer. */
  'after the answer': ['settling'],
  /** The payment is on the chain and not final, or nobody knows. */
  'before finality': ['pending', 'unknown'],
  /** In the midst of the transaction that gives the period. */
  'before provision': ['settled'],
} as const satisfies Record<string, readonly string[]>
export type CrashPoint = keyof typeof stateAt
export const crashPoints = Object.keys(stateAt) as CrashPoint[]

/** Who finds out what became of it: the payer who asks again, or the server alone. */
export const drivers = ['payer', 'reconciler'] as const

export type Cell = {
  script: Script
  point: CrashPoint
  driver: (typeof drivers)[number]
  tier: 'starter' | 'pro'
  token: TokenSymbol
}

/** Whose answer would take the minute for which a facilitator is waited for. */
const endless: readonly Script[] = ['timeout', 'timeout-after-broadcast', 'slow-drip']
/** Points that lie before the answer of the facilitator. */
const early = crashPoints.slice(0, crashPoints.indexOf('after the answer'))
/** Points at which nothing was handed to the facilitator. */
const unsent = crashPoints.slice(0, crashPoints.indexOf('in the call'))

/**
 * Whether a point can be reached: what comes after an endless answer
 * comes as after one that is cut.
 */
export const isReachable = ({ script, point }: Pick<Cell, 'script' | 'point'>): boolean =>
  early.includes(point) || !endless.includes(script)

const ATTEMPTS_MAX = 12
/** Attempts that a payer whose payment was not taken has before the chain leaves its end behind. */
const IN_TIME = 3
const decided = ['provisioned', 'void', 'rejected']

/**
 * Throws if what is to come does not come; returns what a payer or an operator would call wrong.
 */
export async function runCell(
  world: CrashWorld,
  customer: Customer,
  cell: Cell,
): Promise<string[]> {
  const { script, driver } = cell
  const signed = await world.buy(customer, cell)
  world.facilitator.next(script)
  const sent = world.facilitator.settles().length
  const handed = await crashAt(world, signed, cell.point)
  // It may have been submitted before anything else was held: it ends its work whatever becomes of
  // us.
  const arrived = world.facilitator.settles().length
  if (arrived > sent) await within('the facilitator', world.facilitator.reached(arrived))
  // The next call is the first one that counts, unless it would never end.
  if (endless.includes(script)) world.facilitator.next()
  world.setMoving(true)
  if (driver === 'reconciler') await world.endTime(signed)
  await world.restart()
  const last = driver === 'payer' ? await repeat(world, signed) : await watch(world, signed)
  world.setMoving(false)
  const faults = await world.brokenInvariants()
  const state = world.find(signed)?.state
  if ((last.status === 200) !== (state === 'provisioned')) {
    faults.push(`The payment is ${state}, and the last answer is ${last.status}.`)
  }
  if (state !== undefined && !decided.includes(state)) faults.push(`The payment is still ${state}.`)
  if (mustSucceed(cell) && state !== 'provisioned') {
    faults.push(`The payer asked again in time, and the payment is ${state} (${handed}).`)
  }
  return faults
}

/** Nothing hindered it but the crash, and the payer came back at once. */
const mustSucceed = ({ script, point, driver }: Cell): boolean =>
  sendsPayment(script)
    ? driver === 'payer' || !unsent.includes(point)
    : driver === 'payer' && unsent.includes(point) && endless.includes(script)

/** Begins to settle and kills the server at the point, or at the answer if that comes first. */
export async function crashAt(
  world: CrashWorld,
  signed: Signed,
  point: CrashPoint,
): Promise<string> {
  const reached = arm(world, signed, point)
  const settling = point === 'before claim' ? sendHalf(world, signed) : world.settle(signed)
  const how = await within(
    `${point}\n${world.server().errors()}`,
    Promise.race([reached.then(() => 'at the point'), settling.then(() => 'at the answer')]),
  )
  await world.server().kill()
  await settling
  const state = world.find(signed)?.state
  world.setMoving(false)
  world.rpcGate.open()
  if (point === 'in the call' && how === 'at the point') {
    const calls = world.facilitator.settles().length + 1
    world.facilitatorGate.open()
    await within('the late facilitator', world.facilitator.reached(calls))
  }
  world.facilitatorGate.open()
  if (point === 'before provision') release(world)
  if (how === 'at the point') assertCommitted(point, state)
  return how
}

function assertCommitted(point: CrashPoint, state = 'nowhere'): void {
  const allowed: readonly string[] = stateAt[point]
  if (!allowed.includes(state)) throw new Error(`Killed ${point}, the payment is ${state}.`)
}

/** Questions about an address, as contracts are asked them. */
const questionOf = (selector: string) => (address: string) =>
  `${selector}${address.slice(2).padStart(64, '0')}`
const balanceOf = questionOf('70a08231')
const isSanctioned = questionOf('df592f7d')

async function arm(world: CrashWorld, signed: Signed, point: CrashPoint): Promise<void> {
  const { rpcGate, facilitatorGate, facilitator } = world
  const { payer } = signed
  switch (point) {
    case 'before claim':
      return new Promise(() => {})
    case 'after claim':
      return rpcGate.hold({ text: isSanctioned(payer) })
    case 'after screening':
      await rpcGate.hold({ text: isSanctioned(payer) })
      return rpcGate.hold({ text: balanceOf(payer) })
    case 'in the call':
      return facilitatorGate.hold({ text: 'post /settle' })
    case 'before the answer': {
      const calls = facilitator.settles().length + 1
      await facilitatorGate.hold({ text: 'post /settle', side: 'answer' })
      return facilitator.reached(calls)
    }
    case 'after the answer':
      return rpcGate.hold({ text: '"finalized"' })
    case 'before finality':
      return rpcGate.hold({ text: '"finalized"', skip: 1 })
    case 'before provision': {
      dam(world)
      world.setMoving(true)
      return untilSettled(world, signed)
    }
  }
}

/** The transaction that gives a period does not end, so that it can be killed halfway. */
function dam({ meddle }: CrashWorld): void {
  meddle(`CREATE VIEW endless AS WITH RECURSIVE counter(n) AS
    (SELECT 1 UNION ALL SELECT n + 1 FROM counter) SELECT n FROM counter`)
  meddle(`CREATE TRIGGER dam BEFORE UPDATE OF state ON payment WHEN NEW.state = 'provisioned'
    BEGIN SELECT count(*) FROM endless; END`)
}

function release({ meddle }: CrashWorld): void {
  meddle('DROP TRIGGER dam')
  meddle('DROP VIEW endless')
}

async function untilSettled({ find, server }: CrashWorld, signed: Signed): Promise<void> {
  const { pid } = server()
  while (server().pid === pid && find(signed)?.state !== 'settled') await setImmediate()
}

/** Sends a settle call whose body does not end. */
async function sendHalf({ server }: CrashWorld, { key, payload }: Signed): Promise<void> {
  const { hostname, port } = new URL(server().origin)
  const body = JSON.stringify({ paymentPayload: payload })
  const head = [
    `POST ${SETTLE} HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ].join('\r\n')
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  const half = body.slice(0, body.length / 2)
  await new Promise<void>((resolve) => socket.write(`${head}\r\n\r\n${half}`, () => resolve()))
  // An answer to something else, so that the half has surely been read.
  await fetch(`${server().origin}/livez`)
  socket.destroy()
}

/** The payer submits the same payment until an answer does not ask him to come back. */
async function repeat(world: CrashWorld, signed: Signed): Promise<Settled> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const answer = await world.settle(signed)
    if (answer && answer.status !== 202 && answer.status < 500) return answer
    // What is on its way was looked for already; waiting longer shows nothing more.
    if (answer?.status === 202 || attempt >= IN_TIME) await world.endTime(signed)
  }
  throw new Error(`The payment is ${world.find(signed)?.state}.\n${world.server().errors()}`)
}

/** Nobody asks; when it is decided, the payer is informed. */
async function watch(world: CrashWorld, signed: Signed): Promise<Settled> {
  const isDecided = () => decided.includes(world.find(signed)?.state ?? 'void')
  const look = async () => {
    while (!isDecided()) await world.get(signed, '/v1/billing/payments?limit=1')
  }
  await within(`the reconciler\n${world.server().errors()}`, look())
  return repeat(world, signed)
}
