/** A purchase in which the server is killed at a chosen step, and its recovery. */
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

/** Points at which the server is killed, with the states that must be committed by then. */
const stateAt = {
  /** Half of the payment has arrived. */
  'before claim': ['nowhere'],
  /** The sanctions oracle is being asked about the payer. */
  'after claim': ['received'],
  /** The chain is being asked if the payment would succeed. */
  'after screening': ['screened'],
  /** The facilitator receives the payment, and sends it when the server is already dead. */
  'in the call': ['settling'],
  /** The facilitator is done; its response never arrives. */
  'before the answer': ['settling'],
  /** The chain is being asked about the response. */
  'after the answer': ['settling'],
  /** The payment is on the chain but not final, or its fate is unknown. */
  'before finality': ['pending', 'unknown'],
  /** Within the transaction that grants the period. */
  'before provision': ['settled'],
} as const satisfies Record<string, readonly string[]>
export type CrashPoint = keyof typeof stateAt
export const crashPoints = Object.keys(stateAt) as CrashPoint[]

/** The party that recovers the payment: the payer by asking again, or the server alone. */
export const drivers = ['payer', 'reconciler'] as const

export type Cell = {
  script: Script
  point: CrashPoint
  driver: (typeof drivers)[number]
  tier: 'starter' | 'pro'
  token: TokenSymbol
}

/** Scripts whose response would exhaust the facilitator's time limit of a minute. */
const endless: readonly Script[] = ['timeout', 'timeout-after-broadcast', 'slow-drip']
/** Points before the response of the facilitator. */
const early = crashPoints.slice(0, crashPoints.indexOf('after the answer'))
/** Points at which nothing was sent to the facilitator. */
const unsent = crashPoints.slice(0, crashPoints.indexOf('in the call'))

/** True if a point is reachable: after an endless response the same follows as after a cut one. */
export const isReachable = ({ script, point }: Pick<Cell, 'script' | 'point'>): boolean =>
  early.includes(point) || !endless.includes(script)

const ATTEMPTS_MAX = 12
/** Attempts of a payer whose payment was not accepted, before the chain passes its end. */
const IN_TIME = 3
const decided = ['provisioned', 'void', 'rejected']

/**
 * Runs a cell. Throws if an expected step does not occur; returns everything that a payer or an
 * operator would call wrong.
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
  // The payment may have been submitted before anything was held: its transaction completes
  // regardless of the server.
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

/** True if only the crash interfered, and the payer returned at once. */
const mustSucceed = ({ script, point, driver }: Cell): boolean =>
  sendsPayment(script)
    ? driver === 'payer' || !unsent.includes(point)
    : driver === 'payer' && unsent.includes(point) && endless.includes(script)

/** Begins to settle and kills the server at the point, or at the response if that comes first. */
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

/** Calls of a contract about an address. */
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

/** Prevents the transaction that grants a period from ending, so that it can be killed halfway. */
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
  // A response to another request, which proves that the half was read.
  await fetch(`${server().origin}/livez`)
  socket.destroy()
}

/** Submits the same payment until a response does not request a retry. */
async function repeat(world: CrashWorld, signed: Signed): Promise<Settled> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const answer = await world.settle(signed)
    if (answer && answer.status !== 202 && answer.status < 500) return answer
    // A payment on its way was searched for already; waiting longer changes nothing.
    if (answer?.status === 202 || attempt >= IN_TIME) await world.endTime(signed)
  }
  throw new Error(`The payment is ${world.find(signed)?.state}.\n${world.server().errors()}`)
}

/** Waits without requests; when the payment is decided, the payer is informed. */
async function watch(world: CrashWorld, signed: Signed): Promise<Settled> {
  const isDecided = () => decided.includes(world.find(signed)?.state ?? 'void')
  const look = async () => {
    while (!isDecided()) await world.get(signed, '/v1/billing/payments?limit=1')
  }
  await within(`the reconciler\n${world.server().errors()}`, look())
  return repeat(world, signed)
}
