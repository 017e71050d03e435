/** Plays the time of a market: the crosshair of every picture moves with it. */

import { useEffect, useRef, useState } from 'preact/hooks'

import type { TimeAxis } from '../../charts/time-axis.ts'
import { showMoment } from '../../lib/format.ts'
import { useStore } from '../../lib/store.ts'
import { Button } from '../../parts/button.tsx'
import { Choice } from '../../parts/choice.tsx'

const speeds = [1, 5, 20, 60]
const spans = [
  ['follow', 'Follow'],
  ['window', 'Window'],
] as const
const STEP_MS = 1_000
const LEAP_MS = 10_000
const typing = 'input:not([type=range]), select, textarea, [contenteditable]'

type Props = {
  axis: TimeAxis
  isOpen: boolean
  isLive: boolean
  onLive: () => void
  /** True if the last minutes are shown and move along; false for the whole window. */
  follows: boolean
  onFollow: (follows: boolean) => void
  /** Goes to the largest move of the window. */
  onMove: () => void
  /** Describes the largest move. */
  moveText: string
}

export function Player(props: Props) {
  const { axis, isOpen, isLive, onLive, follows, onFollow, onMove, moveText } = props
  const shownSpan = follows ? 'follow' : 'window'
  const [isPlaying, setPlaying] = useState(false)
  const [speed, setSpeed] = useState(5)
  const cursorMs = useStore(axis.cursorMs)
  const { fromMs, toMs } = axis.whole
  const seek = (ms: number) => axis.cursorMs.set(Math.min(toMs, Math.max(fromMs, ms)))

  const toggle = () => {
    if (!isPlaying && axis.cursorMs.get() >= toMs) seek(fromMs)
    setPlaying(!isPlaying)
  }
  useRun(isPlaying, (elapsedMs) => {
    seek(axis.cursorMs.get() + elapsedMs * speed)
    if (axis.cursorMs.get() >= toMs) setPlaying(false)
  })
  useKeys({
    toggle,
    seek: (byMs) => seek(axis.cursorMs.get() + byMs),
    seekTo: seek,
    fromMs,
    toMs,
    onMove,
  })

  return (
    <div class="player" role="group" aria-label="Player">
      <Button look="primary play" aria-label={isPlaying ? 'Pause' : 'Play'} onClick={toggle}>
        <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" fill="currentColor">
          <path d={isPlaying ? 'M3 2h4v12H3zM9 2h4v12H9z' : 'M3 1.5v13l11-6.5z'} />
        </svg>
      </Button>
      <input
        type="range"
        class="seek"
        aria-label="Moment"
        aria-valuetext={showMoment(cursorMs)}
        min={fromMs}
        max={toMs}
        step={100}
        value={cursorMs}
        onInput={({ currentTarget }) => seek(Number(currentTarget.value))}
      />
      <output class="num mono">{showMoment(cursorMs)}</output>
      <label class="speed">
        <span class="sr">Speed</span>
        <select
          value={speed}
          onChange={({ currentTarget }) => setSpeed(Number(currentTarget.value))}
        >
          {speeds.map((each) => (
            <option key={each} value={each}>
              {each}×
            </option>
          ))}
        </select>
      </label>
      <Button text="Largest move" look="small" aria-keyshortcuts="m" onClick={onMove} />
      {isOpen && (
        <Choice
          label="Time shown"
          look="small"
          options={spans}
          value={isLive ? shownSpan : undefined}
          onChoose={(each) => onFollow(each === 'follow')}
        />
      )}
      {isOpen && (
        <Button look="small" aria-pressed={isLive} onClick={onLive}>
          <span class={isLive ? 'dot dot-on' : 'dot'} aria-hidden="true" /> Live
        </Button>
      )}
      <p class="note num player-note" role="status">
        {moveText}
      </p>
    </div>
  )
}

/** Calls with the time since the frame before. */
function useRun(isOn: boolean, step: (elapsedMs: number) => void): void {
  const latest = useRef(step)
  latest.current = step
  useEffect(() => {
    if (!isOn) return
    let beforeMs = performance.now()
    let frame = requestAnimationFrame(function next(nowMs) {
      latest.current(Math.max(0, nowMs - beforeMs))
      beforeMs = nowMs
      frame = requestAnimationFrame(next)
    })
    return () => cancelAnimationFrame(frame)
  }, [isOn])
}

type Keys = {
  toggle: () => void
  seek: (byMs: number) => void
  seekTo: (ms: number) => void
  fromMs: number
  toMs: number
  onMove: () => void
}

/**
 * Space plays; arrows step, with Shift farther; Home and End go to the ends, M to the largest move.
 */
function useKeys(keys: Keys): void {
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const deed = deedOf(event, latest.current)
      if (deed === undefined) return
      event.preventDefault()
      deed()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

function deedOf(event: KeyboardEvent, keys: Keys): (() => void) | undefined {
  const { key, target, shiftKey } = event
  if (!(target instanceof Element) || target.closest(typing)) return undefined
  if (event.ctrlKey || event.metaKey || event.altKey) return undefined
  const { toggle, seek, seekTo, fromMs, toMs, onMove } = keys
  const stepMs = shiftKey ? LEAP_MS : STEP_MS
  const deeds: Record<string, () => void> = {
    ArrowLeft: () => seek(-stepMs),
    ArrowRight: () => seek(stepMs),
    Home: () => seekTo(fromMs),
    End: () => seekTo(toMs),
    m: onMove,
  }
  // On a button, Space presses the button.
  return key === ' ' && !target.closest('button, a, summary') ? toggle : deeds[key]
}
