/** Shared input and output of commands: option values, tables, numbers. */

import { InvalidArgumentError, Option } from 'commander'

import type { ConfigVariable } from '#src/config/variables.ts'
import * as values from '#src/operator/values.ts'
import { isFault } from '#src/platform/fault.ts'
import { toPrintable } from '#src/platform/printable.ts'

import type { CliContext } from '../server/extension.ts'

const FAULTS_SHOWN_MAX = 50

/** An option whose default is shown as a user would type it. */
export const optionWith = <T>(
  [flags, description]: [string, string],
  parse: (text: string) => T,
  fallback: string,
): Option => new Option(flags, description).argParser(parse).default(parse(fallback), fallback)

/** An option that accepts some of a few words, separated by commas. */
export const listOption = <T extends string>(
  [flags, description]: [string, string],
  known: readonly T[],
): Option => new Option(flags, description).choices(known).argParser(listOf(known))

/** An option that sets a configuration variable for this run. */
export const variableOption = (
  { setVariable }: CliContext,
  [flags, description]: [string, string],
  variable: ConfigVariable,
): Option =>
  new Option(flags, `${description}; default: ${variable.name}, or ${variable.default}`).argParser(
    (text) => {
      if (variable.parse(text) === undefined || text === '')
        throw new InvalidArgumentError(`It must be ${variable.accepts}.`)
      setVariable(variable.name, text, flags.split(' ')[0])
      return text
    },
  )

/** Wraps a parser so that its fault names the option. */
export const asOption =
  <T>(read: (text: string) => T) =>
  (text: string): T => {
    try {
      return read(text)
    } catch (error) {
      throw isFault(error, 'wrong_value', 'wrong_state')
        ? new InvalidArgumentError(error.message)
        : error
    }
  }

export const integerIn = (min: number, max: number) => asOption(values.integerIn(min, max))
export const listOf = <T extends string>(known: readonly T[]) => asOption(values.listOf(known))
export const parseText = asOption(values.readText)

/**
 * Prints rows under their header, each column as wide as its widest cell; `-` for an absent value.
 */
export function printTable(
  { print }: CliContext,
  header: readonly string[],
  rows: readonly (readonly (string | null | undefined)[])[],
): void {
  const lines = [header, ...rows].map((row) => row.map((cell) => toPrintable(cell ?? '') || '-'))
  const widths = header.map((_, column) =>
    lines.reduce((width, line) => Math.max(width, Bun.stringWidth(line[column] ?? '')), 0),
  )
  for (const line of lines) {
    const cells = line.map(
      (cell, column) => cell + ' '.repeat((widths[column] ?? 0) - Bun.stringWidth(cell)),
    )
    print(cells.join('  ').trimEnd())
  }
}

export const renderJson = (value: unknown): string => JSON.stringify(value, undefined, 2)

export function printFaults({ print }: CliContext, faults: Iterable<string>): number {
  let count = 0
  for (const fault of faults) if (++count <= FAULTS_SHOWN_MAX) print(fault)
  return count
}
