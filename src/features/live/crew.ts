/** Who follows in which lane: the slow go on alone, and those in step are joined. */
import type { Gap } from '#src/domain/coverage.ts'

import { createLane, type Lane, type LaneOptions, type LanePorts, type LaneState } from './lane.ts'
import type { Member } from './member.ts'

/** `key` names what decides the rows of a lane. */
type LaneDraft = LaneState & { options: LaneOptions; key: string }

export function createCrew(ports: LanePorts) {
  /** With their keys. */
  const lanes = new Map<Lane, string>()
  const laneOf = new Map<Member, Lane>()
  const nameOf = createNames()

  function enter(member: Member, lane: Lane): void {
    lane.members.add(member)
    lane.late.add(member)
    laneOf.set(member, lane)
  }

  function drop(lane: Lane): void {
    lane.stop()
    lanes.delete(lane)
  }

  /** Puts somebody into a lane of his own. */
  function add(member: Member, { options, key, ...state }: LaneDraft): Lane {
    const lane = createLane(options, ports, state)
    lanes.set(lane, key)
    enter(member, lane)
    return lane
  }

  /** Who is slow goes on alone, and joins the others again when he has caught up. */
  function part(lane: Lane, member: Member): void {
    const { options, output, members } = lane
    members.delete(member)
    const legs = new Map([...lane.legs].map(([id, leg]) => [id, { ...leg }]))
    const key = lanes.get(lane) ?? ''
    add(member, { options, key, legs, output: output.fork(output.sum) })
  }

  return {
    lanes,
    laneOf,
    add,

    /** The last one takes the lane along. */
    leave(member: Member): void {
      const lane = laneOf.get(member)
      laneOf.delete(member)
      lane?.members.delete(member)
      if (lane?.members.size === 0) drop(lane)
    },

    /** Writes some of what is new of a lane, for those who take it. */
    advance(lane: Lane): void {
      const slow: Member[] = []
      for (const member of lane.late) {
        if (member.isFull && lane.members.has(member)) slow.push(member)
        else lane.late.delete(member)
      }
      if (!lanes.has(lane) || slow.length === lane.members.size) return
      for (const member of slow) part(lane, member)
      try {
        lane.advance()
      } catch (error) {
        for (const member of lane.members) member.end(error)
        drop(lane)
      }
    },

    /** Joins those of some lanes that are at the same place and in step. */
    merge(some: readonly Lane[]): void {
      if (some.length < 2) return
      const firsts = new Map<string, Lane>()
      for (const lane of some) {
        const key = lanes.get(lane)
        if (key === undefined) continue
        const name = `${key} ${nameOf(lane)}`
        const first = firsts.get(name) ?? lane
        firsts.set(name, first)
        if (first === lane) continue
        for (const member of lane.members) {
          member.join(lane.output.sum, first.output.sum)
          enter(member, first)
        }
        drop(lane)
      }
    },
  }
}

/** Names all that decides what is written next to a lane. */
function createNames() {
  const numbers = new WeakMap<readonly Gap[], number>()
  let count = 0
  const numberOf = (gaps: readonly Gap[] | undefined) => {
    // Some may have been written: that is like nobody else's.
    if (gaps === undefined) return ++count
    const known = numbers.get(gaps) ?? ++count
    numbers.set(gaps, known)
    return known
  }
  return ({ output, legs }: Lane): string => {
    const places = [...legs].map(([id, { at, status, facts, gaps }]) => {
      return [id, at.timestampMs, at.id, status, facts, numberOf(gaps)]
    })
    return JSON.stringify([output.step, places])
  }
}
