/** Alerts of windows on the board: kept in this browser, each fires once and says when. */

import type { Outcome } from '../../lib/bodies.ts'
import { outcomeNames, showCoinPrice, showProbability } from '../../lib/format.ts'
import { createKept } from '../../lib/kept.ts'
import { edgeOfShown } from './fair-prices.ts'
import type { FollowedBoard, Row, Shown } from './follow-board.ts'
import { seriesOf } from './order.ts'
import { gapText } from './window-row.tsx'

export const alertKinds = ['above', 'below', 'edge', 'strike', 'left', 'recording'] as const
export type AlertKind = (typeof alertKinds)[number]

export const kindTexts: Readonly<Record<AlertKind, string>> = {
  above: 'Up is at or above',
  below: 'Up is at or below',
  edge: 'the edge is at least',
  strike: 'the price crosses the strike',
  left: '60 seconds are left',
  recording: 'the recording stops',
}
/** Units of the numbers of alerts. */
export const units: Readonly<Partial<Record<AlertKind, string>>> = {
  above: '%',
  below: '%',
  edge: '¢',
}

export type Alert = {
  id: string
  kind: AlertKind
  /** Percent, or cents; 0 where the kind has none. */
  value: number
  /** Such as `btc-5m`; empty for every window. */
  series: string
  fired?: Fired | undefined
}
export type Fired = { atMs: number; text: string; href: string }

export const sounds = ['none', 'ping', 'chime', 'alarm'] as const
export type Sound = (typeof sounds)[number]
export type AlertSettings = { alerts: readonly Alert[]; sound: Sound; notifies: boolean }

export const settings = createKept<AlertSettings>('bookfeed.alerts', (stored) => {
  const { alerts, sound, notifies } = (stored ?? {}) as Partial<AlertSettings>
  return {
    alerts: Array.isArray(alerts) ? alerts.filter(isAlert) : [],
    sound: sounds.find((each) => each === sound) ?? 'chime',
    notifies: notifies === true,
  }
})

function isAlert(each: unknown): each is Alert {
  const { id, kind, value, series } = (each ?? {}) as Partial<Alert>
  return (
    typeof id === 'string' &&
    alertKinds.some((known) => known === kind) &&
    Number.isFinite(value) &&
    typeof series === 'string'
  )
}

export function change(part: Partial<AlertSettings>): void {
  const { alerts, sound, notifies } = settings.store.get()
  settings.set({
    alerts: part.alerts ?? alerts,
    sound: part.sound ?? sound,
    notifies: part.notifies ?? notifies,
  })
}

/** The state of a window at the check before, which an alert compares with. */
type Before = { side: Outcome | undefined; leftMs: number; isRecorded: boolean }

const LEFT_MS = 60_000
const LOOK_MS = 500

const leftOf = ({ windowEnd }: Row, nowMs: number): number =>
  windowEnd === null ? Infinity : Date.parse(windowEnd) - nowMs

function sideOf({ spot, strike }: Row): Outcome | undefined {
  if (spot === null || strike === null) return undefined
  return spot.price < strike ? 'down' : 'up'
}

const stateOf = ({ row, nowMs }: Pick<Shown, 'row' | 'nowMs'>): Before => ({
  side: sideOf(row),
  leftMs: leftOf(row, nowMs),
  isRecorded: row.recording.state === 'recorded',
})

