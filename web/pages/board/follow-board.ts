/** The open windows, as the server sends them, handed to the rows a few in each frame. */

import { type Problem, request, toProblem } from '../../lib/api.ts'
import type { Board, BoardWindow } from '../../lib/bodies.ts'
import { serverNowMs } from '../../lib/clock.ts'
import { followEvents } from '../../lib/events.ts'
import { createFrame } from '../../lib/frame.ts'
import { pollMs } from '../../lib/poll.ts'
import { createStore, type Store } from '../../lib/store.ts'

type Series = { fromMs: number; stepMs: number } & Record<Line, (number | null)[]>
const lineNames = ['mid', 'spot', 'average'] as const
type Line = (typeof lineNames)[number]

/** A window as events have it. */
export type Row = Omit<BoardWindow, 'history'>

export type Shown = {
  row: Row
  series: Series | undefined
  /** The time that the row shows, by the clock of the server. */
  nowMs: number
  /** True if the server no longer lists the window. */
  isOver: boolean
}

export type BoardState =
  | { kind: 'loading' }
  | { kind: 'live' }
  /** The server has no stream left for the visitor: the page polls every few seconds. */
  | { kind: 'polled'; problem: Problem }
  /** Nothing comes. */
  | { kind: 'waiting'; problem?: Problem | undefined; sinceMs: number }
  | { kind: 'refused'; problem: Problem }

/** True once all rows were read; until then, the problem and the time of the next try. */
export type BoardLoad = { isLoaded: boolean; problem?: Problem | undefined; nextMs?: number }

type BoardEvent = { time: string; data: Row[]; closed: string[] }

/** Rows drawn in a frame: more take longer than a frame on a slow processor. */
const ROWS_A_FRAME = 2
const SECOND_MS = 1_000
/** A row drawn less than this ago is not drawn again for its time left. */
const DRAWN_MS = 800
/** Interval at which a row outside of the view is drawn. */
const HIDDEN_MS = 5_000
/** Without an event for so long the connection is lost: the server sends one every 5 seconds. */
const SILENT_MS = 15_000

