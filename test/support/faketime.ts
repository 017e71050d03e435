/** libfaketime, which gives a process another time than the machine. */
import { existsSync } from 'node:fs'

const library = ['x86_64', 'aarch64']
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`)
  .find((path) => existsSync(path))

export const hasFaketime: boolean = library !== undefined

/** The environment of a process whose clock is set by an offset such as `+1h`. */
export const clockSetBy = (offset: string): Record<string, string> => ({
  LD_PRELOAD: library ?? '',
  FAKETIME: offset,
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
})