/** The reason for which an alert fires for a window; undefined if it does not fire. */
function reasonOf(
  { kind, value }: Pick<Alert, 'kind' | 'value'>,
  shown: Pick<Shown, 'row' | 'nowMs'>,
  before: Before | undefined,
): string | undefined {
  const { row } = shown
  const now = stateOf(shown)
  // During a gap, the book of a window is the one before the gap.
  const mid = now.isRecorded && now.leftMs > 0 ? row.mid : null
  const percent = mid === null ? undefined : Math.round(mid * 1e6) / 1e4
  if (kind === 'above' && percent !== undefined && percent >= value)
    return `Up is at ${showProbability(mid)}`
  if (kind === 'below' && percent !== undefined && percent <= value)
    return `Up is at ${showProbability(mid)}`
  if (kind === 'edge') {
    const edge = now.leftMs > 0 ? edgeOfShown(shown) : undefined
    const isReached = edge?.isMeant === true && 100 * edge.size >= value
    return isReached
      ? `edge of ${(100 * edge.size).toFixed(1)}¢ for ${outcomeNames[edge.side]}`
      : undefined
  }
  if (before === undefined) return undefined
  if (kind === 'strike' && before.side !== undefined && now.side !== undefined) {
    const isCrossed = before.side !== now.side
    const where = now.side === 'up' ? 'at or above' : 'below'
    return isCrossed ? `${showCoinPrice(row.spot?.price)} is ${where} the strike` : undefined
  }
  if (kind === 'left' && before.leftMs > LEFT_MS && now.leftMs <= LEFT_MS && now.leftMs > 0)
    return '60 seconds are left'
  if (kind === 'recording' && before.isRecorded && !now.isRecorded)
    return `not recorded: ${gapText(row.recording) || row.recording.state}`
  return undefined
}

/** Checks all windows repeatedly, and calls `onFired` once for each alert. */
export function watchAlerts(board: FollowedBoard, onFired: (fired: Fired) => void): () => void {
  const before = new Map<string, Before>()
  const look = () => {
    const nowMs = board.nowMs()
    const windows = [...board.windows.keys()].flatMap((id) => {
      const shown = board.latest(id)
      return shown === undefined || shown.isOver ? [] : { row: shown.row, nowMs }
    })
    // Without a connection nothing is known to have stopped.
    if (board.state.get().kind === 'live' || board.state.get().kind === 'polled')
      fireAll(windows, before, onFired)
    for (const each of windows) before.set(each.row.conditionId, stateOf(each))
  }
  look()
  const timer = setInterval(look, LOOK_MS)
  return () => clearInterval(timer)
}

function fireAll(
  windows: readonly Pick<Shown, 'row' | 'nowMs'>[],
  before: ReadonlyMap<string, Before>,
  onFired: (fired: Fired) => void,
): void {
  const { alerts } = settings.store.get()
  const next = alerts.map((alert): Alert => {
    if (alert.fired !== undefined) return alert
    for (const each of windows) {
      const { row, nowMs } = each
      if (alert.series !== '' && alert.series !== seriesOf(row)) continue
      const reason = reasonOf(alert, each, before.get(row.conditionId))
      if (reason === undefined) continue
      const name = `${row.symbol.toUpperCase()} ${row.timeframe}`
      const href = `/markets/${row.symbol}/${row.conditionId}`
      const fired = { atMs: nowMs, text: `${name}: ${reason}`, href }
      onFired(fired)
      return { ...alert, fired }
    }
    return alert
  })
  if (next.some((alert, index) => alert !== alerts[index])) change({ alerts: next })
}

/** Frequencies in Hz, one after another. */
const tones: Readonly<Record<Sound, readonly number[]>> = {
  none: [],
  ping: [1_320],
  chime: [660, 880],
  alarm: [880, 587, 880, 587],
}
const TONE_SECONDS = 0.16
const VOLUME = 0.2
let audio: AudioContext | undefined

export function play(sound: Sound): void {
  // Before the first gesture, browsers play no sound and log a warning.
  if (tones[sound].length === 0 || !navigator.userActivation.hasBeenActive) return
  audio ??= new AudioContext()
  for (const [index, frequency] of tones[sound].entries()) {
    const startS = audio.currentTime + index * TONE_SECONDS
    const volume = audio.createGain()
    volume.gain.setValueAtTime(VOLUME, startS)
    // Ends without a click.
    volume.gain.exponentialRampToValueAtTime(VOLUME / 100, startS + TONE_SECONDS)
    volume.connect(audio.destination)
    const tone = audio.createOscillator()
    tone.frequency.value = frequency
    tone.connect(volume)
    tone.start(startS)
    tone.stop(startS + TONE_SECONDS)
  }
}