/** Follows the board until `stop`. */
export function followBoard() {
  const state = createStore<BoardState>({ kind: 'loading' })
  const loaded = createStore<BoardLoad>({ isLoaded: false })
  /** Rises when windows are added or removed. */
  const changes = createStore(0)
  const windows = new Map<string, Store<Shown>>()
  /** Changes that are not drawn yet. */
  const due = new Map<string, Partial<Shown>>()
  /** When each row was drawn last. */
  const drawnMs = new Map<string, number>()
  /** Rows in the visible part of the page. */
  const seen = new Set<string>()
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const { window: id = '' } = (target as HTMLElement).dataset
      if (!isIntersecting) seen.delete(id)
      else {
        seen.add(id)
        put(id, {})
      }
    }
  })
  /** Aborts the stream and the request for all rows; a new one after each break. */
  let connection = new AbortController()
  const frame = createFrame(draw)
  let polling = 0
  /** Offset of the windows' time from the server's clock: a test key reads hours of another day. */
  let aheadMs: number | undefined
  let heardMs = 0
  /** The next event has all rows. */
  let isFirst = true

  function put(id: string, change: Partial<Shown>): void {
    due.set(id, { ...due.get(id), ...change })
    frame.request()
  }

  function draw(): void {
    const nowMs = serverNowMs() + (aheadMs ?? 0)
    let drawn = 0
    for (const [id, change] of due) {
      const store = windows.get(id)
      if (store !== undefined && !isTurn(id, change)) continue
      if (drawn++ === ROWS_A_FRAME) {
        frame.request()
        return
      }
      due.delete(id)
      if (store === undefined) continue
      drawnMs.set(id, performance.now())
      const next = { ...store.get(), ...change, nowMs }
      if (aheadMs !== undefined) extend(next)
      store.set(next)
    }
  }

  const hasRest = (id: string, ms: number): boolean =>
    performance.now() - (drawnMs.get(id) ?? Number.NEGATIVE_INFINITY) < ms

  const isTurn = (id: string, { isOver }: Partial<Shown>): boolean =>
    seen.has(id) || isOver === true || !hasRest(id, HIDDEN_MS)

  function add(row: Row, series: Series | undefined): void {
    windows.set(
      row.conditionId,
      createStore<Shown>({ row, series, nowMs: serverNowMs() + (aheadMs ?? 0), isOver: false }),
    )
    changes.set(changes.get() + 1)
  }

  function take(row: Row, series?: Series): void {
    const known = windows.get(row.conditionId)
    if (known === undefined) add(row, series ?? emptySeries(row))
    else put(row.conditionId, series === undefined ? { row } : { row, series })
  }

  function end(id: string): void {
    if (!windows.has(id)) return
    put(id, { isOver: true })
    changes.set(changes.get() + 1)
  }

  /** Reads all rows with their history. */
  async function load(): Promise<void> {
    const { signal } = connection
    const { data } = await request<Board>('/v1/board', { signal })
    for (const { history, ...row } of data) take(row, toSeries(history))
    endOthers(data)
    if (!loaded.get().isLoaded) loaded.set({ isLoaded: true })
  }

  /** Stores the problem of the first load, and the time of the next one. */
  function noteFailure(problem: Problem, waitMs: number): void {
    if (!loaded.get().isLoaded)
      loaded.set({ isLoaded: false, problem, nextMs: serverNowMs() + waitMs })
  }

  function endOthers(rows: readonly Row[]): void {
    const open = new Set(rows.map(({ conditionId }) => conditionId))
    for (const id of windows.keys()) if (!open.has(id)) end(id)
  }

  async function run(): Promise<void> {
    const { signal } = connection
    try {
      await load()
    } catch (error) {
      if (signal.aborted) return
      const problem = toProblem(error)
      const isRefused = problem.status === 401 || problem.status === 403
      if (isRefused) return state.set({ kind: 'refused', problem })
      state.set({ kind: 'waiting', problem, sinceMs: serverNowMs() })
      noteFailure(problem, pollMs())
    }
    await followEvents(
      '/v1/board/live',
      {},
      {
        signal,
        onEvent({ event, data }) {
          if (event !== 'board') return
          heardMs = performance.now()
          const { time, data: rows, closed } = JSON.parse(data) as BoardEvent
          aheadMs = Date.parse(time) - serverNowMs()
          for (const row of rows) take(row)
          if (isFirst) endOthers(rows)
          // The first event has every row, so it replaces a list that could not be read.
          if (!loaded.get().isLoaded) loaded.set({ isLoaded: true })
          for (const id of closed) end(id)
          isFirst = false
        },
        onState(now, problem) {
          if (problem?.status === 429 || problem?.status === 503) return poll(problem)
          if (problem?.status === 401 || problem?.status === 403)
            return state.set({ kind: 'refused', problem })
          if (now === 'waiting') return wait(problem)
          isFirst = true
          heardMs = performance.now()
          // Events do not include changes during the break.
          if (state.get().kind === 'waiting') void load().catch(() => undefined)
          state.set({ kind: 'live' })
        },
      },
    )
  }

  function wait(problem?: Problem): void {
    const before = state.get()
    const sinceMs = before.kind === 'waiting' ? before.sinceMs : serverNowMs()
    state.set({ kind: 'waiting', problem, sinceMs })
  }

  function poll(problem: Problem): void {
    state.set({ kind: 'polled', problem })
    clearTimeout(polling)
    const next = () => {
      if (state.get().kind !== 'polled') return
      const waitMs = pollMs()
      polling = window.setTimeout(next, waitMs)
      if (document.visibilityState === 'visible')
        void load().catch((error: unknown) => noteFailure(toProblem(error), waitMs))
    }
    polling = window.setTimeout(next, pollMs())
  }

  // A lost connection may seem open for minutes.
  function offline(): void {
    connection.abort()
    wait()
  }
  /** Connects again. */
  function online(): void {
    connection.abort()
    connection = new AbortController()
    void run()
  }
  window.addEventListener('offline', offline)
  window.addEventListener('online', online)
  const ticking = setInterval(() => {
    if (document.visibilityState !== 'visible') return
    if (state.get().kind === 'live' && performance.now() - heardMs > SILENT_MS) {
      wait()
      online()
    }
    for (const id of windows.keys()) if (!hasRest(id, DRAWN_MS)) put(id, {})
  }, SECOND_MS)
  void run()

  return {
    state,
    loaded,
    changes,
    windows,
    /** The time of the windows, by the clock of the server. */
    nowMs: (): number => serverNowMs() + (aheadMs ?? 0),
    /** A row with its changes that are not drawn yet. */
    latest: (id: string): Shown | undefined => {
      const shown = windows.get(id)?.get()
      return shown && { ...shown, ...due.get(id) }
    },
    /** Draws the row of an element (`data-window`) as it changes while it is visible. */
    observe(element: HTMLElement): () => void {
      observer.observe(element)
      return () => observer.unobserve(element)
    },
    /** Forgets windows that are over. */
    sweep(): void {
      for (const [id, store] of windows) {
        if (!store.get().isOver) continue
        windows.delete(id)
        drawnMs.delete(id)
        seen.delete(id)
      }
    },
    stop(): void {
      connection.abort()
      observer.disconnect()
      clearInterval(ticking)
      clearTimeout(polling)
      frame.cancel()
      window.removeEventListener('offline', offline)
      window.removeEventListener('online', online)
    },
  }
}

export type FollowedBoard = ReturnType<typeof followBoard>

const POINTS = 60
const POINTS_LATE = 2

/** Series of a window that opened while the page was open. */
function emptySeries({ windowStart, windowEnd }: Row): Series | undefined {
  if (windowStart === null || windowEnd === null) return undefined
  const fromMs = Date.parse(windowStart)
  const stepMs = Math.max(1, Math.ceil((Date.parse(windowEnd) - fromMs) / POINTS))
  return { fromMs, stepMs, mid: [], spot: [], average: [] }
}

function toSeries(history: BoardWindow['history']): Series | undefined {
  if (history === null) return undefined
  const { from, stepMs, mid, spot, average } = history
  return { fromMs: Date.parse(from), stepMs, mid: [...mid], spot: [...spot], average: [...average] }
}

/** Adds the points since the last one, with the current values of the row. */
function extend({ row, series, nowMs, isOver }: Shown): void {
  if (series === undefined || isOver) return
  const { fromMs, stepMs, mid } = series
  const count = Math.min(POINTS, Math.floor((nowMs - fromMs) / stepMs) + 1)
  const isInGap = row.recording.state !== 'recorded'
  while (mid.length < count) {
    // The history does not have the points of the last seconds yet; a longer break stays unknown.
    const isNow = mid.length >= count - POINTS_LATE
    series.mid.push(isNow && !isInGap ? row.mid : null)
    series.spot.push(isNow ? (row.spot?.price ?? null) : null)
    series.average.push(isNow ? (row.average?.price ?? null) : null)
  }
}
